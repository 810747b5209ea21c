"""Strict reading of the configuration."""
