"""Published captures."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import fsspec
import pytest

from demeanor.config.config import Config
from demeanor.core.trees.tree import Entry, Tree
from demeanor.core.values.capture import Capture
from demeanor.core.values.errors import BadInput, StoreError
from demeanor.core.values.evidence import Evidence
from demeanor.core.values.record import Record
from demeanor.core.values.starting_state import start_hash
from demeanor.core.values.trial import Plan
from demeanor.store.captures.capture_store import (
    CaptureStore,
    capture_text,
    open_capture_store,
    publish,
    read_capture,
    read_start,
)
from demeanor.store.captures.document import read_start_hash
from demeanor.store.runs.run_folder import RunFolder
from tests.helpers.runs import a_run, record
from tests.helpers.s3_server import s3_server

START = Tree(entries={"a.txt": Entry(kind="file", size=1, sha256=sha256(b"a").hexdigest(), content=b"a")})


@pytest.fixture(params=["folder", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CaptureStore]:
    """A capture store."""
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


def _open(root: Path, address: str) -> CaptureStore:
    found = open_capture_store(Config(root=root, captures=address))
    assert found is not None
    return found


def stored_run(folder: Path) -> tuple[RunFolder, list[Record], list[Capture]]:
    """A run of three trials with the same starting state; two of the captures are equal."""
    run = RunFolder(folder)
    run.begin(a_run(), Plan(cells=()))
    captures = [
        Capture(trial="saves", attempt=1, notes=(note,), before=START, after=START) for note in ("one", "two", "one")
    ]
    records = [run.append(record(i), one, Evidence(trial="saves")) for i, one in enumerate(captures, 1)]
    run.close()
    return run, records, captures


def test_published_captures_can_be_read_without_the_run_folder(tmp_path: Path, store: CaptureStore):
    """By hash; equal content is stored once."""
    run, records, captures = stored_run(tmp_path / "r")
    assert publish(store, run, records) == 3
    assert publish(store, run, records) == 3
    assert [read_capture(one, START, captures=store) for one in records] == captures
    assert [read_capture(one, START, run=run) for one in records] == captures
    assert records[0].capture_hash == records[2].capture_hash
    packed = store.get(records[0].capture_hash)
    assert packed is not None
    assert sha256(gzip.decompress(packed)).hexdigest() == records[0].capture_hash


def test_file_names_in_a_folder(tmp_path: Path):
    """The first two letters of the hash, then the whole hash."""
    store = open_capture_store(Config(root=tmp_path, captures="kept"))
    assert store is not None
    run, records, _ = stored_run(tmp_path / "r")
    publish(store, run, records)
    names = sorted(str(path.relative_to(tmp_path / "kept")) for path in (tmp_path / "kept").rglob("*.gz"))
    name = start_hash(START)
    start = f"starts/{name[:2]}/{name}.jsonl.gz"
    assert names == sorted({start, *(f"{one.capture_hash[:2]}/{one.capture_hash}.json.gz" for one in records)})


def test_starting_states_are_published_too(tmp_path: Path, store: CaptureStore):
    """A capture contains only changes."""
    run, records, _ = stored_run(tmp_path / "r")
    publish(store, run, records)
    text, where = capture_text(records[0], captures=store)
    assert read_start(read_start_hash(text, where=where), captures=store) == START
    assert read_start("0" * 64, run=run, captures=store) is None


def test_a_missing_capture_is_an_error_with_the_searched_places(tmp_path: Path, store: CaptureStore):
    """And with a remedy."""
    run, records, _ = stored_run(tmp_path / "r")
    (tmp_path / "r" / "captures.jsonl.gz").unlink()
    with pytest.raises(StoreError, match=f"is not in {tmp_path}/r or .*\n  → set `captures` to the store"):
        read_capture(records[0], Tree(), run=run, captures=store)


def test_a_changed_capture_is_refused(tmp_path: Path, store: CaptureStore):
    """Its hash does not match."""
    _, records, _ = stored_run(tmp_path / "r")
    store.put(
        records[0].capture_hash, gzip.compress(b'{"schema": "demeanor-capture/1", "trial": "saves", "attempt": 2}\n')
    )
    with pytest.raises(StoreError, match="the capture is damaged"):
        read_capture(records[0], Tree(), captures=store)
    with pytest.raises(StoreError, match="is not the hash of a capture"):
        read_capture(replace(records[0], capture_hash="../../etc/passwd"), Tree(), captures=store)


def test_an_unsupported_address_is_refused(tmp_path: Path):
    """Before a run starts."""
    with pytest.raises(BadInput, match="captures: 'nowhere://x' can't be opened"):
        open_capture_store(Config(root=tmp_path, captures="nowhere://x"))
