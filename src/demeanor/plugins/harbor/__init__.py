"""Whole tasks in Harbor's format, run by the real `harbor`."""
