"""`demeanor models`: list, download and remove the language models that run on this machine."""
