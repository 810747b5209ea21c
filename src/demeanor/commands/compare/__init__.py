"""`demeanor compare`: tell whether one version is worse than another."""
