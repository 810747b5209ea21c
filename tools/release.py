"""`make release`: build sdist and wheel, check all that an index and its users see, and print how to publish them.

The wheel is installed into an empty environment outside the repository, where the tutorial is run. This finds what an
editable install hides: data files missing from the wheel, undeclared dependencies, and paths that exist only in a
checkout. With `--draft` (`make release-check`) any commit will do, with the Python that runs this; nothing is kept.
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
from collections.abc import Iterator, Sequence
from email import message_from_bytes
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ROOT / "build/release"
"""The environment of the programs that build, check and publish."""

SUPPORTED = (11, 12, 13, 14)
UNPUBLISHED = "not published on a package index"


def main() -> int:
    """Run all steps; the first that fails ends the check with its output.

    What keeps a draft from being a release is said first and decides at the end, so that one call says everything.
    """
    draft = "--draft" in sys.argv[1:]
    version = re.findall(r'__version__ = "(.+)"', (ROOT / "src/demeanor/_version.py").read_text("utf-8"))[0]
    left = [] if draft else list(left_to_do(version))
    for line in left:
        step(f"not yet: {line}")
    pythons = {"": sys.executable} if draft else installed_pythons()
    with tempfile.TemporaryDirectory(prefix="demeanor-release-") as folder:
        home = Path(folder)
        sdist, wheel = build(home / "dist")
        check_contents(sdist, wheel)
        check_metadata(sdist, wheel, version)
        for number, python in pythons.items():
            programs = install(wheel, home / f"venv{number}", python).parent
            run_tutorial(programs, home / f"tutorial{number}")
            check_workflows(programs / "demeanor", home / f"tutorial{number}/notes")
            read_documentation(programs / "demeanor")
        tried = ", ".join(filter(None, pythons)) or "this Python"
        step(f"{sdist.name} and {wheel.name} are fine ({tried})")
        if left:
            step("nothing is in dist/, because this is not a release yet:\n  " + "\n  ".join(left))
            return 1
        if not draft:
            keep([sdist, wheel])
    return 0


def left_to_do(version: str) -> Iterator[str]:
    """What a person has to do before this commit can be published."""
    changed = call(["git", "status", "--porcelain"], cwd=ROOT, quiet=True).splitlines()
    if changed:
        yield f"commit or remove what git status shows: {', '.join(line[3:] for line in changed)}"
    yield from changelog_problems((ROOT / "CHANGELOG.md").read_text("utf-8"), version)
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            if UNPUBLISHED in line:
                yield f"{path.relative_to(ROOT)}:{number}: replace what says that Demeanor is {UNPUBLISHED}"


def changelog_problems(text: str, version: str) -> Iterator[str]:
    """Why a changelog does not fit to a version: the newest section is that of the version, and has its day."""
    headings = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.startswith("## ")]
    unreleased = text.partition("## Unreleased\n")[2].partition("\n## ")[0].strip()
    if unreleased:
        yield "CHANGELOG.md: move the changes below 'Unreleased' to a section of the version that is released"
    number, newest = next((pair for pair in headings if pair[1] != "## Unreleased"), (1, "nothing"))
    if not re.fullmatch(rf"## {re.escape(version)} - \d{{4}}-\d\d-\d\d", newest):
        yield f"CHANGELOG.md:{number}: the newest version is {newest!r}, and src/demeanor/_version.py says {version}"


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
            sys.stderr.write(f"release: Python 3.{minor} is not on this machine, so it is not tried\n")
    return found


def build(out: Path) -> tuple[Path, Path]:
    """The source distribution, and the wheel built from it."""
    step("building sdist and wheel")
    call([sys.executable, "-m", "venv", str(TOOLS)])
    pip = [str(TOOLS / "bin/python"), "-m", "pip", "--disable-pip-version-check", "--quiet"]
    call([*pip, "install", "build", "twine", "readme-renderer[md]"])
    call([str(TOOLS / "bin/python"), "-m", "build", "--outdir", str(out), str(ROOT)])
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
        raise SystemExit(f"release: {wheel.name}: missing {missing}, not expected {extra}")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for name in ("README.md", "LICENSE", "CHANGELOG.md", "pyproject.toml", "src/demeanor/__init__.py"):
        if name not in names:
            raise SystemExit(f"release: {sdist.name}: {name} is missing")


def check_metadata(sdist: Path, wheel: Path, version: str) -> None:
    """The metadata is valid, names the version, and its description is shown as a page of its own."""
    step("checking metadata and description")
    call([str(TOOLS / "bin/twine"), "check", "--strict", str(sdist), str(wheel)], quiet=True)
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = message_from_bytes(archive.read(name))
    if metadata["Version"] != version:
        raise SystemExit(f"release: {wheel.name}: the version is {metadata['Version']} and not {version}")
    page = wheel.with_name("description.md")
    page.write_bytes(metadata.get_payload(decode=True))
    shown = call([str(TOOLS / "bin/python"), "-m", "readme_renderer", str(page)], quiet=True)
    page.unlink()
    if links := relative_links(shown):
        raise SystemExit(f"release: these links of the description lead nowhere on an index: {', '.join(links)}")


def relative_links(html: str) -> list[str]:
    """The links and images of a page that only work beside the repository."""
    return re.findall(r'(?:href|src)="(?!https?://|#|mailto:)([^"]*)"', html)


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
            raise SystemExit(f"release: the tutorial did not print {line!r}:\n{printed}")


def check_workflows(demeanor: Path, project: Path) -> None:
    """CI can't install a wheel of this machine, so the workflows have a line to fill in, and `doctor` says so."""
    step("checking what workflows install")
    nightly = (project / ".github/workflows/evals-nightly.yml").read_text("utf-8")
    shown = call([str(demeanor), "doctor", "--sandbox", "none"], cwd=project, quiet=True)
    if 'DEMEANOR_PACKAGE: ""' not in nightly or "DEMEANOR_PACKAGE is empty" not in shown:
        raise SystemExit(f"release: no line to fill in:\n{nightly}\n{shown}")


def read_documentation(demeanor: Path) -> None:
    """The pages, schemas and explanations that messages name are in the wheel."""
    step("reading the documentation in the wheel")
    for words in (["help", "ci"], ["help", "bad-input"], ["help", "schema", "scenario"]):
        call([str(demeanor), *words], cwd=demeanor.parent, quiet=True)


def keep(files: Sequence[Path]) -> None:
    """Copy the files to dist/, in place of older ones, and say how to publish them."""
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    dist.mkdir()
    for file in files:
        shutil.copy(file, dist)
    twine = TOOLS.relative_to(ROOT) / "bin/twine"
    step("the test suite was not run: make test")
    step(f"publish it with this command:\n{twine} upload {' '.join(f'dist/{file.name}' for file in files)}")


def step(text: str) -> None:
    """Say what is done next."""
    sys.stderr.write(f"release: {text}\n")


def call(argv: list[str], *, cwd: Path | None = None, env: dict[str, str] | None = None, quiet: bool = False) -> str:
    """Run a program; its output. A failure ends the check and shows all of it."""
    done = subprocess.run(
        argv, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"release: {' '.join(argv[:4])} … exited with {done.returncode}\n{done.stdout}")
    if done.stdout and not quiet:
        sys.stderr.write(done.stdout[-2000:])
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
