"""What a Python program needs besides itself: its environment, the Python that this was made from, and the folders
outside of both that it imports from.

An environment is a folder with `pyvenv.cfg` (venv, virtualenv, uv, Poetry, pipx) or `conda-meta`. It names folders
outside of itself in `.pth` files and in the modules of editable installations. These may be whole projects, so only
what Python can import from them is readable: an agent must not read the evals that it is tested with.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

_PYTHON = re.compile(r"(?:python|pypy)(\d+\.\d+|\d?)[a-z]?")
_ENVIRONMENT_NAMES = {
    "bin", "include", "lib", "lib64", "libexec", "share", "etc", "man", "pyvenv.cfg", "pipx_metadata.json",
    "uv-receipt.toml", "CACHEDIR.TAG", ".gitignore", ".lock", ".project",
}  # fmt: skip
"""What the tools that make virtual environments put into them; another name means that the folder has another use."""

_PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg", "demeanor.toml", ".git")
_SHARED_FOLDERS = (".local", "opt", "usr", "local", "home")
_WIDE = ("/etc", "/home", "/root", "/var", "/proc", "/sys", "/dev", "/run", "/opt", "/srv", "/mnt", "/media", "/tmp")  # noqa: S108 - no file is created
_EVAL_FILE = re.compile(r"eval_.*\.py|.*_eval\.py|scenario\.toml|task\.toml")
_EVALS = "evals"
_TEST_FILE = re.compile(r"test_.*\.py")
_NOT_SEARCHED = {"node_modules", ".git", ".venv", "__pycache__"}
_MOST_FILES = 10_000
"""In a folder of sources; a larger one is not searched for evals, and so not readable."""

_MAX_PTH = 1_000_000


def is_wide(folder: Path) -> bool:
    """Whether a folder holds far more than one program: the root, HOME, or a folder that contains HOME."""
    return any(
        Path.home().is_relative_to(path) or str(path) in _WIDE for path in (folder, Path(os.path.realpath(folder)))
    )


def is_shared(folder: Path) -> bool:
    """Whether several programs are installed in a folder, such as /usr or ~/.local."""
    return folder.name in _SHARED_FOLDERS or is_wide(folder)


def is_python(program: Path) -> bool:
    """Whether a program is a Python, by its name."""
    return _PYTHON.fullmatch(program.name) is not None


def environment_of(program: Path) -> Path | None:
    """The environment that a program belongs to; None if there is none."""
    folder = program.parent.parent
    marked = (folder / "pyvenv.cfg").is_file() or (folder / "conda-meta").is_dir()
    return folder if program.parent.name == "bin" and marked else None


def environment_paths(folder: Path) -> Iterator[str]:
    """The paths of an environment, and of the Python that it was made from."""
    settings = environment_settings(folder)
    if settings and (is_wide(folder) or not {path.name for path in folder.iterdir()} <= _ENVIRONMENT_NAMES):
        yield from map(str, (folder / "pyvenv.cfg", folder / "bin", *folder.glob("lib*/py*")))
    elif not is_wide(folder):
        yield str(folder)
    if home := settings.get("home"):
        yield from installation_paths(Path(home) / "python3")


def environment_settings(folder: Path) -> dict[str, str]:
    """The settings in `pyvenv.cfg`; empty for another kind of environment."""
    try:
        lines = (folder / "pyvenv.cfg").read_text("utf-8", "replace").splitlines()
    except OSError:
        return {}
    return {key.strip().lower(): value.strip() for key, _, value in (line.partition("=") for line in lines)}


def is_installation(python: Path) -> bool:
    """Whether a Python is where it was installed, beside its standard library; a link to it is not."""
    return python.parent.name == "bin" and any(python.parent.parent.glob("lib*/py*/os.py"))


def installation_paths(python: Path) -> Iterator[str]:
    """The paths of a Python that belongs to no environment; of a folder with other programs, only what is Python's."""
    prefix = python.parent.parent
    if is_installation(python) and not is_shared(prefix):
        yield str(prefix)
    elif is_installation(python):
        for library in prefix.glob("lib*/py*/os.py"):
            yield str(library.parent)
            yield from map(str, library.parents[1].glob(f"lib{library.parent.name}*"))


def source_folders(python: Path) -> Iterator[Path]:
    """The folders, packages and modules outside of it that a Python imports from, by `.pth` files."""
    environment = environment_of(python)
    prefixes = [(environment or python.parent.parent, _version(python))]
    settings = environment_settings(environment) if environment else {}
    if settings.get("include-system-site-packages", "").lower() == "true" and "home" in settings:
        prefixes.append((Path(settings["home"]).parent, _version(python)))
    for prefix, version in prefixes:
        for site in _site_folders(prefix, version):
            for file in sorted(site.glob("*.pth")):
                yield from _named_in(file)


def source_paths(source: Path) -> tuple[str, ...]:
    """What is readable of a folder, package or module that Python imports from.

    Of a folder that also holds other things, only what can be imported is; of a project, only modules and regular
    packages, since any folder can be a namespace package. Evals are never readable, nor are the root and HOME.
    """
    evals = None if is_wide(source) else eval_folders(source)
    if evals is None:
        return ()
    if source.is_file() or (_is_package(source) and not _is_project(source)):
        return tuple(_without(source, evals))
    children = sorted(child for child in source.iterdir() if child.name != "__pycache__")
    modules = [child for child in children if _can_import(child, regular=_is_project(source))]
    if modules == children and not evals:
        return (str(source),)
    return tuple(path for module in modules for path in _without(module, evals))


def eval_folders(folder: Path) -> tuple[Path, ...] | None:
    """The folders in a folder that directly hold evals; None if it is too large to be searched."""
    evals, count = [], 0
    for top, folders, files in os.walk(folder):
        count += len(files)
        if count > _MOST_FILES:
            return None
        if any(_is_eval(Path(top, name)) for name in files) or (Path(top).name == _EVALS and Path(top) != folder):
            evals.append(Path(top))
        folders[:] = [name for name in folders if name not in _NOT_SEARCHED]
    return tuple(evals)


def _version(python: Path) -> str:
    """The version in the name of a Python, such as `3.12`; empty if it is not known."""
    name = _PYTHON.fullmatch(Path(os.path.realpath(python)).name)
    return name[1] if name and "." in name[1] else ""


def _site_folders(prefix: Path, version: str) -> Iterator[Path]:
    """The folders of installed packages. Debian's Python also has one in /usr/local, and one for all versions."""
    for pattern in ("lib*/py*/site-packages", "lib*/py*/dist-packages", "local/lib*/py*/dist-packages"):
        for site in prefix.glob(pattern):
            if not version or site.parent.name in {"python3", f"python{version}", f"pypy{version}"}:
                yield site


def _named_in(file: Path) -> Iterator[Path]:
    """What a `.pth` file names, as `site.addpackage` reads it: folders, and modules that install finders."""
    for line in _text(file).splitlines():
        if line.startswith(("import ", "import\t")):
            for module in re.findall(r"\w*editable\w*", line.partition(";")[0]):
                yield from _named_by_finder(file.with_name(f"{module}.py"))
        elif line.strip() and not line.startswith("#"):
            folder = Path(os.path.normpath(file.parent / line.rstrip()))
            if folder.is_dir() and not folder.is_relative_to(file.parent):
                yield folder


def _named_by_finder(file: Path) -> Iterator[Path]:
    """The packages and modules that the finder of an editable installation knows: the absolute paths in its code.

    setuptools, hatchling, scikit-build-core and meson-python each write them in their own way; the suffix of a module
    and the name of a package's `__init__.py` may be left out.
    """
    import ast  # only environments with editable installations need it

    try:
        tree = ast.parse(_text(file))
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("/"):
            path = Path(node.value)
            if path.name == "__init__.py":
                yield path.parent
            elif path.is_dir():
                yield path
            else:
                yield from (module for module in (path, *path.parent.glob(f"{path.name}.*")) if _is_module(module))


def _text(file: Path) -> str:
    try:
        with file.open(encoding="utf-8-sig", errors="replace") as stream:
            return stream.read(_MAX_PTH)
    except OSError:
        return ""


def _is_eval(file: Path) -> bool:
    """Whether a file is an eval. A test is one only if it uses Demeanor, because many packages contain tests."""
    if _TEST_FILE.fullmatch(file.name):
        return "demeanor" in _text(file)
    return _EVAL_FILE.fullmatch(file.name) is not None


def _without(path: Path, evals: tuple[Path, ...]) -> Iterator[str]:
    """The path, or its parts without evals."""
    if path in evals or (path.is_file() and _is_eval(path)):
        return
    if any(folder.is_relative_to(path) for folder in evals):
        for child in sorted(path.iterdir()):
            yield from _without(child, evals)
    else:
        yield str(path)


def _is_project(folder: Path) -> bool:
    return any((folder / name).exists() for name in _PROJECT_FILES)


def _is_module(path: Path) -> bool:
    return path.suffix in {".py", ".so"} and path.is_file()


def _is_package(path: Path) -> bool:
    return (path / "__init__.py").is_file()


def _can_import(path: Path, *, regular: bool) -> bool:
    """Whether Python can import a path, or it describes an installation; `regular`: only regular packages count."""
    if path.is_file():
        return _is_module(path)
    if path.suffix in {".egg-info", ".dist-info"} or _is_package(path):
        return True
    below = (pattern for pattern in ("*.py", "*/*.py") if any(path.glob(pattern)))
    return not regular and path.name.isidentifier() and any(below)
