"""Who can try a task."""

from __future__ import annotations

import pytest

from demeanor.agents import CODING_AGENTS
from demeanor.config.harbor import HarborRules, TaskAgentRules, breaks_results
from demeanor.core.subject import Subject
from demeanor.harbor.agents import ROSTER, WITHOUT_MODEL, only_for_tasks, player

URL = "http://127.0.0.1:11811/t/abc"


def test_every_agent_of_ours_has_an_entry():
    """And so have oracle and nop."""
    assert set(ROSTER) >= {"native", *CODING_AGENTS, *WITHOUT_MODEL}


@pytest.mark.parametrize("name", [name for name in ROSTER if name not in WITHOUT_MODEL])
def test_whoever_can_be_told_an_address_is_told_the_gateways(name: str):
    """Together with the key; nothing of a place is left unfilled."""
    who = ROSTER[name]
    model, env, kwargs = who.told(model="large", url=URL, token="hf-key")
    assert "large" in model
    told = [*env.values(), *(text for text in kwargs.values() if isinstance(text, str))]
    assert not any("{" in text for text in told)
    assert who.reachable == any("127.0.0.1:11811" in text for text in told)
    assert not who.reachable or "hf-key" in told
    assert not any(breaks_results(name, value) for name, value in who.env.items())


def test_without_an_address_nothing_of_the_gateway_is_told():
    """Whoever goes straight to a provider has its own variables."""
    assert ROSTER["terminus-2"].told(model="m", url="", token="") == ("openai/m", {}, {})
    assert ROSTER["pi"].told(model="m", url="", token="")[2] == {"model_api": "openai-completions"}


def test_an_entry_of_the_configuration_goes_first():
    """It may be for an agent that Demeanor has never heard of."""
    own = TaskAgentRules(agent="openhands", model="openai/{model}", env={"LLM_BASE_URL": "{url}/v1"})
    rules = HarborRules(agents={"hands": own})
    hands = player(Subject(agent="hands", model="m"), rules)
    assert hands is not None
    assert hands.told(model="m", url=URL, token="t")[:2] == ("openai/m", {"LLM_BASE_URL": f"{URL}/v1"})
    assert "hands" in only_for_tasks(rules)
    blind = player(Subject(agent="blind", model="m"), HarborRules(agents={"blind": TaskAgentRules(agent="blind")}))
    assert blind is not None
    assert not blind.reachable


def test_an_agent_is_known_by_its_adapter():
    """Whatever a project calls it."""
    named = Subject(agent="ours", model="m", settings={"adapter": "claude-code"})
    assert player(named, HarborRules()) is ROSTER["claude-code"]
    assert player(Subject(agent="ours", model="m", settings={"adapter": "command"}), HarborRules()) is None
