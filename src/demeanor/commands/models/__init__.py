"""`demeanor models`: show, fetch or remove the language models that run on this machine."""
