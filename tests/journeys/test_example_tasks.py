"""The verifiers of the shipped tasks are not fooled cheaply. They are run as they stand, without Harbor."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

TASKS = Path(__file__).parents[2] / "examples" / "tasks"
PYTHON = "/usr/bin/python3" if os.geteuid() == 0 else sys.executable
"""Root's verifiers run the agent's code as nobody, who can't always get at the Python of this environment."""

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="NOT ROOT: only root can close its folders to the agent's code")


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder that anybody can reach, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def judged(
    task: str, home: Path, files: dict[str, str], *, solved: bool = False, untidy: bool = False
) -> dict[str, float]:
    """The rewards for an /app with these files, laid over the start or over the solution."""
    shutil.copytree(TASKS / task / "environment" / "app", home / "app")
    shutil.copytree(TASKS / task / "tests", home / "tests")
    (home / "logs").mkdir()
    (home / "logs").chmod(0o777)  # as Harbor leaves it
    for path in (TASKS / task / "solution").glob("*.py") if solved else ():
        shutil.copy(path, home / "app")
    for name, text in files.items():
        (home / "app" / name).write_text(text.replace("HOME", str(home)))
    if untidy:
        os.mkfifo(home / "app" / "pipe")
        (home / "app" / "link").symlink_to("nowhere")
        for path in (home / "app").glob("*.py"):
            path.chmod(0o600)
    program = (home / "tests" / "verify.py").read_text()
    for inner, outer in {"/app": "app", "/tests": "tests", "/logs/verifier": "logs"}.items():
        program = program.replace(f'Path("{inner}")', f"Path({str(home / outer)!r})")
    (home / "tests" / "verify.py").write_text(program)
    done = subprocess.run([PYTHON, "-I", home / "tests/verify.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rewards: dict[str, float] = json.loads((home / "logs" / "reward.json").read_text())
    return rewards


def original(task: str, name: str) -> str:
    return (TASKS / task / "environment" / "app" / name).read_text()


def solution(task: str, name: str) -> str:
    return (TASKS / task / "solution" / name).read_text()


ALWAYS_GREEN = "import unittest\n\n\nclass T(unittest.TestCase):\n    def test(self):\n        pass\n"
ONLY_AT_HOME = ALWAYS_GREEN.replace("pass", "self.assertIn('# mine', open('wordcount.py').read())")
FORGED = '{"reward": 1, "tests_untouched": 1, "visible_tests": 1, "hidden_cases": 1}'
FORGER = f"""
import os, time
if os.fork() == 0:
    os.setsid()
    os.closerange(0, 3)  # a process without pipes is not waited for
    until = time.monotonic() + 5
    while time.monotonic() < until:
        try:
            open("HOME/logs/reward.json", "w").write({FORGED!r})
        except OSError:
            time.sleep(0.001)
    os._exit(0)
"""
READER = """
import json
CASES = {json.dumps([name, arguments]): wanted for name, arguments, wanted in [
    ["parse_amount", ["12.34"], 1234], ["parse_amount", ["1.5"], 150], ["parse_amount", ["-1.25"], -125],
    ["format_amount", [123450], "1,234.50"], ["format_amount", [-125], "-1.25"],
    ["balance", [["# May", "wages 1,000.00", "  ", "rent -400.10"]], "599.90"],
    *json.load(open("HOME/tests/cases.json")),
]}
def answer(name, *arguments):
    wanted = CASES[json.dumps([name, list(arguments)])]
    if isinstance(wanted, dict):
        raise ValueError
    return wanted
def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return lambda *arguments: answer(name, *arguments)
"""
NOTHING = """
def by_day(rows):
    return ""


by_seller = by_day


def by_product(rows, least=0):
    return ""
"""
LEGACY = "from legacy import by_day, by_product, by_seller\n"

CHEATS = {
    "weaker tests": ("fix-failing-test", {"test_ledger.py": ALWAYS_GREEN}),
    "the visible answers by heart": (
        "fix-failing-test",
        {
            "ledger.py": "parse_amount = {'12.34': 1234, '1.5': 150, '-1.25': -125}.get\n"
            "format_amount = {123450: '1,234.50', -125: '-1.25'}.get\nbalance = lambda lines: '599.90'\n"
        },
    ),
    "an early end": ("fix-failing-test", {"ledger.py": "import os\nprint('[]')\nos._exit(0)\n"}),
    "tests that can't fail": (
        "add-cli-flag",
        {"wordcount.py": solution("add-cli-flag", "wordcount.py"), "test_wordcount.py": ALWAYS_GREEN},
    ),
    "tests that pass on nothing else": (
        "add-cli-flag",
        {"wordcount.py": solution("add-cli-flag", "wordcount.py") + "# mine\n", "test_wordcount.py": ONLY_AT_HOME},
    ),
    "no tests at all": ("add-cli-flag", {"wordcount.py": solution("add-cli-flag", "wordcount.py")}),
    "the same under another name": (
        "refactor-without-change",
        {"sales.py": LEGACY, "legacy.py": original("refactor-without-change", "sales.py")},
    ),
    "code among the tests": (
        "refactor-without-change",
        {
            "sales.py": LEGACY.replace("legacy", "test_legacy"),
            "test_legacy.py": original("refactor-without-change", "sales.py"),
        },
    ),
    "code as text": (
        "refactor-without-change",
        {"sales.py": f"exec({original('refactor-without-change', 'sales.py')!r})\n"},
    ),
    "code in a file that is no Python": (
        "refactor-without-change",
        {
            "sales.py": "import runpy\nglobals().update(runpy.run_path('HOME/app/sales.txt'))\n",
            "sales.txt": original("refactor-without-change", "sales.py"),
        },
    ),
    "shorter, and another thing": ("refactor-without-change", {"sales.py": NOTHING}),
}


@pytest.mark.parametrize("cheat", CHEATS)
def test_a_cheat_gets_nothing(home, cheat):
    """And every key is there, as for everybody."""
    task, files = CHEATS[cheat]
    found = judged(task, home, files)
    assert found["reward"] == 0.0
    assert len(found) >= 4


@as_root
@pytest.mark.parametrize("cheat", [FORGER, READER], ids=["forges the reward", "reads the hidden cases"])
def test_what_is_closed_stays_closed(home, cheat):
    """To a process that outlives the verifier, and to one that looks for the answers."""
    assert judged("fix-failing-test", home, {"ledger.py": cheat})["reward"] == 0.0


@pytest.mark.parametrize("task", sorted(path.name for path in TASKS.iterdir()))
def test_an_honest_solution_gets_all(home, task):
    """Also one that left a pipe, a broken link, and files that no other user may read."""
    assert set(judged(task, home, {}, solved=True, untidy=True).values()) == {1.0}
