"""The secrets of a project."""

from __future__ import annotations

from pathlib import Path

from demeanor.config.config import Config
from demeanor.runner.secrets import known_secrets

COMMON = {
    "local": {"key": "EMPTY"},
    "word": {"key": "plainword"},
    "port": {"key": "127.0.0.1"},
    "letters": {"key": "fLqTzWbNxRkVmHsPdJgCyQaE"},
}

HEADERS = {"X-Auth": "header-secret-1", "HTTP-Referer": "https://git.example/acme", "User-Agent": "acme-agent/1.0"}


def test_keys_passed_variables_headers_and_passwords_are_known() -> None:
    """Also if their names do not suggest a secret. Short values, ordinary words and paths are not secrets."""
    config = Config(
        root=Path(),
        store="postgresql://me:very-secret-1@host/db",
        providers={"acme": {"key_env": "ACME", "headers": HEADERS}, **COMMON},
        agents={"a": {"pass_env": ["PASSED", "LIBRARIES", "ABSENT"], "env": {"A_TOKEN": "token-in-file-1"}}},
    )
    environ = {
        "ACME": "acme-value-1",
        "PASSED": "passed-value-1",
        "LIBRARIES": "/usr/lib/some/where",
        "GH_TOKEN": "gh-value-1",
        "DB_PASSWORD": "postgres",
        "EDITOR": "some-editor-1",
    }
    assert known_secrets(config, environ) == {
        "GH_TOKEN": "gh-value-1",
        "ACME": "acme-value-1",
        "acme.X-Auth": "header-secret-1",
        "letters.key": "fLqTzWbNxRkVmHsPdJgCyQaE",
        "PASSED": "passed-value-1",
        "A_TOKEN": "token-in-file-1",
        "store.password": "very-secret-1",
    }
