"""`demeanor gate`: decide whether a change may merge."""
