"""`holdfast run`: run evals and decide."""
