"""The remedy for an error of podman fits what podman says."""

from __future__ import annotations

import pytest

from demeanor.core.container_hints import podman_hint


@pytest.mark.parametrize(
    ("error", "word"),
    [
        ("crun: cgroups in hybrid mode not supported, drop all controllers from cgroup v2", 'runtime = "runc"'),
        ('default OCI runtime "crun" not found: invalid argument', "install a container runtime"),
        ("runc create failed: error setting rlimits for ready process: error setting rlimit type 7", "default_ulimits"),
        ('exec: "newuidmap": executable file not found in $PATH', "/etc/subuid"),
        ("sd-bus call: Failed to connect to bus: dbus: no such file", 'cgroup_manager = "cgroupfs"'),
    ],
)
def test_a_known_error_has_its_own_remedy(error: str, word: str) -> None:
    """As printed by podman 4."""
    assert word in (podman_hint(error) or "")


def test_an_unknown_error_has_none() -> None:
    """A wrong remedy would be worse."""
    assert podman_hint("Error: short-name resolution enforced but cannot prompt without a TTY") is None
