"""Evals written in Python: the decorator, importing files, and rewritten asserts."""
