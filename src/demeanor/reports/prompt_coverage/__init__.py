"""Which instructions of the prompt the evals notice."""
