"""Tasks in Harbor's format: all that a task can say is read, every mistake is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from demeanor.core.values.checks import RewardCheck
from demeanor.core.values.errors import BadInput
from demeanor.core.values.policy import ALWAYS_PASSES, USUALLY_PASSES
from demeanor.define.discovery import discover
from demeanor.plugins.harbor.format.task import HarborTask, TaskNetwork
from demeanor.plugins.harbor.format.task_folder import read_task_folder
from tests.helpers.harbor_task_files import MINIMAL, STEPS, stepped, task, write

OLD = """\
version = "1.0"

[metadata]
author_name = "Ann"
difficulty = "easy"
tags = ["files"]

[verifier]
timeout_sec = 120.0

[agent]
timeout_sec = 90.0

[environment]
build_timeout_sec = 30
docker_image = "example/greet:1"
cpus = 2
memory = "2G"
storage = "512M"
allow_internet = false
"""


def harbor(folder: Path) -> HarborTask:
    found = read_task_folder(folder).task
    assert found is not None
    return found


def test_a_task_is_an_eval_whose_check_is_its_reward(tmp_path):
    """Name, prompt, time and policy are those of any eval; the one check is the reward."""
    one = read_task_folder(task(tmp_path / "greet"))
    assert (one.name, one.policy) == ("greet", USUALLY_PASSES)
    assert one.scenario.prompts == ("Write «hello» into hi.txt.\n",)
    assert one.scenario.timeout == 60
    assert one.checks == (RewardCheck(key="reward", at_least=1.0),)
    assert one.task is not None
    assert (one.task.name, one.task.version, one.task.warnings) == ("lab/greet", "1", ())


def test_what_is_ours_stands_in_the_metadata(tmp_path):
    """Policy, trials, labels and the reward that passes; Harbor leaves the table alone."""
    ours = '[metadata.demeanor]\nname = "hello"\npolicy = "ALWAYS_PASSES"\ntrials = 5\ntags = ["smoke"]\nsuite = "s"\n'
    one = read_task_folder(task(tmp_path / "greet", MINIMAL + ours + 'reward = "share"\nat_least = 0.5\n'))
    assert (one.name, one.policy, one.trials, one.tags, one.suite) == ("hello", ALWAYS_PASSES, 5, ("smoke",), "s")
    assert one.checks == (RewardCheck(key="share", at_least=0.5),)


def test_the_first_version_of_the_format_is_read(tmp_path):
    """`version`, `memory`, `storage` and `allow_internet` are the old words for what is now called otherwise."""
    one = harbor(task(tmp_path / "greet", OLD))
    assert one.name == "greet"
    assert one.environment.network == TaskNetwork(mode="no-network")
    assert one.steps[0].verifier_network == TaskNetwork(mode="no-network")
    assert (one.steps[0].agent_timeout, one.steps[0].verifier_timeout) == (90, 120)
    assert one.steps[0].verifier_mode == "shared"


def test_several_steps_are_resolved_as_harbor_runs_them(tmp_path):
    """A step says more than its task; but a verifier's time is never inherited."""
    one = harbor(stepped(tmp_path / "two", STEPS.replace("[[steps]]", "[verifier]\ntimeout_sec = 5\n\n[[steps]]", 1)))
    first, second = one.steps
    assert (first.name, first.agent_timeout, first.min_reward, first.verifier_mode) == (
        "first",
        30,
        {"reward": 1},
        "shared",
    )
    assert (second.agent_timeout, second.verifier_timeout, second.verifier_mode) == (5, 7, "separate")
    assert first.verifier_timeout == 600
    assert one.agent_timeout == 35
    assert any("Harbor ignores timeout_sec" in warning for warning in one.warnings)
    assert any("of first shares the agent's environment" in warning for warning in one.warnings)


def test_users_are_read_with_their_keys(tmp_path):
    """Those of agents, verifiers and steps; a variable of that name is not one."""
    old = OLD.replace("[agent]\n", "[agent]\nuser = 1000\n").replace("[verifier]\n", '[verifier]\nuser = "app"\n')
    assert harbor(task(tmp_path / "greet", f'{old}env = {{ user = "x" }}\n')).users == {
        "agent.user": "1000",
        "verifier.user": "app",
    }
    steps = STEPS.replace("[[steps]]\n", '[[steps]]\nagent.user = "app"\n', 1)
    assert harbor(stepped(tmp_path / "steps", steps)).users == {"steps[0].agent.user": "app"}


def test_variables_of_the_host_are_required(tmp_path):
    """`${NAME}` without a default skips the cell where NAME is not set."""
    env = '[verifier.env]\nA = "${KEY}"\nB = "${OTHER:-no}"\nC = "plain"\n'
    assert read_task_folder(task(tmp_path / "greet", MINIMAL + env)).scenario.requires_env == ("KEY",)


def test_leading_canaries_are_no_part_of_the_instruction(tmp_path):
    """Harbor takes them off before the agent reads it."""
    folder = task(tmp_path / "greet", **{"instruction.md": "<!-- canary 123 -->\n# a canary\n\nDo it.\n# canary\n"})
    assert read_task_folder(folder).scenario.prompts == ("Do it.\n# canary\n",)


MISTAKES = {
    "unknown table": (MINIMAL + "[verifer]\ntimeout_sec = 1\n", "verifer", "did you mean 'verifier'?"),
    "unknown key": (MINIMAL + "timeout_secs = 1\n", "verifier.timeout_secs", "did you mean 'timeout_sec'?"),
    "unknown format": (MINIMAL.replace("1.4", "2.0"), "schema_version", "1.0 to 1.4"),
    "two versions": ('version = "1.0"\n' + MINIMAL, "version", "keep schema_version only"),
    "a number as version": ("version = 1.0\n", "version", "expected a string"),
    "no organisation": (MINIMAL.replace("lab/greet", "greet"), "task.name", "'my-team/greet'"),
    "no size": ('[environment]\nmemory = "2 apples"\n', "environment.memory", "memory_mb = 2048"),
    "two sizes": ('[environment]\nmemory = "2G"\nmemory_mb = 1\n', "environment.memory", "keep memory_mb only"),
    "hosts without a list": ('[environment]\nallowed_hosts = ["a.b"]\n', "environment.allowed_hosts", "allowlist"),
    "a URL as host": (
        '[environment]\nnetwork_mode = "allowlist"\nallowed_hosts = ["https://a.b"]\n',
        "environment.allowed_hosts[0]",
        "write a name",
    ),
    "shared and separate": (
        '[verifier]\nenvironment_mode = "shared"\n[verifier.environment]\ncpus = 1\n',
        "verifier.environment_mode",
        'write "separate"',
    ),
    "an artifact outside": ('artifacts = ["/app/../etc"]\n', "artifacts[0]", "without «..»"),
    "a step without a folder's name": ('[[steps]]\nname = "a/b"\n', "steps[0].name", "folder"),
    "steps twice": ('[[steps]]\nname = "a"\n[[steps]]\nname = "A"\n', "steps[1].name", "twice"),
    "ours unknown": ("[metadata.demeanor]\npolcy = 1\n", "metadata.demeanor.polcy", "did you mean 'policy'?"),
    "a server without an address": (
        '[[environment.mcp_servers]]\nname = "m"\n',
        "environment.mcp_servers[0].url",
        "is required",
    ),
    "a reward as text": (
        '[[steps]]\nname = "a"\nmin_reward = "1"\n',
        "steps[0].min_reward",
        "expected a number for 'reward'",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_refused_with_file_key_and_remedy(tmp_path, mistake):
    """What Harbor would ignore is an error that names the key and what to write."""
    toml, key, remedy = MISTAKES[mistake]
    folder = task(tmp_path / "greet", toml)
    with pytest.raises(BadInput) as caught:
        read_task_folder(folder)
    assert caught.value.where == folder / "task.toml"
    assert caught.value.key == key
    assert remedy in str(caught.value)


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("task.toml", "it has no task.toml"),
        ("instruction.md", "instruction.md is missing"),
        ("environment/Dockerfile", "the environment has neither a Dockerfile nor an image"),
        ("tests/test.sh", "tests/test.sh is missing"),
    ],
)
def test_a_folder_that_is_not_whole_is_an_error_and_never_skipped(tmp_path, missing, message):
    """Harbor leaves such a folder out without a word."""
    (task(tmp_path / "greet") / missing).unlink()
    with pytest.raises(BadInput, match=message):
        discover([tmp_path])


def test_a_link_out_of_the_task_is_refused(tmp_path):
    """Nothing of the host gets into an environment by a link."""
    folder = task(tmp_path / "greet")
    (folder / "environment" / "etc").symlink_to("/etc")
    with pytest.raises(BadInput, match="leaves the task"):
        read_task_folder(folder)


def test_warnings_tell_what_to_do(tmp_path):
    """A shared verifier, no time limit, no solution, the wrong file's name."""
    folder = task(tmp_path / "greet", "", **{"tests/test.sh": "echo > /logs/verifier/rewards.json"})
    (folder / "solution" / "solve.sh").unlink()
    said = "\n".join(harbor(folder).warnings)
    for word in ("forge its reward", "no time limit", "no solution", "Harbor reads reward.json"):
        assert word in said


def test_tasks_are_found_beside_other_evals(tmp_path):
    """One folder may hold scenarios and tasks; the tests of a task are no evals."""
    write(
        tmp_path,
        {"smoke/scenario.toml": 'policy="USUALLY_PASSES"\nprompt="x"\n[[checks]]\ncheck="file_exists"\npath="a"\n'},
    )
    task(tmp_path / "greet", **{"tests/test_eval.py": "from demeanor import eval_test\nraise SystemExit\n"})
    assert [one.name for one in discover([tmp_path])] == ["greet", "smoke"]
    assert [one.name for one in discover([tmp_path / "greet" / "task.toml"])] == ["greet"]
