"""`demeanor history`: show the pass rate of an eval over time."""
