"""Captures: written once per attempt, found again by their hash."""
