"""Whole tasks in the Harbor format, read strictly."""
