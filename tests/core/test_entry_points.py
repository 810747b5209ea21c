"""Entry points of installed packages are found, in folders and in archives."""

from __future__ import annotations

import resource
import sys
import zipfile
from pathlib import Path

import pytest

from demeanor.core.entry_points import installed

POINTS = "[demeanor.agents]\nparrot = demeanor_parrot\n"


def test_a_package_in_a_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    about = tmp_path / "demeanor_parrot-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: demeanor-parrot\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(POINTS)
    assert not installed("demeanor.agents")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert [(point.name, point.value) for point in installed("demeanor.agents")] == [("parrot", "demeanor_parrot")]
    assert not installed("demeanor.reporters")


def test_a_package_in_an_archive_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "packages.zip", "w") as archive:
        about = "demeanor_parrot-1.0.dist-info"
        archive.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: demeanor-parrot\nVersion: 1.0\n")
        archive.writestr(f"{about}/entry_points.txt", POINTS)
    monkeypatch.syspath_prepend(str(tmp_path / "packages.zip"))
    assert [point.name for point in installed("demeanor.agents")] == ["parrot"]


def test_a_package_that_can_t_be_read_now_is_not_taken_for_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as when too many files are open: that is an error, and forgotten."""
    about = tmp_path / "demeanor_parrot-1.0.dist-info"
    about.mkdir()
    (about / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, most[1]))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            installed("demeanor.agents")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, most)
    assert [point.name for point in installed("demeanor.agents")] == ["parrot"]


def test_a_run_without_such_packages_does_not_read_the_metadata_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(**_: object) -> None:
        raise AssertionError("all metadata was read")

    monkeypatch.setattr("importlib.metadata.entry_points", read)
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if Path(folder).is_dir()])
    assert installed("demeanor.hooks") == ()
