"""The dialects that there are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PACKAGE = """\
from dataclasses import replace

from demeanor.gateway.dialects.openai_chat import DIALECT as CHAT

DIALECT = replace(CHAT, name="my-own")
"""
PROGRAM = """\
import sys
from importlib.util import find_spec, module_from_spec

from demeanor.core.values.dialects import DIALECT_FACTS, DialectFacts

DIALECT_FACTS["my-own"] = DialectFacts(base_path="", provider="me")
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
