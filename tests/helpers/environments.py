"""Real environments in every layout that an agent's program may be installed in, below one HOME."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
SITE = f"lib/python{VERSION}/site-packages"
PYTHON = str(Path(sys.base_prefix, "bin", f"python{VERSION}"))
MAIN = """\
import json, os, sys
def can_read(path):
    try:
        return open(path).read() != ""
    except OSError:
        return False
def main():
    import dep
    seen = [path for path in sys.argv[1].split(":") if can_read(path)]
    print(json.dumps({"prefix": sys.prefix, "library": os.__file__, "dep": dep.WHERE, "seen": seen}))
if __name__ == "__main__":
    main()
"""
NODE_MAIN = """\
#!/usr/bin/env node
const fs = require("fs");
const seen = process.argv[2].split(":").filter((path) => fs.existsSync(path) && fs.readFileSync(path));
console.log(JSON.stringify({ prefix: process.execPath, dep: require("dep").WHERE, seen }));
"""
BACKENDS = {
    "setuptools": '[build-system]\nrequires = []\nbuild-backend = "setuptools.build_meta"\n'
    '[tool.setuptools]\npackages = ["tool"]\npy-modules = ["dep"]\n',
    "hatchling": '[build-system]\nrequires = []\nbuild-backend = "hatchling.build"\n',
    "exact": '[build-system]\nrequires = []\nbuild-backend = "hatchling.build"\n'
    '[tool.hatch.build]\ndev-mode-exact = true\n[tool.hatch.build.targets.wheel]\nonly-include = ["tool", "dep.py"]\n',
    "poetry": '[build-system]\nrequires = []\nbuild-backend = "poetry.core.masonry.api"\n',
}


@dataclass(frozen=True, kw_only=True)
class Layout:
    """One way to install an agent's program."""

    command: list[str]
    """As in the configuration, which is in `project`."""

    project: Path
    prefix: Path
    """The environment that the program must run in, or the Node that must run it."""

    dep: str
    """What the module `dep` must say that it finds."""

    reads: tuple[str, ...] = ()
    """As in the configuration."""

    path: tuple[str, ...] = ()
    """Folders at the beginning of PATH."""

    env: tuple[tuple[str, str], ...] = ()
    """Variables of the user's shell."""

    def shell(self, home: Path) -> dict[str, str]:
        """The variables of a shell in which the program is on PATH."""
        path = os.pathsep.join((*self.path, os.environ["PATH"]))
        return {"HOME": str(home), "PATH": path, "PYTHONDONTWRITEBYTECODE": "1", **dict(self.env)}


class Environments:
    """Builds environments. Each has its own module `dep`, so that a program can tell where it found it."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.secrets = [self.home / ".ssh/id"]
        for secret in self.secrets:
            secret.parent.mkdir(parents=True)
            secret.write_text("secret")

    def project(self, name: str) -> Path:
        """The folder of a project with an eval and a secret, which no agent may read."""
        folder = self.home / "projects" / name
        (folder / "evals").mkdir(parents=True)
        for secret in (folder / "evals/eval_answer.py", folder / ".env", folder / "demeanor.toml"):
            secret.write_text("from demeanor import eval_test\n")
            self.secrets.append(secret)
        return folder

    def venv(self, folder: Path, *options: str, python: str = PYTHON) -> Path:
        """A virtual environment with the program as a module."""
        run(python, "-m", "venv", "--without-pip", *options, str(folder))
        write_packages(folder / SITE, folder.name)
        return folder

    def relocated_python(self, folder: Path) -> Path:
        """A Python with its standard library in a folder of its own, as conda and uv have them."""
        base = Path(sys.base_prefix)
        leave_out = shutil.ignore_patterns(
            "test", "*-packages", "config-*", "idlelib", "lib2to3", "ensurepip", "tkinter", "pydoc_data", "unittest"
        )
        shutil.copytree(base / f"lib/python{VERSION}", folder / f"lib/python{VERSION}", ignore=leave_out, symlinks=True)
        for library in (base / "lib").glob("libpython*.so*"):
            shutil.copy2(library, folder / "lib", follow_symlinks=False)
        (folder / "bin").mkdir()
        old, new = f"{base}/lib".encode(), b"$ORIGIN/../lib"  # where it looks for its shared library, as conda does it
        content = Path(PYTHON).read_bytes().replace(old + b"\0", new.ljust(len(old), b"\0") + b"\0")
        program = folder / f"bin/python{VERSION}"
        program.write_bytes(content)
        program.chmod(0o755)
        for name in ("python", "python3"):
            (folder / "bin" / name).symlink_to(program.name)
        write_packages(site_of(folder), folder.name)
        return folder

    def editable_project(self, name: str) -> Path:
        """A project whose package lies beside its evals, with a build backend."""
        folder = self.project(name)
        write_packages(folder, name)
        text = '[project]\nname = "tool"\nversion = "1.0"\n[project.scripts]\ntool = "tool:main"\n'
        (folder / "pyproject.toml").write_text(text + BACKENDS[name.partition("-")[0]])
        return folder


def run(*command: str, cwd: Path | None = None, **env: str) -> str:
    """What a command prints; it must succeed."""
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        timeout=300,
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


def site_of(prefix: Path) -> Path:
    """The folder of installed packages; Debian's Python has another one than others."""
    code = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    return Path(run(str(prefix / "bin/python"), "-c", code).strip())


def executable(path: Path, text: str) -> Path:
    """A script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def write_packages(folder: Path, where: str) -> None:
    """The program, and the module that tells where it was found."""
    (folder / "tool").mkdir(parents=True, exist_ok=True)
    (folder / "tool/__init__.py").write_text(MAIN.partition("if __name__")[0])
    (folder / "tool/__main__.py").write_text("from tool import main\nmain()\n")
    (folder / "dep.py").write_text(f"WHERE = {where!r}\n")


def wheel(folder: Path, where: str) -> Path:
    """A wheel with the program, and a command that starts it."""
    path = folder / "tool-1.0-py3-none-any.whl"
    info = "tool-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tool/__init__.py", MAIN.partition("if __name__")[0])
        archive.writestr("dep.py", f"WHERE = {where!r}\n")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tool\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/entry_points.txt", "[console_scripts]\ntool = tool:main\n")
        archive.writestr(f"{info}/RECORD", "")
    return path


def npm_package(folder: Path, name: str, files: dict[str, str], **package: Any) -> Path:
    """The folder of an npm package."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text(json.dumps({"name": name, "version": "1.0.0", **package}))
    for path, text in files.items():
        executable(folder / path, text)
    return folder


def npm_archive(folder: Path) -> Path:
    """An npm package as an archive, which npm copies instead of linking to it."""
    path = folder.with_suffix(".tgz")
    with tarfile.open(path, "w:gz") as archive:
        for file in sorted(folder.iterdir()):
            member = tarfile.TarInfo(f"package/{file.name}")
            content = file.read_bytes()
            member.size, member.mode = len(content), 0o755
            archive.addfile(member, io.BytesIO(content))
    return path
