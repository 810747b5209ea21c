"""What a workspace started from, found by its hash."""

from __future__ import annotations

from hypothesis import given, strategies as st

from demeanor.core.trees.tree import Entry, Tree
from demeanor.core.values.starting_state import KEPT_BYTES, SECRETS, fit_to_keep, start_hash

PATHS = st.sampled_from(["a", "b/c", "b/d", ".git/HEAD", ".git/refs/heads/main", ".git/packed-refs"])
ENTRIES = st.builds(
    Entry,
    kind=st.sampled_from(["file", "link"]),
    size=st.integers(0, 2),
    executable=st.booleans(),
    sha256=st.sampled_from(["", "x", "y"]),
    target=st.none() | st.sampled_from(["a", "b"]),
)
TREES = st.builds(lambda entries: Tree(entries=entries), st.dictionaries(PATHS, ENTRIES, max_size=4))


@given(TREES, TREES)
def test_two_states_have_one_hash_just_where_they_are_the_same(one: Tree, other: Tree):
    """Files, links, what may be executed, and where git's branches point to."""
    same = one.entries.keys() == other.entries.keys() and all(
        entry.same(other.entries[path]) for path, entry in one.entries.items()
    )
    assert (start_hash(one) == start_hash(other)) is same


@given(TREES, st.sampled_from([".git/index", ".git/objects/pack/pack-1.pack", ".git/config"]), ENTRIES)
def test_how_git_stores_it_does_not_count(tree: Tree, path: str, entry: Entry):
    """An index holds inodes: it is another one each time that the same files are laid out."""
    assert start_hash(Tree(entries={**tree.entries, path: entry})) == start_hash(tree)


def test_what_is_too_large_or_secret_is_not_kept():
    """Its hash alone must do."""
    large = Tree(entries={"a": Entry(kind="file", size=KEPT_BYTES), "b": Entry(kind="file", size=1)})
    assert not fit_to_keep(large)
    assert fit_to_keep(Tree(entries={"a": Entry(kind="file", size=KEPT_BYTES)}))
    assert not fit_to_keep(Tree(gaps=(SECRETS,)))
