"""Starting states of workspaces."""

from __future__ import annotations

import gzip
import os
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from demeanor.core.trees.tree import Entry, Tree
from demeanor.core.values.errors import StoreError
from demeanor.core.values.starting_state import KEPT_BYTES, SECRETS, start_hash
from demeanor.store.captures.starting_states import StartingStates, unpack_start


def a_file(content: bytes, *, executable: bool = False) -> Entry:
    """A file of a workspace."""
    digest = sha256(content).hexdigest()
    return Entry(kind="file", size=len(content), sha256=digest, content=content, executable=executable)


PATHS = st.text("abü \n.", min_size=1, max_size=4).filter(lambda path: path not in {".", ".."})
TREES = st.builds(
    lambda entries: Tree(entries=entries),
    st.dictionaries(
        PATHS,
        st.builds(a_file, st.binary(max_size=30), executable=st.booleans())
        | st.builds(lambda target: Entry(kind="link", target=target), PATHS),
        max_size=4,
    ),
)


@given(TREES)
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, tree: Tree):
    """Every file, link and mode."""
    run = tmp_path_factory.mktemp("run")
    name = StartingStates(run).keep(tree)
    assert StartingStates(run).read(name) == tree
    assert StartingStates(run).names() == [name]


def test_content_of_files_on_disk_is_stored(tmp_path: Path):
    """Templates are deleted when a run ends."""
    (tmp_path / "a").write_bytes(b"hello")
    entry = Entry(kind="file", size=5, sha256=sha256(b"hello").hexdigest(), content=tmp_path / "a")
    (tmp_path / "run").mkdir()
    name = StartingStates(tmp_path / "run").keep(Tree(entries={"a": entry}))
    (tmp_path / "a").unlink()
    found = StartingStates(tmp_path / "run").read(name)
    assert found is not None
    assert found.entries["a"].read() == b"hello"


def test_a_large_state_of_an_earlier_run_is_hard_linked(tmp_path: Path):
    """Removing one run does not affect the other."""
    tree = Tree(entries={"large": a_file(os.urandom(2**20))})
    for run in ("one", "two"):
        (tmp_path / run).mkdir()
        name = StartingStates(tmp_path / run).keep(tree)
    files = [next((tmp_path / run / "starts").iterdir()) for run in ("one", "two")]
    assert files[0].stat().st_ino == files[1].stat().st_ino
    files[0].unlink()
    assert StartingStates(tmp_path / "two").read(name) == tree


def test_a_state_that_is_too_large_has_a_hash_but_is_not_stored(tmp_path: Path):
    """The hash shows whether the files of the scenario are still the same."""
    tree = Tree(entries={"large": Entry(kind="file", size=KEPT_BYTES + 1, sha256="x", content=b"")})
    assert StartingStates(tmp_path).keep(tree) == start_hash(tree)
    assert StartingStates(tmp_path).read(start_hash(tree)) is None
    assert not (tmp_path / "starts").exists()


def test_a_state_with_a_secret_has_no_hash(tmp_path: Path):
    """A short secret could be guessed from a hash."""
    assert StartingStates(tmp_path).keep(Tree(entries={"a": a_file(b"x")}, gaps=(SECRETS,))) == ""
    assert not (tmp_path / "starts").exists()


def test_a_changed_state_is_refused():
    """Trials must not be judged by files that were edited later."""
    line = b'{"path": "a", "kind": "file", "size": 1, "sha256": "%s", "content": "YQ=="}\n'
    true = sha256(b"a").hexdigest()
    tree = Tree(entries={"a": a_file(b"a")})
    assert unpack_start(gzip.compress(line % true.encode()), start_hash(tree), where="x") == tree
    for packed in (
        gzip.compress(line % b"0" * 64),
        gzip.compress(line.replace(b"YQ==", b"Yg==") % true.encode()),
        gzip.compress(line.replace(b'"a"', b'"../a"') % true.encode()),
        gzip.compress(b""),
        b"rubbish",
        gzip.compress(b"[]\n"),
    ):
        with pytest.raises(StoreError, match="starting files"):
            unpack_start(packed, start_hash(tree), where="x")
