"""Starts an agent that takes messages on its standard input while it works, by stream_host.py."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from demeanor.agents.environments.executables import PACKAGE_ENV, package_paths
from demeanor.core.text.codec import encode
from demeanor.core.values.agent import Orders, Task
from demeanor.core.values.trajectory import Kind, usual_kinds

_HOST = str(Path(__file__).with_name("stream_host.py"))
_FOLDER = ".demeanor"


def streamed_orders(orders: Orders, task: Task, kinds: Mapping[str, Kind]) -> Orders:
    """The orders with the host before each launch. Each launch ends with `--` and its prompt, which the host sends."""
    files = dict(orders.home_files)
    launches = []
    for index, launch in enumerate(orders.launches):
        *words, dashes, prompt = launch.argv
        if dashes != "--":
            raise ValueError(f"expected -- before the prompt, found {dashes!r}")
        name = f"{_FOLDER}/steer-{index}.json"
        fields = {
            "prompt": prompt,
            "steer": encode(task.steer),
            "state": str(task.home / _FOLDER / "steered.json"),
            "own_kinds": kinds,
            "usual_kinds": dict(usual_kinds()),
        }
        files[name] = json.dumps(fields).encode()
        host = (sys.executable, "-P", "-s", "-S", _HOST, str(task.home / name))
        launches.append(
            replace(
                launch,
                argv=(*host, *words, "--input-format", "stream-json"),
                env={**launch.env, **PACKAGE_ENV},
                reads=(*launch.reads, *package_paths()),
            )
        )
    return replace(orders, launches=tuple(launches), home_files=files)
