"""The report of a night and the nights before it."""
