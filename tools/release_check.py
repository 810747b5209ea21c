"""Build sdist and wheel, install the wheel into an empty environment outside the repository, and run the tutorial.

This finds what an editable install hides: data files missing from the wheel, undeclared dependencies, and paths that
exist only in a checkout.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SUPPORTED = (11, 12, 13, 14)


def main() -> int:
    """Run all steps; the first that fails ends the check with its output.

    With `--all`, every supported version of Python on this machine is tried instead of only the one that runs this.
    """
    pythons = installed_pythons() if "--all" in sys.argv[1:] else {"": sys.executable}
    with tempfile.TemporaryDirectory(prefix="demeanor-release-") as folder:
        home = Path(folder)
        sdist, wheel = build(home / "dist")
        check_contents(sdist, wheel)
        for version, python in pythons.items():
            programs = install(wheel, home / f"venv{version}", python).parent
            run_tutorial(programs, home / f"tutorial{version}")
            read_documentation(programs / "demeanor")
    tried = ", ".join(filter(None, pythons)) or "this Python"
    sys.stderr.write(f"release-check: {sdist.name} and {wheel.name} are fine ({tried})\n")
    return 0


def installed_pythons() -> dict[str, str]:
    """The supported versions of Python on this machine: on PATH, of pyenv, or of uv."""
    home = Path.home()
    found: dict[str, str] = {}
    for minor in SUPPORTED:
        name = f"python3.{minor}"
        folders = (Path(os.environ.get("PYENV_ROOT") or home / ".pyenv", "versions"), home / ".local/share/uv/python")
        others = [str(path) for folder in folders for path in sorted(folder.glob(f"*/bin/{name}"))]
        for python in filter(None, (shutil.which(name), *others)):
            works = subprocess.run([python, "-c", "import venv, ensurepip"], capture_output=True, check=False)
            if works.returncode == 0:
                found[f"3.{minor}"] = python
                break
        else:
            sys.stderr.write(f"release-check: Python 3.{minor} is not on this machine, so it is not tried\n")
    return found


def build(out: Path) -> tuple[Path, Path]:
    """The source distribution, and the wheel built from it."""
    step("building sdist and wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    with tempfile.TemporaryDirectory() as venv:
        call([sys.executable, "-m", "venv", venv])
        builder = Path(venv) / "bin/python"
        call([str(builder), *pip[1:], "install", "build"])
        call([str(builder), "-m", "build", "--outdir", str(out), str(ROOT)])
    (sdist,), (wheel,) = out.glob("*.tar.gz"), out.glob("*.whl")
    return sdist, wheel


def check_contents(sdist: Path, wheel: Path) -> None:
    """Every file of the package is in the wheel, and nothing else of the repository is."""
    step("comparing the wheel with the repository")
    tracked = call(["git", "ls-files", "src/demeanor", "docs"], cwd=ROOT, quiet=True).split()
    wanted = {name.removeprefix("src/") if name.startswith("src/") else f"demeanor/{name}" for name in tracked}
    with zipfile.ZipFile(wheel) as archive:
        found = {name for name in archive.namelist() if ".dist-info/" not in name}
    if wanted != found:
        missing, extra = sorted(wanted - found), sorted(found - wanted)
        raise SystemExit(f"release-check: {wheel.name}: missing {missing}, not expected {extra}")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for name in ("README.md", "LICENSE", "CHANGELOG.md", "pyproject.toml", "src/demeanor/__init__.py"):
        if name not in names:
            raise SystemExit(f"release-check: {sdist.name}: {name} is missing")


def install(wheel: Path, venv: Path, interpreter: str) -> Path:
    """The Python of a new environment that contains the wheel and its dependencies only."""
    step(f"installing the wheel into an empty environment of {interpreter}")
    call([interpreter, "-m", "venv", str(venv)])
    python = venv / "bin/python"
    call([str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet", str(wheel)])
    call([str(python), "-m", "pip", "check"])
    return python


def run_tutorial(programs: Path, folder: Path) -> None:
    """Paste the tutorial into one shell, with the installed command on PATH and an empty HOME."""
    step("running the tutorial")
    page = (ROOT / "docs/tutorial.md").read_text("utf-8")
    script = "\n".join(re.findall(r"```bash\n(.*?)```", page, re.S))
    (folder / "home").mkdir(parents=True)
    env = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(folder / "home")}
    printed = call(["bash", "-euc", script], cwd=folder, env=env, quiet=True)
    for line in ("0 faulty", "exit code 1"):
        if line not in printed:
            raise SystemExit(f"release-check: the tutorial did not print {line!r}:\n{printed}")


def read_documentation(demeanor: Path) -> None:
    """The pages, schemas and explanations that messages name are in the wheel."""
    step("reading the documentation in the wheel")
    for words in (["help", "ci"], ["explain", "bad-input"], ["schema", "scenario"]):
        call([str(demeanor), *words], cwd=demeanor.parent, quiet=True)


def step(text: str) -> None:
    """Say what is done next."""
    sys.stderr.write(f"release-check: {text}\n")


def call(argv: list[str], *, cwd: Path | None = None, env: dict[str, str] | None = None, quiet: bool = False) -> str:
    """Run a program; its output. A failure ends the check and shows all of it."""
    done = subprocess.run(
        argv, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"release-check: {' '.join(argv[:4])} … exited with {done.returncode}\n{done.stdout}")
    if done.stdout and not quiet:
        sys.stderr.write(done.stdout[-2000:])
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
