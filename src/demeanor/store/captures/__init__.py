"""Captures: written once per attempt, addressed by the hash of their content."""
