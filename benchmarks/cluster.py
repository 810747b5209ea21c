"""A run on a Dask cluster, compared with the same run on this machine, and the throughput of the executor alone.

1. 500 trials of a command agent on 2 local workers with 1 slot each, and on this machine with 2 jobs: wall time from
   the first attempt to the last, CPU time of the conductor per trial.
2. The same with 5,000 trials: the conductor's memory.
3. 10,000 attempts that do nothing on 4 workers: attempts per second, none lost, none made twice.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from demeanor.config.config import read_config
from demeanor.core.values.executor_spec import ExecutorSpec
from demeanor.core.values.record import Record
from demeanor.core.values.run_request import RunRequest
from demeanor.core.values.trial import Plan, Trial
from demeanor.core.values.verdict import Pass
from demeanor.plugins.cluster.budget_ledger import BudgetLedger
from demeanor.plugins.cluster.cluster_run import ClusterRun
from demeanor.plugins.cluster.dask_executor import DaskExecutor
from demeanor.plugins.cluster.run_setup import run_setup
from demeanor.plugins.cluster.spec import ClusterSpec
from demeanor.runner.catalog import Catalog
from demeanor.runner.execution import execute_async, prepare
from demeanor.runner.plan import plan_evals
from demeanor.runner.schedule import Stop
from demeanor.runner.selection import collect_evals
from demeanor.runner.template import TemplateCache

WALL_BAR = 1.25
CPU_BAR_MS = 6.0
MEMORY_BAR = 1.1
RATE_BAR = 150.0
CONFIG = """\
subjects = ["writer"]
sandbox = "none"
[agents.writer]
adapter = "command"
command = ["sh", "-c", "{script}", "{{prompt}}"]
"""
EVAL = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Write out.txt.")
def writes(rig, result):
    assert rig.workspace["out.txt"].text == "hi"
"""
PASS = Pass(findings=())
WRITE = "sleep {seconds}; printf hi > out.txt"
COUNT = "echo >> {folder}/made"


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """One run of many trials."""

    seconds: float
    """From the first attempt to the end of the last one."""

    cpu_ms: float
    """CPU time of the conductor per trial in that time, in milliseconds."""

    memory_mb: float
    """The conductor's resident memory at the end."""

    passed: int
    """Trials that passed."""


def project(folder: Path, script: str) -> Path:
    """A project whose agent runs a script."""
    (folder / "evals").mkdir(parents=True)
    (folder / "demeanor.toml").write_text(CONFIG.format(script=script))
    (folder / "evals/eval_writes.py").write_text(EVAL)
    return folder


def planned(folder: Path, spec: ExecutorSpec, trials: int) -> tuple[Catalog, Plan, RunRequest]:
    """The catalog, the plan and the request of a run of so many trials."""
    catalog = Catalog(config=replace(read_config(folder, None), executor=spec), environ=os.environ)
    request = RunRequest(trials=trials, policy="all", jobs=spec.workers if isinstance(spec, ClusterSpec) else 2)
    return catalog, plan_evals(catalog, collect_evals(catalog.config), request, os.environ), request


def memory_mb() -> float:
    """The resident memory of this process now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


async def measured(folder: Path, spec: ExecutorSpec, trials: int) -> Measured:
    """Run the trials, as `demeanor run` does, and measure from the first attempt on."""
    catalog, plan, request = planned(folder, spec, trials)
    run = prepare(catalog, plan, request, folder / "results")
    clock: list[tuple[float, float]] = []
    ended = time.perf_counter(), time.process_time()
    outcomes: Counter[str] = Counter()

    def watch(news: object) -> None:
        nonlocal ended
        if not clock:
            clock.append((time.perf_counter(), time.process_time()))
        if (record := getattr(news, "record", None)) is not None:
            outcomes[record.verdict.outcome] += 1
            ended = time.perf_counter(), time.process_time()

    await execute_async(run, watch=watch, stop=Stop())
    (started, cpu), (end, cpu_end) = clock[0], ended
    return Measured(
        seconds=end - started,
        cpu_ms=(cpu_end - cpu) / trials * 1000,
        memory_mb=memory_mb(),
        passed=outcomes["pass"],
    )


async def throughput(folder: Path, spec: ClusterSpec, trials: int) -> tuple[float, int, int, float, float]:
    """Attempts per second of the executor alone: nothing is judged or stored. Also: results, and programs started."""
    catalog, plan, request = planned(folder, spec, trials)
    templates = TemplateCache(folder / "templates")
    executor = DaskExecutor(
        ClusterRun(setup=run_setup(catalog, spec, plan, request, seed=1), spec=spec),
        template=templates.get,
        cassette=None,
        folder=folder / "received",
        ledger=BudgetLedger({}),
    )
    seen: Counter[str] = Counter()
    await executor.start(lambda reason: None)
    try:
        places = executor.free_slots()
        started, cpu = time.perf_counter(), time.process_time()

        async def one(trial: Trial) -> None:
            try:
                capture = await executor.run_attempt(trial, 1)
                seen[capture.trial] += not capture.breakdown
                executor.settle(
                    Record(
                        eval=trial.eval.name, subject=str(trial.subject), number=trial.number, attempt=1, verdict=PASS
                    )
                )
            finally:
                places.release()

        async with asyncio.TaskGroup() as group:
            for trial in plan.trials():
                await places.acquire()
                group.create_task(one(trial))
        seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    finally:
        await executor.stop()
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    others = children.ru_utime + children.ru_stime
    made = len((folder / "made").read_bytes())
    return trials / seconds, len(seen), made, cpu / trials * 1000, others / trials * 1000


def told(name: str, value: float, bar: float, unit: str, *, least: bool = False) -> bool:
    """Print a figure beside its bar; whether it is met."""
    met = value >= bar if least else value <= bar
    side = "at least" if least else "at most"
    print(f"{name}: {value:.2f}{unit}, bar {side} {bar:g}{unit}: {'met' if met else 'MISSED'}")
    return met


def in_new_process(what: str, trials: int, folder: Path, *more: str) -> list[float]:
    """Measure in a new interpreter, so that memory and CPU time are those of one run."""
    command = [sys.executable, __file__, "--measure", what, "--trials", str(trials), "--folder", str(folder), *more]
    ran = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: list[float] = json.loads(ran.stdout.splitlines()[-1])
    return found


def measure(args: argparse.Namespace) -> list[float]:
    """One measurement, in this process."""
    gc.set_threshold(150_000, 20, 20)  # as the command line does
    cluster = ClusterSpec(workers=4 if args.measure == "throughput" else 2, slots=1)
    if args.measure == "throughput":
        folder = project(args.folder, COUNT.format(folder=args.folder))
        return list(asyncio.run(throughput(folder, cluster, args.trials)))
    folder = project(args.folder, WRITE.format(seconds=args.seconds))
    spec = cluster if args.measure == "cluster" else ExecutorSpec()
    found = asyncio.run(measured(folder, spec, args.trials))
    return [found.seconds, found.cpu_ms, found.memory_mb, found.passed]


def main() -> None:
    """Measure, and print every figure beside its bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=500, help="the second run has ten times as many")
    parser.add_argument("--attempts", type=int, default=10_000, help="attempts that do nothing")
    parser.add_argument("--seconds", type=float, default=0.2, help="how long the agent takes")
    parser.add_argument("--measure", choices=("local", "cluster", "throughput"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(measure(args)))
        return
    met = []
    with tempfile.TemporaryDirectory() as name:
        folder, seconds = Path(name), ("--seconds", str(args.seconds))
        local = in_new_process("local", args.trials, folder / "local", *seconds)
        few = in_new_process("cluster", args.trials, folder / "few", *seconds)
        print(
            f"{args.trials} trials: {local[0]:.1f} s on this machine, {few[0]:.1f} s on 2 workers; {few[3]:.0f} passed"
        )
        met.append(told("wall time", few[0] / local[0], WALL_BAR, "x"))
        met.append(told("CPU of the conductor per trial", few[1], CPU_BAR_MS, " ms"))
        many = in_new_process("cluster", 10 * args.trials, folder / "many", "--seconds", "0")
        print(f"memory: {few[2]:.0f} MB after {args.trials} trials, {many[2]:.0f} MB after ten times as many")
        met.append(told("memory", many[2] / few[2], MEMORY_BAR, "x"))
        met.append(many[3] == 10 * args.trials)
        rate, results, made, own, others = in_new_process("throughput", args.attempts, folder / "none")
        print(f"{args.attempts} attempts: {results:.0f} results, {made:.0f} programs started")
        print(f"CPU per attempt: conductor {own:.1f} ms, all other processes {others:.1f} ms, their start included")
        met.append(told("attempts", rate, RATE_BAR, " per second", least=True))
        met.append(results == made == args.attempts)
    raise SystemExit(0 if all(met) else 1)


if __name__ == "__main__":
    main()
