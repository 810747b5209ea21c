"""Paths and queries of the gateway."""

from __future__ import annotations

import pytest

from demeanor.gateway.server.routing import forward_path, split_prefix


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
    """The first part is the session id, the rest the dialect's path."""
    assert split_prefix(path) == parts


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("", "/x"),
        ("alt=sse", "/x?alt=sse"),
        ("key=tok&alt=sse", "/x?alt=sse"),
        ("key=tok", "/x"),
        ("a=%20", "/x"),
        ("key=other&beta=true", "/x?beta=true"),
    ],
)
def test_only_what_changes_the_format_is_forwarded_of_a_query(query: str, path: str) -> None:
    """Neither the agent's token nor a key that it made up, at which the provider would refuse the request."""
    assert forward_path("/x", query, "tok") == path
