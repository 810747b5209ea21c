"""`demeanor gateway`: serve models to an agent that you start yourself, or check the wire formats."""
