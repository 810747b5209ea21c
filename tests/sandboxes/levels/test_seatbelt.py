"""macOS's fence as text, and that it is refused elsewhere. Nothing here has been run on a Mac."""

from __future__ import annotations

import asyncio
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from demeanor.core.errors import WorldError
from demeanor.sandboxes.levels.seatbelt import SeatbeltSandbox, profile

PLACES = ("/private/tmp/x/workspace", "/private/tmp/x/home", "/private/tmp/x/tmp")


def test_nothing_is_allowed_but_what_is_named() -> None:
    """Reads by an allow-list, writes in three folders, and one port of this machine."""
    text = profile(reads=["/opt/agent"], writes=PLACES, network="gateway", port=4711)
    lines = text.splitlines()
    assert lines[:2] == ["(version 1)", "(deny default)"]
    written = [line for line in lines if "file-write*" in line]
    assert written == [f"(allow file-read* file-write* {' '.join(f'(subpath {chr(34)}{p}{chr(34)})' for p in PLACES)})"]
    assert [line for line in lines if "network" in line] == ['(allow network-outbound (remote ip "localhost:4711"))']
    (reads,) = [line for line in lines if line.startswith("(allow file-read* (subpath")]
    assert '(subpath "/opt/agent")' in reads
    assert not re.search(r'\(subpath "(/|/Users|/private|/private/tmp|/private/etc|/private/var)"\)', text)
    assert lines[-1].count("(") == lines[-1].count(")")


def test_networks_differ() -> None:
    """None at all; or whatever there is, for those who ask for it by name."""
    assert "network" not in profile(reads=(), writes=PLACES, network="none", port=None)
    assert "(allow network*)" in profile(reads=(), writes=PLACES, network="host", port=None)


@given(st.text(min_size=1))
def test_a_path_can_not_end_its_own_quotes(path: str) -> None:
    """Read back as the language reads it, the path is the path, and the rest is what it is without it."""
    try:
        text = profile(reads=[path], writes=PLACES, network="none", port=None)
    except WorldError:
        assert any(ord(letter) < 32 for letter in path)
        return
    quoted = re.findall(r'"((?:[^"\\]|\\.)*)"', text, re.DOTALL)
    usual = re.findall(r'"((?:[^"\\]|\\.)*)"', profile(reads=[], writes=PLACES, network="none", port=None))
    assert sorted(re.sub(r"\\(.)", r"\1", one, flags=re.DOTALL) for one in quoted) == sorted([*usual, path])


@pytest.mark.skipif(sys.platform == "darwin", reason="here it may work")
def test_elsewhere_it_is_refused() -> None:
    """Nothing is run without its fence."""
    sandbox = SeatbeltSandbox()
    with pytest.raises(WorldError, match="needs macOS"):
        sandbox.verify()
    asyncio.run(sandbox.stop())
