"""Hypothesis settings for all tests: deterministic examples, and no deadline, so that a busy machine fails none."""

from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")
