"""Check a change within 90 seconds (`make quick`): format, lint, types, and the unit tests that are nearest to it.

The change is everything since the base commit (`BASE=COMMIT`; by default, where this branch left the default branch),
with what is not committed yet. Its tests are those of the packages that it changes, then those of the packages that
import a module that it changes. Journeys run only if they are part of the change. What the time is too short for is
named, and left to `make test`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import grimp

SECONDS = 80.0
"""After this time tests are interrupted, which takes a few seconds."""
ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
PACKAGE = "demeanor"
NO_TESTS = 5
"""The exit code of pytest where no test was selected."""


def main() -> int:
    """Check the change; 0 if nothing failed."""
    deadline = time.monotonic() + SECONDS
    base = base_commit()
    files = changed_files(base)
    if not files:
        say(f"nothing has changed since {base[:12]}; BASE=COMMIT compares with another commit")
        return 0
    say(f"Python files changed since {base[:12]}: {len(files)}")
    sources = [path for path in files if path.startswith(("src/", "benchmarks/"))]
    checks = [["ruff", "format", "--check", *files], ["ruff", "check", *files], ["mypy", *sources]]
    failed = [words[0] for words in checks if words[-1] in files and call(words)]
    near, far = nearest_tests(files)
    for folders, later in ((near, far), (far, [])):
        code = run_tests(folders, deadline) if folders else 0
        if code is None:
            say(f"time is over; not all tests were run of: {' '.join([*folders, *later])} (`make test` runs them)")
            break
        if code not in {0, NO_TESTS}:
            failed.append("tests")
            break
    say(f"FAILED: {', '.join(failed)}" if failed else "nothing that was run failed")
    return 1 if failed else 0


def say(text: str) -> None:
    """Print a line at once, so that it stands before what the next program prints."""
    sys.stdout.write(f"quick: {text}\n")
    sys.stdout.flush()


def base_commit() -> str:
    """`BASE` of the environment, or the commit where this branch left the default branch."""
    if base := os.environ.get("BASE"):
        return git("rev-parse", "--verify", f"{base}^{{commit}}").strip()
    for branch in ("origin/HEAD", "origin/main", "main"):
        done = subprocess.run(
            ["git", "merge-base", "HEAD", branch], cwd=ROOT, capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            return done.stdout.strip()
    return git("rev-parse", "HEAD").strip()


def changed_files(base: str) -> list[str]:
    """The Python files that were changed or added since a commit, and those that git does not track yet."""
    names = git("diff", "--name-only", "--diff-filter=d", "-z", base) + git(
        "ls-files", "--others", "--exclude-standard", "-z"
    )
    return sorted({name for name in names.split("\0") if name.endswith(".py")})


def git(*words: str) -> str:
    """What git prints; it says itself what is wrong."""
    return subprocess.run(["git", *words], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout


def nearest_tests(files: Iterable[str]) -> tuple[list[str], list[str]]:
    """The test files and folders of the changed packages, and those of the packages that import a changed module
    or its package, whose `__init__` offers what is used of it."""
    modules = {module_name(path) for path in files if path.startswith(f"src/{PACKAGE}/")}
    graph = grimp.build_graph(PACKAGE)
    entered = modules | {door for module in modules if (door := module.rpartition(".")[0]) != PACKAGE}
    importers = {name for module in entered & graph.modules for name in graph.find_modules_that_directly_import(module)}
    tests = {path for path in files if Path(path).name.startswith("test_")}
    near = {folder for module in modules if (folder := test_folder(module))}
    near |= {path for path in tests if not any(Path(path).is_relative_to(folder) for folder in near)}
    far = {folder for module in importers if (folder := test_folder(module))} - near
    return sorted(near), sorted(far)


def module_name(path: str) -> str:
    """`src/demeanor/store/runs/ledger.py` is `demeanor.store.runs.ledger`."""
    return path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def test_folder(module: str) -> str | None:
    """The folder with the tests of a module's package; of its sub-package for a command, a plug-in or a report."""
    parts = module.split(".")[1:]
    depth = 2 if parts[:1] in (["commands"], ["plugins"], ["reports"]) else 1
    folder = Path("tests", *parts[:depth])
    return str(folder) if parts and (ROOT / folder).is_dir() and len(parts) >= depth else None


def call(words: Sequence[str]) -> int:
    """Run a tool of this environment; its exit code."""
    return subprocess.run([BIN / words[0], *words[1:]], cwd=ROOT, check=False).returncode


def run_tests(folders: Sequence[str], deadline: float) -> int | None:
    """The exit code of pytest; None if it was interrupted because the time is over."""
    say(f"tests: {' '.join(folders)}")
    words = ["-m", "pytest", "--exitfirst", "-n", "auto", "-m", "not agents and not packages", *folders]
    with subprocess.Popen([sys.executable, *words], cwd=ROOT) as process:
        try:
            return process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            process.wait()
            return None


if __name__ == "__main__":
    sys.exit(main())
