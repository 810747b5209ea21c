"""The append-only keep of runs, captures and verdicts."""
