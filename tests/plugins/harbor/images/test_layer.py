"""Layers are applied as container engines do it, and never write outside of their folder."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import stat
import tarfile
from pathlib import Path

import pytest

from demeanor.core.values.errors import UsageError
from demeanor.plugins.harbor.images.layer import apply_layer, remove_tree
from demeanor.plugins.harbor.images.tar_stream import Allowance
from tests.helpers.image_registry import layer, link


def applied(root: Path, *layers: bytes) -> dict[str, str]:
    """The files of a root after these layers, with their content; links as `-> TARGET`."""
    root.mkdir(exist_ok=True)
    for content in layers:
        apply_layer(io.BytesIO(content), root, "test")
    found = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_file():
            found[name] = path.read_text()
    return found


def test_a_later_layer_replaces_deletes_and_hides(tmp_path: Path) -> None:
    """`.wh.NAME` deletes a file or a folder; an opaque folder hides what was in it, but not what its layer adds."""
    first = layer(("a/", ""), ("a/one", "1"), ("a/two", "2"), ("b/", ""), ("b/old", "x"), ("c/", ""), ("c/x", "x"))
    second = layer(("a/.wh.one", ""), ("a/two", "22"), ("b/new", "n"), ("b/.wh..wh..opq", ""), (".wh.c", ""))
    assert applied(tmp_path / "root", first, second) == {"a/two": "22", "b/new": "n"}


def test_links_are_kept_and_resolved_inside(tmp_path: Path) -> None:
    """An absolute link means a path in the image, also for what a later layer writes through it."""
    first = layer(
        ("usr/bin/", ""), ("usr/bin/sh", "shell"), link("bin", "/usr/bin"), link("hard", "usr/bin/sh", hard=True)
    )
    found = applied(tmp_path / "root", first, layer(("bin/new", "n")))
    assert found == {"bin": "-> /usr/bin", "hard": "shell", "usr/bin/new": "n", "usr/bin/sh": "shell"}
    assert (tmp_path / "root/hard").stat().st_nlink == 2


def changed(name: str, *, folder: bool = False) -> tarfile.TarInfo:
    """An entry that sets all permissions."""
    info = tarfile.TarInfo(name)
    info.type, info.mode = tarfile.DIRTYPE if folder else tarfile.REGTYPE, 0o6777
    return info


@pytest.mark.parametrize(
    "hostile",
    [
        layer(("../outside", "x")),
        layer(("a/../../outside", "x")),
        layer(link("out", ".."), ("out/outside", "x")),
        layer(link("out", "/../../.."), ("out/outside", "x")),
        layer(link("a", "b"), link("b", "a"), ("a/x", "x")),
        layer(link("inside", "../outside", hard=True)),
        layer(link("out", ".."), link("inside", "out/outside", hard=True), changed("inside")),
        layer(changed("a", folder=True), link("a", "../outside")),
        layer(("b/", ""), changed("b/a", folder=True), (".wh.b", ""), link("b", ".."), ("x", ""), link("a", "outside")),
        layer(("b/", ""), changed("b/outside", folder=True), (".wh.b", ""), link("b", "..")),
        layer((".wh...", "")),
        layer(("a/", ""), ("a/.wh...", "")),
        layer(("a/", ""), ("a/.wh..", "")),
        layer(link("out", ".."), ("out/.wh.outside", "")),
        layer(link("out", "../.."), ("out/.wh..wh..opq", "")),
    ],
)
def test_nothing_is_written_outside(tmp_path: Path, hostile: bytes) -> None:
    """Neither by names, nor through links."""
    outside = tmp_path / "outside"
    outside.write_text("mine")
    outside.chmod(0o640)
    with contextlib.suppress(UsageError, OSError):
        applied(tmp_path / "root", hostile)
    assert outside.read_text() == "mine"
    assert stat.S_IMODE(outside.stat().st_mode) == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["outside", "root"]


def test_a_file_is_replaced_and_not_changed_in_place(tmp_path: Path) -> None:
    """Roots share files by hard links."""
    applied(tmp_path / "root", layer(("file", "old")))
    os.link(tmp_path / "root/file", tmp_path / "other")
    applied(tmp_path / "root", layer(("file", "new")))
    assert (tmp_path / "other").read_text() == "old"


def test_a_read_only_folder_is_filled_and_removed(tmp_path: Path) -> None:
    """Its permissions are set after its content was written."""
    closed = tarfile.TarInfo("closed")
    closed.type, closed.mode = tarfile.DIRTYPE, 0o555
    applied(tmp_path / "root", layer(closed, ("closed/file", "x")))
    mode = (tmp_path / "root/closed").stat().st_mode & 0o777
    assert mode == (0o555 if os.geteuid() == 0 else 0o755)
    remove_tree(tmp_path / "root")
    assert not (tmp_path / "root").exists()


def header(**values: object) -> tarfile.TarInfo:
    """An entry with unusual values."""
    info = tarfile.TarInfo("entry")
    for name, value in values.items():
        setattr(info, name, value)
    return info


def pax_layer(*entries: tarfile.TarInfo) -> bytes:
    """A layer in the format that has room for any number."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for entry in entries:
            tar.addfile(entry)
    return raw.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(layer(link("a", "nowhere", hard=True)), id="link to nothing"),
        pytest.param(layer(("a", "x"), ("a/b", "y")), id="file as folder"),
        pytest.param(layer(("a" * 300, "x")), id="long name"),
        pytest.param(pax_layer(header(mtime=1e300)), id="time"),
        pytest.param(
            pax_layer(header(uid=2**40)),
            id="user",
            marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root keeps owners"),
        ),
        pytest.param(layer(link("a", "b"), link("b", "a"), ("a/x", "x")), id="endless links"),
    ],
)
def test_a_layer_that_no_folder_can_have_is_an_error(tmp_path: Path, content: bytes) -> None:
    """With the image's name."""
    with pytest.raises(UsageError, match="test: "):
        applied(tmp_path / "root", content)


@pytest.mark.parametrize(
    "content", [b"", b"no archive", layer(("a", "x" * 5000))[:40], b"\x28\xb5\x2f\xfd and nothing that is zstd"]
)
def test_a_broken_archive_is_an_error(tmp_path: Path, content: bytes) -> None:
    """With the image's name."""
    with pytest.raises(UsageError, match="test: the layer can't be read"):
        applied(tmp_path / "root", content)


def test_permissions_are_set_where_the_entry_was(tmp_path: Path) -> None:
    """Not through a link that has taken the place of a folder, and not on a folder that came later."""
    applied(tmp_path / "root", layer(("b/", "")))
    applied(tmp_path / "root", layer(changed("a", folder=True), link("a", "b")))
    assert stat.S_IMODE((tmp_path / "root/b").stat().st_mode) == 0o755
    applied(tmp_path / "root", layer(changed("c", folder=True), ("c", ""), ("c/", "")))
    assert stat.S_IMODE((tmp_path / "root/c").stat().st_mode) == 0o755


SPARSE = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}


def deep(levels: int) -> bytes:
    """A layer of folders in one another, which goes on through a link."""
    path = "a/" * levels
    return layer((path, ""), link("l", path[:-1]), (f"l/{path}", ""))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(layer(("a", "x" * 600), ("b", "x" * 600)), "unpacks to more", id="bytes"),
        pytest.param(layer(*((str(number), "") for number in range(11))), "unpacks to more", id="entries"),
        pytest.param(deep(150), "more than 200 folders", id="depth"),
        pytest.param(gzip.compress(b"".join(
            header(name="././@PaxHeader", type=kind, size=2**40).tobuf() for kind in (b"x", b"L")
        )), "header", id="header"),
        pytest.param(pax_layer(header(pax_headers=SPARSE)), "sparse", id="sparse"),
        pytest.param(header(type=b"S").tobuf(tarfile.GNU_FORMAT) + b"\0" * 2048, "sparse", id="old sparse"),
        pytest.param(header(type=b"x").tobuf() * 2000, "can't be read", id="endless headers"),
    ],
)  # fmt: skip
def test_limits(tmp_path: Path, content: bytes, problem: str) -> None:
    """Of what a layer unpacks to, and of what its reader keeps in memory."""
    (tmp_path / "root").mkdir()
    with pytest.raises(UsageError, match=problem):
        apply_layer(io.BytesIO(content), tmp_path / "root", "test", allowance=Allowance(size=1000, entries=10))


def test_the_layers_of_an_image_share_the_limits(tmp_path: Path) -> None:
    """Many small layers are a large image."""
    root, allowance = tmp_path / "root", Allowance(size=1000)
    root.mkdir()
    apply_layer(io.BytesIO(layer(("a", "x" * 600))), root, "test", allowance=allowance)
    with pytest.raises(UsageError, match="unpacks to more"):
        apply_layer(io.BytesIO(layer(("b", "x" * 600))), root, "test", allowance=allowance)
