"""Runs the steps of a Dockerfile in a persistent sandbox."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from pathlib import Path

from demeanor.core.errors import BadInput
from demeanor.core.text import shortened_to_end
from demeanor.dockerfile.image import Copy, ImageSpec, MakeFolder, Run
from demeanor.dockerfile.planner import PATH
from demeanor.sandboxes.persistent.client import PersistentSandbox
from demeanor.sandboxes.persistent.command import ExecRequest

_MAX_OUTPUT = 2000


async def replay(image: ImageSpec, context: Path, sandbox: PersistentSandbox, *, log: Callable[[str], None]) -> None:
    """Run the steps of an image in a sandbox; raises BadInput for a step that fails."""
    for step in image.steps:
        match step:
            case MakeFolder():
                await _run(
                    sandbox, ExecRequest(argvs=(("mkdir", "-p", step.path),), env=image.env), f"{step.line}: WORKDIR"
                )
            case Copy():
                await _copy(step, context, sandbox)
            case Run():
                log(f"RUN {step.argv[-1]}")
                request = ExecRequest(argvs=(step.argv,), env=step.env, cwd=step.cwd, user=step.user)
                await _run(sandbox, request, f"{step.line}: RUN")


async def _run(sandbox: PersistentSandbox, request: ExecRequest, what: str) -> None:
    done = await sandbox.run(request)
    if done.code != 0:
        line, _, name = what.partition(": ")
        output = shortened_to_end((done.stdout + done.stderr).strip(), _MAX_OUTPUT)
        raise BadInput(f"exit code {done.code}\n{output}", where=f"Dockerfile:{line}", key=name)


async def _copy(step: Copy, context: Path, sandbox: PersistentSandbox) -> None:
    sources = [source for pattern in step.sources for source in _matches(pattern, context, step)]
    for source in sources:
        if source.is_dir():
            await sandbox.put_folder(source, step.target, owner=step.owner, mode=step.mode)
            continue
        into = step.into or len(sources) > 1 or await _is_folder(sandbox, step.target)
        target = posixpath.join(step.target, source.name) if into else step.target
        await sandbox.put_file(source, target, owner=step.owner, mode=step.mode)


async def _is_folder(sandbox: PersistentSandbox, path: str) -> bool:
    return (await sandbox.run(ExecRequest(argvs=(("test", "-d", path),), env={"PATH": PATH}))).code == 0


def _matches(pattern: str, context: Path, step: Copy) -> list[Path]:
    """The files that a pattern matches; raises BadInput when there are none, or when one is outside of the context."""
    plain = context / pattern.lstrip("/")
    if plain.exists():
        found = [plain]
    else:
        found = sorted(context.glob(pattern.lstrip("/"))) if any(sign in pattern for sign in "*?[") else []
    problem = "" if found else f"there is no {pattern!r} in {context}"
    if any(not source.resolve().is_relative_to(context.resolve()) for source in found):
        problem = f"{pattern!r} leads out of {context}"
    if problem:
        raise BadInput(problem, where=f"Dockerfile:{step.line}", key=step.name)
    return found
