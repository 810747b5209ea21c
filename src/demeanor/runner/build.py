"""Build the working tree before a run, unless it is unchanged since it was built last.

Only the last build counts: what it made is in the working tree, whatever was built there before. The cache therefore
has one entry per project, with the state of the tree after the build and the output. A state that can't be told is
never the same as another one, so that the tree is built.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import shlex
import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from demeanor.config import Config
from demeanor.core.signals import signals_as_interrupt
from demeanor.core.text.codec import DecodeError, decode
from demeanor.core.text.wording import printable
from demeanor.core.trees.atomic_file import write_atomically
from demeanor.core.trees.cache_dir import cache_folder
from demeanor.core.trees.temp_names import temp_prefix
from demeanor.core.values.errors import StoreError
from demeanor.runner.catalog import Catalog
from demeanor.runner.own_files import is_own
from demeanor.store.runs import RunFolder
from demeanor.vcs import BuildFailed, TreeState, run_build, tree_state

BUILD_LOG = "build.log"
_MAX_OUTPUT = 4 * 2**20
_WHAT = "the working tree"


@dataclass(frozen=True, kw_only=True, slots=True)
class Built:
    """The last build of a project."""

    command: tuple[str, ...]
    """The build command."""

    state: TreeState | None
    """The state of the tree afterwards; None if it can't be told, or if the sources changed during the build."""

    when: str
    """The time of the build."""

    output: str
    """The end of what the command printed, without secrets."""

    reused: bool = False
    """Whether it was built for an earlier run."""


def build_project(catalog: Catalog, results: Path, log: Callable[[str], None]) -> Built | None:
    """Build the working tree of the project; None if it has no build command, or is built elsewhere.

    Runs are stored in `results`. Processes that build the same project at the same time wait for each other. Raises
    BuildFailed.
    """
    config = catalog.config
    rules = config.build
    if not rules.command or config.executor.builds:
        return None
    state = partial(tree_state, config.root, leave_out=(results, *_stored(config)), is_own=is_own({results.resolve()}))
    with signals_as_interrupt(), _cache_entry(catalog) as entry:
        before = state()
        last = _read(entry)
        if last and last.command == rules.command and before is not None and last.state == before:
            log(f"not built again: {_WHAT} is unchanged since `{shlex.join(rules.command)}` at {last.when}")
            return last
        if entry is not None:
            entry.unlink(missing_ok=True)  # if this build fails, the tree may be built in part
        output = _build(catalog, log)
        after = state()
        unchanged = before is not None and after is not None and before.sources == after.sources
        built = Built(
            command=rules.command,
            state=after if unchanged else None,
            when=datetime.now(UTC).isoformat(timespec="seconds"),
            output=output,
        )
        if entry is not None:
            with suppress(OSError):  # without the entry, the next run builds again
                write_atomically(entry, json.dumps(asdict(built) | {"reused": True}))
    return built


def write_build_log(folder: RunFolder, built: Built) -> None:
    """Write the output of the build into the run's folder, after that of earlier parts of a resumed run."""
    path = folder.folder / BUILD_LOG
    head = (
        f"$ {shlex.join(built.command)}    # {built.when}{', not built again for this run' if built.reused else ''}\n"
    )
    try:
        earlier = path.read_text("utf-8") if path.exists() else ""
        write_atomically(path, earlier + head + built.output)
    except OSError as error:
        raise StoreError(f"{path}: can't be written: {error.strerror}") from error


def _build(catalog: Catalog, log: Callable[[str], None]) -> str:
    """Build, and return the end of the output."""
    config, redactor = catalog.config, catalog.redactor
    with tempfile.TemporaryDirectory(prefix=temp_prefix()) as temporary:
        log_file = Path(temporary) / BUILD_LOG
        try:
            run_build(config.build, config.root, _WHAT, log_file, catalog.environ, log)
        except BuildFailed as error:
            remedy = "correct the build, or test what is built already with --no-build"
            raise BuildFailed(f"{redactor.text(str(error))}\n  → {remedy}") from None
        size = log_file.stat().st_size
        with log_file.open("rb") as file:
            file.seek(max(0, size - 2 * _MAX_OUTPUT))
            text = redactor.text(printable(file.read().decode("utf-8", "replace")))
    left_out = f"… {size - _MAX_OUTPUT} bytes left out\n" if size > _MAX_OUTPUT else ""
    return left_out + text[-_MAX_OUTPUT:]


def _stored(config: Config) -> Collection[Path]:
    """Where runs are stored: these files change with every run."""
    stores = [f"{config.store}{ending}" for ending in ("", "-wal", "-shm", "-journal") if config.store]
    return [config.root / place for place in (config.results, config.captures, *stores) if place and "://" not in place]


@contextmanager
def _cache_entry(catalog: Catalog) -> Iterator[Path | None]:
    """The file about the last build of the project, locked; None if the cache can't be written."""
    folder = cache_folder(catalog.environ, "builds")
    name = hashlib.sha256(str(catalog.config.root.resolve()).encode()).hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / f"{name}.lock").open("w")
    except OSError:
        yield None
        return
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder / f"{name}.json"


def _read(entry: Path | None) -> Built | None:
    """The last build; None if there is none, or if the entry can't be read."""
    if entry is None:
        return None
    try:
        return decode(Built, json.loads(entry.read_text("utf-8")))
    except (OSError, ValueError, DecodeError):
        return None
