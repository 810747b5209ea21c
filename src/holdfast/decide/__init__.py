"""Tally x policy → decision, and decisions → exit code; pure."""
