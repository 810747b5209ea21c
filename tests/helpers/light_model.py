"""Helpers for the tests of local models: the small model, downloaded once."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from demeanor.gateway.local.download import fetch
from demeanor.gateway.local.weights import SMOLLM2, WeightsCache, weights_cache


def the_cache() -> WeightsCache:
    """The user's own cache, so that the model is downloaded once and not for every run."""
    return weights_cache(os.environ)


@cache
def light_model() -> Path:
    """The small model's file; if it can't be downloaded, the test fails and says why."""
    with ThreadPoolExecutor(1) as pool:  # who asks may be in an event loop of its own
        return pool.submit(fetch, SMOLLM2, the_cache(), on_progress=lambda news: None).result()
