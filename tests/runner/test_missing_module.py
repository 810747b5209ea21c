"""What is said about a Python module that an agent did not find."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from demeanor.core.values.process import Output, ProcessEnd
from demeanor.runner.missing_module import ModuleSearch, explain_missing_module, missing_module
from tests.helpers.environments import PYTHON, SITE, run

Explain = Callable[..., tuple[str, str] | None]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment that can't be used by others."""
    folder = tmp_path_factory.mktemp("project") / "my venv"
    run(PYTHON, "-m", "venv", "--without-pip", str(folder))
    return folder


def module(folder: Path, name: str = "dep") -> Path:
    """A package."""
    (folder / name).mkdir(parents=True)
    (folder / name / "__init__.py").write_text("raise SystemExit('imported')\n")
    return folder / name


def explain(environment: Path, name: str, *more: str, readable: bool = False, **env: str) -> tuple[str, str]:
    """Why an agent that runs in the environment did not find a module."""
    search = ModuleSearch(words=(f"{environment}/bin/python", *more), env=env, readable=lambda path: readable)
    explanation = explain_missing_module(name, search, "mine")
    assert explanation is not None
    return explanation


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("ModuleNotFoundError: No module named 'dep'", "dep"),
        ("/usr/bin/python3: No module named dep.cli", "dep.cli"),
        ("No module named dep.__main__; 'dep' is a package and cannot be directly executed", "dep"),
        ("No module named 'first'\nModuleNotFoundError: No module named 'a.b'; 'a' is not a package", "a.b"),
        ("No module named '../../etc'", None),
        ("No module named '-c'", None),
        ("No module named 'dep-x'", None),
        ("No module named 'dép'", None),
        ("No module named '" + "a" * 201 + "'", None),
        ("all is well", None),
    ],
)
def test_a_module_is_named_by_the_last_output(text: str, name: str | None) -> None:
    """On either stream. What is not the name of a module is not taken for one: agents print what they like."""
    for streams in ({"stderr": Output(text=text)}, {"stdout": Output(text=text)}):
        assert missing_module(ProcessEnd(exit_code=1, **streams)) == name


def test_a_module_that_is_not_installed_is_to_be_installed_into_the_environment(environment: Path) -> None:
    """With the command of the tool that made the environment; names with spaces are quoted."""
    python = f"{environment}/bin/python"
    pip = shlex.join((python, "-m", "pip", "install", "dep"))
    assert explain(environment, "dep.sub") == (f"{python} has no module 'dep.sub'", f"install it there: {pip}")
    settings = environment / "pyvenv.cfg"
    text = settings.read_text()
    settings.write_text(f"{text}uv = 0.13\n")
    assert explain(environment, "dep")[1] == f"install it there: uv pip install --python '{python}' dep"
    (environment / "pipx_metadata.json").write_text("{}")
    assert explain(environment, "dep")[1] == "install it there: pipx inject 'my venv' dep"
    settings.write_text(text)
    (environment / "pipx_metadata.json").unlink()


def test_a_hidden_module_is_to_be_added_to_reads(environment: Path, tmp_path: Path) -> None:
    """The package alone, or the folder of installed packages, in which others that it needs are."""
    package = module(tmp_path / "sources", "named")
    (environment / SITE / "named.pth").write_text(f"{package.parent}\n")
    why, remedy = explain(environment, "named")
    assert why == f"{environment}/bin/python has the module 'named' in {package}, which is not in the sandbox"
    assert remedy == f"add {package} to agents.mine.reads"
    module(environment / SITE, "installed")
    assert explain(environment, "installed")[1] == f"add {environment / SITE} to agents.mine.reads"


def test_a_module_is_not_searched_in_a_module_that_is_no_package(environment: Path) -> None:
    """`module.json` is not `json`."""
    (environment / SITE / "module.py").touch()
    assert "has no module 'module.json'" in explain(environment, "module.json")[0]


def test_a_module_beside_the_script_is_found(environment: Path, tmp_path: Path) -> None:
    """Python looks there first."""
    script = tmp_path / "agent.py"
    script.write_text("import beside")
    (tmp_path / "beside.py").touch()
    assert explain(environment, "beside", str(script))[1] == f"add {tmp_path}/beside.py to agents.mine.reads"


def test_a_module_of_the_users_search_path_needs_the_variable_too(
    environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sandbox has no variables of the user's shell; the configuration may set its own."""
    package = module(tmp_path, "shell")
    assert explain(environment, "shell", PYTHONPATH=str(tmp_path))[1] == f"add {package} to agents.mine.reads"
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    variable = f"set agents.mine.env.PYTHONPATH to {tmp_path}"
    assert explain(environment, "shell")[1] == f"add {package} to agents.mine.reads, and {variable}"
    assert explain(environment, "shell", readable=True)[1] == variable


def test_a_readable_module_is_never_to_be_added(environment: Path) -> None:
    """Then another Python did not find it."""
    why, remedy = explain(environment, "json", readable=True)
    assert "which the agent can read, so another Python did not find it" in why
    assert "reads" not in remedy
    assert f"let the agent start {environment}/bin/python" in remedy


def test_evals_and_home_are_the_reason_why_a_module_is_hidden(
    environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """These are not made readable by a `.pth` file."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    package = module(tmp_path / "home", "in_home")
    evals = module(tmp_path / "sources", "with_evals")
    (evals / "eval_answer.py").touch()
    (environment / SITE / "names.pth").write_text(f"{package.parent}\n{evals.parent}\n")
    assert f"{tmp_path}/home is never readable as a whole" in explain(environment, "in_home")[0]
    assert f"there are evals in {evals}" in explain(environment, "with_evals")[0]


def test_nothing_is_said_about_programs_that_are_no_python() -> None:
    """Whatever Python a shell starts."""
    search = ModuleSearch(words=("sh", "-c", "python3 -m dep"), env={}, readable=lambda path: False)
    assert explain_missing_module("dep", search, "mine") is None
