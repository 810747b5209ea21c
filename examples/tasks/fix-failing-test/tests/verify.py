"""Judges /app: hidden cases, the visible tests, and that those were left alone.

The agent's code runs in processes of its own, and only when the cases are in memory and off the disk. The reward is
written last, so that whatever such a process writes is written over.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

APP, TESTS = Path("/app"), Path("/tests")
CALLS = """
import json, sys
sys.path.insert(0, "/app")
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


def run(program, *arguments, text=""):
    """What a Python program printed, or None where it failed or took too long."""
    command = [sys.executable, "-I", "-c", program, *arguments]
    try:
        end = subprocess.run(
            command, input=text, capture_output=True, text=True, timeout=30, cwd="/", start_new_session=True, check=False
        )
    except (subprocess.TimeoutExpired, UnicodeDecodeError):
        return None
    print(end.stderr[-2000:])
    return end.stdout if end.returncode == 0 else None


def hidden_cases_pass(cases):
    """Whether each call answers as it should."""
    printed = run(CALLS, text=json.dumps([[name, arguments] for name, arguments, _ in cases]))
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
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(APP, folder, dirs_exist_ok=True, symlinks=True)
        copy = Path(folder, "test_ledger.py")
        copy.unlink(missing_ok=True)
        copy.write_text(tests, "utf-8")
        return run(SUITE, folder) is not None


def same_text(path, text):
    """Whether a file is there with this text."""
    try:
        return path.read_text("utf-8") == text
    except (OSError, ValueError):
        return False


cases = json.loads((TESTS / "cases.json").read_text("utf-8"))
visible = (TESTS / "visible_test_ledger.py").read_text("utf-8")
(TESTS / "cases.json").unlink()
answers = {
    "tests_untouched": same_text(APP / "test_ledger.py", visible),
    "visible_tests": visible_tests_pass(visible),
    "hidden_cases": hidden_cases_pass(cases),
}
rewards = {"reward": float(all(answers.values())), **{name: float(yes) for name, yes in answers.items()}}
reward = Path("/logs/verifier/reward.json")
reward.unlink(missing_ok=True)
reward.write_text(json.dumps(rewards), "utf-8")
