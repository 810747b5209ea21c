"""`demeanor task`: create a new task in the Harbor format."""
