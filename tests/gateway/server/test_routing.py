"""Paths and queries of the gateway."""

from __future__ import annotations

import pytest

from demeanor.gateway.server.routing import onward, split_prefix


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("/t/abc/v1/models", ("abc", "/v1/models")),
        ("/t/abc/", ("abc", "/")),
        ("/t/abc", ("abc", "/")),
        ("/t/", ("", "/")),
        ("/v1/models", ("", "/v1/models")),
        ("/", ("", "/")),
    ],
)
def test_a_path_is_split_into_session_and_rest(path: str, parts: tuple[str, str]) -> None:
    """The first part names the session, the rest is the dialect's."""
    assert split_prefix(path) == parts


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("", "/x"),
        ("alt=sse", "/x?alt=sse"),
        ("key=tok&alt=sse", "/x?alt=sse"),
        ("key=tok", "/x"),
        ("a=%20", "/x?a=%20"),
    ],
)
def test_a_token_in_the_query_goes_no_further(query: str, path: str) -> None:
    """A provider is asked with everything but the agent's token."""
    assert onward("/x", query, "tok") == path
