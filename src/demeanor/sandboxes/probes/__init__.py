"""Probes: what a hostile program tries to reach, tried for real at each level."""
