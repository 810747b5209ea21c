"""An agent gets the recorded answers until it has reached the cut; a request that differs is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from demeanor.core.redaction.redactor import Redactor
from demeanor.core.values.errors import CassetteAbsent
from demeanor.core.values.exchange import Exchange, Request, Response
from demeanor.core.values.messages import Text
from demeanor.core.values.prefix import Prefix
from demeanor.gateway.cassette.prefix_file import prefix_of, read_prefix, record_prefixes
from demeanor.gateway.cassette.prefix_replay import PrefixComparison
from demeanor.gateway.dialects import DIALECTS
from demeanor.gateway.dialects.dialect import Route
from demeanor.gateway.models.upstream import ErrorReply, FullReply, ModelCall
from tests.gateway.cassette.helpers import a_capture, a_request, answered, with_result
from tests.gateway.helpers import a_trial

FACTS = {"workspace": "/tmp/other/7/workspace", "home": "/tmp/other/7/home", "token": "demeanor-" + "5" * 40}
SECRET = "correct-horse-battery-staple"
REDACTOR = Redactor({"API_KEY": SECRET})


def recorded(*exchanges: Exchange, cut: int, step: int = 0, instead: Response | None = None) -> Prefix:
    """The prefix of a trial with these exchanges."""
    (found,) = record_prefixes(a_trial(), a_capture(*exchanges), [(step or cut, cut)], REDACTOR)
    return prefix_of(found, instead=instead)


def replay(prefix: Prefix) -> Any:
    """Asks the replay of a new attempt: returns the answer's text, the error's message, or None for the model."""
    trial = a_trial()
    scenario = replace(trial.eval.scenario, start=prefix)
    found = PrefixComparison(redactor=REDACTOR).replay(replace(trial, eval=replace(trial.eval, scenario=scenario)))
    assert found is not None

    def ask(request: Request) -> str | None:
        dialect = DIALECTS["openai-chat"]
        call = ModelCall(
            request=request, dialect=dialect, route=Route(operation="generate"), body=b"", path="", headers={},
            facts=FACTS,
        )  # fmt: skip
        reply = found.answer(call)
        if isinstance(reply, ErrorReply):
            assert (reply.error.status, reply.error.reason) == (400, "prefix")
            return f"refused: {reply.error.message}"
        assert reply is None or isinstance(reply, FullReply)
        return None if reply is None else reply.response.text

    return ask


FIRST, SECOND, THIRD = a_request(), with_result("a.txt"), with_result("b.txt", command="cat")
TRIAL = (answered(FIRST, "one"), answered(SECOND, "two", number=2), answered(THIRD, "three", number=3))


def test_answers_before_the_cut_are_replayed_and_the_model_is_asked_from_there_on():
    """Whatever the agent asks later."""
    ask = replay(recorded(*TRIAL, cut=3))
    assert [ask(FIRST), ask(SECOND), ask(THIRD)] == ["one", "two", None]
    assert ask(with_result("something new")) is None
    assert ask(FIRST) is None


def test_a_request_that_differs_is_refused_with_the_first_difference_and_so_is_everything_after_it():
    """The model is never asked by an agent that is somewhere else; also at the cut itself."""
    ask = replay(recorded(*TRIAL, cut=3))
    ask(FIRST)
    refused = ask(with_result("c.txt"))
    assert "differs from the recording before step 3" in refused
    assert "recorded: a.txt" in refused
    assert "asked:    c.txt" in refused
    assert ask(SECOND) == ask(THIRD) == refused
    ask = replay(recorded(*TRIAL, cut=3))
    assert [ask(FIRST), ask(SECOND)] == ["one", "two"]
    assert "b.txt" in ask(with_result("elsewhere", command="cat"))


def test_an_agent_that_asks_again_gets_the_same_answer_and_the_same_request_its_answers_in_order():
    """As after a broken connection."""
    again = (answered(FIRST, "one"), answered(FIRST, "once more", number=2), answered(SECOND, "two", number=3))
    ask = replay(recorded(*again, cut=3))
    assert [ask(FIRST), ask(FIRST), ask(FIRST), ask(SECOND)] == ["one", "once more", "once more", None]


@given(st.permutations(range(4)))
def test_concurrent_requests_may_arrive_in_any_order(order: list[int]):
    """Each gets its own recorded answer, before or after the request at the cut; those recorded later go to the model.

    The permuted requests are the second to the fifth of the trial; the cut is at the fourth.
    """
    requests = [a_request(f"Title {number}.", tools=()) for number in range(4)]
    exchanges = [answered(one, f"answer {number}", number=number + 2) for number, one in enumerate(requests)]
    ask = replay(recorded(answered(FIRST, "one"), *exchanges, cut=4))
    assert ask(FIRST) == "one"
    for number in order:
        assert ask(requests[number]) == (f"answer {number}" if number < 2 else None)


def test_another_answer_can_be_given_at_the_cut():
    """In place of the model's, which is asked from then on; also to an agent that asks again."""
    instead = Response(parts=(Text(text="in {{demeanor:workspace}}"),))
    ask = replay(recorded(*TRIAL, cut=2, instead=instead))
    assert [ask(FIRST), ask(SECOND), ask(SECOND)] == ["one", f"in {FACTS['workspace']}", f"in {FACTS['workspace']}"]
    assert ask(THIRD) is None


def test_folders_and_secrets_of_another_attempt_are_the_same():
    """The recorded capture has marks in place of secrets, and the folders of its own attempt."""
    mark = REDACTOR.text(SECRET)
    was = with_result(f"/tmp/demeanor-1/3/workspace/a: {mark}")
    ask = replay(recorded(answered(FIRST, "look in /tmp/demeanor-1/3/workspace"), answered(was, number=2), cut=2))
    assert ask(FIRST) == f"look in {FACTS['workspace']}"
    assert ask(with_result(f"{FACTS['workspace']}/a: {SECRET}")) is None


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_nothing_secret_is_in_a_prefix(cut: int):
    """Neither in requests nor in answers, which a person may commit."""
    found = recorded(answered(with_result(SECRET), SECRET), *TRIAL[1:], cut=cut)
    assert SECRET not in repr(found)
    assert "/tmp/demeanor-1/3" not in repr(found)


def test_a_missing_prefix_names_the_nearest_one(tmp_path: Path) -> None:
    """A slip in `start=prefix("thrd")` is more likely than a prefix that was never saved."""
    with pytest.raises(CassetteAbsent, match="→ save it: demeanor fork TRIAL --at K --save NAME"):
        read_prefix(tmp_path / "thrd.json")
    (tmp_path / "third.json.gz").touch()
    with pytest.raises(CassetteAbsent, match=r"thrd.json: there is no such prefix\n  → did you mean 'third'\?"):
        read_prefix(tmp_path / "thrd.json")
