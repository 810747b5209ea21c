"""Names of images are read as Docker reads them."""

from __future__ import annotations

import pytest

from demeanor.core.values.errors import UsageError
from demeanor.plugins.harbor.images.reference import parse_reference

DIGEST = "sha256:" + "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("text", "name", "api", "target"),
    [
        ("debian:12", "debian:12", "https://registry-1.docker.io/v2", "12"),
        ("debian", "debian:latest", "https://registry-1.docker.io/v2", "latest"),
        ("docker.io/library/debian:12", "debian:12", "https://registry-1.docker.io/v2", "12"),
        ("org/tool:v1", "org/tool:v1", "https://registry-1.docker.io/v2", "v1"),
        ("ghcr.io/org/tool:v1", "ghcr.io/org/tool:v1", "https://ghcr.io/v2", "v1"),
        ("localhost:5000/a/b", "localhost:5000/a/b:latest", "http://localhost:5000/v2", "latest"),
        ("127.0.0.1:5000/a:b", "127.0.0.1:5000/a:b", "http://127.0.0.1:5000/v2", "b"),
        (f"debian:12@{DIGEST}", f"debian@{DIGEST}", "https://registry-1.docker.io/v2", DIGEST),
    ],
)
def test_a_name_is_completed(text: str, name: str, api: str, target: str) -> None:
    """With Docker's registry, `library/` and `latest`; a registry on this machine is used without TLS."""
    found = parse_reference(text)
    assert (str(found), found.api, found.target) == (name, api, target)
    assert parse_reference(str(found)).target == target


@pytest.mark.parametrize(
    "text", ["", "a b", "UPPER", "a:", "a:b:c", "a@sha256:12", "a@md5:x", "../a", "http://x/y", "-a"]
)
def test_anything_else_is_refused(text: str) -> None:
    """With an example of a name."""
    with pytest.raises(UsageError, match="not the name of an image"):
        parse_reference(text)
