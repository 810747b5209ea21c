"""Guides for coding agents: where each looks for them, never stale, and never over somebody else's file."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from demeanor.cli import main
from demeanor.commands.registry import COMMANDS
from demeanor.commands.skills.guide import guides, parser_of, usage

TREES = {"claude": ".claude/skills", "gemini": ".gemini/skills"}
COMMAND = re.compile(r"`(demeanor [^`]+)`")
OPTION = re.compile(r"`(-{1,2}\w[\w-]*)")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project's folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_they_are_written_where_agents_look_and_writing_them_again_changes_nothing(folder: Path):
    """A skill has a head with its name, which is its folder's, and a description."""
    assert main(["skills", "install"]) == 0
    first = content(folder)
    assert sorted(first) == sorted(
        ["AGENTS.md", *(f"{tree}/{guide.name}/SKILL.md" for tree in TREES.values() for guide in guides())]
    )
    for guide in guides():
        text = (folder / ".claude/skills" / guide.name / "SKILL.md").read_text()
        _, head, body = text.split("---\n", 2)
        name, description = head.splitlines()
        assert (name, json.loads(description.removeprefix("description: "))) == (
            f"name: {guide.name}",
            guide.description,
        )
        assert re.fullmatch("[a-z-]{1,64}", guide.name)
        assert len(guide.description) < 1024
        assert guide.steps in body
        assert "{" not in guide.reference
    assert main(["skills", "install"]) == 0
    assert (content(folder), main(["skills", "check"])) == (first, 0)


@pytest.mark.parametrize("guide", guides(), ids=lambda guide: guide.name)
def test_they_name_only_commands_and_options_that_there_are(guide):
    """In what is generated and in what is not."""
    text = f"{guide.steps}\n{guide.reference}"
    found = [shlex.split(words.replace("\n", " ").replace("[", "").replace("]", "")) for words in COMMAND.findall(text)]
    assert len(found) >= 5
    every = set()
    for _, command, *words in found:
        assert command in COMMANDS
        known = parser_of(command)._option_string_actions
        every |= set(known)
        assert [word for word in words if word.startswith("-") and word not in known] == []
    assert [option for option in OPTION.findall(text) if option not in every] == []


def test_a_command_is_shown_as_it_is_used():
    """What must be said, and what may be left out."""
    assert usage(parser_of("bisect")) == "demeanor bisect EVAL --good REV"
    assert usage(parser_of("run")) == "demeanor run [PATH …]"
    assert usage(parser_of("skills")) == "demeanor skills install|check"
    reference = next(guide.reference for guide in guides() if "run" in guide.name)
    assert "  - `--policy always|all`: which policies to run" in reference
    assert "- `demeanor compare [A B …]`: decide whether one version is worse than another" in reference


@pytest.mark.parametrize("line", ["\n", "\r\n"])
def test_other_text_of_agents_md_is_left_as_it_is(folder: Path, line: str):
    """Before and after the section, with its own line ends."""
    file = folder / "AGENTS.md"
    file.write_bytes(line.join(["# Ours", "", "Be kind."]).encode())
    assert main(["skills", "install", "--for", "agents"]) == 0
    text = file.read_bytes().decode()
    assert text.startswith(line.join(["# Ours", "", "Be kind.", "", "<!-- demeanor: begin"]))
    assert text.count("\n") == text.count(line)
    stale = text.replace("Create an eval", "Create nothing") + f"{line}After.{line}"
    file.write_bytes(stale.encode())
    assert main(["skills", "check"]) == 1
    assert main(["skills", "install", "--for", "agents"]) == 0
    assert file.read_bytes().decode() == text + f"{line}After.{line}"
    assert list(content(folder)) == ["AGENTS.md"]


def test_a_file_that_is_not_ours_is_never_written_over(folder: Path, capsys: pytest.CaptureFixture[str]):
    """And then nothing else is written either."""
    own = folder / ".gemini/skills" / guides()[2].name / "SKILL.md"
    own.parent.mkdir(parents=True)
    own.write_text("my own\n")
    assert main(["skills", "install"]) == 2
    assert "was not made by Demeanor" in capsys.readouterr().err
    assert content(folder) == {str(own.relative_to(folder)): b"my own\n"}
    assert main(["skills", "install", "--for", "claude"]) == 0


@pytest.mark.parametrize("broken", ["<!-- demeanor: end -->", "{0}{1}{0}{1}", "{1}{0}", "{0}"])
def test_a_section_that_can_not_be_told_is_left_alone(folder: Path, broken: str, capsys: pytest.CaptureFixture[str]):
    """Half of it, twice, or the wrong way round."""
    begin, end = "<!-- demeanor: begin; `demeanor skills install` writes this anew -->", "<!-- demeanor: end -->"
    (folder / "AGENTS.md").write_text(broken.format(begin, end))
    assert main(["skills", "install", "--for", "agents"]) == 2
    assert "remove both marks" in capsys.readouterr().err
    assert (folder / "AGENTS.md").read_text() == broken.format(begin, end)


def test_check_looks_at_what_is_installed(folder: Path, capsys: pytest.CaptureFixture[str]):
    """One that is missing, stale or obsolete is told; install mends all of them."""
    assert main(["skills", "check"]) == 1
    assert "no guide is installed here" in capsys.readouterr().err
    main(["skills", "install", "--for", "claude"])
    (folder / "AGENTS.md").write_text("# Ours\n")
    assert main(["skills", "check"]) == 0
    assert main(["skills", "check", "--for", "gemini"]) == 1
    home = folder / ".claude/skills"
    first, second = (home / guide.name / "SKILL.md" for guide in guides()[:2])
    old = home / "demeanor-old" / "SKILL.md"
    old.parent.mkdir()
    old.write_text(first.read_text())
    first.write_text(first.read_text() + "more\n")
    second.unlink()
    capsys.readouterr()
    assert main(["skills", "check"]) == 1
    told = capsys.readouterr().err
    assert [word for word in ("stale", "missing", "obsolete") if word in told] == ["stale", "missing", "obsolete"]
    assert main(["skills", "install", "--for", "claude"]) == 0
    assert (main(["skills", "check"]), old.parent.exists()) == (0, False)


def test_a_link_stays_a_link(folder: Path):
    """Many a project's AGENTS.md is another name of its CLAUDE.md."""
    (folder / "CLAUDE.md").write_text("# Ours\n")
    (folder / "AGENTS.md").symlink_to("CLAUDE.md")
    assert main(["skills", "install", "--for", "agents"]) == 0
    assert (folder / "AGENTS.md").is_symlink()
    assert "Create an eval" in (folder / "CLAUDE.md").read_text()


def test_mistakes_are_told(folder: Path, capsys: pytest.CaptureFixture[str]):
    """A folder that is not there, a file that is no text."""
    assert main(["skills", "install", "--dir", "nowhere"]) == 2
    (folder / "AGENTS.md").write_bytes(b"\xff\xfe")
    assert main(["skills", "install"]) == 2
    assert "AGENTS.md: can't be read" in capsys.readouterr().err
