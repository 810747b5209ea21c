"""Plain `assert` that shows what it compared: the one place, with define/explaining.py, that leans on pytest's insides.

Two of them are used, and both have been there since pytest 3:
- `_pytest.assertion.rewrite.rewrite_asserts` rewrites the asserts of a syntax tree;
- rewritten asserts ask `_pytest.assertion.util._reprcompare`, where it is set, for a detailed comparison. pytest sets
  it while a test runs and restores what was there. We leave a default in it, for evals that run outside of a test.

To load those parts takes longer than all other work before a run's first trial. So the code that comes of it is kept
in the user's cache, and explanations are loaded by the first assert that fails. Nothing is written beside the evals.

Should a later pytest move things, asserts still work: only the details of the comparison are lost.
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
from demeanor.core.cache_dir import cache_folder

_REWRITER = "_pytest.assertion.rewrite"
_STAND_IN = "demeanor.define.python.assert_details"
_MOST_KEPT = 1000
_CHECKSUM = 32


def compiled(path: Path, source: bytes) -> CodeType:
    """The code of a Python file, its asserts rewritten."""
    place = cache_folder(os.environ, "evals") / f"{_name(path, source)}.code"
    code = _kept(place)
    if code is None:
        code = _rewritten(path, source)
        _keep(place, code)
    return code


def _rewritten(path: Path, source: bytes) -> CodeType:
    from _pytest.assertion import rewrite

    tree = ast.parse(source, filename=str(path))
    rewrite.rewrite_asserts(tree, source, str(path), None)
    for node in tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == _REWRITER and (alias.asname or "").startswith("@"):
                    alias.name = _STAND_IN
    return compile(tree, str(path), "exec", dont_inherit=True)


def _name(path: Path, source: bytes) -> str:
    """Differs as soon as anything does that the code is made from: the file, its name, Python, pytest, Demeanor."""
    pytest = importlib.util.find_spec("_pytest")
    rewriter = Path(pytest.origin if pytest and pytest.origin else "").parent / "assertion" / "rewrite.py"
    found = rewriter.stat()
    makers = f"{rewriter} {found.st_size} {found.st_mtime_ns} {__version__} {path}"
    return sha256(b"\0".join([importlib.util.MAGIC_NUMBER, os.fsencode(makers), source])).hexdigest()


def _kept(place: Path) -> CodeType | None:
    """The code that was kept; None where there is none, or only a damaged one."""
    try:
        data = place.read_bytes()
    except OSError:
        return None
    checksum, packed = data[:_CHECKSUM], data[_CHECKSUM:]
    if sha256(packed).digest() != checksum:
        return None
    code: CodeType = marshal.loads(packed)  # noqa: S302 - written by ourselves, into a folder that only the user writes
    return code


def _keep(place: Path, code: CodeType) -> None:
    """Keep the code for the next time, if that can be done; the cache does not grow without end."""
    packed = marshal.dumps(code)
    half = place.with_suffix(f".{os.getpid()}")
    with suppress(OSError):
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        half.write_bytes(sha256(packed).digest() + packed)
        half.replace(place)
        kept = list(place.parent.iterdir())
        if len(kept) > _MOST_KEPT:
            for old in sorted(kept, key=lambda one: one.stat().st_mtime)[: _MOST_KEPT // 2]:
                old.unlink(missing_ok=True)
