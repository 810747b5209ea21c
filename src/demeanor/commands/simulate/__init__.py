"""`demeanor simulate`."""
