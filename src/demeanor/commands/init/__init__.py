"""`demeanor init`: set up evals, configuration and CI in this folder."""
