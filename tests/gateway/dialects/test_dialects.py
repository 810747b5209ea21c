"""The dialects that there are."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from demeanor.gateway.dialects.dialect import bearer
from demeanor.gateway.dialects.errors import read_error

PACKAGE = """\
from dataclasses import replace

from demeanor.gateway.dialects.openai_chat import DIALECT as CHAT

DIALECT = replace(CHAT, name="my-own")
"""
PROGRAM = """\
import sys
from importlib.util import find_spec, module_from_spec

from demeanor.core.values.dialects import DIALECT_FACTS, DialectFacts

DIALECT_FACTS["my-own"] = DialectFacts(base_path="", provider="me", url_env=("MY_URL",), key_env="MY_KEY")
spec = find_spec("demeanor.gateway.dialects")
spec.submodule_search_locations.append(sys.argv[1])
sys.modules[spec.name] = dialects = module_from_spec(spec)
spec.loader.exec_module(dialects)

from demeanor.cli.registry import parser_of
from demeanor.gateway.models.registry import DIALECTS

print(DIALECTS["my-own"].name, parser_of("gateway contract").parse_args(["--dialect", "my-own"]).dialect)
"""


def test_a_package_with_a_known_name_is_a_dialect(tmp_path: Path) -> None:
    """A line with its name and a package: the gateway and the commands know it."""
    (tmp_path / "my_own").mkdir()
    (tmp_path / "my_own/__init__.py").write_text(PACKAGE)
    ran = subprocess.run([sys.executable, "-c", PROGRAM, tmp_path], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("my-own my-own\n", "")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("invalid_api_key", "auth"),
        ("API_KEY_INVALID", "auth"),
        ("API_KEY_EXPIRED", "auth"),
        ("authentication_error", "auth"),
        ("account_deactivated", "auth"),
        ("billing_error", "budget"),
        ("billing_not_active", "budget"),
        ("billing_hard_limit_reached", "budget"),
        ("insufficient_quota", "rate_limit"),
        ("overloaded_error", "overloaded"),
        ("server_is_overloaded", "overloaded"),
        ("something_else", "bad_request"),
    ],
)
def test_the_code_of_an_error_says_who_is_to_blame(code: str, reason: str) -> None:
    """Whatever the status: as its code, as its type, or in its details."""
    for fields in ({"code": code}, {"type": code}, {"details": [{"reason": code}, "more"]}):
        error = read_error(400, json.dumps({"error": {"message": "No.", **fields}}).encode())
        assert (error.reason, error.status) == (reason, 400), fields


def test_an_authorization_without_a_key_has_none() -> None:
    """A client may send the header with an empty key."""
    assert bearer({"authorization": "Bearer  token "}) == "token"
    assert bearer({"authorization": "Bearer  "}) is None
    assert bearer({"authorization": "Basic token"}) is None
