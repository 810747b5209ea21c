"""The steps of a trial as rows."""

from __future__ import annotations

from demeanor.core.values.trajectory import Said
from demeanor.core.values.user import UserTurn
from demeanor.reports.trial.rows import step_rows
from demeanor.results.trial_steps import TrialSteps
from tests.helpers.runs import record


def steps(*texts: str, replies: tuple[UserTurn, ...] = ()) -> TrialSteps:
    events = tuple(Said(turn=number, text=text) for number, text in enumerate(texts, 1))
    return TrialSteps(run="r", record=record(1), events=events, replies=replies)


def test_a_users_reply_is_shown_with_the_message_that_it_answers():
    """Of both trials; one to a message that is not among the steps comes last."""
    asked = UserTurn(to="Which one? ", said="The <b>old</b> one.", kind="reply")
    other = UserTurn(to="(nothing)", said="Hello?", kind="reply")
    found = step_rows(steps("Which one?", "Done.", replies=(asked, other)), steps("Which one?", "Done."), ())
    assert [row.left.reply for row in found.rows if row.left] == ["The <b>old</b> one.", ""]
    assert [row.right.reply for row in found.rows if row.right] == ["", ""]
    assert found.replies == ("Hello?",)
