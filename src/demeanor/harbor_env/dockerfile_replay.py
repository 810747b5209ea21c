"""Takes the steps of a Dockerfile in a lodge, one after the other."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from pathlib import Path

from demeanor.core.errors import BadInput
from demeanor.dockerfile.image import Copy, Image, Make, Run
from demeanor.dockerfile.planner import PATH
from demeanor.sandboxes.persistent.client import Lodge
from demeanor.sandboxes.persistent.command import Errand

_SHOWN = 2000


async def replay(image: Image, context: Path, lodge: Lodge, *, tell: Callable[[str], None]) -> None:
    """Build an image in a lodge; raises BadInput for a step that fails."""
    for step in image.steps:
        match step:
            case Make():
                await _run(lodge, Errand(argvs=(("mkdir", "-p", step.path),), env=image.env), f"{step.line}: WORKDIR")
            case Copy():
                await _copy(step, context, lodge)
            case Run():
                tell(f"RUN {step.argv[-1]}")
                errand = Errand(argvs=(step.argv,), env=step.env, cwd=step.cwd, user=step.user)
                await _run(lodge, errand, f"{step.line}: RUN")


async def _run(lodge: Lodge, errand: Errand, what: str) -> None:
    done = await lodge.run(errand)
    if done.code != 0:
        line, _, name = what.partition(": ")
        said = (done.stdout + done.stderr).strip()[-_SHOWN:]
        raise BadInput(f"exit code {done.code}\n{said}", where=f"Dockerfile:{line}", key=name)


async def _copy(step: Copy, context: Path, lodge: Lodge) -> None:
    sources = [source for pattern in step.sources for source in _found(pattern, context, step)]
    for source in sources:
        if source.is_dir():
            await lodge.put_folder(source, step.target, owner=step.owner, mode=step.mode)
            continue
        into = step.into or len(sources) > 1 or await _is_folder(lodge, step.target)
        target = posixpath.join(step.target, source.name) if into else step.target
        await lodge.put_file(source, target, owner=step.owner, mode=step.mode)


async def _is_folder(lodge: Lodge, path: str) -> bool:
    return (await lodge.run(Errand(argvs=(("test", "-d", path),), env={"PATH": PATH}))).code == 0


def _found(pattern: str, context: Path, step: Copy) -> list[Path]:
    """What a pattern means; raises BadInput where that is nothing, or nothing in the context."""
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
