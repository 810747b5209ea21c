"""`demeanor history`: show how the pass rate of an eval went over time."""
