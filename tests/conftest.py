"""Property tests are the same on every machine: no clock, no chance, nothing kept between runs."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("holdfast", deadline=None, derandomize=True, database=None)
settings.load_profile("holdfast")
