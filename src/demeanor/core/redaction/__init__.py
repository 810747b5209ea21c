"""Removing secrets from everything that is kept."""
