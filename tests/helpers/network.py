"""Network namespaces that are connected to one another in a star, so that a test can cut a cable."""

from __future__ import annotations

import os
import shutil
import subprocess
from types import TracebackType

_IP = shutil.which("ip", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") or "ip"

HUB = "10.77.0.1"
"""The address of the middle of the star, which all other namespaces reach."""


class PrivateNetwork:
    """A namespace in the middle, and one for each name, with a cable to it. They need no rights outside."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self._holders: dict[str, subprocess.Popen[str]] = {}

    def __enter__(self) -> PrivateNetwork:
        try:
            self._hold("", ["unshare", "--user", "--map-root-user", "--net"])
            self._ip("", "link", "set", "lo", "up")
            self._ip("", "addr", "add", f"{HUB}/32", "dev", "lo")
            for number, name in enumerate(self.names, 1):
                self._hold(name, [*self.enter(""), "unshare", "--net"])
                here = str(self._holders[name].pid)
                self._ip("", "link", "add", f"to-{number}", "type", "veth", "peer", "name", "eth0", "netns", here)
                self._ip("", "addr", "add", f"10.77.{number}.1/24", "dev", f"to-{number}")
                self._ip("", "link", "set", f"to-{number}", "up")
                self._ip(name, "link", "set", "lo", "up")
                self._ip(name, "addr", "add", f"{self.address(name)}/24", "dev", "eth0")
                self._ip(name, "link", "set", "eth0", "up")
                self._ip(name, "route", "add", "default", "via", f"10.77.{number}.1")
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for holder in self._holders.values():
            holder.communicate()

    def enter(self, name: str) -> list[str]:
        """The words before a command that let it run in a namespace; the middle has no name."""
        return ["nsenter", "--target", str(self.pid(name)), "--user", "--preserve-credentials", "--net"]

    def pid(self, name: str) -> int:
        """A process in a namespace, which lives as long as the namespace."""
        return self._holders[name].pid

    def address(self, name: str) -> str:
        """The address of a namespace."""
        return f"10.77.{self.names.index(name) + 1}.2" if name else HUB

    def cut(self, name: str) -> None:
        """Unplug a cable: packets are lost, no connection is closed."""
        self._ip("", "link", "set", f"to-{self.names.index(name) + 1}", "down")

    def mend(self, name: str) -> None:
        """Plug it in again."""
        self._ip("", "link", "set", f"to-{self.names.index(name) + 1}", "up")

    def _hold(self, name: str, words: list[str]) -> None:
        """Make a namespace; it lives as long as the process in it, which ends with its standard input."""
        holder = subprocess.Popen(
            [*words, "sh", "-c", "echo ready; exec cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._holders[name] = holder
        assert holder.stdout is not None
        assert holder.stdout.readline() == "ready\n", "network namespaces can't be made here"

    def _ip(self, name: str, *words: str) -> None:
        subprocess.run([*self.enter(name), _IP, *words], check=True, capture_output=True, text=True)
