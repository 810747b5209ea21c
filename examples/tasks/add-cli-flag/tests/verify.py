"""Judges /app: the new option, the old behaviour, and whether the new tests can tell right programs from wrong ones.

The agent's code runs in processes of its own; all that they could learn from is in memory and off the disk before. The
reward is written last, so that whatever such a process writes is written over.
"""

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

APP, TESTS = Path("/app"), Path("/tests")
FILES = {
    "x.txt": "alpha beta\n\ngamma\n",
    "y with blank.txt": "no newline at the end",
    "empty.txt": "",
    "umlaut.txt": "äöü ß\n",
}
PLAIN = [
    ["x.txt"],
    ["y with blank.txt", "x.txt"],
    ["empty.txt"],
    ["umlaut.txt", "x.txt", "x.txt"],
    ["x.txt", "none.txt"],
]
AS_JSON = [["x.txt", "--json"], *(["--json", *files] for files in PLAIN)]
SUITE = "import unittest; unittest.main(module='test_wordcount', argv=['tests'], failfast=True)"


def run(*command, folder):
    """Exit code and output of a command; None where it took too long or printed no text."""
    try:
        end = subprocess.run(
            [sys.executable, *command],
            cwd=folder, capture_output=True, timeout=60, start_new_session=True, check=False, encoding="utf-8",
        )  # fmt: skip
    except (subprocess.TimeoutExpired, UnicodeDecodeError):
        return None
    return end.returncode, end.stdout


def expected(main, arguments, folder):
    """Exit code and output of the reference, which is trusted and therefore simply called."""
    printed = io.StringIO()
    os.chdir(folder)
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        return main(arguments), printed.getvalue()


def same(main, several, folder):
    """Whether the agent's program prints and ends as the reference does, whatever it is given."""
    for arguments in several:
        wanted = told(expected(main, arguments, folder), arguments)
        found = told(run(APP / "wordcount.py", *arguments, folder=folder), arguments)
        if found != wanted:
            print(f"wordcount {' '.join(arguments)}: {found!r}, not {wanted!r}")
            return False
    return True


def told(end, arguments):
    """What counts of an end: with the option the JSON value, since its blanks do not matter."""
    if end is None or "--json" not in arguments or end[0] != 0:
        return end
    try:
        return end[0], json.loads(end[1])
    except ValueError:
        return end[0], f"no JSON: {end[1]!r}"


def suite_passes(folder):
    """Whether the tests in a folder pass."""
    end = run("-c", SUITE, folder=folder)
    return end is not None and end[0] == 0


def passes(tests, program):
    """Whether tests pass beside a program and nothing else."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_wordcount.py").write_text(tests, "utf-8")
        Path(folder, "wordcount.py").write_text(program, "utf-8")
        return suite_passes(folder)


def passes_at_home():
    """Whether the agent's tests pass where it left them."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(APP, folder, dirs_exist_ok=True, symlinks=True)
        return suite_passes(folder)


def text_of(path):
    """A file's text; empty where there is none."""
    try:
        return path.read_text("utf-8")
    except (OSError, ValueError):
        return ""


source = (TESTS / "reference.py").read_text("utf-8")
reference = {"__name__": "reference"}
exec(compile(source, "reference", "exec"), reference)
wrong = [path.read_text("utf-8") for path in (TESTS / "original.py", *sorted((TESTS / "mutants").glob("*.py")))]
shutil.rmtree(TESTS / "mutants")
(TESTS / "reference.py").unlink()
tests = text_of(APP / "test_wordcount.py")
with tempfile.TemporaryDirectory() as work:
    for name, text in FILES.items():
        Path(work, name).write_text(text, "utf-8")
    answers = {
        "option_works": same(reference["main"], AS_JSON, work),
        "old_behaviour_kept": same(reference["main"], PLAIN, work),
        "tests_pass": passes_at_home() and passes(tests, source),
        "tests_notice": not any(passes(tests, one) for one in wrong),
    }
    os.chdir("/")
rewards = {"reward": float(all(answers.values())), **{name: float(yes) for name, yes in answers.items()}}
reward = Path("/logs/verifier/reward.json")
reward.unlink(missing_ok=True)
reward.write_text(json.dumps(rewards), "utf-8")
