"""Judges /app: the new option, the old behaviour, and whether the new tests can tell right programs from wrong ones.

The agent's code runs in a copy, in processes of its own and as nobody, to whom the tests and the reward are closed.
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

APP, TESTS, LOGS = Path("/app"), Path("/tests"), Path("/logs/verifier")
NOBODY = 65534
AS_NOBODY = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
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


def apart(folder):
    """Keep a folder to ourselves; only root can, and root is what a verifier usually is."""
    if os.geteuid() == 0:
        Path(folder).chmod(0o700)


@contextlib.contextmanager
def copy_of(folder):
    """A copy that anybody may use, of what is a file or a link."""
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place, "app")
        shutil.copytree(folder, copy, symlinks=True, ignore=odd)
        if os.geteuid() == 0:
            subprocess.run(["chown", "-hR", f"{NOBODY}:{NOBODY}", place], check=True)
        yield copy


def odd(parent, names):
    """Pipes, sockets and devices, which nothing waits for."""
    paths = [Path(parent, name) for name in names]
    return [path.name for path in paths if not (path.is_symlink() or path.is_dir() or path.is_file())]


def run(*command, folder):
    """Exit code and output of a Python program; None where it took too long or printed no text."""
    try:
        end = subprocess.run(
            [sys.executable, *map(str, command)],
            cwd=folder, capture_output=True, timeout=60, start_new_session=True, check=False, encoding="utf-8",
            **AS_NOBODY,
        )  # fmt: skip
    except (subprocess.TimeoutExpired, UnicodeDecodeError):
        return None
    return end.returncode, end.stdout


def expected(main, arguments, folder):
    """Exit code and output of the reference, which is trusted and therefore simply called."""
    printed = io.StringIO()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
            return main(arguments), printed.getvalue()
    finally:
        os.chdir("/")


def same(main, several):
    """Whether the agent's program prints and ends as the reference does, whatever it is given."""
    with copy_of(APP) as app, copy_of(HIDDEN) as folder:
        for arguments in several:
            wanted = told(expected(main, arguments, folder), arguments)
            found = told(run(app / "wordcount.py", *arguments, folder=folder), arguments)
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
        with copy_of(folder) as copy:
            return suite_passes(copy)


def passes_at_home():
    """Whether the agent's tests pass as it left them."""
    with copy_of(APP) as copy:
        return suite_passes(copy)


def text_of(path):
    """A file's text; empty where there is none."""
    try:
        return path.read_text("utf-8")
    except (OSError, ValueError):
        return ""


apart(TESTS)
apart(LOGS)
source = (TESTS / "reference.py").read_text("utf-8")
reference = {"__name__": "reference"}
exec(compile(source, "reference", "exec"), reference)
wrong = [path.read_text("utf-8") for path in (TESTS / "original.py", *sorted((TESTS / "mutants").glob("*.py")))]
tests = text_of(APP / "test_wordcount.py")
with tempfile.TemporaryDirectory() as HIDDEN:
    for name, text in FILES.items():
        Path(HIDDEN, name).write_text(text, "utf-8")
    answers = {
        "option_works": same(reference["main"], AS_JSON),
        "old_behaviour_kept": same(reference["main"], PLAIN),
        "tests_pass": passes_at_home() and passes(tests, source),
        "tests_notice": not any(passes(tests, one) for one in wrong),
    }
rewards = {"reward": float(all(answers.values())), **{name: float(yes) for name, yes in answers.items()}}
(LOGS / "reward.json").write_text(json.dumps(rewards), "utf-8")
