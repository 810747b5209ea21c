"""`demeanor triage`: group the failures of a run, and say what to do about each group."""
