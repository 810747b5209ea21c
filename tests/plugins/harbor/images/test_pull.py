"""Images from a real registry, from a folder and from an archive."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from demeanor.core.values.errors import UsageError
from demeanor.plugins.harbor.images.cache import CachedImage, ImageCache
from demeanor.plugins.harbor.images.layer import remove_tree
from demeanor.plugins.harbor.images.pull import PullProgress, import_archive, import_layout, pull
from tests.helpers.image_registry import (
    ARCHITECTURE,
    INDEX,
    ImageRegistry,
    digest,
    image_registry,
    index,
    layer,
    manifest,
    write_layout,
)

BASE = layer(("bin/", ""), ("bin/sh", "shell"), ("etc/", ""), ("etc/os", "base"))
MORE = layer(("etc/os", "more"), ("etc/.wh.none", ""))
CONFIG = {"Env": ["PATH=/bin", "A=b=c"], "WorkingDir": "/srv", "User": "app", "Entrypoint": ["/start", "x"]}


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ImageRegistry]:
    """A registry with three images: `base`, `more` on top of it, and `many` for several platforms."""
    with image_registry(tmp_path_factory.mktemp("registry")) as found:
        for name, layers in {"base": [BASE], "team/more": [BASE, MORE]}.items():
            found.push(name, "1", *manifest(layers, CONFIG))
        content, blobs = manifest([BASE])
        other, other_blobs = manifest([MORE])
        found.push("many", digest(content), content, blobs)
        found.push("many", digest(other), other, other_blobs)
        found.push("many", "1", index((other, "other"), (content, ARCHITECTURE)), {}, INDEX)
        yield found


def pulled(registry: ImageRegistry, name: str, cache: ImageCache) -> tuple[CachedImage, list[PullProgress]]:
    """An image, and what was reported on the way."""
    seen: list[PullProgress] = []
    return pull(f"{registry.host}/{name}", cache, {"HOME": str(cache.folder)}, seen.append), seen


def test_an_image_is_pulled_once(registry: ImageRegistry, tmp_path: Path) -> None:
    """With its settings; a layer that is there is not downloaded again."""
    cache = ImageCache(tmp_path / "cache")
    image, seen = pulled(registry, "base:1", cache)
    own = image.settings
    assert (own.env, own.workdir, own.user, own.entrypoint) == (
        {"PATH": "/bin", "A": "b=c"}, "/srv", "app", ("/start", "x"),
    )  # fmt: skip
    assert (seen[0].done, seen[0].total) == (0, len(BASE))
    assert seen[-1].done == len(BASE)
    more, seen = pulled(registry, "team/more:1", cache)
    assert (seen[0].done, seen[-1].done, seen[-1].total) == (0, len(MORE), len(MORE))
    roots = {name: cache.root(one.key) for name, one in {"base": image, "more": more}.items()}
    assert {name: (root / "etc/os").read_text() for name, root in roots.items() if root} == {
        "base": "base",
        "more": "more",
    }
    assert [one.name for one in cache.images()] == [f"{registry.host}/base:1", f"{registry.host}/team/more:1"]
    _, seen = pulled(registry, "base:1", cache)
    assert [(progress.done, progress.total) for progress in seen] == [(0, 0)]


def test_the_platform_of_this_machine_is_chosen(registry: ImageRegistry, tmp_path: Path) -> None:
    """From an index; its digest pins it."""
    cache = ImageCache(tmp_path / "cache")
    image, _ = pulled(registry, "many:1", cache)
    root = cache.root(image.key)
    assert root is not None
    assert (root / "etc/os").read_text() == "base"
    pinned, _ = pulled(registry, f"many@{image.digest}", cache)
    assert pinned.key == image.key


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("none:1", "there is no such image"),
        ("base:2", "there is no such image"),
        (f"base@sha256:{'0' * 64}", "no such"),
    ],
)
def test_a_missing_image_is_an_error(registry: ImageRegistry, tmp_path: Path, name: str, complaint: str) -> None:
    """With its name."""
    with pytest.raises(UsageError, match=complaint):
        pulled(registry, name, ImageCache(tmp_path / "cache"))


def test_a_registry_that_is_down_is_an_error(tmp_path: Path) -> None:
    """With a remedy, and nothing is left behind."""
    with pytest.raises(UsageError, match="can't be reached") as caught:
        pull("127.0.0.1:9/a", ImageCache(tmp_path / "cache"), {}, lambda progress: None)
    assert "demeanor harbor images import" in str(caught.value)
    assert not (tmp_path / "cache").exists()


def test_changed_content_is_refused(tmp_path: Path) -> None:
    """A blob must have the digest by which it is named."""
    content, blobs = manifest([BASE])
    folder = write_layout(tmp_path / "layout", content, blobs)
    (folder / "blobs/sha256" / digest(BASE).removeprefix("sha256:")).write_bytes(BASE + b"x")
    cache = ImageCache(tmp_path / "cache")
    with pytest.raises(UsageError, match="does not match its digest"):
        import_layout(folder, "a:1", cache)
    assert cache.images() == []
    assert cache.roots() == []


def test_a_layer_that_was_damaged_in_the_cache_is_downloaded_again(registry: ImageRegistry, tmp_path: Path) -> None:
    """Its size is the same, but not its digest; nothing is unpacked from it."""
    cache = ImageCache(tmp_path / "cache")
    image, _ = pulled(registry, "base:1", cache)
    (blob,) = (path for path in (tmp_path / "cache/blobs").iterdir() if path.stat().st_size == len(BASE))
    remove_tree(tmp_path / "cache/roots" / image.key)
    blob.write_bytes(b"x" * len(BASE))
    again, seen = pulled(registry, "base:1", cache)
    assert again == image
    assert seen[-1].done == len(BASE)
    assert blob.read_bytes() == BASE


def test_a_changed_manifest_is_refused(tmp_path: Path) -> None:
    """In a folder, too."""
    content, blobs = manifest([BASE])
    folder = write_layout(tmp_path / "layout", content, blobs)
    (folder / "blobs/sha256" / digest(content).removeprefix("sha256:")).write_bytes(content + b" ")
    with pytest.raises(UsageError, match="does not match its digest"):
        import_layout(folder, "a:1", ImageCache(tmp_path / "cache"))


def test_an_image_from_a_folder_and_from_an_archive(tmp_path: Path) -> None:
    """The OCI image layout, and the tar archive of a root file system."""
    cache = ImageCache(tmp_path / "cache")
    layout = import_layout(write_layout(tmp_path / "layout", *manifest([BASE, MORE], CONFIG)), "org/a:1", cache)
    assert (layout.name, layout.settings.workdir) == ("org/a:1", "/srv")
    root = cache.root(layout.key)
    assert root is not None
    archive = tmp_path / "root.tar"
    with tarfile.open(archive, "w") as tar:
        tar.add(root, arcname=".")
    image = import_archive(archive, "debian:12", cache)
    again = cache.root(image.key)
    assert again is not None
    assert (again / "etc/os").read_text() == "more"
    assert cache.image("debian:12") == image


def test_what_is_no_image_is_an_error(tmp_path: Path) -> None:
    """A folder without an index, and an archive without programs."""
    with pytest.raises(UsageError, match=r"not in the OCI image layout: No such file or directory: index\.json"):
        import_layout(tmp_path, "a:1", ImageCache(tmp_path / "cache"))
    archive = tmp_path / "x.tar"
    with tarfile.open(archive, "w"):
        pass
    with pytest.raises(UsageError, match="it has no folder bin"):
        import_archive(archive, "a:1", ImageCache(tmp_path / "cache"))
    assert ImageCache(tmp_path / "cache").roots() == []
    assert list((tmp_path / "cache/roots").iterdir()) == []
