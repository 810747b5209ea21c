"""A stranger's repository can't name files outside of it, whatever part of a path is the link."""

from __future__ import annotations

from pathlib import Path

import pytest

from demeanor.core.values.errors import BadInput
from demeanor.define.discovery import discover
from demeanor.define.repository import refuse_outside

SCENARIO = 'policy = "USUALLY_PASSES"\nprompt = "Do it."\n[[checks]]\ncheck = "file_exists"\npath = "a.txt"\n'
LINKS = ("template", "scenario.toml", "cases.csv", "evals/a", "evals")


@pytest.mark.parametrize("name", LINKS)
@pytest.mark.parametrize("marker", [".git", "demeanor.toml"])
def test_no_part_of_a_path_leads_out(tmp_path: Path, name: str, marker: str) -> None:
    """Neither the file itself nor a folder above it."""
    host, repository = tmp_path / "host", tmp_path / "repository"
    real = host / "evals/a" if name in ("evals", "evals/a") else repository / "evals/a"
    (real / "template").mkdir(parents=True)
    (host / "template").mkdir(parents=True, exist_ok=True)
    (host / "template/secret.txt").write_text("secret")
    (repository / "evals").mkdir(parents=True, exist_ok=True) if name != "evals" else repository.mkdir()
    (repository / marker).touch()
    text = 'cases = "cases.csv"\n' + SCENARIO.replace("Do it", "Do {what}") if name == "cases.csv" else SCENARIO
    for place, content in ((real / "scenario.toml", text), (real / "cases.csv", "what\nthis\n")):
        place.write_text(content)
    moved = repository / ("evals/a" if "evals" not in name else "") / name
    if "evals" in name:
        moved.symlink_to(host / name)
    elif name == "template":
        (real / "template").rmdir()
        moved.symlink_to(host / "template")
    else:
        moved.rename(host / name)
        moved.symlink_to(host / name)
    with pytest.raises(BadInput, match="is a link out of the repository"):
        discover([repository / "evals/a"])


def test_links_inside_of_the_repository_are_followed(tmp_path: Path) -> None:
    """Evals may share a template; and the repository itself may be named by a link."""
    (tmp_path / "repository/common").mkdir(parents=True)
    (tmp_path / "repository/.git").mkdir()
    (tmp_path / "repository/a").mkdir()
    (tmp_path / "repository/a/template").symlink_to("../common")
    (tmp_path / "link").symlink_to("repository")
    for place in (tmp_path / "repository", tmp_path / "link"):
        refuse_outside(place / "a/template", where="x")
