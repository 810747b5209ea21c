"""`demeanor compare`: decide whether one version is worse than another."""
