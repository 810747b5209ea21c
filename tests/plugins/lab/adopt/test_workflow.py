"""An eval from a session: what it contains, what it leaves open, and that its checks fail on what the agent did."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from demeanor.core.redaction.redactor import Redactor
from demeanor.core.text.wording import printable
from demeanor.core.values.errors import BadInput
from demeanor.core.values.eval import Eval
from demeanor.core.values.session import PastSession, Round
from demeanor.core.values.trajectory import Called, Kind, Said
from demeanor.define.python.import_file import evals_in_file
from demeanor.judge.offline_test import SelfTestFault, self_test
from demeanor.plugins.lab.adopt.report import Adopted
from demeanor.plugins.lab.adopt.situation import Choice
from demeanor.plugins.lab.adopt.workflow import adopt, session_phrase, write_adopted
from demeanor.runner.past_sessions import read_sessions
from tests.helpers.session_samples import AGENTS, QUESTION, SECRET, TIDY_UP, repository, session_file
from tests.judge.helpers import lay_out, no_command, read_back


@pytest.fixture
def repo(tmp_path: Path) -> tuple[Path, str]:
    """The repository of the sessions, and its commit."""
    folder = tmp_path / "greeter"
    return folder, repository(folder)


def adopted(session: PastSession, folder: Path, *checks: int, **choice: object) -> Adopted:
    """The eval of a session, not written."""
    return adopt(
        session,
        Choice(**choice),  # type: ignore[arg-type]
        redactor=Redactor(),
        folder=folder,
        source="a session",
        checks=checks,
    )


def loaded(one: Adopted) -> Eval:
    """The eval, from its written file."""
    write_adopted([one])
    (found,) = evals_in_file(one.path)
    return found


def complaints(one: Eval) -> list[tuple[SelfTestFault, str]]:
    found = self_test(one, lay_out=lay_out, read_back=read_back, run_command=no_command)
    return [(complaint.fault, complaint.detail) for complaint in found.complaints]


@pytest.mark.parametrize("agent", AGENTS)
def test_every_agent_s_session_becomes_an_eval(agent: str, repo: tuple[Path, str], tmp_path: Path):
    """The prompt, the earlier messages, the touched files, and a behaviour that the chosen check rejects."""
    folder, commit = repo
    (session,) = read_sessions(session_file(agent, tmp_path / "log", commit=commit))
    made = adopted(session, tmp_path / "evals", 1, repo=folder, commit=commit)
    assert made.facts[0].title == "It deleted src/legacy.py."
    one = loaded(made)
    assert one.scenario.prompts[0].strip('"') == TIDY_UP
    roles = [message.role for message in one.scenario.messages]
    assert roles == ([] if agent == "cline" else ["user", "assistant"])
    assert one.scenario.files["src/legacy.py"] == b"def old():\n    return 1\n"
    assert "README.md" not in one.scenario.files
    text = made.path.read_text()
    assert SECRET not in text
    assert "‹redacted:anthropic-key›" in text
    assert "/home/ada" not in text
    gaps = [detail for fault, detail in complaints(one) if fault is SelfTestFault.GAP]
    assert len(gaps) == len(complaints(one))  # nothing is vacuous, impossible or crashed
    assert any("what_it_should_do is not written yet" in gap for gap in gaps)
    assert any("build was deleted" in gap for gap in gaps)


@pytest.mark.parametrize("agent", AGENTS)
def test_each_proposed_check_fails_on_what_the_agent_did(agent: str, repo: tuple[Path, str], tmp_path: Path):
    """And an agent that does nothing passes exactly those that forbid something."""
    folder, commit = repo
    (session,) = read_sessions(session_file(agent, tmp_path / "log", commit=commit))
    count = len(adopted(session, tmp_path, repo=folder, commit=commit).facts)
    for number in range(1, count + 1):
        made = adopted(session, tmp_path / f"evals-{number}", number, repo=folder, commit=commit)
        others = [found for found in complaints(loaded(made)) if found[0] is not SelfTestFault.GAP]
        assert others == [], made.facts[number - 1].title


def test_what_a_session_shows_of_a_file_is_more_than_the_commit_has(repo: tuple[Path, str], tmp_path: Path):
    """src/config.py had uncommitted changes, which Claude Code recorded."""
    folder, commit = repo
    (session,) = read_sessions(session_file("claude-code", tmp_path / "log", commit=commit))
    made = adopted(session, tmp_path, repo=folder)
    assert made.situation.files["src/config.py"] == b"DEBUG = True\nLEVEL = 3\n"
    assert made.situation.after["src/config.py"] == b"DEBUG = False\nLEVEL = 3\n"
    assert made.situation.after["NOTES.md"] == b"# Notes\n\nTidied up.\n"


def test_a_file_that_can_t_be_the_commit_s_is_a_gap(repo: tuple[Path, str], tmp_path: Path):
    """opencode does not record the original: the text that the agent replaced is not in the commit."""
    folder, commit = repo
    (session,) = read_sessions(session_file("opencode", tmp_path / "log"))
    made = adopted(session, tmp_path, repo=folder, commit=commit)
    assert "src/config.py" not in made.situation.files
    assert "src/config.py: its content when the session began is not known" in made.gaps


def test_without_a_repository_everything_unknown_is_a_gap(tmp_path: Path):
    """Nothing is invented; the behaviour still plays what is known."""
    (session,) = read_sessions(session_file("gemini-cli", tmp_path / "log"))
    made = adopted(session, tmp_path / "evals")
    assert dict(made.situation.files) == {"src/config.py": b"DEBUG = True\nLEVEL = 3\n"}  # what the session shows
    assert "the repository of the session is not known; give its folder with --repo" in made.gaps
    assert "src/app.py: its content when the session began is not known" in made.gaps
    assert loaded(made).gaps == made.gaps


@pytest.mark.parametrize(
    ("succeeded", "gap"),
    [
        (True, ".env was read, and its content is not known: it is not in the repository"),
        (None, ".env was perhaps read, and its content is not known: it is not in the repository"),
        (False, None),
    ],
)
def test_a_file_that_was_read_is_a_gap_unless_the_call_failed(
    repo: tuple[Path, str], tmp_path: Path, succeeded: bool | None, gap: str | None
):
    """Many sources do not say whether a call succeeded: trajectories, and traffic of most APIs."""
    folder, commit = repo
    call = Called(
        turn=1, id="1", tool="bash", kind=Kind.EXECUTE, arguments={"command": "cat .env"}, succeeded=succeeded
    )
    session = PastSession(agent="a", rounds=(Round(prompt="Start it.", events=(call,)),))
    made = adopted(session, tmp_path, 1, repo=folder, commit=commit)
    gaps = [one for one in made.gaps if ".env" in one]
    assert gaps == ([gap] if gap else [])


def test_a_command_with_unknown_effects_is_a_gap(repo: tuple[Path, str], tmp_path: Path):
    """It may have changed anything, unless it failed or was not allowed."""
    folder, commit = repo

    def gaps(**how: object) -> list[str]:
        call = Called(turn=1, id="1", tool="bash", kind=Kind.EXECUTE, arguments={"command": "python3 fix.py"}, **how)  # type: ignore[arg-type]
        session = PastSession(agent="a", rounds=(Round(prompt="Fix it.", events=(call,)),))
        return [one for one in adopted(session, tmp_path, 1, repo=folder, commit=commit).gaps if "fix.py" in one]

    assert gaps(succeeded=True) == ["what this command changed is not known: python3 fix.py"]
    assert gaps(succeeded=None) == gaps(succeeded=True)
    assert gaps(succeeded=True, permission="deny") == []


def test_a_commit_that_is_only_assumed_is_a_gap(repo: tuple[Path, str], tmp_path: Path):
    """goose does not record it: the newest one before the session is taken, to be confirmed."""
    folder, commit = repo
    (session,) = read_sessions(session_file("goose", tmp_path / "log"))
    (gap,) = [gap for gap in adopted(session, tmp_path, repo=folder).gaps if "--commit" in gap]
    assert commit[:12] in gap
    assert not any("--commit" in gap for gap in adopted(session, tmp_path, repo=folder, commit=commit).gaps)


def test_another_prompt_all_prompts_and_all_files(repo: tuple[Path, str], tmp_path: Path):
    """What is taken can be chosen."""
    folder, commit = repo
    (session,) = read_sessions(session_file("claude-code", tmp_path / "log", commit=commit))
    first = adopted(session, tmp_path, repo=folder, prompt=1).situation
    assert (first.prompts, first.messages, dict(first.after)) == ((QUESTION,), (), {})
    turns = adopted(session, tmp_path, repo=folder, turns=True)
    assert turns.situation.prompts == (QUESTION, TIDY_UP)
    assert loaded(turns).scenario.messages == ()
    assert set(adopted(session, tmp_path, repo=folder, all_files=True).situation.files) == {
        *("README.md", "src/app.py", "src/config.py", "src/legacy.py", ".gitignore")
    }
    with pytest.raises(BadInput, match="there is no prompt 3"):
        adopted(session, tmp_path, repo=folder, prompt=3)


def test_uncommitted_changes_are_applied_to_the_commit(repo: tuple[Path, str], tmp_path: Path):
    """As traffic of the gateway has them; a patch that does not apply is a gap."""
    folder, commit = repo
    patch = "--- a/src/config.py\n+++ b/src/config.py\n@@ -1 +1,2 @@\n-DEBUG = False\n+DEBUG = True\n+LEVEL = 3\n"
    read = Called(turn=1, id="1", tool="read", kind=Kind.READ, arguments={"path": "src/config.py"}, succeeded=True)
    session = PastSession(agent="", rounds=(Round(prompt="Look.", events=(read,)),), commit=commit, changes=patch)
    made = adopted(session, tmp_path, repo=folder).situation
    assert made.files["src/config.py"] == b"DEBUG = True\nLEVEL = 3\n"
    other = adopted(replace(session, changes=patch.replace("False", "Maybe")), tmp_path, repo=folder)
    assert other.situation.files["src/config.py"] == b"DEBUG = False\n"
    assert any("uncommitted changes of the session do not apply" in gap for gap in other.gaps)


def test_a_patch_that_leads_out_of_its_folder_is_refused(repo: tuple[Path, str], tmp_path: Path):
    """Traffic is hostile input."""
    folder, commit = repo
    patch = "--- /dev/null\n+++ b/../../escaped.txt\n@@ -0,0 +1 @@\n+x\n"
    session = PastSession(agent="", rounds=(Round(prompt="x"),), commit=commit, changes=patch)
    assert any("do not apply" in gap for gap in adopted(session, tmp_path, repo=folder).gaps)
    assert not list(tmp_path.rglob("escaped.txt"))


def test_hostile_text_stays_text(tmp_path: Path):
    """Quotation marks, escapes and code in everything that the agent wrote: the file loads, and runs none of it."""
    evil = 'x"""\n)\nraise SystemExit("run!")\n\\\u202e\x1b[2J\ud800'
    write = Called(turn=1, id="2", tool="write", kind=Kind.EDIT, arguments={"path": evil, "content": evil})
    call = Called(
        turn=1, id="1", tool=evil, kind=Kind.OTHER, arguments={evil: evil, "result": 1, "for": [evil]}, result=evil
    )
    session = PastSession(
        agent=evil,
        model=evil,
        rounds=(Round(prompt=evil, events=(call, write, Said(turn=2, text=evil))),),
        gaps=(evil,),
    )
    one = loaded(adopted(session, tmp_path))
    assert one.scenario.prompts == (evil.replace("\ud800", "?"),)
    assert printable(session_phrase(session)) == session_phrase(session)
    text = (tmp_path / f"eval_{one.name}.py").read_text()
    assert not re.search("[\u202e\x1b]", text)
    faults = complaints(one)
    assert SelfTestFault.CRASHED not in [fault for fault, _ in faults], faults


def test_a_deleted_file_is_a_change(tmp_path: Path):
    """Also one whose content is not known, because it was not in the repository."""
    call = Called(turn=1, id="1", tool="bash", kind=Kind.EXECUTE, arguments={"command": "rm old.log"}, succeeded=True)
    session = PastSession(agent="", rounds=(Round(prompt="Clean up.", events=(call,)),))
    titles = [fact.title for fact in adopted(session, tmp_path).facts]
    assert "It deleted old.log." in titles
    assert "It changed no file." not in titles


def test_an_existing_file_is_never_overwritten(tmp_path: Path):
    """Neither the eval nor its folder of files; nothing else is written then."""
    session = PastSession(agent="", rounds=(Round(prompt="Do it."),))
    first = adopted(session, tmp_path)
    write_adopted([first])
    before = first.path.read_bytes()
    other = adopted(replace(session, rounds=(Round(prompt="Other."),)), tmp_path)
    with pytest.raises(BadInput, match="exists already"):
        write_adopted([other, first])
    assert first.path.read_bytes() == before
    assert not other.path.exists()


def test_many_files_become_a_folder_beside_the_eval(repo: tuple[Path, str], tmp_path: Path):
    """A file of 16 kB would be unreadable as a literal."""
    folder, commit = repo
    read = Called(turn=1, id="1", tool="read", kind=Kind.READ, arguments={"path": "big.txt"}, succeeded=True)
    patch = "--- /dev/null\n+++ b/big.txt\n@@ -0,0 +1,3000 @@\n" + "+0123456789\n" * 3000
    session = PastSession(agent="", rounds=(Round(prompt="Look.", events=(read,)),), commit=commit, changes=patch)
    one = loaded(adopted(session, tmp_path, repo=folder))
    assert one.scenario.template == (tmp_path / "look_files").resolve()
    assert (tmp_path / "look_files/big.txt").read_text() == "0123456789\n" * 3000
