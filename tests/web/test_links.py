"""Where pages are, whatever runs, evals and subjects are called."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from demeanor.web.links import ExportedLinks, ServedLinks, file_of

HOSTILE = ["../../etc/passwd", "..", "/etc/passwd", "a/b", "a\\b", "x?y#z", "%2e%2e%2f", "nul\0", "<script>", "名前"]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_of_an_export_is_in_the_folder_of_its_page(name: str):
    """No name leaves the folder, and two names never share a file."""
    path = PurePosixPath(file_of("trial", name, name, name, 1))
    assert path.parent == PurePosixPath("trial")
    assert path.name.isprintable()
    assert not set(path.name) & set('/\\<>?#%"')
    assert file_of("eval", name) != file_of("eval", f"{name} ")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_is_one_segment_of_a_path(name: str):
    """Slashes, question marks and the like are quoted."""
    assert ServedLinks().page("run", name).count("/") == 2
    assert not set(ServedLinks().page("run", name)) & set('?#<>"\\\0')


def test_an_export_links_only_to_pages_that_it_has():
    """Not to other runs, to raw exchanges, or to pages that need a server."""
    links = ExportedLinks(depth=1, runs=frozenset({"night"}))
    assert links.page("run", "night").startswith("../run/night-")
    assert links.page("run", "other") == ""
    assert links.page("trial", "night", "e", "s", 1, tab="exchanges", x=1) == ""
    assert [links.page(name) for name in ("live", "find", "compare")] == ["", "", ""]
    assert set(links.wanted) == {links.page("run", "night").removeprefix("../")}
