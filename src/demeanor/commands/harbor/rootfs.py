"""`demeanor harbor rootfs make NAME`: a Debian image from Debian's own packages, without a registry."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import deque

from demeanor.core.errors import UsageError
from demeanor.core.exit_code import ExitCode
from demeanor.images.cache import ImageCache
from demeanor.images.pull import import_archive

_SUITES = {"11": "bullseye", "12": "bookworm", "13": "trixie"}
_NAME = re.compile(r"debian:([a-z0-9]+)(?:-slim)?")
_LAST_LINES = 5
_STEP = "I: "
_NO_CHROOT = "unable to pick chroot mode"


def make_rootfs(name: str) -> ExitCode:
    """Make a Debian image with mmdebstrap, and put it into the cache of images."""
    found = _NAME.fullmatch(name)
    suite = _SUITES.get(found[1], found[1]) if found else ""
    if suite not in _SUITES.values():
        raise UsageError(f"expected debian:VERSION, not {name!r}\n  → for example debian:12; other images: images pull")
    program = shutil.which("mmdebstrap")
    if program is None:
        raise UsageError("mmdebstrap, which makes Debian images, is not installed\n  → apt-get install mmdebstrap")
    cache = ImageCache.of_user(os.environ)
    with cache.scratch() as folder:
        archive = folder / "rootfs.tar"
        lines = deque[str](maxlen=_LAST_LINES)
        with subprocess.Popen(
            [program, "--variant=minbase", "--include=ca-certificates", suite, str(archive)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process:
            for line in process.stdout or ():
                lines.append(line.rstrip())
                if line.startswith(_STEP):
                    sys.stderr.write(f"{name}: {line.removeprefix(_STEP)}")
                    sys.stderr.flush()
        if process.returncode != 0:
            last = "\n  ".join(lines)
            raise UsageError(f"mmdebstrap failed with exit code {process.returncode}:\n  {last}{_remedy(last, name)}")
        sys.stderr.write(f"{name}: unpacking {archive.stat().st_size / 2**20:.1f} MB\n")
        image = import_archive(archive, name, cache)
    print(f"{image.name} is ready: {image.digest}")
    return ExitCode.ACCEPTED


def _remedy(output: str, name: str) -> str:
    """What to do about a failure: an ordinary user needs a substitute for root's rights."""
    if _NO_CHROOT not in output:
        return ""
    return (
        "\n  → an ordinary user needs fakechroot (apt-get install fakechroot), or subordinate user ids with uidmap"
        f"\n  → without either: demeanor harbor images pull {name}"
    )
