"""The overhead of Demeanor: 2,000 trials compared with a bare asyncio loop, in wall time and in CPU time.

Both start the same programs (`sh` writes one file) in new folders, 8 in parallel, in a new interpreter. Demeanor also
isolates, snapshots, checks, stores and reports each of them. On a busy machine only the CPU times say something.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.comparison.measure import Sample, adopt_orphans, measure_alone

BARS = {"none": 1.8, "bubblewrap": 4.0}
"""The bars for 2,000 trials at each isolation level, as multiples of the bare loop."""

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


def main() -> None:
    """Measure all of them, alternately, and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=2000, metavar="N", help="trials of each run (default: 2000)")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="runs of each kind (default: 5)")
    parser.add_argument("--bare", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.bare:
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(bare(args.trials, Path(folder)))
        return
    adopt_orphans()
    found: dict[str, list[Sample]] = {name: [] for name in ("bare loop", *BARS)}
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        (project / "demeanor.toml").write_text(CONFIG)
        (project / "evals").mkdir()
        (project / "evals/eval_writes.py").write_text(EVAL)
        loop = [sys.executable, __file__, "--bare", "--trials", str(args.trials)]
        ours = [str(Path(sys.executable).with_name("demeanor")), "run", "--trials", str(args.trials)]
        commands = {"bare loop": loop, **{level: [*ours, "--jobs", str(JOBS), "--sandbox", level] for level in BARS}}
        for _ in range(args.rounds):
            for name, command in commands.items():
                found[name].append(measure_alone(command, project))
                print(f"  {name:12} {found[name][-1].wall:7.2f} s {found[name][-1].cpu:7.2f} CPU s", flush=True)
    print(f"{args.trials} trials of `sh`, {JOBS} at a time: medians of the ratios to the bare loop")
    for level, bar in BARS.items():
        pairs = list(zip(found[level], found["bare loop"], strict=True))
        wall = statistics.median(one.wall / loop.wall for one, loop in pairs)
        cpu = statistics.median(one.cpu / loop.cpu for one, loop in pairs)
        print(f"  --sandbox {level:12} wall {wall:.2f}, CPU {cpu:.2f}; {verdict(max(wall, cpu), bar)}")
    pairs = list(zip(found["bubblewrap"], found["none"], strict=True))
    added = statistics.median(isolated.cpu - plain.cpu for isolated, plain in pairs) / args.trials
    print(f"  bubblewrap adds {added * 1000:.1f} ms of CPU time per trial")


def verdict(ratio: float, bar: float) -> str:
    """Whether a ratio is within its bar, in words."""
    return f"{'within' if ratio <= bar else 'ABOVE'} the bar of {bar}"


if __name__ == "__main__":
    main()
