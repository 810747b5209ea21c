"""A root file system of a few programs of this machine."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

PROGRAMS = (
    "sh", "bash", "cat", "ls", "mkdir", "rm", "mv", "ln", "chmod", "chown", "touch", "cp", "test", "sleep", "id",
    "date", "dirname", "stat",
)  # fmt: skip

LEFT_OUT = shutil.ignore_patterns(
    "test", "idlelib", "lib2to3", "tkinter", "turtledemo", "ensurepip", "distutils", "pydoc_data", "unittest",
    "config-*", "dist-packages", "site-packages",
)  # fmt: skip


def small_rootfs(folder: Path, programs: Iterable[str] = PROGRAMS) -> Path:
    """Create it: the programs, with the libraries that they need."""
    (folder / "etc").mkdir(parents=True)
    (folder / "tmp").mkdir()
    (folder / "tmp").chmod(0o1777)
    (folder / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\napp:x:1000:1000::/home/app:/bin/sh\n")
    (folder / "etc/group").write_text("root:x:0:\napp:x:1000:\n")
    (folder / "bin").mkdir()
    paths = {name: Path(shutil.which(name) or "").resolve() for name in programs}
    for name, program in paths.items():
        shutil.copy(program, folder / "bin" / name)
    _copy_libraries(paths.values(), folder)
    return folder


def add_python(folder: Path) -> None:
    """Add the Python of this machine's system, with its standard library but for the largest packages."""
    program = Path("/usr/bin/python3").resolve()
    library = Path(f"/usr/lib/{program.name}")
    shutil.copytree(library, folder / library.relative_to("/"), symlinks=True, ignore=LEFT_OUT)
    (folder / "usr/bin").mkdir()
    shutil.copy(program, folder / "usr/bin/python3")
    _copy_libraries((program, *library.glob("lib-dynload/*.so")), folder)


def _copy_libraries(binaries: Iterable[Path], folder: Path) -> None:
    """Copy the libraries that programs need; `ldd` prints each program's own path with a colon."""
    printed = subprocess.run(["ldd", *binaries], check=True, capture_output=True, text=True).stdout
    for library in {word for word in printed.split() if word.startswith("/") and not word.endswith(":")}:
        target = folder / library.lstrip("/")
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, target)
