"""The program in which a local model runs: a separate process, so that its memory, threads and crashes stay separate.

It is started by path and imports nothing of Demeanor. It reads its settings as one line of JSON from standard input,
and writes the URL, or what went wrong, as one line to standard output. It exits when standard input is closed.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import sys
import threading
from typing import Any

_BATCH = 256
"""Tokens of prompts that are evaluated at once: meanwhile, no other conversation gets a token."""


def main() -> int:
    """Load the model, report the URL, and serve until standard input is closed."""
    parent = os.getppid()
    settings = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_exit_with_parent, args=(parent, settings["states"]), daemon=True).start()
    try:
        server = _start_server(settings)
    except ImportError as error:
        return _reply(problem="import", message=str(error))
    except Exception as error:  # noqa: BLE001 - the parent waits for a reply, whatever the engine raises
        return _reply(problem="load", message=f"{type(error).__name__}: {error}")
    _reply(url=server.listening_address)
    threading.Event().wait()
    return 0


def _start_server(settings: dict[str, Any]) -> Any:
    # Waiting threads that spin take CPU time from those that work. Must be set before the engine is loaded.
    os.environ["OMP_WAIT_POLICY"] = "passive"
    import xllamacpp  # type: ignore[import-untyped,import-not-found,unused-ignore]

    params = xllamacpp.CommonParams()
    params.model.path = settings["path"]
    params.n_parallel = settings["slots"]
    params.n_ctx = settings["slots"] * settings["context"]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings["threads"]
    params.n_batch = params.n_ubatch = _BATCH
    params.n_threads_http = settings["slots"] + 4
    params.slot_save_path = settings["states"] + "/"
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [settings["key"]]
    params.cache_ram_mib = 0  # otherwise a prompt cache may grow to 8 GiB
    params.warmup = False
    params.fit_params = False
    params.n_gpu_layers = 0
    params.ui = params.endpoint_slots = False
    params.verbosity = -1
    return xllamacpp.Server(params)


def _reply(**fields: str) -> int:
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()
    return 1


def _exit_with_parent(parent: int, states: str) -> None:
    """Exit the process when standard input is closed or the parent changes: both mean that the parent is gone. Then
    nothing else removes the folder of states."""
    while os.getppid() == parent:
        readable, _, _ = select.select([0], [], [], 1.0)
        if readable and not os.read(0, 4096):
            break
    shutil.rmtree(states, ignore_errors=True)
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
