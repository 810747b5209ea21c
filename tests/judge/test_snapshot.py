"""Prompt snapshots: has what the agent tells its model changed, and how?"""

from pathlib import Path

from demeanor.core.values.checks import PromptSnapshot
from demeanor.core.values.eval import Eval, Source
from demeanor.core.values.policy import USUALLY_PASSES
from demeanor.core.values.scenario import Scenario
from demeanor.judge.check_answers import answer
from demeanor.judge.offline_test import self_test
from demeanor.judge.rig import Rig
from demeanor.judge.snapshot import write_snapshots
from tests.judge.helpers import evidence, lay_out, no_command, read_back

ASKED = "# System prompt\n\nBe careful.\n\n# Tools\n\n## read\n"


def an_eval(file: Path) -> Eval:
    """An eval that asks for nothing but its snapshot."""
    scenario, source = Scenario(prompts=("hi",)), Source(path=file.parent / "eval_x.py")
    return Eval(
        name="eval", policy=USUALLY_PASSES, scenario=scenario, checks=(PromptSnapshot(file=file),), source=source
    )


def ask(file: Path, asked: str | None):
    """The finding about one snapshot."""
    return answer(PromptSnapshot(file=file), Rig(evidence(asked=asked), no_command))


def test_missing_snapshot_fails(tmp_path):
    """Nothing is skipped in silence."""
    found = ask(tmp_path / "s.md", ASKED)
    assert found.answer == "no"
    assert "the snapshot s.md does not exist; `demeanor run --update-snapshots` updates it" in found.reason


def test_written_snapshot_passes_until_a_word_changes(tmp_path):
    """One word of the prompt is a readable difference."""
    file = tmp_path / "deep" / "{subject}.md"
    write_snapshots(an_eval(file), evidence(asked=ASKED))
    assert (tmp_path / "deep" / "subject.md").read_text() == ASKED
    assert ask(file, ASKED).answer == "yes"
    found = ask(file, ASKED.replace("careful", "quick"))
    assert found.answer == "no"
    assert "-Be careful.\n+Be quick." in found.reason


def test_agent_whose_traffic_is_not_seen_is_unknown(tmp_path):
    """And no snapshot is written of a prompt that was not seen."""
    write_snapshots(an_eval(tmp_path / "s.md"), evidence(asked=None))
    assert list(tmp_path.iterdir()) == []
    assert ask(tmp_path / "s.md", None).answer == "unknown"


def test_self_test_leaves_snapshots_out(tmp_path):
    """A simulation does not know what a real agent sends."""
    found = self_test(an_eval(tmp_path / "s.md"), lay_out=lay_out, read_back=read_back, run_command=no_command)
    assert not found.complaints
    assert found.rehearsed == 0
