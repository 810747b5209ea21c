"""`demeanor skills`: write short guides for coding agents, or check that they are fresh."""
