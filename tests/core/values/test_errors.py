"""The remedy of an unknown name: the nearest one, those that are known, or how to get the first."""

from __future__ import annotations

import pytest

from demeanor.core.values.errors import UnknownName


@pytest.mark.parametrize(
    ("kind", "known", "remedy"),
    [
        ("eval", ("saves", "reads"), "did you mean 'saves'?"),
        ("eval", ("reads", "asks"), "known: asks, reads"),
        ("eval", (), "there is no eval yet"),
        ("run", (), "there is no run yet; `demeanor run` or `demeanor nightly` starts the first"),
        ("run", [f"{number:03}" for number in range(25)], "018, 019 and 5 more"),
    ],
)
def test_the_remedy_of_an_unknown_name(kind: str, known: tuple[str, ...], remedy: str) -> None:
    """Long lists are cut."""
    assert str(UnknownName(kind, "save", known)).endswith(remedy)
