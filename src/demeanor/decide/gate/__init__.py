"""The gate: which cells get how many trials, and when a change is rejected."""
