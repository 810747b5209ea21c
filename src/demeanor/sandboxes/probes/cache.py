"""Caches the results of the probes of a level on this machine, since running them takes a second.

A result holds for one level, machine, kernel, user and version of the code and tools, which are part of the file name.
An entry that can't be read, or is not what was written, is ignored.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from demeanor.core.trees.atomic_file import write_atomically
from demeanor.sandboxes.probes.result import Probe

_TOOLS = {"bubblewrap": "bwrap"}


@dataclass(frozen=True, kw_only=True, slots=True)
class CachedProbes:
    """The results of all probes at one level."""

    when: str
    """When they were run."""

    probes: tuple[Probe, ...]
    """The results."""

    @property
    def broken(self) -> tuple[Probe, ...]:
        """The probes that show that the level breaks a guarantee."""
        return tuple(probe for probe in self.probes if not probe.expected)

    def facts(self) -> dict[str, str]:
        """What a trial's record says about them."""
        counts = Counter(probe.state for probe in self.probes)
        summary = ", ".join(f"{number} {state}" for state, number in sorted(counts.items()))
        facts = {"probes": f"{len(self.probes)} tried {self.when}: {summary}"}
        for state in ("open", "inconclusive"):
            names = [probe.name for probe in self.probes if probe.state == state]
            if names:
                facts[f"probes.{state}"] = "; ".join(names)
        return facts


class ProbeCache:
    """The results that are cached in a folder."""

    def __init__(self, folder: Path, version: str) -> None:
        self._folder = folder
        self._version = version

    def get(self, level: str) -> CachedProbes | None:
        """The cached results of a level; None when there are none."""
        try:
            data = json.loads(self._path(level).read_text())
            probes = tuple(Probe(**probe) for probe in data["probes"])
            when = datetime.fromisoformat(data["when"]).isoformat(timespec="seconds")
        except (OSError, ValueError, TypeError, KeyError):
            return None
        return CachedProbes(when=when, probes=probes) if probes else None

    def store(self, level: str, probes: Sequence[Probe], when: datetime) -> CachedProbes:
        """Store results, unless a guarantee is broken. A folder that can't be written is ignored."""
        results = CachedProbes(when=when.isoformat(timespec="seconds"), probes=tuple(probes))
        path = self._path(level)
        with contextlib.suppress(OSError):
            if results.broken:
                path.unlink()
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(path, json.dumps(asdict(results)))
        return results

    def _path(self, level: str) -> Path:
        machine = os.uname()
        code = max(file.stat().st_mtime_ns for file in Path(__file__).parents[1].rglob("*.py"))
        tool = shutil.which(_TOOLS.get(level, level))
        made = (tool, Path(tool).stat().st_mtime_ns) if tool else None
        about = (level, self._version, code, machine.nodename, machine.release, machine.machine, os.getuid(), made)
        return self._folder / f"{level}-{hashlib.sha256(repr(about).encode()).hexdigest()[:16]}.json"
