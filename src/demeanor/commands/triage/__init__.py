"""`demeanor triage`: group what went wrong in a run, and say what to do about each."""
