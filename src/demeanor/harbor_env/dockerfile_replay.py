"""Runs the steps of a Dockerfile in a persistent sandbox."""

from __future__ import annotations

import posixpath
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

from demeanor.core.errors import BadInput
from demeanor.core.text import shortened_to_end
from demeanor.dockerfile.image import Copy, ImageSpec, MakeFolder, Run, Step
from demeanor.dockerfile.planner import PATH
from demeanor.sandboxes.host.runtime import in_thread
from demeanor.sandboxes.persistent.client import PersistentSandbox
from demeanor.sandboxes.persistent.command import ExecRequest

_MAX_OUTPUT = 2000


async def replay(image: ImageSpec, context: Path, sandbox: PersistentSandbox, *, log: Callable[[str], None]) -> None:
    """Run the steps of an image in a sandbox; raises BadInput for a step that fails."""
    for step in image.steps:
        await replay_step(step, image, context, sandbox, log=log)


async def replay_step(
    step: Step, image: ImageSpec, context: Path, sandbox: PersistentSandbox, *, log: Callable[[str], None]
) -> None:
    """Run one step; raises BadInput if it fails."""
    match step:
        case MakeFolder():
            request = ExecRequest(argvs=(("mkdir", "-p", step.path),), env=image.env)
            await _run(sandbox, request, f"{step.line}: WORKDIR")
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
    sources = copied_files(step, context)
    with tempfile.TemporaryDirectory(prefix="demeanor-build-") as folder:
        documents = [Path(folder, name) for name in step.documents]
        for document in documents:
            document.write_text(step.documents[document.name], "utf-8")
        for source in (*sources, *documents):
            if source.is_dir():
                await sandbox.put_folder(source, step.target, owner=step.owner, mode=step.mode)
            elif step.unpacks and source not in documents and tarfile.is_tarfile(source):
                await _add_archive(step, source, Path(folder, "archive"), sandbox)
            else:
                into = step.into or len(sources) > 1 or await _is_folder(sandbox, step.target)
                target = posixpath.join(step.target, source.name) if into else step.target
                await sandbox.put_file(source, target, owner=step.owner, mode=step.mode)


async def _add_archive(step: Copy, source: Path, folder: Path, sandbox: PersistentSandbox) -> None:
    """Unpack an archive and copy its content."""

    def unpack() -> None:
        with tarfile.open(source) as archive:
            archive.extractall(folder, filter="data")

    try:
        await in_thread(unpack)
    except (tarfile.TarError, OSError) as error:
        raise BadInput(
            f"can't be unpacked: {error}", where=f"Dockerfile:{step.line}", key=f"ADD {source.name}"
        ) from None
    await sandbox.put_folder(folder, step.target, owner=step.owner, mode=step.mode)


async def _is_folder(sandbox: PersistentSandbox, path: str) -> bool:
    return (await sandbox.run(ExecRequest(argvs=(("test", "-d", path),), env={"PATH": PATH}))).code == 0


def copied_files(step: Copy, context: Path) -> list[Path]:
    """The files and folders that a step copies; raises BadInput if there are none for a pattern."""
    return [source for pattern in step.sources for source in _matches(pattern, context, step)]


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
