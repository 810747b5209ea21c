"""`demeanor doctor`: show what is installed, what works and what to do."""
