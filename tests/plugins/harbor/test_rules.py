"""`[harbor]` of the configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from demeanor.config.config import Config, read_config
from demeanor.core.values.errors import BadInput
from demeanor.plugins.harbor.rules import HarborRules, TaskAgentRules, harbor_rules


def configured(folder: Path, text: str) -> Config:
    """The configuration that `text` is."""
    (folder / "demeanor.toml").write_text(text)
    return read_config(folder)


def test_everything_may_be_left_out(tmp_path: Path):
    """The defaults hold."""
    assert harbor_rules(configured(tmp_path, "")) == HarborRules()
    assert harbor_rules(configured(tmp_path, "[harbor]")) == HarborRules()


def test_all_keys(tmp_path: Path):
    """A program is one text, or a list of them."""
    text = """
[harbor]
program = "./bin/harbor"
env = "docker"
env_kwargs = { network = "host" }
gateway_host = "172.17.0.1"
direct = true
pass_env = ["MY_REGISTRY"]

[harbor.agents.hands]
agent = "openhands"
model = "openai/{model}"
env = { LLM_BASE_URL = "{url}/v1" }
kwargs = { max_turns = 5 }
keys = ["LLM_API_KEY"]
output = "openhands.txt"
"""
    own = TaskAgentRules(
        agent="openhands",
        model="openai/{model}",
        env={"LLM_BASE_URL": "{url}/v1"},
        kwargs={"max_turns": 5},
        keys=("LLM_API_KEY",),
        output="openhands.txt",
    )
    assert harbor_rules(configured(tmp_path, text)) == HarborRules(
        program=("./bin/harbor",),
        env="docker",
        env_kwargs={"network": "host"},
        gateway_host="172.17.0.1",
        direct=True,
        pass_env=("MY_REGISTRY",),
        agents={"hands": own},
    )
    words = configured(tmp_path, '[harbor]\nprogram = ["uvx", "harbor"]')
    assert harbor_rules(words).program == ("uvx", "harbor")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[harbor]\ngateway = "x"', "harbor.gateway: unknown key"),
        ("[harbor]\nprogram = 3", "harbor.program: expected a list"),
        ('[harbor.agents."a:b"]\nagent = "x"', "a name must not contain a colon"),
        ('[harbor.agents.a]\nmodel = "x"', "harbor.agents.a.agent: is required"),
        ('[harbor.agents.a]\nagent = "x"\nenvs = {}', "harbor.agents.a.envs: unknown key"),
        ('[harbor.agents.a]\nagent = "x"\nenv = { NO_KEYRING = "1" }', "Harbor would redact '1' in its results"),
        ("[harbor]\nagents = 1", "harbor.agents: expected a table"),
    ],
)
def test_mistakes_are_reported_with_their_place(tmp_path: Path, text: str, expected: str):
    """Before anything runs."""
    with pytest.raises(BadInput, match=expected):
        configured(tmp_path, text)
