"""The speed of replay: 200 recorded two-turn trials of the native agent, compared with the scripted model.

    python benchmarks/replay.py [--trials N] [--rounds N]

The trials are recorded once. Then both kinds of run alternate, each in a new interpreter, and the median ratio counts.
CPU times are printed too, because wall time is unreliable on a busy machine. A round with a failed trial is an error.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BAR = 1.3
JOBS = 8
EVAL = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Save the note 'buy milk' in notes.txt.")
def saves_the_note(rig, result):
    assert "buy milk" in rig.workspace["notes.txt"].text
"""


def timed(project: Path, trials: int, *words: str) -> tuple[float, float]:
    """The wall time and the CPU time of a run, in seconds."""
    command = [sys.executable, "-m", "demeanor", "run", "--trials", str(trials), "--jobs", str(JOBS), *words]
    started, used = time.perf_counter(), _cpu()
    subprocess.run(command, cwd=project, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - started, _cpu() - used


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    """Measure both, alternately, and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        (project / "evals").mkdir()
        (project / "evals/eval_note.py").write_text(EVAL)
        timed(project, args.trials, "--record")
        rounds = [(timed(project, args.trials), timed(project, args.trials, "--replay")) for _ in range(args.rounds)]
    for (scripted, scripted_cpu), (replayed, replayed_cpu) in rounds:
        print(
            f"scripted {scripted:6.2f} s   replayed {replayed:6.2f} s   ratio {replayed / scripted:.2f}"
            f"   (CPU {scripted_cpu:6.2f} s, {replayed_cpu:6.2f} s, {replayed_cpu / scripted_cpu:.2f})"
        )
    ratio = statistics.median(replayed / scripted for (scripted, _), (replayed, _) in rounds)
    within = ratio <= BAR
    print(f"{args.trials} trials, {JOBS} at a time: median ratio {ratio:.2f}, {'within' if within else 'ABOVE'} {BAR}")
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
