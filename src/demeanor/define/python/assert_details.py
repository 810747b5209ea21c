"""What rewritten asserts ask when they fail, loaded only then: a run whose checks hold never loads pytest.

Stands in for `_pytest.assertion.rewrite` in the code that define/rewrite.py makes.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

_MOST_LINES = 60
_MOST_COMPARED = 20_000


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    from _pytest.assertion import rewrite

    explain_comparisons()
    return getattr(rewrite, name)


def explain_comparisons() -> None:
    """From now on a failing comparison is explained in detail, unless somebody explains it already."""
    from _pytest.assertion import util

    if util._reprcompare is None:
        util._reprcompare = _explain


def _explain(op: str, left: object, right: object) -> str | None:
    if _size(left) > _MOST_COMPARED or _size(right) > _MOST_COMPARED:
        return None
    from _pytest.assertion import pytest_assertrepr_compare

    try:
        found = pytest_assertrepr_compare(config=_settings(), op=op, left=left, right=right)
    except Exception:  # noqa: BLE001 - a detail that can't be shown must not hide the failure itself
        return None
    if not found:
        return None
    left_out = len(found) - _MOST_LINES
    lines = found if left_out <= 0 else [*found[:_MOST_LINES], f"… {left_out} lines left out"]
    return "\n~".join(line.replace("\n", "\\n") for line in lines).replace("%", "%%")


def _settings() -> Any:
    """What pytest's comparison asks of its configuration: details, no colours, nothing cut."""
    settings = {"assertion_text_diff_style": "ndiff", "truncation_limit_lines": "0", "truncation_limit_chars": "0"}
    return SimpleNamespace(
        get_verbosity=lambda kind=None: 1,
        getini=settings.get,
        pluginmanager=SimpleNamespace(has_plugin=lambda name: False),
        get_terminal_writer=lambda: SimpleNamespace(_highlight=lambda source, lexer="python": source),
    )


def _size(value: object) -> int:
    """About how much work it is to compare a value, line by line."""
    if isinstance(value, str | bytes):
        return len(value)
    return len(value) * 10 if isinstance(value, list | tuple | dict | set | frozenset) else 0
