"""The overhead of each adapter: the time from the start of an attempt to the start of the agent, and from its exit to
the verdict; and the time of a replay relative to the live run.

    python benchmarks/agents.py [--trials N] [--sandbox LEVEL] [--replay AGENT]

Each adapter starts a program that only prints the time, so the numbers contain what the adapter does (settings, files
in HOME, reading the log) and nothing of the agent. The overhead of the sandbox is measured with the adapter `command`
and subtracted. The replay needs an installed agent (default: goose).
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

from demeanor.agents.registry import CODING_AGENTS
from demeanor.cli.interrupts import make_ui
from demeanor.config.config import Config
from demeanor.core.values.progress import AttemptJudged, AttemptStarted, Progress
from demeanor.core.values.run_request import RunRequest
from demeanor.define.discovery import discover
from demeanor.runner.catalog import Catalog
from demeanor.runner.execution import execute, prepare
from demeanor.runner.plan import plan_evals

BAR_MS = 60.0
REPLAY_BAR = 1.3
STAMP = "#!/bin/sh\ndate +%s%N\ndate +%s%N\n"
EVAL = """\
from demeanor import USUALLY_PASSES, eval_test

@eval_test(USUALLY_PASSES, prompt="Save the note 'buy milk' in notes.txt.")
def saves_the_note(rig, result):
    assert "buy milk" in rig.workspace["notes.txt"].text
"""


def run(
    config: Config, subject: str, trials: int, sandbox: str, *, record: str | None = None, replay: str | None = None
) -> list[tuple[float, float, float]]:
    """For each trial: milliseconds before, during and after the program."""
    started: dict[str, int] = {}
    times: list[tuple[float, float, float]] = []

    def watch(event: Progress) -> None:
        now = time.time_ns()
        if isinstance(event, AttemptStarted):
            started[f"{event.eval}/{event.number}"] = now
        elif isinstance(event, AttemptJudged):
            judged = event.record
            stamps = [int(line) for line in judged.stdout.split() if line.isdecimal()]
            if len(stamps) == 2:
                begun = started[f"{judged.eval}/{judged.number}"]
                times.append(((stamps[0] - begun) / 1e6, judged.spent.seconds * 1e3, (now - stamps[1]) / 1e6))
            else:
                assert judged.verdict.outcome == "pass", judged
                times.append((0.0, judged.spent.seconds * 1e3, 0.0))

    request = RunRequest(
        subjects=(subject,), policy="all", trials=trials, jobs=1, sandbox=sandbox, seed=1, record=record, replay=replay
    )
    catalog = Catalog(config=config, environ=os.environ, replaying=replay is not None)
    plan = plan_evals(catalog, discover([str(config.root / "evals")]), request, os.environ)
    execute(prepare(catalog, plan, request, config.root / "results"), ui=make_ui(quiet=True), watch=watch)
    return times


def medians(times: list[tuple[float, float, float]]) -> tuple[float, float, float]:
    """The median of each column, without the first trial, which creates the template."""
    before, during, after = (statistics.median(column) for column in zip(*times[1:], strict=True))
    return before, during, after


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=15)
    parser.add_argument("--sandbox", default="bubblewrap")
    parser.add_argument("--replay", default="goose", metavar="AGENT")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "evals").mkdir()
        (root / "evals/eval_note.py").write_text(EVAL)
        stamp = root / "stamp"
        stamp.write_text(STAMP)
        stamp.chmod(0o755)
        agents: dict[str, dict[str, object]] = {name: {"program": str(stamp)} for name in CODING_AGENTS}
        agents["bare"] = {"adapter": "command", "command": [str(stamp), "{prompt}"]}
        config = Config(root=root, agents=agents, attempts=1, canary="off")
        bare = medians(run(config, "bare", args.trials, args.sandbox))
        print(f"{'sandbox alone':<16} before {bare[0]:6.1f} ms   after {bare[2]:6.1f} ms   ({args.sandbox})")
        worst = 0.0
        for name in CODING_AGENTS:
            before, _, after = medians(run(config, f"{name}:scripted", args.trials, args.sandbox))
            extra = (before - bare[0], after - bare[2])
            worst = max(worst, *extra)
            print(f"{name:<16} before {extra[0]:+6.1f} ms   after {extra[1]:+6.1f} ms   beyond the sandbox")
        print(f"{'worst':<16} {worst:.1f} ms (bar {BAR_MS:.0f})")
        plain = Config(root=root, attempts=1, canary="off")
        subject, cassettes = f"{args.replay}:scripted", str(root / "cassettes")
        live = medians(run(plain, subject, args.trials, args.sandbox, record=cassettes))[1]
        again = medians(run(plain, subject, args.trials, args.sandbox, replay=cassettes))[1]
        print(f"{args.replay} live {live:.0f} ms, replayed {again:.0f} ms: ratio {again / live:.2f} (bar {REPLAY_BAR})")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
