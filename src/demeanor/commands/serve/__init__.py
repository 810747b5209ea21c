"""`demeanor serve`: the dashboard in a browser."""
