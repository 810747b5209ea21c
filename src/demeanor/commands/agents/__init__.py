"""`demeanor agents`: list, install and check coding agents."""
