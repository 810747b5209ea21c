"""Programs in environments: in the sandbox, each runs in the environment that it was installed in, and sees no more.

Every layout is a real environment, and every program runs in the real sandbox.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from demeanor.agents.registry import make_agent
from demeanor.config.table import Table
from demeanor.core.trees.tree import Tree
from demeanor.core.values.agent import Task
from demeanor.core.values.ports import Template
from demeanor.core.values.process import Limits, ProcessEnd
from demeanor.sandboxes.levels.bubblewrap import BubblewrapSandbox
from demeanor.sandboxes.levels.landlock import LandlockSandbox
from tests.helpers.environments import (
    MAIN,
    NODE_MAIN,
    PYTHON,
    SITE,
    VERSION,
    Environments,
    Layout,
    executable,
    npm_archive,
    npm_package,
    run,
    site_of,
    wheel,
    write_packages,
)
from tests.sandboxes.levels.test_landlock import needs_landlock

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")

Build = Callable[[Environments], Layout]
LAYOUTS: dict[str, Build] = {}
"""Layouts that need nothing but Python and Node."""

PACKAGED: dict[str, Build] = {}
"""Layouts that are made with tools from PyPI."""

TOOLS = ("uv", "pipx", "setuptools", "hatchling", "editables", "poetry-core")


NODE = Path(shutil.which("node") or "node")
PUBLIC_PYTHON = shutil.which("python3", path="/usr/bin:/bin") or PYTHON
"""A Python that every user can start."""


def layout(name: str, table: dict[str, Build] = LAYOUTS) -> Callable[[Build], Build]:
    """Add a layout to a table."""

    def add(build: Build) -> Build:
        table[name] = build
        return build

    return add


@layout("venv, its Python")
def venv_python(made: Environments) -> Layout:
    project = made.project("venv-python")
    environment = made.venv(project / ".venv")
    return Layout(command=["./.venv/bin/python", "-m", "tool"], project=project, dep=".venv", prefix=environment)


@layout("venv, its command")
def venv_command(made: Environments) -> Layout:
    project = made.project("venv-command")
    environment = made.venv(project / ".venv")
    package = wheel(project, ".venv")
    run(sys.executable, "-m", "pip", "--python", str(environment), "install", "--no-index", "--no-deps", str(package))
    return Layout(command=[".venv/bin/tool"], project=project, dep=".venv", prefix=environment)


@layout("venv with copies")
def venv_copies(made: Environments) -> Layout:
    project = made.project("venv-copies")
    environment = made.venv(project / "env", "--copies")
    return Layout(
        command=["env", "A=1", "./env/bin/python", "-m", "tool"], project=project, dep="env", prefix=environment
    )


@layout("active venv, python and a script")
def active_venv(made: Environments) -> Layout:
    project = made.project("active-venv")
    environment = made.venv(made.home / "venvs/active")
    (project / "agent.py").write_text(MAIN)
    path = (str(environment / "bin"),)
    return Layout(command=["python", "./agent.py"], project=project, dep="active", prefix=environment, path=path)


@layout("active venv, script that env starts")
def shebang(made: Environments) -> Layout:
    project = made.project("shebang")
    environment = made.venv(made.home / "venvs/shebang")
    executable(project / "agent", f"#!/usr/bin/env python3\n{MAIN}")
    return Layout(
        command=["./agent"], project=project, dep="shebang", prefix=environment, path=(str(environment / "bin"),)
    )


@layout("venv that is the project")
def venv_project(made: Environments) -> Layout:
    project = made.venv(made.project("venv-project"))
    return Layout(command=["./bin/python", "-m", "tool"], project=project, dep="venv-project", prefix=project)


@layout("links to a Python")
def linked_python(made: Environments) -> Layout:
    project = made.project("linked-python")
    environment = made.relocated_python(made.home / "pythons/linked")
    links = made.home / ".local/bin"
    links.mkdir(parents=True)
    (links / "my-python").symlink_to(environment / "bin/python")
    (links / f"python{VERSION}").symlink_to("my-python")
    return Layout(
        command=[f"python{VERSION}", "-m", "tool"],
        project=project,
        dep="linked",
        prefix=environment,
        path=(str(links),),
    )


@layout("venv of a linked Python")
def linked_base(made: Environments) -> Layout:
    """uv's Pythons: a folder for the minor version is a link to that of the patch version."""
    project, pythons = made.project("linked-base"), made.home / ".local/share/uv/python"
    made.relocated_python(pythons / f"cpython-{VERSION}.0-linux")
    (pythons / f"cpython-{VERSION}-linux").symlink_to(f"cpython-{VERSION}.0-linux")
    environment = made.venv(project / ".venv", python=str(pythons / f"cpython-{VERSION}-linux/bin/python"))
    return Layout(command=["./.venv/bin/python", "-m", "tool"], project=project, dep=".venv", prefix=environment)


@layout("venv with the packages of its base")
def system_site(made: Environments) -> Layout:
    project, source = made.project("system-site"), made.home / "sources/src"
    base = made.relocated_python(made.home / "pythons/base")
    site = site_of(base)
    shutil.rmtree(site / "tool")
    write_packages(source, "base")
    (source / "dep.py").unlink()
    (site / "tool.pth").write_text(f"{source}\n")
    environment = project / ".venv"
    run(str(base / "bin/python"), "-m", "venv", "--without-pip", "--system-site-packages", str(environment))
    return Layout(command=["./.venv/bin/python", "-m", "tool"], project=project, prefix=environment, dep="base")


@layout("venv that names HOME")
def names_home(made: Environments) -> Layout:
    """A `.pth` file makes neither HOME nor the root readable, but what can be imported from another folder."""
    project, source = made.project("names-home"), made.home / "sources"
    environment = made.venv(project / ".venv")
    (environment / SITE / "dep.py").unlink()
    write_packages(source, "sources")
    made.secrets += [source / "notes.txt", made.home / "module.py"]
    for secret in made.secrets[-2:]:
        secret.write_text("secret")
    lines = f"{made.home}\n/\n../../../../../..\n{source}\nimport os; os\n# {made.home}/.ssh\n{made.home}/.ssh\n"
    (environment / SITE / "names.pth").write_text(lines)
    finder = f"MAPPING = {{'a': {str(made.home)!r}, 'b': '/', 'c': {str(made.home / '.ssh')!r}}}\ndef install(): pass\n"
    (environment / SITE / "__editable___a_finder.py").write_text(finder)
    line = "import __editable___a_finder; __editable___a_finder.install()\n"
    (environment / SITE / "__editable__.a.pth").write_text(line)
    return Layout(command=["./.venv/bin/python", "-m", "tool"], project=project, prefix=environment, dep="sources")


@layout("conda")
def conda(made: Environments) -> Layout:
    """Its layout, made of another Python: conda itself is on no index of Python packages."""
    project = made.project("conda")
    environment = made.relocated_python(made.home / "miniconda3/envs/agent")
    (environment / "conda-meta").mkdir()
    executable(environment / "bin/tool", f"#!{environment}/bin/python\nfrom tool import main\nmain()\n")
    return Layout(command=["tool"], project=project, dep="agent", prefix=environment, path=(str(environment / "bin"),))


@layout("pyenv")
def pyenv(made: Environments) -> Layout:
    program = shutil.which("pyenv")
    if program is None:
        pytest.skip("pyenv is not on PATH, so its shims can't be made")
    project, root = made.project("pyenv"), made.home / ".pyenv"
    environment = made.venv(root / "versions/agent")
    made.venv(root / "versions/other")
    run(program, "rehash", PYENV_ROOT=str(root))
    env = (("PYENV_ROOT", str(root)), ("PYENV_VERSION", "agent"))
    command = ["python", "-m", "tool"]
    return Layout(
        command=command, project=project, dep="agent", prefix=environment, path=(str(root / "shims"),), env=env
    )


@layout("asdf")
def asdf(made: Environments) -> Layout:
    """Its shim, and an `asdf` that answers as the real one: that is on no index of packages."""
    project, root = made.project("asdf"), made.home / ".asdf"
    environment = made.venv(root / f"installs/python/{VERSION}")
    executable(root / "shims/python", '#!/usr/bin/env bash\n# asdf-plugin: python 3\nexec asdf exec "python" "$@"')
    program = f'program={environment}/bin/$2\n[ "$1" = exec ] || exec echo $program\nshift 2\nexec $program "$@"\n'
    executable(root / "bin/asdf", f"#!/bin/sh\n{program}")
    executable(project / "agent", f"#!/usr/bin/env python\n{MAIN}")
    path = (str(root / "shims"), str(root / "bin"))
    return Layout(command=["./agent"], project=project, dep=VERSION, prefix=environment, path=path)


@layout("node_modules/.bin")
def node_modules(made: Environments) -> Layout:
    """A package that npm copied, a package of the project that it linked, and a module that both need."""
    project = made.project("node")
    dep = npm_archive(npm_package(made.home / "npm/dep", "dep", {"index.js": 'exports.WHERE = "npm";'}))
    files = {"lib/cli.js": '#!/usr/bin/env node\nrequire("../main.js");', "main.js": NODE_MAIN}
    npm_package(project / "packages/tool", "tool", files, bin={"tool": "lib/cli.js"})
    npm_package(project, "project", {}, dependencies={"dep": f"file:{dep}", "tool": "file:./packages/tool"})
    run("npm", "install", "--offline", "--no-audit", "--no-fund", cwd=project, npm_config_cache=str(made.home / ".npm"))
    return Layout(command=["./node_modules/.bin/tool"], project=project, prefix=NODE.resolve(), dep="npm")


@layout("node_modules/.bin of pnpm")
def pnpm(made: Environments) -> Layout:
    """A shell script in `.bin`, and packages that are links into a store."""
    project = made.project("pnpm")
    modules = project / "node_modules"
    store = modules / ".pnpm/tool@1.0.0/node_modules"
    npm_package(store / "tool", "tool", {"cli.js": NODE_MAIN})
    npm_package(store / "dep", "dep", {"index.js": 'exports.WHERE = "pnpm";'})
    (modules / "tool").symlink_to(".pnpm/tool@1.0.0/node_modules/tool")
    text = '#!/bin/sh\nbasedir=$(dirname "$0")\nexec node "$basedir/../tool/cli.js" "$@"\n'
    executable(modules / ".bin/tool", text)
    return Layout(command=["node_modules/.bin/tool"], project=project, prefix=NODE.resolve(), dep="pnpm")


@layout("nvm")
def nvm(made: Environments) -> Layout:
    project, version = made.project("nvm"), made.home / ".nvm/versions/node/v20.0.0"
    modules = version / "lib/node_modules"
    npm_package(modules / "tool", "tool", {"cli.js": NODE_MAIN})
    npm_package(modules / "tool/node_modules/dep", "dep", {"index.js": 'exports.WHERE = "nvm";'})
    (version / "bin").mkdir()
    shutil.copy2(NODE, version / "bin/node")
    (version / "bin/tool").symlink_to("../lib/node_modules/tool/cli.js")
    return Layout(
        command=["tool"], project=project, prefix=version / "bin/node", dep="nvm", path=(str(version / "bin"),)
    )


@layout("uv", PACKAGED)
def uv(made: Environments) -> Layout:
    project = made.project("uv")
    run("uv", "venv", "--offline", "--python", PYTHON, str(project / ".venv"))
    run("uv", "pip", "install", "--offline", "--python", str(project / ".venv"), str(wheel(project, ".venv")))
    return Layout(command=["./.venv/bin/tool"], project=project, dep=".venv", prefix=project / ".venv")


@layout("uv tool", PACKAGED)
def uv_tool(made: Environments) -> Layout:
    project, links, tools = made.project("uv-tool"), made.home / ".local/bin", made.home / ".local/share/uv/tools"
    package = str(wheel(project, "tool"))
    run(
        "uv",
        "tool",
        "install",
        "--offline",
        "--python",
        PYTHON,
        package,
        UV_TOOL_DIR=str(tools),
        UV_TOOL_BIN_DIR=str(links),
    )
    return Layout(command=["tool"], project=project, dep="tool", prefix=tools / "tool", path=(str(links),))


@layout("pipx", PACKAGED)
def pipx(made: Environments) -> Layout:
    project, links, home = made.project("pipx"), made.home / "bin", made.home / ".local/share/pipx"
    package = str(wheel(project, "tool"))
    env = {"PIPX_HOME": str(home), "PIPX_BIN_DIR": str(links), "PIPX_MAN_DIR": str(made.home / "man")}
    run(sys.executable, "-m", "pipx", "install", "--backend", "uv", "--python", PYTHON, package, UV_OFFLINE="1", **env)
    return Layout(command=["tool"], project=project, dep="tool", prefix=home / "venvs/tool", path=(str(links),))


def editable(made: Environments, backend: str, environment: Path) -> Layout:
    """A project that is installed into an environment by links to its files, beside its evals."""
    project = made.editable_project(backend)
    run(PYTHON, "-m", "venv", "--without-pip", str(environment))
    options = ("--offline", "--no-build-isolation", "--no-deps", "--python", str(environment))
    run("uv", "pip", "install", *options, "--editable", str(project))
    return Layout(command=[str(environment / "bin/tool")], project=project, prefix=environment, dep=backend)


@layout("editable, setuptools", PACKAGED)
def setuptools(made: Environments) -> Layout:
    """A module with a finder that maps packages and modules to their paths."""
    return editable(made, "setuptools", made.home / "venvs/setuptools")


@layout("editable, hatchling", PACKAGED)
def hatchling(made: Environments) -> Layout:
    """A `.pth` file that names the project's folder."""
    return editable(made, "hatchling", made.home / "venvs/hatchling")


@layout("editable, hatchling with exact files", PACKAGED)
def exact(made: Environments) -> Layout:
    """A module that uses the library `editables`, which must be installed."""
    layout = editable(made, "exact", made.home / "venvs/exact")
    tools = next(Path(path) for path in os.environ["PYTHONPATH"].split(os.pathsep))
    shutil.copytree(tools / "editables", layout.prefix / SITE / "editables")
    return layout


@layout("Poetry", PACKAGED)
def poetry(made: Environments) -> Layout:
    """An environment in Poetry's cache, with its build backend."""
    return editable(made, "poetry", made.home / f".cache/pypoetry/virtualenvs/tool-1a2b3c4d-py{VERSION}")


def in_sandbox(
    made: Environments,
    layout: Layout,
    folder: Path,
    level: type[BubblewrapSandbox | LandlockSandbox] = BubblewrapSandbox,
) -> ProcessEnd:
    """How the program of a layout ends in the sandbox."""

    async def main() -> ProcessEnd:
        sandbox = level(root=folder / "attempts")
        await sandbox.start()
        try:
            async with sandbox.open_session(Template(folder=folder / "empty", tree=Tree())) as session:
                table = {"command": [*layout.command, "{prompt}"], "reads": list(layout.reads)}
                agent = make_agent("mine", "command", Table(table, where=layout.project / "demeanor.toml"))
                secrets = ":".join(map(str, made.secrets))
                task = Task(
                    prompts=(secrets,), model="", workspace=session.workspace, home=session.home, base_url="", token="",
                    seed=1,
                )  # fmt: skip
                assert agent.missing() is None
                (launch,) = agent.orders(task).launches
                return await session.run(launch, limits=Limits(wall=60), last_activity=time.monotonic)
        finally:
            await sandbox.stop()

    for name in ("attempts", "empty"):
        (folder / name).mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in layout.shell(made.home).items():
            patch.setenv(name, value)
        return asyncio.run(main())


def told_on_host(made: Environments, layout: Layout) -> Any:
    """What the program prints outside of the sandbox, if it is given nothing to read."""
    return json.loads(run(*layout.command, "", cwd=layout.project, **layout.shell(made.home)))


def told_by(end: ProcessEnd) -> Any:
    """What the program printed; its errors if it failed."""
    return json.loads(end.stdout.text) if end.exit_code == 0 else end.stderr.text


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_program_runs_in_its_environment_and_sees_no_more(name: str, tmp_path: Path) -> None:
    """The environment and its modules are those of the host; evals and files of HOME are hidden."""
    made = Environments(tmp_path)
    layout = LAYOUTS[name](made)
    on_host = told_on_host(made, layout)
    assert (on_host["prefix"], on_host["dep"]) == (str(layout.prefix), layout.dep)
    assert told_by(in_sandbox(made, layout, tmp_path)) == on_host


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tools of PyPI."""
    folder = tmp_path_factory.mktemp("tools")
    command = (sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), *TOOLS)
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        pytest.skip(f"NO PYPI: pip can't install {', '.join(TOOLS)}: {done.stderr[-500:]}")
    return folder


def test_programs_of_packaging_tools_run_in_their_environments(
    tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same for environments that uv, pipx and build backends make."""
    monkeypatch.setenv("PYTHONPATH", str(tools))
    monkeypatch.setenv("PATH", f"{tools / 'bin'}{os.pathsep}{os.environ['PATH']}")
    made = Environments(tmp_path)
    layouts = {name: build(made) for name, build in PACKAGED.items()}
    monkeypatch.delenv("PYTHONPATH")
    on_host = {name: told_on_host(made, layout) for name, layout in layouts.items()}
    for name, layout in layouts.items():
        assert (on_host[name]["prefix"], on_host[name]["dep"]) == (str(layout.prefix), layout.dep), name
    assert {name: told_by(in_sandbox(made, layout, tmp_path)) for name, layout in layouts.items()} == on_host


@needs_landlock
def test_landlock_lets_python_search_a_project_for_its_package() -> None:
    """Python lists a folder before it imports from it; names can be seen there, and only the package can be read."""
    with tempfile.TemporaryDirectory(prefix="environments-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        made = Environments(folder)
        project = made.editable_project("hatchling")
        environment = folder / "venv"
        run(PUBLIC_PYTHON, "-m", "venv", "--without-pip", str(environment))
        site_of(environment).joinpath("tool.pth").write_text(f"{project}\n")
        command = [str(environment / "bin/python"), "-m", "tool"]
        layout = Layout(command=command, project=project, prefix=environment, dep="hatchling")
        assert told_by(in_sandbox(made, layout, folder, LandlockSandbox)) == told_on_host(made, layout)


@needs_landlock
def test_landlock_lets_python_search_the_folder_of_a_script_for_what_is_in_reads() -> None:
    """A module beside the script is readable if `reads` names it."""
    with tempfile.TemporaryDirectory(prefix="environments-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        made = Environments(folder)
        project = made.project("script")
        write_packages(project, "beside")
        (project / "agent.py").write_text(MAIN)
        command = [PUBLIC_PYTHON, "./agent.py"]
        layout = Layout(command=command, project=project, prefix=Path("/usr"), dep="beside", reads=("dep.py",))
        assert told_by(in_sandbox(made, layout, folder, LandlockSandbox)) == told_on_host(made, layout)


def test_a_shim_without_a_program_is_missing_and_its_manager_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on the host, where the shim fails too."""
    executable(tmp_path / "shims/python", '#!/usr/bin/env bash\nexec asdf exec "python" "$@"')
    executable(tmp_path / "bin/asdf", "#!/bin/sh\necho no version of python is set >&2; exit 126\n")
    monkeypatch.setenv("PATH", f"{tmp_path}/shims:{tmp_path}/bin:/usr/bin:/bin")
    agent = make_agent("mine", "command", Table({"command": ["python", "{prompt}"]}, where="demeanor.toml"))
    assert agent.missing() == (
        f"{tmp_path}/shims/python is a shim, but `asdf which python` names no program: no version of python is set; "
        "install it, or correct agents.mine.command"
    )
