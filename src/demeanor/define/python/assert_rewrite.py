"""Rewrite plain `assert` so that it shows what it compared. This module and assert_details.py use pytest internals.

Two of them are used, and both exist since pytest 3:
- `_pytest.assertion.rewrite.rewrite_asserts` rewrites the asserts of a syntax tree;
- rewritten asserts call `_pytest.assertion.util._reprcompare`, if it is set, for a detailed comparison. pytest sets it
  while a test runs and restores it afterwards. We set a default for evals that run outside a test.

Importing these modules takes longer than all other work before the first trial. So the rewritten code is kept in the
user's cache, and the explanations are loaded by the first failing assert. Nothing is written next to the evals.

If a later pytest moves these functions, asserts still work, without details of the comparison.
"""

from __future__ import annotations

import ast
import importlib.util
import marshal
import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from types import CodeType

from demeanor._version import __version__
from demeanor.core.text.wording import one_line
from demeanor.core.trees.atomic_file import write_atomically
from demeanor.core.trees.cache_dir import cache_folder
from demeanor.core.values.errors import BadInput
from demeanor.define.python.decorated import decorated_functions

_REWRITER = "_pytest.assertion.rewrite"
_REPLACEMENT = "demeanor.define.python.assert_details"
_MAX_CACHED = 1000
_CHECKSUM = 32
_EXPECTATIONS = (ast.Assert, ast.Return, ast.Raise, ast.With, ast.AsyncWith, ast.Yield, ast.YieldFrom, ast.Await)


def compiled(path: Path, source: bytes) -> CodeType:
    """The code of a Python file with rewritten asserts."""
    place = cache_folder(os.environ, "evals") / f"{_name(path, source)}.code"
    code = _read_cache(place)
    if code is None:
        code = _rewritten(path, source)
        _write_cache(place, code)
    return code


def _rewritten(path: Path, source: bytes) -> CodeType:
    from _pytest.assertion import rewrite

    tree = ast.parse(source, filename=str(path))
    for function, decorator in decorated_functions(tree):
        _refuse_unused_comparison(function, path)
        if all(keyword.arg not in {None, "snapshot", "gaps"} for keyword in decorator.keywords):
            _refuse_without_expectation(function, path)
    _refuse_asserted_tuple(tree, path)
    rewrite.rewrite_asserts(tree, source, str(path), None)
    for node in tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == _REWRITER and (alias.asname or "").startswith("@"):
                    alias.name = _REPLACEMENT
    return compile(tree, str(path), "exec", dont_inherit=True)


def _refuse_unused_comparison(node: ast.AST, path: Path) -> None:
    """Refuse `result == "x"` without `assert` in a check, which could not fail by it. In a `with` block it may be
    meant: `pytest.raises` expects an error."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Compare | ast.BoolOp | ast.UnaryOp):
            shown = one_line(ast.unparse(child))
            raise BadInput(
                f"the check does not use the result of `{shown}`",
                where=f"{path}:{child.lineno}",
                remedy=f"write `assert {shown}`",
            )
        if not isinstance(child, ast.With | ast.AsyncWith | ast.expr):
            _refuse_unused_comparison(child, path)


def _refuse_without_expectation(function: ast.FunctionDef | ast.AsyncFunctionDef, path: Path) -> None:
    """Refuse a check that can't fail: nothing in it asserts, returns, raises or calls what might."""
    nodes = [node for statement in function.body for node in ast.walk(statement)]
    calls = (node.func for node in nodes if isinstance(node, ast.Call))
    if any(isinstance(node, _EXPECTATIONS) for node in nodes):
        return
    if all(isinstance(called, ast.Name) and called.id == "print" for called in calls):
        raise BadInput(
            f"the check {function.name!r} can't fail: it has no assert and returns nothing",
            where=f"{path}:{function.lineno}",
            remedy="write what must be true, such as `assert rig.workspace['notes.txt'].exists`",
        )


def _refuse_asserted_tuple(tree: ast.Module, path: Path) -> None:
    """Refuse `assert (result == "x", "message")`: a tuple is always true."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Tuple) and node.test.elts:
            raise BadInput(
                f"`{one_line(ast.unparse(node))}` is always true, because it asserts a tuple",
                where=f"{path}:{node.lineno}",
                remedy=f"write `assert {one_line(', '.join(map(ast.unparse, node.test.elts[:2])))}`",
            )


def _name(path: Path, source: bytes) -> str:
    """The cache key: it changes with the file, its name, Python, pytest and Demeanor."""
    pytest = importlib.util.find_spec("_pytest")
    rewriter = Path(pytest.origin if pytest and pytest.origin else "").parent / "assertion" / "rewrite.py"
    status = rewriter.stat()
    makers = f"{rewriter} {status.st_size} {status.st_mtime_ns} {__version__} {path}"
    return sha256(b"\0".join([importlib.util.MAGIC_NUMBER, os.fsencode(makers), source])).hexdigest()


def _read_cache(place: Path) -> CodeType | None:
    """The cached code; None if it is missing or damaged."""
    try:
        data = place.read_bytes()
    except OSError:
        return None
    checksum, packed = data[:_CHECKSUM], data[_CHECKSUM:]
    if sha256(packed).digest() != checksum:
        return None
    code: CodeType = marshal.loads(packed)  # noqa: S302 - our own file, in a folder that only the user can write
    return code


def _write_cache(place: Path, code: CodeType) -> None:
    """Cache the code if possible; delete old entries if there are too many."""
    packed = marshal.dumps(code)
    with suppress(OSError):
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(place, sha256(packed).digest() + packed)
        cached = list(place.parent.iterdir())
        if len(cached) > _MAX_CACHED:
            for old in sorted(cached, key=lambda path: path.stat().st_mtime)[: _MAX_CACHED // 2]:
                old.unlink(missing_ok=True)
