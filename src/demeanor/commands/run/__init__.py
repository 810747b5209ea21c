"""`demeanor run`: run evals and decide."""
