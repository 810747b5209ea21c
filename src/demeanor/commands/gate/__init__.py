"""`demeanor gate`: tell whether a change may merge."""
