"""`demeanor trace`: show what happened in a trial, step by step."""
