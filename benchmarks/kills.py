"""Kill Demeanor with SIGKILL at random moments, and look for what survives.

Each run has agents that leave daemons behind. It is killed at a random moment between its start and its end: alone
(`main`), or together with its fork server and supervisors (`all`). Two seconds later no process, temp folder, mount,
worktree or control group of the run may be left. Run it as root, or as an ordinary user with `--user`. The commands
that run agents take turns, unless `--command` names one.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

COMMANDS = {
    "run": ("demeanor", "run", "--jobs", "3"),
    "nightly": ("demeanor", "nightly", "--jobs", "3"),
    "gate": ("demeanor", "gate", "--jobs", "3"),
    "compare": ("demeanor", "compare", "--base", "HEAD~1", "--allow-identical", "--jobs", "3"),
    "validate": ("demeanor", "validate"),
    "pytest": ("pytest", "-p", "no:cacheprovider", "evals"),
}
"""The commands that run agents or checks; their exit code is 3 if they can't tell."""

GRACE = 2.0
"""Seconds after which nothing may be left."""

CONFIG = """\
subjects = ["leaver"]
sandbox = "{sandbox}"
canary = "off"
[agents.leaver]
adapter = "command"
command = ["sh", "agent.sh", "daemon-{mark}", "{{prompt}}"]
"""
EVAL = """\
from demeanor import ALWAYS_PASSES, eval_test

AGENT = "setsid sh -c 'while :; do sleep 0.1; done' $1 & printf hi > out.txt; sleep 0.3"

@eval_test(ALWAYS_PASSES, prompt="Write out.txt.", files={"agent.sh": AGENT}, trials=6)
def writes(rig, result):
    assert rig.workspace["out.txt"].text == "hi"
    assert rig.workspace.run("sh", "-c", "sleep 0.1; cat out.txt").stdout == "hi"
"""


def marked(mark: str) -> dict[int, str]:
    """The living processes whose command line or environment has a mark."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            command = (entry / "cmdline").read_bytes()
            state = (entry / "stat").read_bytes().rpartition(b")")[2].split()[0]
            if state not in b"ZX" and (mark.encode() in command or mark.encode() in (entry / "environ").read_bytes()):
                found[int(entry.name)] = command.replace(b"\0", b" ").decode("utf-8", "replace")[:100]
    return found


def own_processes(mark: str) -> list[int]:
    """The processes of Demeanor itself: the main one, the fork server and its supervisors."""
    return [pid for pid, command in marked(mark).items() if command.startswith(sys.executable)]


def start(folder: str, command: str, args: argparse.Namespace) -> subprocess.Popen[bytes]:
    """Start a command in a new folder, whose name is its mark."""
    project, temp = Path(folder, "project"), Path(folder, "tmp")
    (project / "evals").mkdir(parents=True)
    temp.mkdir()
    (project / "demeanor.toml").write_text(CONFIG.format(mark=Path(folder).name, sandbox=args.sandbox))
    (project / "evals/eval_writes.py").write_text(EVAL)
    (project / ".gitignore").write_text("results/\n")
    owner = os.getuid() if args.user is None else args.user
    for path in (Path(folder), *Path(folder).rglob("*")):
        shutil.chown(path, owner, owner)  # git works in nobody else's folder
    for path in (Path(folder), project, temp):
        path.chmod(0o777)  # agents of root run as another user
    user = {} if args.user is None else {"user": args.user, "group": args.user, "extra_groups": []}
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    change = (*identity, "commit", "-q", "--allow-empty", "-m", "Change")
    for words in (("init", "-q"), ("add", "."), (*identity, "commit", "-qm", "Start"), change):
        subprocess.run(["git", *words], cwd=project, check=True, **user)
    return subprocess.Popen(
        [sys.executable, "-m", *COMMANDS[command]],
        cwd=project,
        env={**os.environ, "TMPDIR": str(temp), "DEMEANOR_CACHE": args.cache},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **user,
    )


def undisturbed(command: str, args: argparse.Namespace) -> float:
    """How long a command takes that is not killed. The first one fills a new cache of probe results, and does not
    count."""
    seconds = 0.0
    for _ in range(1 if any(Path(args.cache).iterdir()) else 2):
        with tempfile.TemporaryDirectory(prefix="kills-", ignore_cleanup_errors=True) as folder:
            began = time.monotonic()
            if (code := start(folder, command, args).wait()) not in (0, 3):
                sys.exit(f"{command} fails when it is not killed: exit {code}")
            seconds = time.monotonic() - began
    return seconds


def one_kill(number: int, command: str, args: argparse.Namespace, moment: float) -> list[str]:
    """Start a command, kill it, and return what is left."""
    with tempfile.TemporaryDirectory(prefix="kills-", ignore_cleanup_errors=True) as folder:
        mark = Path(folder).name
        run = start(folder, command, args)
        if number % 2:
            time.sleep(moment)
        else:  # while agents run: the start takes most of the time
            while run.poll() is None and not marked(f"daemon-{mark}"):
                time.sleep(0.1)  # a look at all processes takes a while
            time.sleep(moment / 10)
        victims = own_processes(mark) if args.who == "all" else [run.pid]
        for pid in victims:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        run.kill()
        run.wait()
        deadline = time.monotonic() + args.grace
        while (left := marked(mark)) and time.monotonic() < deadline:
            time.sleep(0.2)
        problems = [f"process {pid}: {command}" for pid, command in left.items()]
        problems += [f"mount {line}" for line in Path("/proc/mounts").read_text().splitlines() if mark in line]
        if args.who == "main":
            worktrees = subprocess.run(
                ["git", "-c", "safe.directory=*", "worktree", "list"],
                cwd=Path(folder, "project"),
                capture_output=True,
                text=True,
                check=True,
            )
            problems += [f"worktree {line}" for line in worktrees.stdout.splitlines()[1:]]
            problems += [f"folder {path.name}" for path in Path(folder, "tmp").glob("demeanor-*")]
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
    if problems:
        print(f"kill {number} of {command} after {moment:.2f} s: {'; '.join(problems)}", flush=True)
    return problems


def main() -> None:
    """Kill many runs, print what was left, and exit with 1 if anything was."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--command", choices=COMMANDS, help="what is killed (default: all of them in turn)")
    parser.add_argument("--sandbox", default="bubblewrap")
    parser.add_argument("--who", choices=["main", "all"], default="main", help="which processes are killed")
    parser.add_argument("--user", type=int, help="the uid of the user to run as, if this is root")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=4, help="runs at the same time")
    parser.add_argument("--grace", type=float, default=GRACE, help="seconds after which nothing may be left")
    parser.add_argument("--cache", help="an existing folder for probe results (default: a new one)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kills-cache-") as cache:
        Path(cache).chmod(0o777)
        args.cache = args.cache or cache
        sys.exit(kill_many(args))


def kill_many(args: argparse.Namespace) -> bool:
    """Kill many runs; whether anything was left."""
    commands = [args.command] if args.command else list(COMMANDS)
    longest = {command: undisturbed(command, args) for command in commands}
    rng, lock = random.Random(args.seed), threading.Lock()
    done = 0

    def kill(number: int) -> bool:
        nonlocal done
        command = commands[number // 2 % len(commands)]  # the number says also when it is killed
        with lock:
            moment = rng.uniform(0.0, longest[command])
        found = one_kill(number, command, args, moment)
        with lock:
            done += 1
            if done % 100 == 0:
                print(f"{done} kills", flush=True)
        return bool(found)

    with ThreadPoolExecutor(args.jobs) as pool:
        failures = sum(pool.map(kill, range(1, args.count + 1)))
    who = f"uid {args.user if args.user is not None else os.getuid()}"
    print(
        f"{args.count} kills ({args.who}) of {args.sandbox} as {who}: something was left after {failures} "
        f"({', '.join(f'{command} takes {seconds:.1f} s' for command, seconds in longest.items())})"
    )
    return failures > 0


if __name__ == "__main__":
    main()
