"""`demeanor agents`: show, install or check the coding agents that can be tried."""
