"""Judges /app: hidden cases, the visible tests, and that those were left alone.

The agent's code runs in a copy, in processes of its own and as nobody, to whom the tests and the reward are closed.
"""

import contextlib
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
CALLS = """
import json, sys
sys.path.insert(0, sys.argv[1])
import ledger
answers = []
for name, arguments in json.load(sys.stdin):
    try:
        answers.append(getattr(ledger, name)(*arguments))
    except Exception as error:
        answers.append({"error": type(error).__name__})
print()
print(json.dumps(answers))
"""
SUITE = """
import sys, unittest
sys.path.insert(0, sys.argv[1])
unittest.main(module="test_ledger", argv=["tests"])
"""


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


def run(program, folder, text=""):
    """What a Python program printed that was told a folder, or None where it failed or took too long."""
    command = [sys.executable, "-I", "-c", program, str(folder)]
    try:
        end = subprocess.run(
            command, input=text, capture_output=True, text=True, timeout=30, cwd="/", start_new_session=True,
            check=False, **AS_NOBODY,
        )  # fmt: skip
    except (subprocess.TimeoutExpired, UnicodeDecodeError):
        return None
    print(end.stderr[-2000:])
    return end.stdout if end.returncode == 0 else None


def hidden_cases_pass(cases):
    """Whether each call answers as it should."""
    with copy_of(APP) as folder:
        printed = run(CALLS, folder, text=json.dumps([[name, arguments] for name, arguments, _ in cases]))
    try:
        answers = json.loads((printed or "").splitlines()[-1])
    except (IndexError, ValueError):
        return False
    for (name, arguments, wanted), found in zip(cases, answers):
        if found != wanted:
            print(f"{name}{tuple(arguments)!r}: {found!r}, not {wanted!r}")
    return answers == [wanted for _, _, wanted in cases]


def visible_tests_pass(tests):
    """Whether the suite as it was handed out passes, beside the code as it is now."""
    with copy_of(APP) as folder:
        suite = folder / "test_ledger.py"
        suite.unlink(missing_ok=True)
        suite.write_text(tests, "utf-8")
        return run(SUITE, folder) is not None


def same_text(path, text):
    """Whether a file is there with this text."""
    try:
        return path.read_text("utf-8") == text
    except (OSError, ValueError):
        return False


apart(TESTS)
apart(LOGS)
cases = json.loads((TESTS / "cases.json").read_text("utf-8"))
visible = (TESTS / "visible_test_ledger.py").read_text("utf-8")
answers = {
    "tests_untouched": same_text(APP / "test_ledger.py", visible),
    "visible_tests": visible_tests_pass(visible),
    "hidden_cases": hidden_cases_pass(cases),
}
rewards = {"reward": float(all(answers.values())), **{name: float(yes) for name, yes in answers.items()}}
(LOGS / "reward.json").write_text(json.dumps(rewards), "utf-8")
