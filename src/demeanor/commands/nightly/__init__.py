"""`demeanor nightly`: run all evals on all subjects and record the run as a night."""
