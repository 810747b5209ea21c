"""The append-only store of runs, captures and verdicts."""
