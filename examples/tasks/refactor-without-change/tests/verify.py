"""Judges /app: the same answers as before over hidden rows, and a structure that is measured and not guessed.

The agent's code runs in a copy, in processes of its own and as nobody, to whom the tests and the reward are closed.
"""

import ast
import collections
import contextlib
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

APP, TESTS, LOGS = Path("/app"), Path("/tests"), Path("/logs/verifier")
NOBODY = 65534
AS_NOBODY = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
LONGEST, SHARE, RUN = 20, 0.6, 3
LIBRARY = {"__future__", "collections", "dataclasses", "functools", "itertools", "operator", "typing"}
CALLS = """
import json, sys
sys.path.insert(0, sys.argv[1])
import sales
answers = []
for name, arguments in json.load(sys.stdin):
    try:
        answers.append(getattr(sales, name)(*arguments))
    except Exception as error:
        answers.append({"error": [type(error).__name__, str(error)]})
print()
print(json.dumps(answers))
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


def calls():
    """The hidden calls: made rows, the same every time, and the corners."""
    dice = random.Random(20261116)
    corners = [[], [row(dice, cancelled=True)], [row(dice, amount=0)], [row(dice, amount=-1, cancelled=True)]]
    equals = [row(dice, seller=name, amount=5) for name in ("zoe", "ann ray", "Bob", "ZOE")]
    several = [[row(dice) for _ in range(dice.randrange(1, 40))] for _ in range(12)]
    broken = [[row(dice), {"day": "x"}], [row(dice, amount="7")]]
    for rows in (*corners, equals, *several, *broken):
        yield from (["by_day", [rows]], ["by_seller", [rows]], ["by_product", [rows]], ["by_product", [rows, 40]])


def row(dice, **fixed):
    """One row."""
    made = {
        "day": f"2026-0{dice.randrange(1, 10)}-1{dice.randrange(10)}",
        "seller": dice.choice(["ann", "bob", "cleo", "dan o'neil"]),
        "product": dice.choice(["tea", "jam", "a very long product"]),
        "amount": dice.choice([dice.randrange(0, 100), 0.5]),
        "cancelled": dice.random() < 0.2,
    }
    return made | fixed


def trusted(source, wanted):
    """What the original answers; it is ours, and therefore simply called."""
    module = {"__name__": "original"}
    exec(compile(source, "original", "exec"), module)
    answers = []
    for name, arguments in wanted:
        try:
            answers.append(module[name](*arguments))
        except Exception as error:
            answers.append({"error": [type(error).__name__, str(error)]})
    return answers


def answered(wanted):
    """What the agent's code answers; nothing where it fails altogether."""
    try:
        with copy_of(APP) as folder:
            for path in folder.rglob("*"):  # what is not measured does not run either
                if not path.is_dir() and not measured(path):
                    path.unlink()
            end = subprocess.run(
                [sys.executable, "-I", "-c", CALLS, str(folder)],
                input=json.dumps(wanted), capture_output=True, text=True, timeout=60, cwd="/", start_new_session=True,
                check=False, **AS_NOBODY,
            )  # fmt: skip
        return json.loads(end.stdout.splitlines()[-1])
    except (subprocess.TimeoutExpired, IndexError, ValueError):
        return []


def same_behaviour(source):
    """Whether every call is answered as before."""
    wanted = list(calls())
    before, now = trusted(source, wanted), answered(wanted)
    for call, old, new in zip(wanted, before, now):
        if old != new:
            print(f"{call[0]} differs:\n{old}\n--- and not\n{new}")
            break
    return before == now


def measured(path):
    """Whether a file is code of /app; tests are not counted."""
    return path.suffix == ".py" and not path.name.startswith("test_")


def trees():
    """The code of /app, parsed; None where a file is no Python or can't be read."""
    try:
        return [ast.parse(path.read_text("utf-8")) for path in sorted(APP.rglob("*")) if measured(path)]
    except (OSError, ValueError, SyntaxError, RecursionError):
        return None


def size(tree):
    """How much code there is, whatever it looks like."""
    return sum(1 for node in ast.walk(tree) if isinstance(node, ast.expr | ast.stmt))


def functions_short(found):
    """Whether no function has more lines than allowed."""
    for node in (node for tree in found for node in ast.walk(tree)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            length = node.end_lineno - node.lineno + 1
            if length > LONGEST:
                print(f"{getattr(node, 'name', 'a lambda')} has {length} lines")
                return False
    return True


def nothing_repeated(found):
    """Whether no run of statements stands in two places; names and literals do not make them different."""
    seen = collections.Counter()
    for node in (node for tree in found for node in ast.walk(tree)):
        for block in (getattr(node, name, None) for name in ("body", "orelse", "finalbody")):
            if isinstance(block, list):
                shapes = [shape(one) for one in block]
                seen.update(tuple(shapes[at : at + RUN]) for at in range(len(shapes) - RUN + 1))
    return not any(number > 1 for number in seen.values())


def shape(statement):
    """A statement without its names and literals."""
    return " ".join(type(node).__name__ for node in ast.walk(statement))


def plain(found):
    """Whether the code is there to be read: nothing is made of text when it runs, nothing odd is imported."""
    nodes = list(itertools.chain.from_iterable(map(ast.walk, found)))
    names = {getattr(node, "id", None) or getattr(node, "attr", None) for node in nodes}
    modules = {alias.name.partition(".")[0] for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    modules |= {(node.module or "").partition(".")[0] for node in nodes if isinstance(node, ast.ImportFrom)}
    own = {path.relative_to(APP).parts[0].removesuffix(".py") for path in APP.rglob("*.py")}
    return not names & {"exec", "eval", "compile", "open", "__import__"} and modules <= LIBRARY | own | {""}


apart(TESTS)
apart(LOGS)
original = (TESTS / "original_sales.py").read_text("utf-8")
found = trees()
whole = found is not None and plain(found)
answers = {
    "behaviour_same": same_behaviour(original),
    "functions_short": whole and functions_short(found),
    "nothing_repeated": whole and nothing_repeated(found),
    "smaller": whole and sum(map(size, found)) <= SHARE * size(ast.parse(original)),
}
rewards = {"reward": float(all(answers.values())), **{name: float(yes) for name, yes in answers.items()}}
(LOGS / "reward.json").write_text(json.dumps(rewards), "utf-8")
