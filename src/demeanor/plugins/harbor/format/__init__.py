"""Strict reading of whole tasks in Harbor's format."""
