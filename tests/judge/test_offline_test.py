"""The evals' self-test: which evals can't fail, can't pass, or prove nothing."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from demeanor import USUALLY_PASSES, eval_test
from demeanor.core.values.checks import FileExists
from demeanor.core.values.errors import BadInput
from demeanor.define.folder.cline_folder import read_cline_folder
from demeanor.judge.offline_test import SelfTestFault, self_test
from tests.judge.helpers import lay_out, no_command, read_back


def writes(text: str):
    def behaviour(stage):
        (stage.workspace / "a.txt").write_text(text)

    return behaviour


def faults(check, **more) -> list[SelfTestFault]:
    return [complaint.fault for complaint in tried(check, **more).complaints]


def tried(check, **more):
    made = eval_test(USUALLY_PASSES, prompt="x", name="e", **more)(check)
    return self_test(made, lay_out=lay_out, read_back=read_back, run_command=no_command)


def good_text(rig, result):
    assert rig.workspace["a.txt"].text == "good"


def test_sound_eval_has_no_complaints():
    """It fails on nothing and on bad work, and passes on good work."""
    found = tried(good_text, passes_on=writes("good"), fails_on=writes("bad"))
    assert (found.rehearsed, found.complaints) == (3, ())


def test_eval_that_passes_on_nothing_is_vacuous():
    """An agent that does nothing must fail it."""
    found = tried(lambda rig, result: None, passes_on=writes("good"))
    assert [complaint.fault for complaint in found.complaints] == [SelfTestFault.VACUOUS]
    assert "does nothing passes" in found.complaints[0].detail


def test_eval_that_passes_on_bad_work_is_vacuous():
    """Each behaviour that is called bad must fail it."""

    def exists(rig, result):
        assert rig.workspace.exists("a.txt")

    assert faults(exists, passes_on=writes("good"), fails_on=writes("bad")) == [SelfTestFault.VACUOUS]


def test_eval_that_fails_on_good_work_is_impossible():
    """Each good behaviour must pass it; otherwise the reason is given."""
    found = tried(good_text, passes_on=[writes("good"), writes("goood")])
    assert [complaint.fault for complaint in found.complaints] == [SelfTestFault.IMPOSSIBLE]
    assert "goood" in found.complaints[0].detail


def test_eval_without_passes_on_is_unproven():
    """Nothing shows that it can pass."""
    assert faults(good_text, fails_on=writes("bad")) == [SelfTestFault.UNPROVEN]


def test_doing_nothing_may_be_right_where_the_eval_says_so():
    """A «must not act» eval passes on nothing, and needs a behaviour that fails."""

    def untouched(rig, result):
        assert not rig.workspace.changes

    assert faults(untouched, does_nothing_passes=True, fails_on=writes("bad")) == []
    assert faults(untouched, does_nothing_passes=True) == [SelfTestFault.VACUOUS]
    assert faults(good_text, does_nothing_passes=True, fails_on=writes("bad")) == [SelfTestFault.IMPOSSIBLE]


def test_crash_of_the_check_is_reported():
    """A check that breaks instead of answering is at fault, also when the agent does nothing."""

    def breaks(rig, result):
        assert rig.calls.where(path="a.txt")[0].arguments["nowhere"] == 1

    def acts(stage):
        stage.call("write_file", path="a.txt")

    found = tried(breaks, passes_on=acts)
    assert [complaint.fault for complaint in found.complaints] == [SelfTestFault.CRASHED]
    assert "KeyError" in found.complaints[0].detail


def test_workspace_that_cannot_be_laid_out_is_reported():
    """What is wrong with the start is a complaint about the eval."""

    def broken(scenario, folder):
        raise BadInput("raised ValueError", where="eval_a.py:3", key="setup")

    made = eval_test(USUALLY_PASSES, prompt="x", name="e", passes_on=writes("good"))(good_text)
    found = self_test(made, lay_out=broken, read_back=read_back, run_command=no_command)
    assert [complaint.fault for complaint in found.complaints] == [SelfTestFault.CRASHED]
    assert "eval_a.py:3: setup: raised ValueError" in found.complaints[0].detail


def test_behaviours_do_not_see_each_other():
    """Each starts from the same workspace, which is laid out once."""
    times = []

    def counting(scenario, folder):
        times.append(folder)
        return lay_out(scenario, folder)

    def finds_nothing(stage):
        assert not (stage.workspace / "a.txt").exists()
        writes("good")(stage)

    made = eval_test(USUALLY_PASSES, prompt="x", name="e", passes_on=[finds_nothing, finds_nothing])(good_text)
    found = self_test(made, lay_out=counting, read_back=read_back, run_command=no_command)
    assert (found.complaints, len(times)) == ((), 1)


def test_crash_of_one_check_beside_the_no_of_another_is_reported():
    """The trial of an agent fails there, but the eval is broken."""

    def crashes(rig, result):
        raise KeyError("path")

    made = eval_test(USUALLY_PASSES, prompt="x", name="e", does_nothing_passes=True, fails_on=writes("bad"))(crashes)
    made = replace(made, checks=(FileExists(path="b.txt"), *made.checks))
    found = self_test(made, lay_out=lay_out, read_back=read_back, run_command=no_command)
    assert [complaint.fault for complaint in found.complaints] == [SelfTestFault.IMPOSSIBLE, SelfTestFault.CRASHED]
    assert "fails_on behaviour: crashes crashed: KeyError" in found.complaints[1].detail


def test_crash_of_the_behaviour_is_reported():
    """A behaviour that raises is at fault itself."""

    def breaks(stage):
        (stage.workspace / "nowhere.txt").read_text()

    found = tried(good_text, passes_on=[writes("good"), breaks])
    assert [complaint.fault for complaint in found.complaints] == [SelfTestFault.CRASHED]
    assert "passes_on breaks itself crashed: FileNotFoundError" in found.complaints[0].detail


@pytest.mark.parametrize(
    ("template", "expectation", "wanted"),
    [
        ("debug = false", "debug = true", []),
        ("debug = true", "debug = true", [SelfTestFault.VACUOUS]),
        (None, "debug = true", []),
    ],
)
def test_scenario_folder_brings_its_own_proof(tmp_path, template, expectation, wanted):
    """For a config.json a passing behaviour is derived; an expectation met from the start is vacuous."""
    config = {
        "prompt": "x",
        "expectedFiles": ["config.txt", "log.txt"][: 1 + (template is None)],
        "expectedContent": [{"file": "config.txt", "contains": expectation}],
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    if template is not None:
        (tmp_path / "template").mkdir()
        (tmp_path / "template" / "config.txt").write_text(template)
    found = self_test(read_cline_folder(tmp_path), lay_out=lay_out, read_back=read_back, run_command=no_command)
    assert [complaint.fault for complaint in found.complaints] == wanted


def test_what_is_unknown_is_a_fault():
    """Each gap, and each behaviour that is not written yet; also without `--strict`."""

    def later(stage):
        raise NotImplementedError("save the note")

    found = tried(good_text, passes_on=later, fails_on=writes("bad"), gaps=["the content of b.txt is not known"])
    assert [(complaint.fault, complaint.detail) for complaint in found.complaints] == [
        (SelfTestFault.GAP, "the content of b.txt is not known"),
        (SelfTestFault.GAP, "passes_on later is not written yet: save the note"),
    ]
