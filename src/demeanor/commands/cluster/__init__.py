"""`demeanor cluster`."""
