"""`demeanor fork`: start trials from a step of a stored trial, and find the step that decided it."""
