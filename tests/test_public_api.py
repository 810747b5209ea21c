"""The public API, and the cost of importing it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import demeanor


def loaded(code: str) -> set[str]:
    """The modules that are loaded after running `code` in a new interpreter."""
    code += "\nimport sys\nprint(' '.join(sys.modules))"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_all_lists_exactly_the_public_names():
    """`__all__` is the public API."""
    for name in demeanor.__all__:
        assert getattr(demeanor, name) is not None
    assert set(dir(demeanor)) == set(demeanor.__all__)


def test_importing_demeanor_loads_nothing_else():
    """`import demeanor` imports no other module of the package."""
    assert {name for name in loaded("import demeanor") if name.startswith("demeanor")} == {
        "demeanor",
        "demeanor._version",
    }


def test_an_authors_imports_stay_light():
    """The imports of an eval file load no third-party package."""
    heavy = {"aiohttp", "rich", "pytest", "_pytest", "yaml", "asyncio"}
    assert not heavy & loaded("from demeanor import ALWAYS_PASSES, USUALLY_FAILS, USUALLY_PASSES, eval_test")


def test_help_and_version_load_no_dependency():
    """`--help` and `--version` load no third-party package."""
    heavy = {"aiohttp", "rich", "pytest", "_pytest", "yaml", "asyncio", "genai_prices", "pydantic"}
    assert not heavy & loaded(
        "from demeanor.cli.registry import all_commands, parser_of; [parser_of(name) for name in all_commands()]"
    )


def test_listing_evals_loads_no_prices(tmp_path: Path):
    """Prices are loaded with the first model that has none of its own."""
    (tmp_path / "eval_a.py").write_text(
        "from demeanor import USUALLY_PASSES, eval_test\n"
        "@eval_test(USUALLY_PASSES, prompt='Hi.')\ndef a(rig, result):\n    assert result\n"
    )
    listing = f"assert main(['validate', '--list', {str(tmp_path)!r}]) == 0"
    code = f"import sys\nfrom demeanor.cli.program import main\n{listing}"
    assert not {"genai_prices", "pydantic"} & loaded(code)
