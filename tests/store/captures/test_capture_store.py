"""Captures by the hash of their content."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import fsspec
import pytest

from demeanor.config.config import Config
from demeanor.core.capture import Capture
from demeanor.core.errors import BadInput, StoreError
from demeanor.core.evidence import Evidence
from demeanor.core.record import Record
from demeanor.core.starting_state import start_hash
from demeanor.core.tree import Entry, Tree
from demeanor.core.trial import Plan
from demeanor.store.captures.capture_json import read_start_hash
from demeanor.store.captures.capture_store import (
    CaptureStore,
    capture_text,
    open_capture_store,
    publish,
    read_capture,
    read_start,
)
from demeanor.store.runs.run_folder import RunFolder
from tests.store.past import a_run, record
from tests.store.s3_server import s3_server

START = Tree(entries={"a.txt": Entry(kind="file", size=1, sha256=sha256(b"a").hexdigest(), content=b"a")})


@pytest.fixture(params=["folder", "s3"])
def vault(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CaptureStore]:
    """A place to publish to."""
    if request.param == "folder":
        yield _open(tmp_path, "kept")
        return
    with s3_server() as (address, objects):
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "nothing")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        fsspec.filesystem("s3").clear_instance_cache()
        yield _open(tmp_path, "s3://bucket/evals")
        assert all(key.startswith("bucket/evals/") for key in objects)
        fsspec.filesystem("s3").clear_instance_cache()


def _open(root: Path, place: str) -> CaptureStore:
    found = open_capture_store(Config(root=root, captures=place))
    assert found is not None
    return found


def a_kept_run(folder: Path) -> tuple[RunFolder, list[Record], list[Capture]]:
    """A run of three trials, of which two left the same; all began with the same file."""
    store = RunFolder(folder)
    store.begin(a_run(), Plan(cells=()))
    captures = [
        Capture(trial="saves", attempt=1, notes=(note,), before=START, after=START) for note in ("one", "two", "one")
    ]
    kept = [store.append(record(i), one, Evidence(trial="saves")) for i, one in enumerate(captures, 1)]
    store.close()
    return store, kept, captures


def test_what_was_published_is_read_back_without_the_runs_folder(tmp_path: Path, vault: CaptureStore):
    """By hash, and the same content is there once."""
    run, kept, captures = a_kept_run(tmp_path / "r")
    assert publish(vault, run, kept) == 3
    assert publish(vault, run, kept) == 3
    assert [read_capture(one, START, vault=vault) for one in kept] == captures
    assert [read_capture(one, START, run=run) for one in kept] == captures
    assert kept[0].capture_hash == kept[2].capture_hash
    packed = vault.get(kept[0].capture_hash)
    assert packed is not None
    assert sha256(gzip.decompress(packed)).hexdigest() == kept[0].capture_hash


def test_a_folder_holds_files_that_ordinary_tools_can_read(tmp_path: Path):
    """Two letters, then the whole hash."""
    vault = open_capture_store(Config(root=tmp_path, captures="kept"))
    assert vault is not None
    run, kept, _ = a_kept_run(tmp_path / "r")
    publish(vault, run, kept)
    names = sorted(str(path.relative_to(tmp_path / "kept")) for path in (tmp_path / "kept").rglob("*.gz"))
    name = start_hash(START)
    start = f"starts/{name[:2]}/{name}.jsonl.gz"
    assert names == sorted({start, *(f"{one.capture_hash[:2]}/{one.capture_hash}.json.gz" for one in kept)})


def test_what_workspaces_began_with_is_published_too(tmp_path: Path, vault: CaptureStore):
    """A capture alone holds only what changed."""
    run, kept, _ = a_kept_run(tmp_path / "r")
    publish(vault, run, kept)
    text, where = capture_text(kept[0], vault=vault)
    assert read_start(read_start_hash(text, where=where) or "", vault=vault) == START
    assert read_start("0" * 64, run=run, vault=vault) is None


def test_a_capture_that_is_not_there_is_told_with_where_it_was_looked_for(tmp_path: Path, vault: CaptureStore):
    """And with what to do."""
    run, kept, _ = a_kept_run(tmp_path / "r")
    (tmp_path / "r" / "captures.jsonl.gz").unlink()
    with pytest.raises(StoreError, match=f"is not in {tmp_path}/r nor in .*\n  → name where it was published"):
        read_capture(kept[0], Tree(), run=run, vault=vault)


def test_a_capture_that_was_changed_is_refused(tmp_path: Path, vault: CaptureStore):
    """Evidence that somebody edited is none."""
    _, kept, _ = a_kept_run(tmp_path / "r")
    vault.put(
        kept[0].capture_hash, gzip.compress(b'{"schema": "demeanor-capture/1", "trial": "saves", "attempt": 2}\n')
    )
    with pytest.raises(StoreError, match="the capture is damaged"):
        read_capture(kept[0], Tree(), vault=vault)
    with pytest.raises(StoreError, match="is no hash of a capture"):
        read_capture(replace(kept[0], capture_hash="../../etc/passwd"), Tree(), vault=vault)


def test_a_place_that_nothing_can_reach_is_refused_at_the_door(tmp_path: Path):
    """Before anything is run."""
    with pytest.raises(BadInput, match="captures: 'nowhere://x' can't be reached"):
        open_capture_store(Config(root=tmp_path, captures="nowhere://x"))
