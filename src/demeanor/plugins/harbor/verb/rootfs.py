"""`demeanor harbor rootfs make NAME`: a Debian image from Debian's own packages, without a registry."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from demeanor.core.trees.program_tree import program_tree
from demeanor.core.trees.temp_names import temp_prefix
from demeanor.core.values.errors import UsageError
from demeanor.core.values.exit_code import ExitCode
from demeanor.plugins.harbor.images.cache import ImageCache
from demeanor.plugins.harbor.images.pull import import_archive

_SUITES = {"11": "bullseye", "12": "bookworm", "13": "trixie"}
_NAME = re.compile(r"debian:([a-z0-9]+)(?:-slim)?")
_CLEAN_UP_TIME = 30.0
"""How many seconds an interrupted mmdebstrap has to remove its temporary files."""

_LAST_LINES = 5
_STEP = "I: "
_NO_CHROOT = "unable to pick chroot mode"


def make_rootfs(name: str) -> ExitCode:
    """Make a Debian image with mmdebstrap, and put it into the cache of images."""
    match = _NAME.fullmatch(name)
    suite = _SUITES.get(match[1], match[1]) if match else ""
    if suite not in _SUITES.values():
        suites = ", ".join(" ".join(pair) for pair in _SUITES.items())
        raise UsageError(
            f"expected debian:VERSION, not {name!r}\n  → for example debian:12 (known: {suites});"
            " other images: demeanor harbor images pull NAME"
        )
    program = shutil.which("mmdebstrap")
    if program is None:
        raise UsageError("mmdebstrap, which makes Debian images, is not installed\n  → apt-get install mmdebstrap")
    cache = ImageCache.of_user(os.environ)
    with cache.scratch() as folder, _temporary_folder() as temporary:
        archive = folder / "rootfs.tar"
        lines = deque[str](maxlen=_LAST_LINES)
        words = [*own_mounts(), program, "--variant=minbase", "--include=ca-certificates", suite, str(archive)]
        env = {**os.environ, "TMPDIR": temporary}
        with program_tree(words, env=env, stdout=subprocess.PIPE, clean_up_time=_CLEAN_UP_TIME) as process:
            for raw in process.stdout or ():
                line = raw.decode("utf-8", "replace")
                lines.append(line.rstrip())
                if line.startswith(_STEP):
                    sys.stderr.write(f"{name}: {line.removeprefix(_STEP)}")
                    sys.stderr.flush()
            process.wait()
        if process.returncode != 0:
            last = "\n  ".join(lines)
            raise UsageError(f"mmdebstrap failed with exit code {process.returncode}:\n  {last}{_remedy(last, name)}")
        sys.stderr.write(f"{name}: unpacking {archive.stat().st_size / 2**20:.1f} MB\n")
        image = import_archive(archive, name, cache)
    print(f"{image.name} is ready: {image.digest}")
    return ExitCode.ACCEPTED


@contextmanager
def _temporary_folder() -> Iterator[str]:
    """A folder for the temporary files of mmdebstrap, which does not always remove them when it is interrupted. Its
    subordinate users, who are others to us, must be able to enter the folder; they remove their files themselves.
    """
    with tempfile.TemporaryDirectory(prefix=temp_prefix(), ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        yield folder


def own_mounts() -> list[str]:
    """The words before a program of root, so that what it mounts is gone with it: mmdebstrap mounts /dev, /proc and
    /sys in its temporary folder. Root without the right to mount anything needs none.
    """
    unshare = shutil.which("unshare") if os.geteuid() == 0 else None
    if unshare is None or subprocess.run([unshare, "--mount", "true"], capture_output=True, check=False).returncode:
        return []
    return [unshare, "--mount"]


def _remedy(output: str, name: str) -> str:
    """What to do about a failure: an ordinary user needs a substitute for root's rights."""
    if _NO_CHROOT not in output:
        return ""
    return (
        "\n  → an ordinary user needs fakechroot (apt-get install fakechroot), or subordinate user ids with uidmap"
        f"\n  → without either: demeanor harbor images pull {name}"
    )
