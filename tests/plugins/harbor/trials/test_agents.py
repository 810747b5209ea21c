"""Who can try a task."""

from __future__ import annotations

import pytest

from demeanor.agents.registry import CODING_AGENTS
from demeanor.core.values.subject import Subject
from demeanor.plugins.harbor.rules import HarborRules, TaskAgentRules, breaks_results
from demeanor.plugins.harbor.trials.agents import AGENTS, WITHOUT_MODEL, only_for_tasks, task_agent_spec

URL = "http://127.0.0.1:11811/t/abc"


def test_every_agent_of_ours_has_an_entry():
    """And so have oracle and nop; Harbor has no adapter for Continue."""
    assert {"native", *CODING_AGENTS, *WITHOUT_MODEL} - set(AGENTS) == {"continue"}


@pytest.mark.parametrize("name", [name for name in AGENTS if name not in WITHOUT_MODEL])
def test_agents_with_a_base_url_setting_get_the_gateways(name: str):
    """Together with the key; nothing of a place is left unfilled."""
    spec = AGENTS[name]
    model, env, kwargs = spec.settings_for(model="large", url=URL, token="demeanor-key")
    assert "large" in model
    values = [*env.values(), *(text for text in kwargs.values() if isinstance(text, str))]
    assert not any("{" in text for text in values)
    assert spec.reachable == any("127.0.0.1:11811" in text for text in values)
    assert not spec.reachable or "demeanor-key" in values
    assert not any(breaks_results(name, value) for name, value in spec.env.items())


def test_without_an_address_the_agent_gets_no_gateway_settings():
    """An agent that connects directly has its own variables."""
    assert AGENTS["terminus-2"].settings_for(model="m", url="", token="") == ("openai/m", {}, {})
    assert AGENTS["pi"].settings_for(model="m", url="", token="")[2] == {"model_api": "openai-completions"}


def test_an_entry_of_the_configuration_goes_first():
    """It may belong to an agent that Demeanor does not know."""
    own = TaskAgentRules(agent="openhands", model="openai/{model}", env={"LLM_BASE_URL": "{url}/v1"})
    rules = HarborRules(agents={"hands": own})
    hands = task_agent_spec(Subject(agent="hands", model="m"), rules)
    assert hands is not None
    assert hands.settings_for(model="m", url=URL, token="t")[:2] == ("openai/m", {"LLM_BASE_URL": f"{URL}/v1"})
    assert "hands" in only_for_tasks(rules)
    blind = task_agent_spec(
        Subject(agent="blind", model="m"), HarborRules(agents={"blind": TaskAgentRules(agent="blind")})
    )
    assert blind is not None
    assert not blind.reachable


def test_an_agent_is_known_by_its_adapter():
    """Whatever a project calls it."""
    named = Subject(agent="ours", model="m", settings={"adapter": "claude-code"})
    assert task_agent_spec(named, HarborRules()) is AGENTS["claude-code"]
    assert task_agent_spec(Subject(agent="ours", model="m", settings={"adapter": "command"}), HarborRules()) is None
