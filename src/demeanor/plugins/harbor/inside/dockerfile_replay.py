"""Runs the steps of a Dockerfile in a persistent sandbox."""

from __future__ import annotations

import posixpath
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from demeanor.core.text.wording import shortened_to_end
from demeanor.core.values.errors import BadInput, UsageError
from demeanor.plugins.harbor.dockerfile.image import Copy, ImageSpec, MakeFolder, Run, Step
from demeanor.plugins.harbor.dockerfile.planner import PATH
from demeanor.plugins.harbor.environments.definition import copied_files
from demeanor.plugins.harbor.images.layer import apply_layer
from demeanor.plugins.harbor.images.tar_stream import Allowance, is_archive
from demeanor.sandboxes import in_thread
from demeanor.sandboxes.persistent import ExecRequest, PersistentSandbox

_MAX_OUTPUT = 2000
_MAKE_OWNED = """\
at=$1; first=
until [ -e "$at" ]; do first=$at; at=$(dirname "$at"); done
mkdir -p "$1" && { [ -z "$first" ] || chown -R "$2" "$first"; }
"""


class StepFailed(BadInput):
    """A command of the Dockerfile exited with an error."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Build:
    """What the steps of a Dockerfile are run with."""

    image: ImageSpec
    """The image that they build."""

    context: Path
    """The folder of the files that they copy."""

    log: Callable[[str], None]
    """Is called with each command that is run."""

    variables: Mapping[str, str] = field(default_factory=dict)
    """Variables that commands get unless the Dockerfile sets them. They are not part of the image."""


async def replay(build: Build, sandbox: PersistentSandbox) -> None:
    """Run the steps of an image in a sandbox; raises StepFailed or BadInput for a step that fails."""
    for step in build.image.steps:
        await replay_step(step, build, sandbox)


async def replay_step(step: Step, build: Build, sandbox: PersistentSandbox) -> None:
    """Run one step; raises BadInput if it fails."""
    match step:
        case MakeFolder():
            request = ExecRequest(argvs=(_make_folder(step),), env=build.image.env)
            await _run(sandbox, request, f"{step.line}: WORKDIR")
        case Copy():
            await _copy(step, build.context, sandbox)
        case Run():
            build.log(f"RUN {step.argv[-1]}")
            env = {**build.variables, **step.env}
            request = ExecRequest(argvs=(step.argv,), env=env, cwd=step.cwd, user=step.user)
            await _run(sandbox, request, f"{step.line}: RUN")


def _make_folder(step: MakeFolder) -> tuple[str, ...]:
    """The command that creates a folder; what it creates belongs to the user of the Dockerfile's line."""
    if step.user in ("root", "0", "root:root", "0:0"):
        return ("mkdir", "-p", step.path)
    owner = step.user if ":" in step.user or step.user.isdigit() else f"{step.user}:"  # with the user's own group
    return ("sh", "-c", _MAKE_OWNED, "sh", step.path, owner)


async def _run(sandbox: PersistentSandbox, request: ExecRequest, what: str) -> None:
    done = await sandbox.run(request)
    if done.code != 0:
        line, _, name = what.partition(": ")
        output = shortened_to_end((done.stdout + done.stderr).strip(), _MAX_OUTPUT)
        raise StepFailed(f"exit code {done.code}\n{output}", where=f"Dockerfile:{line}", key=name)


async def _copy(step: Copy, context: Path, sandbox: PersistentSandbox) -> None:
    sources = copied_files(step, context)
    with tempfile.TemporaryDirectory(prefix="demeanor-build-") as folder:
        documents = [Path(folder, name) for name in step.documents]
        for document in documents:
            document.write_text(step.documents[document.name], "utf-8")
        for source in (*sources, *documents):
            if source.is_dir():
                await sandbox.put_folder(source, step.target, owner=step.owner, mode=step.mode)
            elif step.unpacks and source not in documents and is_archive(source):
                await _add_archive(step, source, Path(folder, "archive"), sandbox)
            else:
                into = step.into or len(sources) > 1 or await _is_folder(sandbox, step.target)
                target = posixpath.join(step.target, source.name) if into else step.target
                await sandbox.put_file(source, target, owner=step.owner, mode=step.mode)


async def _add_archive(step: Copy, source: Path, folder: Path, sandbox: PersistentSandbox) -> None:
    """Unpack an archive and copy its content."""

    def unpack() -> None:
        folder.mkdir()
        with source.open("rb") as archive:
            apply_layer(archive, folder, source.name, allowance=Allowance(size=sandbox.disk), whiteouts=False)

    try:
        await in_thread(unpack)
    except UsageError as error:
        raise BadInput(f"can't be unpacked: {error}", where=f"Dockerfile:{step.line}", key="ADD") from None
    await sandbox.put_folder(folder, step.target, owner=step.owner, mode=step.mode)


async def _is_folder(sandbox: PersistentSandbox, path: str) -> bool:
    return (await sandbox.run(ExecRequest(argvs=(("test", "-d", path),), env={"PATH": PATH}))).code == 0
