"""A real PostgreSQL server in a temporary folder, on a Unix socket."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NOBODY = 65534


@contextmanager
def postgres_server(keep: Path | None = None) -> Iterator[str]:
    """Start a server for the duration of the block; yields its URL. Raises if PostgreSQL is not installed.

    Its data is in the folder `keep`, which is used again if it exists; by default it is removed in the end.
    """
    programs = _programs()
    # PostgreSQL refuses to run as root, and a socket's path may have no more than 107 characters.
    own = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    if own:
        os.chown(folder, NOBODY, NOBODY)
    data = keep or folder / "data"
    if keep and not keep.exists():
        keep.mkdir(parents=True, mode=0o700)
        if own:
            os.chown(keep, NOBODY, NOBODY)

    def call(program: str, *words: str) -> None:
        subprocess.run(
            [str(programs / program), *words], check=True, cwd=folder, capture_output=True, timeout=120, env={}, **own
        )

    try:
        if not (data / "PG_VERSION").exists():
            call(
                "initdb", "-D", str(data), "-U", "demeanor", "--auth=trust", "--no-sync", "--encoding=UTF8",
                "--locale=C",
            )  # fmt: skip
        options = f"-k {folder} -c listen_addresses='' -c fsync=off -c max_connections=50"
        call("pg_ctl", "-D", str(data), "-w", "-t", "60", "-l", str(folder / "log"), "-o", options, "start")
        try:
            yield f"postgresql://demeanor@/postgres?host={folder}"
        finally:
            call("pg_ctl", "-D", str(data), "-m", "fast" if keep else "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _programs() -> Path:
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        if (folder / "initdb").is_file():
            return folder
    raise RuntimeError("these tests need a PostgreSQL server: run tools/system.sh, or install postgresql")
