"""What the tests of local models have in common: the light one, really fetched, once for all of them."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from demeanor.gateway.local.fetch import fetch
from demeanor.gateway.local.weights import SMOLLM2, Cache, cache_of


def the_cache() -> Cache:
    """The cache of whoever runs the tests: a small download is made once, not once per run."""
    return cache_of(os.environ)


@cache
def light_model() -> Path:
    """The light model's file; where it can't be had, the test fails and says why."""
    with ThreadPoolExecutor(1) as pool:  # who asks may be in an event loop of its own
        return pool.submit(fetch, SMOLLM2, the_cache(), watch=lambda news: None).result()
