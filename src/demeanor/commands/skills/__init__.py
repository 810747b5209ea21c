"""`demeanor skills`: install short guides for coding agents, or check that they are up to date."""
