"""The cache keeps what is used, and nothing half-made."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from demeanor.plugins.harbor.images.cache import CachedImage, ImageCache, step_key
from demeanor.plugins.harbor.images.manifest import Blob, ImageSettings, digest_of

MB = 2**20


def allocated(path: Path) -> int:
    """The size of a file or folder on the disk."""
    info = path.lstat()
    return max(info.st_size, info.st_blocks * 512)


def disk_use(folder: Path) -> int:
    """The size of all files and folders of roots, each counted once."""
    roots = list(folder.glob("roots/*/rootfs"))
    return sum({path.lstat().st_ino: allocated(path) for root in roots for path in (root, *root.rglob("*"))}.values())


def add(cache: ImageCache, name: str, size: int, *, used: int, parent: str | None = None) -> str:
    """A root with one file, last used at a time."""
    key = step_key(parent or "", name)
    root = cache.add_root(
        key, parent=parent, origin=name, fill=lambda folder: (folder / name).write_bytes(b"x" * size) and None
    )
    os.utime(root.parent / "root.json", (used, used))
    return key


def test_a_root_shares_the_files_of_its_parent(tmp_path: Path) -> None:
    """By hard links, so its own size is what was added, and its folders, which it can't share."""

    def fill(root: Path) -> None:
        (root / "a").write_bytes(b"x" * MB)
        for number in range(100):
            (root / f"folder/{number}").mkdir(parents=True)

    cache = ImageCache(tmp_path)
    first = step_key("", "a")
    cache.add_root(first, parent=None, origin="a", fill=fill)
    second = add(cache, "b", 10, used=2, parent=first)
    root = cache.root(second)
    assert root is not None
    assert sorted(path.name for path in root.iterdir()) == ["a", "b", "folder"]
    sizes = {one.origin: one.size for one in cache.roots()}
    assert sizes["a"] - sizes["b"] == MB - allocated(root / "b")
    assert sizes["b"] > sum(map(allocated, (root / "folder").iterdir())) > 0
    assert disk_use(tmp_path) == cache.size() == sum(sizes.values())


def test_what_was_not_used_for_the_longest_time_goes_first(tmp_path: Path) -> None:
    """Until the rest is small enough; an image without a root goes, too."""
    cache = ImageCache(tmp_path)
    keys = {name: add(cache, name, MB, used=used) for used, name in enumerate("abc", 1)}
    size = cache.size() // 3
    cache.add_image(CachedImage(name="a:1", digest="sha256:x", key=keys["a"], settings=ImageSettings()))
    cache.add_image(CachedImage(name="c:1", digest="sha256:x", key=keys["c"], settings=ImageSettings()))
    os.utime(tmp_path / "roots" / keys["a"] / "root.json", (1, 1))
    assert cache.prune(2 * size) == size
    assert [one.origin for one in cache.roots()] == ["b", "c"]
    assert [one.name for one in cache.images()] == ["c:1"]


def test_a_root_is_not_removed_before_those_that_share_its_files(tmp_path: Path) -> None:
    """That would free nothing, although it was not used for the longest time; so the size is what the disk has."""
    cache = ImageCache(tmp_path)
    base = add(cache, "base", MB, used=1)
    for used, name in enumerate("ab", 2):
        add(cache, name, 10, used=used, parent=base)
    whole = cache.size()
    assert disk_use(tmp_path) == whole > MB
    removed = cache.prune(whole - 1)
    assert 0 < removed < MB
    assert [one.origin for one in cache.roots()] == ["base", "b"]
    assert disk_use(tmp_path) == cache.size() == whole - removed
    assert cache.prune(MB // 2) == whole - removed
    assert disk_use(tmp_path) == 0


def test_a_file_with_two_names_in_a_root_counts_once(tmp_path: Path) -> None:
    """Images have programs with several names."""

    def fill(root: Path) -> None:
        (root / "bunzip2").write_bytes(b"x" * MB)
        (root / "bzcat").hardlink_to(root / "bunzip2")

    cache = ImageCache(tmp_path)
    cache.add_root("key", parent=None, origin="x", fill=fill)
    assert MB < cache.size() == disk_use(tmp_path) < 2 * MB


def test_a_root_in_use_is_kept(tmp_path: Path) -> None:
    """Until it is not used any more."""
    cache = ImageCache(tmp_path)
    key = add(cache, "a", 1000, used=1)
    size = cache.size()
    with cache.in_use(key) as root:
        assert cache.prune(0) == 0
        assert (root / "a").exists()
    assert cache.prune(0) == size
    assert cache.roots() == []


def test_an_interrupted_build_leaves_nothing(tmp_path: Path) -> None:
    """Neither after an error, nor after the process was killed: the next one removes it."""
    cache = ImageCache(tmp_path)

    def fail(folder: Path) -> None:
        (folder / "half").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.add_root("key", parent=None, origin="x", fill=fail)
    assert list((tmp_path / "roots").iterdir()) == []
    pid = os.fork()
    if pid == 0:
        cache.add_root("key", parent=None, origin="x", fill=lambda folder: os._exit(0))
    os.waitpid(pid, 0)
    assert len(list((tmp_path / "roots").iterdir())) == 1
    add(cache, "a", 10, used=1)
    assert [path.name.startswith("new-") for path in (tmp_path / "roots").iterdir()] == [False]


def test_an_interrupted_download_leaves_nothing(tmp_path: Path) -> None:
    """The file of a killed process is removed by the next one; that of a running one is not."""
    cache = ImageCache(tmp_path)
    blob = Blob(digest=digest_of(b"xy"), size=2)

    def pieces(last: Callable[[], bytes]) -> Iterator[bytes]:
        yield b"x"
        yield last()

    def removes_nothing() -> bytes:
        cache.prune(0)
        return b"y"

    pid = os.fork()
    if pid == 0:
        cache.add_blob(blob, pieces(lambda: os._exit(0)), where="x")
    os.waitpid(pid, 0)
    assert len(list((tmp_path / "blobs").iterdir())) == 1
    assert cache.blob(blob) is None
    assert cache.add_blob(blob, pieces(removes_nothing), where="x").read_bytes() == b"xy"
    assert len(list((tmp_path / "blobs").iterdir())) == 1


def test_processes_that_make_the_same_root_do_not_disturb_one_another(tmp_path: Path) -> None:
    """One of them wins; the others remove what they made, and nothing removes it for them at the same time."""

    def fill(root: Path) -> None:
        for number in range(100):
            (root / str(number)).touch()

    def child() -> None:
        cache = ImageCache(tmp_path)
        for number in range(10):
            cache.add_root(f"key{number}", parent=None, origin="x", fill=fill)

    pids = []
    for _ in range(4):
        pids.append(os.fork())
        if pids[-1] == 0:
            code = 1
            try:
                child()
                code = 0
            finally:
                os._exit(code)
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0] * 4
    assert sorted(path.name for path in (tmp_path / "roots").iterdir()) == [f"key{number}" for number in range(10)]


def test_a_root_is_built_by_one_process_at_a_time(tmp_path: Path) -> None:
    """The others are told so; afterwards nothing is left of it."""
    cache = ImageCache(tmp_path)
    with cache.building("key") as ours, ImageCache(tmp_path).building("key") as theirs:
        assert (ours, theirs) == (True, False)
    assert list((tmp_path / "builds").iterdir()) == []
    with cache.building("key") as again:
        assert again


def test_the_limit_holds_after_each_addition(tmp_path: Path) -> None:
    """What was just made stays, even if it is larger than the limit."""
    cache = ImageCache(tmp_path, limit=1500)
    add(cache, "a", 1000, used=1)
    add(cache, "b", 1000, used=2)
    assert [one.origin for one in cache.roots()] == ["b"]
    add(cache, "c", 3000, used=3)
    assert [one.origin for one in cache.roots()] == ["c"]
