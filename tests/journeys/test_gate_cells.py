"""`demeanor gate` when there is less to judge than the nights had, or less to compare with: never a silent yes."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from tests.helpers.project import Project
from tests.helpers.versions import Versions

ALWAYS = '@eval_test(ALWAYS_PASSES, prompt="Write out.txt, always.")'
USUALLY = '@eval_test(USUALLY_PASSES, prompt="Write out.txt, usually.")'
EVALS = f"""\
from demeanor import ALWAYS_PASSES, USUALLY_FAILS, USUALLY_PASSES, eval_test


{ALWAYS}
def always(rig, result):
    assert rig.workspace["out.txt"].text == "hi"


@eval_test(ALWAYS_PASSES, prompt="Write out.txt, with a token.", requires_env=["TOKEN"])
def needy(rig, result):
    assert rig.workspace["out.txt"].text == "hi"


{USUALLY}
def usually(rig, result):
    assert rig.workspace["out.txt"].text == "hi"
"""
SECOND = '\n[agents.second]\nadapter = "command"\ncommand = ["./bin/agent", "{prompt}"]\nenv = { COUNT = "%s" }\n'
TWO, ONE = 'subjects = ["writer", "second"]', 'subjects = ["writer"]'


@pytest.fixture(scope="module")
def shared_versions(tmp_path_factory: pytest.TempPathFactory) -> Versions:
    """A project with nine good nights of three evals on two subjects."""
    made = Versions(Project(tmp_path_factory.mktemp("cells") / "project"))
    made.project.env["TOKEN"] = "set"
    made.evals.write_text(EVALS)
    config = made.folder / "demeanor.toml"
    config.write_text(config.read_text().replace(ONE, TWO) + SECOND % made.count)
    made.commit()
    made.nights(9)
    made.git("switch", "--quiet", "-c", "change")
    made.save()
    return made


@pytest.fixture
def versions(shared_versions: Versions) -> Versions:
    """That project, without what other tests did to it."""
    shared_versions.restore()
    return shared_versions


def gate(versions: Versions, *words: str, **env: str) -> tuple[int, dict]:
    """The exit code and the report of a gate."""
    done = versions.project.demeanor("gate", "--json", *words, **env)
    assert done.returncode in {0, 1, 3}, done.stderr
    return done.returncode, json.loads(done.stdout)


def edit(versions: Versions, path: str, old: str, new: str) -> None:
    """Replace a text in a file of the project."""
    file = versions.folder / path
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


@pytest.mark.parametrize(
    ("path", "old", "new", "env", "names", "accepted"),
    [
        ("evals/eval_a.py", ALWAYS, ALWAYS.replace("ALWAYS_PASSES", "USUALLY_FAILS"), {}, {"always"}, "always"),
        ("evals/eval_a.py", ALWAYS, ALWAYS.replace("ALWAYS_PASSES", "USUALLY_PASSES"), {}, {"always"}, ""),
        ("demeanor.toml", TWO, ONE, {}, {"always/second", "needy/second"}, "*/second"),
        ("demeanor.toml", TWO, f'{TWO}\ngate.subjects = ["writer"]', {}, {"always/second", "needy/second"}, ""),
        ("demeanor.toml", TWO, TWO, {"TOKEN": ""}, {"needy/writer", "needy/second"}, "needy"),
        (
            "evals/eval_a.py",
            ALWAYS,
            ALWAYS.replace(")", ', requires_env=["OTHER"])'),
            {},
            {"always/writer", "always/second"},
            "",
        ),
        (
            "evals/eval_a.py",
            ALWAYS,
            ALWAYS.replace(")", ', subjects=["writer"])'),
            {},
            {"always/second"},
            "always/second",
        ),
        (
            "evals/eval_a.py",
            USUALLY,
            USUALLY.replace(")", ', requires_env=["OTHER"])'),
            {},
            {"usually/writer", "usually/second"},
            "usually",
        ),
    ],
    ids=["fails", "usually", "subject", "key subject", "variable missing", "variable added", "own subjects", "edit"],
)
def test_what_the_nights_judged_and_the_gate_does_not_must_be_accepted_by_name(
    versions: Versions, path: str, old: str, new: str, env: dict[str, str], names: set[str], accepted: str
) -> None:
    """Whatever takes it away: a weaker policy, the configuration, the environment, or the eval itself."""
    edit(versions, path, old, new)
    code, found = gate(versions, **env)
    assert (code, set(found["unjudged"])) == (3, names)
    if accepted:
        code, found = gate(versions, "--accept-removed", accepted, **env)
        assert (code, found["unjudged"]) == (0, {})


def test_an_eval_outside_of_the_paths_is_gone_whatever_its_policy(versions: Versions) -> None:
    """As if its file were removed: the change moves the paths of the configuration away from it."""
    edit(versions, "demeanor.toml", TWO, f'{TWO}\npaths = ["others"]')
    versions.project.write(others__eval_b_py=EVALS.partition("\n\n\n")[0] + EVALS[EVALS.index(f"\n\n\n{ALWAYS}") :])
    edit(versions, "others/eval_b.py", "def usually", "def other")
    code, found = gate(versions)
    assert (code, set(found["unjudged"])) == (3, {"usually"})


def test_what_an_earlier_change_gave_up_is_not_missed_again(versions: Versions) -> None:
    """The nights still have it, and the base commit does not."""
    versions.git("switch", "--quiet", "main")
    edit(versions, "demeanor.toml", TWO, ONE)
    edit(versions, "evals/eval_a.py", ALWAYS, ALWAYS.replace("ALWAYS_PASSES", "USUALLY_PASSES"))
    versions.commit()
    versions.git("switch", "--quiet", "-c", "later")
    assert gate(versions)[0] == 0


def test_a_moved_eval_keeps_its_nights_and_a_renamed_one_is_offered_them(versions: Versions) -> None:
    """A moved one is not new, so it is judged as before; a renamed one asks the same, which its hash tells."""
    versions.evals.rename(versions.evals.with_name("eval_moved.py"))
    code, found = gate(versions)
    assert (code, [row["decision"]["rule"] for row in found["rows"]]) == (0, ["every_trial"] * 4)
    assert [row["past"]["nights"] for row in found["rows"]] == [9] * 4
    edit(versions, "evals/eval_moved.py", "def always", "def forever")
    code, found = gate(versions)
    assert (code, "always" in found["removed"]) == (1, True), "ALWAYS_PASSES, and not promoted"
    offer = 'forever asks the same as always, which is gone: with name="always" it keeps the nights of always'
    assert offer in found["notes"]
    edit(versions, "evals/eval_moved.py", 'Write out.txt, always."', 'Write out.txt, always.", name="always"')
    assert gate(versions)[0] == 0


def test_in_ci_a_gate_that_can_not_compare_is_undecided(versions: Versions, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shallow clone of one branch, and a history that is configured and empty; elsewhere it is a note."""
    versions.commit()
    versions.git("switch", "--quiet", "main")
    clone = versions.folder.parent / "clone"
    words = ("--quiet", "--depth", "1", "--single-branch", "--branch", "change")
    subprocess.run(["git", "clone", *words, f"file://{versions.folder}", str(clone)], check=True)
    shutil.copytree(versions.folder / "results", clone / "results", symlinks=True)
    lost = {"DEMEANOR_STORE": str(clone.parent / "lost.db")}
    for ci, code in (("", 0), ("true", 3)):
        done = versions.project.demeanor("gate", CI=ci, COLUMNS="200", **lost)
        assert (done.returncode, "the history has no night → restore it" in done.stdout) == (code, bool(ci))
    versions.git("switch", "--quiet", "main")
    edit(versions, "demeanor.toml", TWO, f'{TWO}\nstore = "results/nowhere.db"')
    versions.commit()
    versions.git("switch", "--quiet", "-c", "without")
    edit(versions, "demeanor.toml", '\nstore = "results/nowhere.db"', '\nresults = "others"')
    code, found = gate(versions, CI="true")
    assert (code, len(found["unknown"])) == (3, 1), "the change takes the setting away"
    monkeypatch.setattr(versions.project, "folder", clone)
    for ci, code in (("", 0), ("true", 3)):
        found = gate(versions, CI=ci, GITHUB_ACTIONS=ci)
        assert found[0] == code
        assert ("fetch-depth: 0" in " ".join(found[1]["unknown"])) is bool(ci)
