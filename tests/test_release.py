"""`make release`: what keeps a commit from being published. The rest of it is run by `make release-check`."""

from __future__ import annotations

import pytest
from tools.release import changelog_problems, relative_links


@pytest.mark.parametrize(
    ("changelog", "problem"),
    [
        ("# Changelog\n\n## Unreleased\n\n## 0.2.0 - 2026-11-18\n\n- New.\n", ""),
        ("# Changelog\n\n## 0.2.0 - 2026-11-18\n\n- New.\n", ""),
        ("## Unreleased\n\n- New.\n\n## 0.2.0 - 2026-11-18\n", "move the changes below 'Unreleased'"),
        (
            "## Unreleased\n\n## 0.1.0 - 2026-11-18\n\n- Old.\n",
            "CHANGELOG.md:3: the newest version is '## 0.1.0 - 2026",
        ),
        ("## 0.2.0\n\n- New.\n", "and src/demeanor/_version.py says 0.2.0"),
        ("# Changelog\n", "the newest version is 'nothing'"),
    ],
)
def test_the_changelog_fits_to_the_version(changelog: str, problem: str) -> None:
    problems = list(changelog_problems(changelog, "0.2.0"))
    assert len(problems) == bool(problem)
    assert problem in "".join(problems)


def test_links_into_the_repository_are_found() -> None:
    """The page of an index has no docs/ beside it."""
    page = '<a href="https://x.example/">x</a> <a href="#top">y</a> <a href="docs/ci.md">z</a> <img src="docs/a.webp">'
    assert relative_links(page) == ["docs/ci.md", "docs/a.webp"]
