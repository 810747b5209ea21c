"""The name server of a sandbox without a network."""

from __future__ import annotations

import pytest

from demeanor.sandboxes.supervisor.host_names import question

HEAD = bytes(12)
ASKED = b"\3api\6openai\3com\0\0\1\0\1"


@pytest.mark.parametrize("more", [b"", b"\0\0\x29\x10\0\0\0\0\0\0\0"], ids=["plain", "edns"])
def test_the_name_of_a_query_is_read(more: bytes) -> None:
    assert question(HEAD + ASKED + more) == (b"api.openai.com", len(HEAD + ASKED))


@pytest.mark.parametrize(
    "query",
    [b"", HEAD, HEAD + b"\3api", HEAD + b"\3api\0", HEAD + b"\xc0\x0c\0\1\0\1", HEAD + b"\x3fshort\0\0\1\0\1"],
    ids=["empty", "head", "cut", "no type", "pointer", "too long"],
)
def test_a_query_that_can_not_be_read_has_no_question(query: bytes) -> None:
    """Programs in the sandbox may send anything."""
    assert question(query) == (b"", 0)
