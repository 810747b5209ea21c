"""The failures of a run, in as few groups as there are things to fix."""
