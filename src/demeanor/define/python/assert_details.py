"""Explain failing asserts; loaded only when one fails, so that a passing run never imports pytest.

It replaces `_pytest.assertion.rewrite` in the code that assert_rewrite.py generates.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from demeanor.core.text.wording import count, without_secrets

_MOST_LINES = 60
_MOST_COMPARED = 20_000


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    from _pytest.assertion import rewrite

    explain_comparisons()
    return getattr(rewrite, name)


def explain_comparisons() -> None:
    """Install a detailed explanation of failing comparisons, unless there is one already."""
    from _pytest._io import saferepr
    from _pytest.assertion import util

    if util._reprcompare is None:
        util._reprcompare = _explain
    if saferepr.SafeRepr.__module__ == saferepr.__name__:
        saferepr.SafeRepr = _redacting(saferepr.SafeRepr)  # type: ignore[misc]


def _redacting(usual: Any) -> Any:
    """pytest's way to shorten values, which removes secrets first."""

    class RedactingRepr(usual):  # type: ignore[misc]
        """The same text, unless a secret would be cut in two."""

        def repr(self, x: object) -> str:
            """A short text for a value."""
            shown: str = super().repr(x)
            if self.maxsize is None or "..." not in shown:
                return shown
            whole: str = usual(_MOST_COMPARED, self.use_ascii).repr(x)
            clean = without_secrets(whole)
            if clean == whole:
                return shown
            half = max(0, (self.maxsize - 3) // 2)
            return clean if len(clean) <= self.maxsize else f"{clean[:half]}...{clean[-half:]}"

    return RedactingRepr


def _explain(op: str, left: object, right: object) -> str | None:
    if _size(left) > _MOST_COMPARED or _size(right) > _MOST_COMPARED:
        return None
    from _pytest.assertion import pytest_assertrepr_compare

    clean = _clean(left), _clean(right)
    if clean != (left, right):
        if clean[0] == clean[1]:
            return None  # only the secrets differ
        left, right = clean
    try:
        explained = pytest_assertrepr_compare(config=_settings(), op=op, left=left, right=right)
    except Exception:  # noqa: BLE001 - an error in the explanation must not hide the failure
        return None
    if not explained:
        return None
    left_out = len(explained) - _MOST_LINES
    lines = explained if left_out <= 0 else [*explained[:_MOST_LINES], f"… {count(left_out, 'line')} left out"]
    return "\n~".join(line.replace("\n", "\\n") for line in lines).replace("%", "%%")


def _clean(value: object) -> object:
    """A value without secrets: a comparison puts signs before each line, between which they would not be found."""
    if isinstance(value, str):
        return without_secrets(value)
    if type(value) is dict:
        return {_clean(key): _clean(item) for key, item in value.items()}
    for kind in (list, tuple, set, frozenset):
        if type(value) is kind:
            return kind(map(_clean, value))
    return value


def _settings() -> Any:
    """The configuration that pytest's comparison needs: details, no colours, no truncation."""
    settings = {"assertion_text_diff_style": "ndiff", "truncation_limit_lines": "0", "truncation_limit_chars": "0"}
    return SimpleNamespace(
        get_verbosity=lambda kind=None: 1,
        getini=settings.get,
        pluginmanager=SimpleNamespace(has_plugin=lambda name: False),
        get_terminal_writer=lambda: SimpleNamespace(_highlight=lambda source, lexer="python": source),
    )


def _size(value: object) -> int:
    """A rough estimate of the work to compare a value line by line."""
    if isinstance(value, str | bytes):
        return len(value)
    return len(value) * 10 if isinstance(value, list | tuple | dict | set | frozenset) else 0
