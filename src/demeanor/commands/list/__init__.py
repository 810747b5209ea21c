"""`demeanor list`: show the evals that are defined."""
