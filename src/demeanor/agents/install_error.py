"""Explains why npm, pip or uv failed: what happened, for which agent, and what to do."""

from __future__ import annotations

import re

from demeanor.core.text.wording import excerpt, opening
from demeanor.core.values.errors import DemeanorError

_UNREACHABLE = re.compile(
    r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT|ENOTCACHED"
    r"|NewConnectionError|ConnectTimeoutError|ReadTimeoutError|Failed to establish a new connection"
    r"|Name or service not known|Temporary failure in name resolution|Network is unreachable|Max retries exceeded"
    r"|Failed to fetch"
)
_CHECKSUM = re.compile(r"EINTEGRITY|DO NOT MATCH THE HASHES|Hash mismatch")
_UNKNOWN_VERSION = re.compile(r"\bE404\b|\bETARGET\b|No matching distribution found|there is no version of")
_REGISTRY = {
    "npm": "npm config set registry … or proxy …",
    "pip": "pip config set global.index-url …",
    "uv": "UV_DEFAULT_INDEX=…",
}
"""How to set the registry of each installer."""


class InstallError(DemeanorError):
    """An agent could not be installed."""

    slug = "not-installed"


def explain(name: str, version: str, manager: str, problem: str, output: str, *, install: str) -> InstallError:
    """The error for an installer that failed with this output; `install` is our own command."""
    again = f"run `{install}` again"
    settings = _REGISTRY[manager]
    if _CHECKSUM.search(output):
        why = f"{manager} got a package whose checksum differs from the lock file"
        remedy = f"find out what changed it: a registry, mirror or proxy, or {manager}'s cache: clear that, and {again}"
    elif _UNREACHABLE.search(output):
        why = f"{manager} can't reach its registry"
        remedy = f"connect this machine to the network, or configure a mirror ({settings}), and {again}"
    elif _UNKNOWN_VERSION.search(output):
        why = f"the registry of {manager} does not have this version, or a package that it needs, for this machine"
        remedy = f"check the version and the mirror that {manager} uses ({settings}), and {again}"
    else:
        why, remedy = problem, f"mend what {manager} reports, and {again}"
    return InstallError(f"{name} {version} could not be installed: {why}\n{_relevant(output)}\n  → {remedy}")


def _relevant(output: str) -> str:
    """The relevant lines, indented: npm's first errors, before it explains its options; else the last lines."""
    errors = [line for line in output.splitlines() if re.match(r"npm (error|ERR!) \S", line)]
    kept = opening("\n".join(errors), lines=10) if errors else excerpt(output.strip(), lines=15)
    return "\n".join(f"    {line}" for line in kept.splitlines())
