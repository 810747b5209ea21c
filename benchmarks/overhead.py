"""The overhead of Demeanor: 200 trials compared with a bare asyncio loop.

Both start the same 200 programs (`sh` writes one file) in 200 new folders, 8 in parallel, in a new interpreter.
Demeanor also isolates, snapshots, checks, stores and reports each of them.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BAR = 2.5
JOBS = 8
SCRIPT = "printf hi > out.txt"
CONFIG = f"""\
subjects = ["writer"]
[agents.writer]
adapter = "command"
command = ["sh", "-c", "{SCRIPT}", "{{prompt}}"]
"""
EVAL = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Write out.txt.")
def writes(rig, result):
    assert rig.workspace["out.txt"].text == "hi"
"""


async def bare(trials: int, folder: Path) -> None:
    """The minimum that any harness must do."""
    slots = asyncio.Semaphore(JOBS)

    async def one(number: int) -> None:
        async with slots:
            place = folder / str(number)
            place.mkdir()
            process = await asyncio.create_subprocess_exec(
                "sh", "-c", SCRIPT, "Write out.txt.", cwd=place, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
            await process.communicate()
            assert (place / "out.txt").read_text() == "hi"

    await asyncio.gather(*(one(number) for number in range(trials)))


def timed(command: list[str], cwd: Path) -> float:
    """The duration of a command in seconds."""
    started = time.perf_counter()
    subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - started


def main() -> None:
    """Measure both, alternately, and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bare", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.bare:
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(bare(args.trials, Path(folder)))
        return
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        (project / "demeanor.toml").write_text(CONFIG)
        (project / "evals").mkdir()
        (project / "evals/eval_writes.py").write_text(EVAL)
        loop = [sys.executable, __file__, "--bare", "--trials", str(args.trials)]
        ours = [
            str(Path(sys.executable).with_name("demeanor")),
            "run",
            "--trials",
            str(args.trials),
            "--jobs",
            str(JOBS),
        ]
        levels = [[*ours, "--sandbox", level] for level in ("none", "bubblewrap")]
        rounds = [tuple(timed(command, project) for command in (loop, *levels)) for _ in range(args.rounds)]
    for bare_seconds, our_seconds, bubblewrap_seconds in rounds:
        print(
            f"bare loop {bare_seconds:6.3f} s   demeanor {our_seconds:6.3f} s   ratio {our_seconds / bare_seconds:.2f}"
            f"   in bubblewrap {bubblewrap_seconds:6.3f} s"
        )
    ratio = statistics.median(ours / bare for bare, ours, _ in rounds)
    isolation = statistics.median((in_bubblewrap - ours) / args.trials for _, ours, in_bubblewrap in rounds)
    print(f"--sandbox bubblewrap costs {isolation * 1000:.1f} ms more per trial, on {JOBS} at a time")
    verdict = "within" if ratio <= BAR else "ABOVE"
    print(f"{args.trials} trials, {JOBS} at a time: median ratio {ratio:.2f}, {verdict} the bar of {BAR}")


if __name__ == "__main__":
    main()
