"""From the store to values: runs, nights, baselines, tallies, failure groups, steps."""
