"""`demeanor skills`: short guides for coding agents, where each of them looks for such."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from demeanor.core.errors import BadInput
from demeanor.core.exit_code import ExitCode

_FOLDERS = {"claude": ".claude/skills", "gemini": ".gemini/skills"}
_SECTION = "AGENTS.md"
_MADE = "<!-- made by `demeanor skills install`: what is changed here by hand is lost -->"
_BEGIN, _END = "<!-- demeanor: begin; `demeanor skills install` writes this anew -->", "<!-- demeanor: end -->"
_FOR = ("claude", "gemini", "agents", "all")


@dataclass(frozen=True, kw_only=True, slots=True)
class SkillTarget:
    """A file that guides are written to."""

    path: Path
    """Where it lies."""

    old: str | None
    """What it says; None where it is not there."""

    new: str | None
    """What it should say; None where it should not be there any more."""

    @property
    def state(self) -> str:
        """Whether something is to be done."""
        if self.old == self.new:
            return "fresh"
        return "missing" if self.old is None else "obsolete" if self.new is None else "stale"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument(
        "action",
        choices=("install", "check"),
        help="install: write the guides, or write them anew; check: tell whether they are as they should be",
    )
    parser.add_argument(
        "--for",
        dest="reader",
        choices=_FOR,
        help="for whom: claude (.claude/skills), gemini (.gemini/skills), agents (a section of AGENTS.md, which most"
        " agents read) or all of them (default: all; check looks at what is installed)",
    )
    parser.add_argument("--dir", type=Path, default=Path(), metavar="DIR", help="the project's folder (default: here)")


def run(args: argparse.Namespace) -> ExitCode:
    """Look at all files first, so that nothing is written where one of them is not ours."""
    if not args.dir.is_dir():
        raise BadInput("there is no such folder", where=args.dir, key="--dir")
    readers = _FOR[:-1] if args.reader in (None, "all") else (args.reader,)
    targets = [target for reader in readers for target in _targets(args.dir, reader)]
    if args.action == "install":
        _install(targets)
        return ExitCode.ACCEPTED
    if args.reader is None:
        targets = _of_installed(targets)
    return _check(targets)


def _install(targets: Sequence[SkillTarget]) -> None:
    from demeanor.store.runs.run_folder import write_whole

    for one in targets:
        if one.new is None:
            one.path.unlink()
            _remove_if_empty(one.path.parent)
        elif one.new != one.old:
            one.path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(one.path.resolve(), one.new)  # a link stays one: AGENTS.md is often the name of another file
        done = {"fresh": "kept", "missing": "created", "stale": "updated", "obsolete": "removed"}[one.state]
        print(f"{done:<8} {one.path}")


def _check(targets: Sequence[SkillTarget]) -> ExitCode:
    wrong = [one for one in targets if one.state != "fresh"]
    for one in wrong:
        sys.stderr.write(f"{one.state:<8} {one.path}\n")
    if not targets:
        sys.stderr.write("no guide is installed here\n")
    if wrong or not targets:
        sys.stderr.write("  → demeanor skills install\n")
        return ExitCode.REJECTED
    return ExitCode.ACCEPTED


def _of_installed(targets: Sequence[SkillTarget]) -> list[SkillTarget]:
    """Those for whom anything is there: a guide that is missing among others is missed, a reader without any is not."""
    there = {_reader(one) for one in targets if one.old is not None and (_reader(one) != _SECTION or _BEGIN in one.old)}
    return [one for one in targets if _reader(one) in there]


def _reader(one: SkillTarget) -> str:
    return one.path.name if one.path.name == _SECTION else str(one.path.parent.parent)


def _targets(folder: Path, reader: str) -> Iterator[SkillTarget]:
    if reader == "agents":
        old = _read(folder / _SECTION)
        yield SkillTarget(path=folder / _SECTION, old=old, new=_with_section(old, folder / _SECTION))
        return
    from demeanor.commands.skills.guide import guides

    home = folder / _FOLDERS[reader]
    for guide in guides():
        path = home / guide.name / "SKILL.md"
        head = f"---\nname: {guide.name}\ndescription: {json.dumps(guide.description)}\n---\n\n{_MADE}\n\n"
        yield SkillTarget(path=path, old=_ours(path), new=f"{head}{guide.steps}\n\n{guide.reference}\n")
    known = {guide.name for guide in guides()}
    for path in sorted(home.glob("demeanor-*/SKILL.md")):
        if path.parent.name not in known and _MADE in (_read(path) or ""):
            yield SkillTarget(path=path, old=_read(path), new=None)


def _ours(path: Path) -> str | None:
    """What a file of ours says; anybody else's is left alone."""
    text = _read(path)
    if text is not None and _MADE not in text:
        raise BadInput(
            "was not made by Demeanor, so it is not written over",
            where=path,
            remedy="rename or remove it, or install for another agent with --for",
        )
    return text


def _with_section(old: str | None, where: Path) -> str:
    """The text with our section in it, and everything else as it was."""
    from demeanor.commands.skills.guide import guides

    parts = [f"##{guide.steps}" for guide in guides()]
    section = "\n\n".join([_BEGIN, "## Behavioural evals (Demeanor)", *parts, _END])
    if not old:
        return f"{section}\n"
    line = "\r\n" if "\r\n" in old else "\n"
    section = section.replace("\n", line)
    if (old.count(_BEGIN), old.count(_END)) == (0, 0):
        return f"{old}{line * (2 - min(2, _ending(old, line)))}{section}{line}"
    before, begun, rest = old.partition(_BEGIN)
    within, ended, after = rest.partition(_END)
    if not begun or not ended or _BEGIN in within + after or _END in before + after:
        raise BadInput(
            f"the marks of Demeanor's section are not one {_BEGIN!r} and one {_END!r} after it",
            where=where,
            remedy="remove both marks and what stands between them, then install again",
        )
    return f"{before}{section}{after}"


def _ending(text: str, line: str) -> int:
    """How many line ends stand at the end."""
    return (len(text) - len(text.rstrip("\r\n"))) // len(line)


def _read(path: Path) -> str | None:
    """A file's text, line ends as they are; None where there is none."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"can't be read: {error}", where=path) from None


def _remove_if_empty(folder: Path) -> None:
    if not any(folder.iterdir()):
        folder.rmdir()
