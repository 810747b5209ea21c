"""Works (c), (d) and (f): start-up, what is done with a stored run of many trials, and its size on disk."""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.comparison.measure import Failed, environment, measure_alone
from benchmarks.comparison.peers import Peer, peer_environment
from benchmarks.comparison.trials import demeanor, project

_EVALS, _PER_FILE = 500, 20
_EVAL = """
@eval_test(USUALLY_PASSES, prompt="Write out.txt.")
def writes_{number}(rig, result):
    assert rig.workspace["out.txt"].text == "hi"
"""


def medians(commands: Mapping[str, Sequence[str]], cwd: Path, rounds: int) -> dict[str, float]:
    """The median seconds of each command; they alternate, so that a busy moment affects all of them."""
    found: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            found[name].append(measure_alone(command, cwd).wall)
    return {name: statistics.median(times) for name, times in found.items()}


def start_up(rounds: int) -> dict[str, float]:
    """Seconds of commands that hardly do anything."""
    with tempfile.TemporaryDirectory() as name:
        folder = project(Path(name), "sh", "")
        many = folder / "many"
        many.mkdir()
        for first in range(0, _EVALS, _PER_FILE):
            body = "".join(_EVAL.format(number=number) for number in range(first, first + _PER_FILE))
            (many / f"eval_{first}.py").write_text(f"from demeanor import USUALLY_PASSES, eval_test\n{body}")
        run = [demeanor(), "run", "evals", "--trials", "1", "--sandbox", "none"]
        commands: dict[str, Sequence[str]] = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "demeanor --version": [demeanor(), "--version"],
            f"demeanor validate --list, {_EVALS} evals": [demeanor(), "validate", "--list", "many"],
            "demeanor run, one trial": run,
        }
        medians(commands, folder, 1)  # writes bytecode, and fills the caches of the system
        return medians(commands, folder, rounds)


def peer_start_up(peers: Sequence[Peer], rounds: int) -> dict[str, float]:
    """Seconds of the cheapest command of other tools."""
    found: dict[str, float] = {}
    for peer in peers:
        program, *rest = peer.version_command
        with tempfile.TemporaryDirectory() as name:
            work, times = Path(name), []
            try:
                for _ in range(rounds + 1):
                    command = [str(peer.home / program), *rest]
                    times.append(measure_alone(command, work, peer_environment(work, 1, "[]")).wall)
            except Failed as error:
                print(f"  {peer.name}: {error}", file=sys.stderr)
                continue
        found[" ".join((peer.name, *(word for word in rest if word.startswith("--"))))] = statistics.median(times[1:])
    return found


def stored_run(folder: Path, rounds: int) -> dict[str, float]:
    """Seconds of commands on the run in a project's results."""
    commands: dict[str, Sequence[str]] = {
        "demeanor report": [demeanor(), "report", "latest"],
        "demeanor report --eval": [demeanor(), "report", "--eval", "writes", "--kind", "all"],
        "demeanor trace of one trial": [demeanor(), "trace", "writes/writer/7"],
        "demeanor store export, CSV": [demeanor(), "store", "export", "--format", "csv", "--output", "trials.csv"],
        "demeanor store export, JSON": [demeanor(), "store", "export", "--format", "json", "--output", "run.json"],
    }
    found: dict[str, float] = {}
    for name, command in commands.items():
        times = []
        for _ in range(rounds):
            (folder / "bench.log").unlink(missing_ok=True)
            try:
                times.append(measure_alone(command, folder, environment()).wall)
            except Failed as error:
                print(f"  {name}: {error}", file=sys.stderr)
                break
        if times:
            found[name] = statistics.median(times)
    return found


def bytes_per_trial(folder: Path, trials: int) -> tuple[float, float]:
    """Bytes of everything that a run stored, per trial: as file sizes, and as the file system allocates them."""
    stats = [path.lstat() for path in (folder / "results").rglob("*") if path.is_file() and not path.is_symlink()]
    return sum(one.st_size for one in stats) / trials, sum(one.st_blocks * 512 for one in stats) / trials
