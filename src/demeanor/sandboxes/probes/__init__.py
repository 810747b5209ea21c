"""Probes: hostile actions, tried for real at each isolation level."""
