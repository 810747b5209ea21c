"""A long run of a small agent: does anything grow with the number of finished trials?

2,000 trials, 32 at a time, through the real command line. While it runs, Demeanor's memory, open files and processes
are read from /proc; afterwards, what is left of processes, temp folders and mounts is counted.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

GROWTH = 0.15
"""The accepted growth of memory from the first quarter to the end, as a fraction."""

FLOOR = 4 * 2**20
"""Growth by fewer bytes is ignored."""

CONFIG = """\
subjects = ["writer"]
[agents.writer]
adapter = "command"
command = ["sh", "-c", "printf hi > out.txt; echo done", "{prompt}"]
"""
EVAL = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Write out.txt.")
def writes(rig, result):
    assert rig.workspace["out.txt"].text == "hi"
"""


def memory(pid: int) -> int:
    """The resident memory of a process in bytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def open_files(pid: int) -> int:
    """The number of open files of a process."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def processes(mark: str) -> int:
    """The number of processes of the run, by folder, environment or command line."""
    found = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                told = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
                found += mark.encode() in told + str((entry / "cwd").readlink()).encode()
            except OSError:
                continue
    return found


def mounts() -> int:
    """The number of mounts."""
    return len(Path("/proc/self/mounts").read_text().splitlines())


def watch(run: subprocess.Popen[bytes], project: Path, trials: int) -> list[tuple[int, int, int, int]]:
    """Samples while it runs: trials done, memory, open files, processes."""
    samples: list[tuple[int, int, int, int]] = []
    steps = [trials * part // 8 for part in range(1, 8)]
    while run.poll() is None and steps:
        ledgers = list(project.glob("results/2*/ledger.jsonl"))
        done = ledgers[0].read_bytes().count(b"\n") if ledgers else 0
        if done >= steps[0]:
            steps = [step for step in steps if step > done]
            try:
                samples.append((done, memory(run.pid), open_files(run.pid), processes(str(project.parent))))
            except OSError:
                break
            told = f"{done:6} trials  {samples[-1][1] / 2**20:7.1f} MB  {samples[-1][2]:4} files"
            print(f"{told}  {samples[-1][3]:4} processes", flush=True)
        time.sleep(0.05)
    return samples


def main() -> None:
    """Run it, print the samples, and exit with 1 if something grew or was left."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=32)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        project, temp = Path(folder, "project"), Path(folder, "tmp")
        (project / "evals").mkdir(parents=True)
        temp.mkdir()
        (project / "demeanor.toml").write_text(CONFIG)
        (project / "evals/eval_writes.py").write_text(EVAL)
        mounted = mounts()
        command = [sys.executable, "-m", "demeanor", "run", "--trials", str(args.trials), "--jobs", str(args.jobs)]
        started = time.monotonic()
        run = subprocess.Popen(
            command, cwd=project, env={**os.environ, "TMPDIR": str(temp)}, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        samples = watch(run, project, args.trials)
        code = run.wait()
        seconds = time.monotonic() - started
        left = {
            "processes": processes(folder),
            "temp folders": len(list(temp.iterdir())),
            "mounts": mounts() - mounted,
        }
    print(f"{args.trials} trials, {args.jobs} at a time: exit {code}, {seconds:.1f} s; left: {left}")
    early, late = samples[1], samples[-1]
    grew = late[1] - early[1]
    flat = grew <= max(FLOOR, GROWTH * early[1])
    per_trial = grew / max(1, late[0] - early[0])
    print(f"memory: {grew / 2**20:+.1f} MB from trial {early[0]} to {late[0]} ({per_trial:.0f} bytes a trial)")
    steady = late[2] <= early[2] + 2 * args.jobs
    fine = code == 0 and flat and steady and not any(left.values())
    print("flat" if fine else "SOMETHING GREW OR WAS LEFT")
    sys.exit(not fine)


if __name__ == "__main__":
    main()
