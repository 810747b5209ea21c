"""`demeanor help`: read the documentation."""
