"""Remedies for errors of podman, by what it says: most of them are settings of the machine, not faults of podman."""

from __future__ import annotations

import re

_HINTS = {
    r"crun:.*cgroup": "crun does not support this machine's control groups: apt install runc, and set"
    ' runtime = "runc" under [engine] in containers.conf',
    r"OCI runtime.*(not found|no such file)|could not find .*runtime": "install a container runtime:"
    ' apt install runc, or crun; if another one is installed, set runtime = "runc" under [engine] in containers.conf',
    r"setting rlimit": 'set default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"] under [containers] in'
    " containers.conf",
    r"newuidmap|subuid|subgid": "give your user a range of ids in /etc/subuid and /etc/subgid, then run"
    " `podman system migrate`",
    r"systemd.*cgroup|cgroup.*systemd|dbus": 'set cgroup_manager = "cgroupfs" under [engine] in containers.conf',
}


def podman_hint(error: str) -> str | None:
    """The remedy for an error of podman; None if it is not known."""
    return next(
        (hint for pattern, hint in _HINTS.items() if re.search(pattern, error, re.IGNORECASE | re.DOTALL)), None
    )
