"""`demeanor task`: begin a new task in the format of Harbor."""
