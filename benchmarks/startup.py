"""Start-up time: `demeanor --version` compared with a bare interpreter, and pytest with and without the plugin."""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

VERSION_BAR_MS = 100.0
PLUGIN_BAR_MS = 15.0


def milliseconds(command: list[str]) -> float:
    """The duration of a command in milliseconds."""
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - started) * 1000


def medians(rounds: int, *commands: list[str]) -> list[float]:
    """The median time of each command; they alternate, so that a busy machine affects all."""
    times = [[milliseconds(command) for command in commands] for _ in range(rounds)]
    return [statistics.median(column) for column in zip(*times, strict=True)]


def main() -> None:
    """Measure both and print them with their limits."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=21)
    rounds = parser.parse_args().rounds
    python = sys.executable
    bare, version = medians(rounds, [python, "-c", "pass"], [str(Path(python).with_name("demeanor")), "--version"])
    bar = 2 * bare + VERSION_BAR_MS
    print(
        f"python -c pass {bare:.1f} ms, demeanor --version {version:.1f} ms ({version / bare:.2f}x), bar {bar:.1f} ms"
    )
    pytest = [python, "-m", "pytest", "--version"]
    without, with_plugin = medians(rounds, [*pytest, "-p", "no:demeanor"], pytest)
    added = with_plugin - without
    print(f"pytest --version {without:.1f} ms without the plugin, {added:+.1f} ms with it, bar +{PLUGIN_BAR_MS:.0f} ms")


if __name__ == "__main__":
    main()
