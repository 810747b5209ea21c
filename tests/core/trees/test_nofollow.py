"""Files below a folder that somebody else can write to."""

from __future__ import annotations

from pathlib import Path

from demeanor.core.trees.nofollow import find_beneath, read_beneath


def _laid(folder: Path) -> Path:
    for path in ("logs/a/one.jsonl", "logs/b/two.jsonl", "logs/b/notes.txt"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(path)
    return folder


def test_a_pattern_finds_files_by_their_names(tmp_path: Path):
    """A star stands for anything within one name."""
    folder = _laid(tmp_path)
    assert find_beneath(folder, "logs/*/*.jsonl", at_most=9) == ("logs/a/one.jsonl", "logs/b/two.jsonl")
    assert find_beneath(folder, "logs/*.jsonl", at_most=9) == ()
    assert find_beneath(folder, "nowhere/*", at_most=9) == ()


def test_a_plain_path_is_not_looked_for(tmp_path: Path):
    """Whether it is there is found out when it is read."""
    assert find_beneath(tmp_path, "a/b.txt", at_most=9) == ("a/b.txt",)
    assert read_beneath(tmp_path, "a/b.txt", at_most=9) is None


def test_no_more_are_found_than_asked_for(tmp_path: Path):
    """An agent could make a million of them."""
    assert find_beneath(_laid(tmp_path), "logs/*/*", at_most=2) == ("logs/a/one.jsonl", "logs/b/notes.txt")


def test_links_lead_nowhere(tmp_path: Path):
    """Neither a linked folder nor a linked file is looked into."""
    folder = _laid(tmp_path / "home")
    (folder / "logs/c").symlink_to(tmp_path)
    (folder / "logs/b/link.jsonl").symlink_to(folder / "logs/a/one.jsonl")
    found = find_beneath(folder, "logs/*/*", at_most=9)
    assert not [path for path in found if path.startswith("logs/c/")]
    assert read_beneath(folder, "logs/b/link.jsonl", at_most=9) is None
