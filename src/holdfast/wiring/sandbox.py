"""The sandbox of a name."""

from __future__ import annotations

from holdfast.core.errors import UnknownName
from holdfast.sandboxes.local import LocalSandbox

SANDBOXES = ("local",)


def make_sandbox(name: str) -> LocalSandbox:
    """The sandbox of that name."""
    if name not in SANDBOXES:
        raise UnknownName("sandbox", name, SANDBOXES)
    return LocalSandbox()
