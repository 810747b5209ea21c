"""The installed Demeanor: where it came from, how other machines install the same one, and how to add an extra.

Installers note the origin of whatever does not come from a package index in `direct_url.json` (PEP 610).
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from demeanor._version import __version__
from demeanor.core.trees.git import GitError, commit_of, git

_NAME = "demeanor"
_SSH = re.compile(r"(?P<host>(?:[\w.-]+@)?[\w.-]+):(?P<path>[^:]+)")
"""The short form of an SSH address that git accepts, such as `git@host:owner/name.git`."""

_REMOTE_SCHEMES = ("https", "http", "ssh", "git")
_URL_CHARACTERS = "/:@+~%=,"


@dataclass(frozen=True, kw_only=True, slots=True)
class Origin:
    """Where a package was installed from."""

    place: str
    """The place, for people."""

    pin: str = ""
    """What follows the name of the package if pip is to install the same again on any machine, such as `==0.1.0` or
    ` @ git+https://…@COMMIT`; empty if only this machine can."""

    def requirement(self, extra: str = "") -> str:
        """What pip installs on any machine, with an extra; empty if it can't be known."""
        if not self.pin:
            return ""
        return f"{_NAME}[{extra}]{self.pin}" if extra else f"{_NAME}{self.pin}"


def installed_from() -> Origin:
    """The origin of the Demeanor that runs."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        text = distribution(_NAME).read_text("direct_url.json")
    except PackageNotFoundError:
        return Origin(place=str(Path(__file__).parents[2]))
    if text is None:
        return Origin(place="a package index", pin=f"=={__version__}")
    return _origin(json.loads(text))


def install_extra(extra: str) -> str:
    """A command that installs what an extra adds, whatever Demeanor itself was installed from."""
    from importlib.metadata import PackageNotFoundError, requires

    marker = re.compile(rf"""\bextra\s*==\s*["']{extra}["']""")
    try:
        lines = [line.partition(";") for line in requires(_NAME) or ()]
    except PackageNotFoundError:
        return f"install Demeanor with its extra `{extra}`; see: demeanor help install"
    packages = [shlex.quote(package.strip()) for package, _, condition in lines if marker.search(condition)]
    return " ".join([_pip(), *packages])


def _pip() -> str:
    """The command that installs into the environment of this Python; it has no pip if uv created it."""
    if shutil.which("pip") == str(Path(sys.executable).with_name("pip")):
        return "pip install"
    python = shlex.quote(sys.executable)
    return f"{python} -m pip install" if find_spec("pip") else f"uv pip install --python {python}"


def _origin(direct_url: Mapping[str, Any]) -> Origin:
    url, vcs = direct_url["url"], direct_url.get("vcs_info")
    parts = urlsplit(url)
    if parts.scheme == "file":
        path = Path(unquote(parts.path))
        revision = vcs["commit_id"] if vcs else "HEAD"
        return Origin(place=str(path), pin="" if "archive_info" in direct_url else _pin_of_clone(path, revision))
    remote = _remote(url)
    if not remote:
        return Origin(place=parts.hostname or parts.scheme)
    if vcs:
        return Origin(place=remote, pin=_pin(vcs["vcs"], remote, vcs["commit_id"], direct_url.get("subdirectory", "")))
    return Origin(place=remote, pin=f" @ {remote}{_checksum(direct_url['archive_info'])}")


def _pin_of_clone(folder: Path, revision: str) -> str:
    """The pin of a revision of a clone; empty if no remote that others can reach is known to have it."""
    try:
        commit, subfolder = commit_of(folder, revision), git(folder, "rev-parse", "--show-prefix").strip()
        for name in sorted(git(folder, "remote").split(), key=lambda name: name != "origin"):
            has_commit = git(folder, "for-each-ref", "--count=1", f"--contains={commit}", f"refs/remotes/{name}/")
            remote = _remote(git(folder, "remote", "get-url", name).strip())
            if has_commit and remote:
                return _pin("git", remote, commit, subfolder.rstrip("/"))
    except GitError:
        pass  # not a clone, or an empty one
    return ""


def _pin(vcs: str, remote: str, commit: str, subfolder: str) -> str:
    pin = f" @ {vcs}+{remote}@{commit}"
    return f"{pin}#subdirectory={quote(subfolder)}" if subfolder else pin


def _remote(url: str) -> str:
    """The address without credentials; empty if other machines can't use it: a path, or a query that may hold a key."""
    short = None if "://" in url else _SSH.fullmatch(url)
    if short:
        url = f"ssh://{short['host']}/{short['path'].lstrip('/')}"
    parts = urlsplit(url)
    if parts.scheme not in _REMOTE_SCHEMES or parts.query:
        return ""
    user, _, host = parts.netloc.rpartition("@")
    if parts.scheme == "ssh" and user:
        host = f"{user.partition(':')[0]}@{host}"
    return urlunsplit((parts.scheme, host, quote(parts.path, safe=_URL_CHARACTERS), "", ""))


def _checksum(archive: Mapping[str, Any]) -> str:
    """The part of an address that pins the archive; empty if its checksum was not noted."""
    sha256 = archive.get("hashes", {}).get("sha256") or archive.get("hash", "").removeprefix("sha256=")
    return f"#sha256={sha256}" if sha256 else ""
