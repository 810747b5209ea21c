"""The program in which a local model runs: a process of its own, so that its memory, threads and crashes are its own.

It is started by its path and needs nothing of Demeanor. Orders come as one line of JSON on standard input, the address
(or what went wrong) goes out as one line on standard output, and when standard input ends, so does the program:
whoever started it is gone, or wants no more of it.
"""

from __future__ import annotations

import json
import os
import select
import sys
import threading
from typing import Any


def main() -> int:
    """Load, tell, serve until standard input ends."""
    parent = os.getppid()
    orders = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    try:
        server = _serve(orders)
    except ImportError as error:
        return _tell(problem="import", message=str(error))
    except Exception as error:  # noqa: BLE001 - whatever the engine raises, somebody is waiting to be told
        return _tell(problem="load", message=f"{type(error).__name__}: {error}")
    _tell(url=server.listening_address)
    threading.Event().wait()
    return 0


def _serve(orders: dict[str, Any]) -> Any:
    # Waiting threads that spin take the cores from those that work. Must be said before the engine is loaded.
    os.environ["OMP_WAIT_POLICY"] = "passive"
    import xllamacpp  # type: ignore[import-untyped,import-not-found,unused-ignore]

    params = xllamacpp.CommonParams()
    params.model.path = orders["path"]
    params.n_parallel = orders["slots"]
    params.n_ctx = orders["slots"] * orders["context"]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = orders["threads"]
    params.n_threads_http = orders["slots"] + 4
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [orders["key"]]
    params.cache_ram_mib = 0  # else a cache of prompts may grow to 8 GiB
    params.warmup = False
    params.fit_params = False
    params.n_gpu_layers = 0
    params.ui = params.endpoint_slots = False
    params.verbosity = -1
    return xllamacpp.Server(params)


def _tell(**words: str) -> int:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()
    return 1


def _watch(parent: int) -> None:
    """End the program when standard input does, or when the parent is another one: both mean that nobody is there."""
    while os.getppid() == parent:
        readable, _, _ = select.select([0], [], [], 1.0)
        if readable and not os.read(0, 4096):
            break
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
