"""Which evals promise ALWAYS_PASSES that did not before, according to git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from demeanor.core.values.policy import Policy
from demeanor.define.discovery import discover
from demeanor.define.past_policies import PolicyHistory, policies_in, policy_history
from tests.helpers.harbor_task_files import MINIMAL, task

HEAD = "from demeanor import ALWAYS_PASSES, USUALLY_PASSES, eval_test\n"


def source(**policies: str) -> str:
    body = "@eval_test({}, prompt='x')\ndef {}(rig, result): return True\n"
    return HEAD + "".join(body.format(policy, name) for name, policy in policies.items())


def git(folder: Path, *arguments: str) -> None:
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True, env={**os.environ, **own})


@pytest.fixture
def repository(tmp_path):
    """A repository whose default branch has one eval of each policy."""
    git(tmp_path, "init", "--initial-branch=main")
    (tmp_path / "eval_a.py").write_text(source(old="ALWAYS_PASSES", young="USUALLY_PASSES"))
    commit(tmp_path)
    return tmp_path


def commit(folder: Path) -> None:
    git(folder, "add", ".")
    git(folder, "commit", "-m", "x")


def history(folder: Path, **more) -> PolicyHistory:
    return policy_history(discover([folder]), folder, **more)


def news(folder: Path, **more) -> list[tuple[str, Policy | None]]:
    found = history(folder, **more)
    assert found.problem is None
    return [(change.eval.name, change.before) for change in found.changes]


def test_nothing_new_is_no_news(repository):
    """Evals that promised as much before are not mentioned."""
    assert news(repository) == []


def test_new_eval_that_always_passes_is_news(repository):
    """A new eval must start as USUALLY_PASSES; uncommitted ones count."""
    (repository / "eval_b.py").write_text(source(newborn="ALWAYS_PASSES", modest="USUALLY_PASSES"))
    found = history(repository)
    assert [change.eval.name for change in found.new] == ["newborn"]
    assert found.promoted == ()


def test_promoted_eval_is_distinguished_from_a_new_one(repository):
    """An eval that promised less before is a promotion."""
    (repository / "eval_a.py").write_text(source(old="ALWAYS_PASSES", young="ALWAYS_PASSES"))
    found = history(repository)
    assert [(change.eval.name, change.before) for change in found.promoted] == [("young", Policy.USUALLY_PASSES)]
    assert found.new == ()


def test_branch_is_compared_with_where_it_left_the_default_one(repository):
    """A commit on the branch does not hide what the branch brings."""
    git(repository, "checkout", "-b", "feature")
    (repository / "eval_b.py").write_text(source(newborn="ALWAYS_PASSES"))
    commit(repository)
    assert news(repository) == [("newborn", None)]
    assert news(repository, base="HEAD") == []


def test_moved_eval_is_not_new(repository):
    """An eval is known by its name, not by its file."""
    (repository / "sub").mkdir()
    (repository / "eval_a.py").rename(repository / "sub" / "eval_z.py")
    assert news(repository) == []


def test_scenario_folders_count_too(repository):
    """A scenario.toml that is new and always passes is news."""
    (repository / "s").mkdir()
    text = 'policy = "ALWAYS_PASSES"\nprompt = "x"\n[[checks]]\ncheck = "file_exists"\npath = "a"\n'
    (repository / "s" / "scenario.toml").write_text(text)
    assert news(repository) == [("s", None)]
    commit(repository)
    assert news(repository) == []


def test_tasks_count_too(repository):
    """A task that is new and always passes is news; one that says nothing usually passes."""
    task(repository / "modest")
    task(repository / "bold", MINIMAL + '[metadata.demeanor]\npolicy = "ALWAYS_PASSES"\n')
    assert news(repository) == [("bold", None)]
    commit(repository)
    assert news(repository) == []


def test_evals_made_by_code_are_left_alone(repository):
    """A name that is computed can't be compared, so it raises no alarm at every run."""
    text = "def check(rig, result): return 1\n"
    text += "ALL = [eval_test(ALWAYS_PASSES, prompt='x', name=f'{n}')(check) for n in 'ab']\n"
    (repository / "eval_b.py").write_text(HEAD + text)
    assert news(repository) == []


def test_outside_of_a_repository_it_says_so(tmp_path, monkeypatch):
    """Without git nothing can be said, and that is said."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    found = history(tmp_path)
    assert found.problem is not None
    assert "is not in a git repository" in found.problem


def test_repository_without_a_commit_says_so(tmp_path):
    """There is nothing to compare with yet."""
    git(tmp_path, "init")
    assert history(tmp_path).problem == "the repository has no commit yet"


def test_unknown_base_says_so(repository):
    """A base that git does not know is named."""
    assert "no-such-branch" in (history(repository, base="no-such-branch").problem or "")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("@eval_test(ALWAYS_PASSES, name='b')\ndef a(rig, result): return True", {"b": Policy.ALWAYS_PASSES}),
        (
            "@demeanor.eval_test(demeanor.USUALLY_FAILS)\nasync def a(rig, result): return True",
            {"a": Policy.USUALLY_FAILS},
        ),
        ("@eval_test(Policy.ALWAYS_PASSES)\ndef a(rig, result): return True", {"a": Policy.ALWAYS_PASSES}),
        (
            "from demeanor import eval_test as e, ALWAYS_PASSES as A\n@e(A)\ndef a(rig, result): return True",
            {"a": Policy.ALWAYS_PASSES},
        ),
        ("@eval_test(POLICIES[0])\ndef a(rig, result): return True", {}),
        ("@other(ALWAYS_PASSES)\ndef a(rig, result): return True", {}),
        ("def broken(:", {}),
    ],
)
def test_policy_is_read_off_the_source(text, wanted):
    """Nothing is run: the policy is read where it is written."""
    assert policies_in(Path("eval_a.py"), text) == wanted
