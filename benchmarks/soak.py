"""A long run of a small agent: does anything grow with the number of finished trials?

2,000 trials, 32 at a time, through the real command line. While it runs, Demeanor's memory, open files and processes
are read from /proc; afterwards, what is left of processes, temp folders, mounts and control groups is counted, and
whether every trial has one verdict. With `--hostile`, half of the trials misbehave: they are those of `demeanor doctor
--hostile` that need little time, in turn.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from statistics import median

from demeanor.commands.doctor.hostile_table import HOSTILE

GROWTH = 0.15
"""The accepted growth of memory from the first quarter to the end, as a fraction."""

FLOOR = 4 * 2**20
"""Growth by fewer bytes is ignored."""

EXPENSIVE = {"fills the memory", "fills the disk", "floods its output", "starts many processes"}
"""Hostile agents that would make this a measurement of the machine."""

TOO_SLOW = "agent_start"
"""The cause of a void trial whose agent ended, or reached its time limit, before it asked its model anything. Some
hostile agents do that, and any agent does on a machine that is busy enough, so these are counted and not a problem."""

CONFIG = """\
subjects = ["small:scripted"]
attempts = 1
timeout = 20
[agents.small]
adapter = "command"
dialect = "openai-chat"
command = ["sh", "agent.sh", "{prompt}"]
env = { BASE_URL = "{base_url}", TOKEN = "{token}", GIT_CONFIG_NOSYSTEM = "1" }
[models.forbidden]
script = "forbidden.yaml"
"""
EVAL = """\
@eval_test(USUALLY_PASSES, name={name!r}, prompt="Work.", files={files!r})
def check_{number}(rig, result):
    assert rig.workspace["out.txt"].text == "done"

"""


def evals(*, hostile: bool) -> tuple[str, int]:
    """A file of evals, and how many there are; as many well-behaved as hostile ones."""
    rows = [row for row in HOSTILE if hostile and row.name not in EXPENSIVE]
    programs = {f"works {number}": {"agent.sh": "printf done > out.txt"} for number in range(max(1, len(rows)))}
    for row in rows:
        start = "exec /usr/bin/python3 -I agent.py" if row.python else row.program
        programs[row.name] = {"agent.sh": start, "agent.py": row.program if row.python else "", "kept.txt": "kept\n"}
    text = "from demeanor import USUALLY_PASSES, eval_test\n\n"
    for number, (name, files) in enumerate(programs.items()):
        text += EVAL.format(name=name, files=files, number=number)
    return text, len(programs)


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


def stale_control_groups() -> int:
    """The number of control groups of supervisors that no longer exist."""
    names = [name for _, names, _ in os.walk("/sys/fs/cgroup") for name in names]  # passes over removed ones
    groups = [name.rpartition("-")[2] for name in names if name.startswith("demeanor-")]
    return sum(pid.isdigit() and not Path("/proc", pid).exists() for pid in groups)


def verdicts(project: Path) -> tuple[Counter[str], list[str]]:
    """How often each verdict was given, and the trials that have more than one or are void for another reason."""
    (ledger,) = project.glob("results/2*/ledger.jsonl")
    records = [json.loads(line) for line in ledger.read_text().splitlines()]
    trials = Counter((record["eval"], record["number"]) for record in records)
    odd = [f"{name} [{number}]: {n} verdicts" for (name, number), n in trials.items() if n > 1]
    outcomes = Counter(record["verdict"]["outcome"] for record in records)
    for record in records:
        verdict = record["verdict"]
        if verdict["outcome"] == "void" and verdict["cause"] != TOO_SLOW:
            odd.append(f"{record['eval']} [{record['number']}]: void({verdict['cause']}), {verdict['detail']}")
    return outcomes, odd


def watch(run: subprocess.Popen[bytes], project: Path, trials: int) -> list[tuple[int, int, int, int]]:
    """Samples while it runs: trials done, and the medians of memory, open files and processes since the last sample,
    because they go up and down with what agents do at the same time."""
    samples: list[tuple[int, int, int, int]] = []
    steps = [trials * part // 8 for part in range(1, 8)]
    since: list[tuple[int, int, int]] = []
    while run.poll() is None and steps:
        ledgers = list(project.glob("results/2*/ledger.jsonl"))
        done = ledgers[0].read_bytes().count(b"\n") if ledgers else 0
        try:
            since.append((memory(run.pid), open_files(run.pid), processes(str(project.parent))))
        except OSError:
            break
        if done >= steps[0]:
            steps = [step for step in steps if step > done]
            middle = [int(median(values)) for values in zip(*since, strict=True)]
            samples.append((done, middle[0], middle[1], middle[2]))
            most = max(one[0] for one in since) / 2**20
            told = f"{done:6} trials  {middle[0] / 2**20:7.1f} MB (most {most:.1f})  {middle[1]:4} files"
            print(f"{told}  {middle[2]:4} processes", flush=True)
            since = []
        time.sleep(0.5)
    return samples


def main() -> None:
    """Run it, print the samples, and exit with 1 if something grew or was left."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=32)
    parser.add_argument("--hostile", action="store_true", help="let half of the agents misbehave")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        project, temp = Path(folder, "project"), Path(folder, "tmp")
        (project / "evals").mkdir(parents=True)
        temp.mkdir()
        (project / "demeanor.toml").write_text(CONFIG)
        text, number = evals(hostile=args.hostile)
        (project / "evals/eval_soak.py").write_text(text)
        (project / "forbidden.yaml").write_text("rules:\n- say: Hello.\n")
        each = -(-args.trials // number)
        mounted, groups = mounts(), stale_control_groups()
        command = [
            sys.executable,
            "-m",
            "demeanor",
            "run",
            "--policy",
            "all",
            "--trials",
            str(each),
            "--jobs",
            str(args.jobs),
        ]
        started = time.monotonic()
        errors = Path(folder, "errors.txt")
        run = subprocess.Popen(
            command, cwd=project, env={**os.environ, "TMPDIR": str(temp)}, stdout=subprocess.DEVNULL,
            stderr=errors.open("wb"),
        )  # fmt: skip
        samples = watch(run, project, each * number)
        code = run.wait()
        if code not in {0, 1}:
            sys.exit(f"exit {code}: {errors.read_text()[-2000:]}")
        seconds = time.monotonic() - started
        left = {
            "processes": processes(folder),
            "temp folders": len(list(temp.iterdir())),
            "mounts": mounts() - mounted,
            "control groups": max(0, stale_control_groups() - groups),
        }
        found, odd = verdicts(project)
    print(f"{each * number} trials, {args.jobs} at a time: exit {code}, {seconds:.1f} s; left: {left}")
    print(f"verdicts: {dict(found)}", *odd[:20], sep="\n")
    early, late = samples[1], samples[-1]
    grew = late[1] - early[1]
    per_trial = grew / max(1, late[0] - early[0])
    print(f"memory: {grew / 2**20:+.1f} MB from trial {early[0]} to {late[0]} ({per_trial:.0f} bytes a trial)")
    problems = {
        f"exit code {code}": code != int(args.hostile),
        "trials without a verdict, or void": found.total() != each * number or bool(odd),
        "memory grew": grew > max(FLOOR, GROWTH * early[1]),
        "open files grew": late[2] > early[2] + 2 * args.jobs,
        "something was left": any(left.values()),
    }
    wrong = [problem for problem, happened in problems.items() if happened]
    print("PROBLEMS: " + ", ".join(wrong) if wrong else "flat, complete, and nothing was left")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
