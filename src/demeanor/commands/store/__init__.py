"""`demeanor store`: import results of other tools or machines, export runs or evals."""
