"""Live probes of a level: what a hostile program tries, tried for real, beside a control that shows it can succeed.

Everything is tried twice: at the level `none`, where the thing must be within reach, and at the level in question. A
probe whose control failed, or that could not be tried, proves nothing and is *inconclusive*: a socket that nobody
listens on is out of any reach. What must be possible behind walls too is tried as well, lest a level in which nothing
works be taken for a safe one. `demeanor doctor --sandboxes` and the tests ask these same questions.
"""

# /proc is read often and at once.
# ruff: noqa: PTH208

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Mapping
from pathlib import Path

from demeanor.core.ports import Sandbox, SandboxSession, Template
from demeanor.core.process import Launch, Limits, ProcessEnd
from demeanor.core.tree_io import scan
from demeanor.sandboxes.levels.none import NoneSandbox
from demeanor.sandboxes.probes.result import Probe, State
from demeanor.sandboxes.probes.targets import door_and_twin, oracles
from demeanor.sandboxes.supervisor import landlock_abi as ruleset

PROGRAM = Path(__file__).with_name("program.py")
WANTED = ("write in its workspace", "reach its own door")
"""What must be possible."""

SURVIVE = ("survive in a session of its own", "survive by forking itself anew")
"""What daemons try."""

_PORTS_ONLY = "reach another address at its door's port"
_TAKES = 60.0
_SILENT = "no answer"
_LOOKS = 12


def left_open(level: str, name: str) -> bool:
    """Whether a level does not promise to keep something from happening."""
    if level == "none":
        return name not in SURVIVE
    if level == "landlock":  # without namespaces: ports have no addresses, /proc is one, permissions are not ruled over
        known = (_PORTS_ONLY, "see a process of the host", "change permissions outside")
        return name in known or (name == "signal a process of the host" and ruleset.version() < ruleset.SIGNALS)
    return False


async def probe(sandbox: Sandbox) -> tuple[Probe, ...]:
    """Try everything in `sandbox` and give what came of it."""
    return (await matrix({sandbox.name: sandbox}))[sandbox.name]


async def matrix(sandboxes: Mapping[str, Sandbox]) -> dict[str, tuple[Probe, ...]]:
    """Try everything in each of the sandboxes, beside one control."""
    with oracles() as oracle, tempfile.TemporaryDirectory(prefix="demeanor-probe-") as folder:
        template = _template(Path(folder))
        control = NoneSandbox()
        try:
            free = {**await attempt(control, template, oracle), **await asyncio.to_thread(_stay_without_walls)}
        finally:
            await control.stop()
        found = {}
        for level, sandbox in sandboxes.items():
            kept = await attempt(sandbox, template, oracle)
            found[level] = tuple(_compared(level, name, free[name], kept.get(name, _SILENT)) for name in free)
    return found


def _compared(level: str, name: str, control: str, found: str) -> Probe:
    state: State
    if name in WANTED:
        state = "works" if found == "reached" else "broken"
    elif control != "reached" or found == _SILENT:
        state = "inconclusive"
    else:
        state = "open" if found == "reached" else "blocked"
    expected = state not in ("open", "broken") or (state == "open" and left_open(level, name))
    return Probe(name=name, state=state, expected=expected, control=control, found=found)


async def attempt(sandbox: Sandbox, template: Template, oracle: Mapping[str, str]) -> dict[str, str]:
    """What the probing programs reach in a sandbox, by what they try."""
    async with sandbox.bench(template, network="gateway") as bench:
        await bench.furnish((_launch(),))
        with door_and_twin(bench.listener) as door:
            end = await _run(bench, json.dumps({**oracle, **door}))
        names = _names()
        stayed = await _run(bench, "stay", "never", *names)
        alive = _named(names) if stayed.stdout.text == "up\n" else None
    survived = {} if alive is None else {SURVIVE[names.index(name)]: _survival(name in alive) for name in names}
    return {**_answers(end), **survived}


async def _run(bench: SandboxSession, *words: str) -> ProcessEnd:
    return await bench.run(_launch(*words), limits=Limits(wall=_TAKES), last_activity=time.monotonic)


def _launch(*words: str) -> Launch:
    python, reads = _python()
    return Launch(argv=(python, "-I", "-S", "probe.py", *words), reads=reads)


def _python() -> tuple[str, tuple[str, ...]]:
    """A Python that everybody may run, as far as there is one; and what it needs to read."""
    common = shutil.which("python3", path="/usr/bin:/bin")
    return (common, ()) if common else (sys.executable, (sys.prefix, sys.base_prefix, sys.executable))


def _template(folder: Path) -> Template:
    (folder / "probe.py").write_bytes(PROGRAM.read_bytes())
    return Template(folder=folder, tree=scan(folder))


def _answers(end: ProcessEnd) -> dict[str, str]:
    try:
        found = json.loads(end.stdout.text)
    except ValueError:
        return {}
    return {str(name): str(answer) for name, answer in found.items()} if isinstance(found, dict) else {}


def _stay_without_walls() -> dict[str, str]:
    """What becomes of the daemons of an ordinary process that ends. They are told to end when that has been seen."""
    names = _names()
    with tempfile.TemporaryDirectory(prefix="demeanor-stay-") as folder:
        stop = Path(folder, "stop")
        argv = [_python()[0], "-I", "-S", str(PROGRAM), "stay", str(stop), *names]
        subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, timeout=_TAKES)
        alive = _named(names)
        stop.touch()
        deadline = time.monotonic() + _TAKES
        while _named(names) and time.monotonic() < deadline:
            time.sleep(0.005)
    return {what: _survival(name in alive) for what, name in zip(SURVIVE, names, strict=True)}


def _survival(alive: bool) -> str:
    return "reached" if alive else "it was ended"


def _names() -> tuple[str, str]:
    """Names that no other process has, as short as the kernel wants them."""
    return f"hf-{uuid.uuid4().hex[:10]}", f"hf-{uuid.uuid4().hex[:10]}"


def _named(names: tuple[str, ...]) -> set[str]:
    """Those of the names that some process has. A list misses who comes and goes: several are looked at."""
    found: set[str] = set()
    for _ in range(_LOOKS):
        for number in sorted(filter(str.isdigit, os.listdir("/proc")), key=int, reverse=True):
            with contextlib.suppress(OSError):
                name, _, state = Path("/proc", number, "stat").read_text().partition("(")[2].rpartition(")")
                if name in names and not state.startswith(" Z"):
                    found.add(name)
        if found == set(names):
            break
    return found
