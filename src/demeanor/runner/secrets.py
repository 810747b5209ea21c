"""Collects the secrets of a project's configuration and environment, which must never be stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from demeanor.config import Config
from demeanor.core.redaction.encodings import can_be_secret, secret_headers, telling


def known_secrets(config: Config, environ: Mapping[str, str]) -> dict[str, str]:
    """Name → secret: keys of providers, variables passed to agents, and variables with a name like a secret.

    A value that can't be distinguished from ordinary text, such as `EMPTY` for a local server, is not a secret.
    """
    secrets = telling(environ)
    for key in ("store", "captures"):
        if password := _url_password(getattr(config, key)):
            secrets[f"{key}.password"] = password
    for name, provider in config.providers.items():
        secrets.update(_provider_secrets(name, provider, environ))
    for table in (*config.agents.values(), *config.engines.values()):
        secrets.update(_passed_secrets(table, environ))
    for agent in config.agents.values():
        secrets.update(telling(strings_of(agent.get("env"))))
    return {name: value for name, value in secrets.items() if can_be_secret(value)}


def _provider_secrets(name: str, table: Mapping[str, Any], environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The key and headers of a provider, except headers that describe the client."""
    key, variable = table.get("key"), table.get("key_env")
    if isinstance(key, str):
        yield f"{name}.key", key
    if isinstance(variable, str) and environ.get(variable):
        yield variable, environ[variable]
    yield from (
        (f"{name}.{header}", value) for header, value in secret_headers(strings_of(table.get("headers"))).items()
    )


def _passed_secrets(table: Mapping[str, Any], environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    names = table.get("pass_env")
    for name in names if isinstance(names, list) else ():
        if isinstance(name, str) and name in environ:
            yield name, environ[name]


def _url_password(address: str) -> str | None:
    """The password in a URL such as `postgresql://user:password@host`."""
    try:
        return urlsplit(address).password
    except ValueError:
        return None


def strings_of(table: object) -> dict[str, str]:
    """The strings of a table of the configuration that is not checked yet."""
    return {name: text for name, text in table.items() if isinstance(text, str)} if isinstance(table, dict) else {}
