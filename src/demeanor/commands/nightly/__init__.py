"""`demeanor nightly`: run all evals on all subjects, and keep it as a night."""
