"""Ask calibrated judges about some of their labelled trials again, once a week: a hosted model can change by itself.

A judge never answers all questions as before. It has drifted if more of its answers change than the repetitions of
earlier weeks explain; the first week is compared with one change in twenty.
"""

from __future__ import annotations

import asyncio
import random
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from demeanor.config import Limit
from demeanor.core.text.wording import count, one_line
from demeanor.core.values.errors import DemeanorError
from demeanor.core.values.eval import Eval
from demeanor.core.values.history import KeptDecision
from demeanor.core.values.judge_question import JudgeAnswer
from demeanor.core.values.trial import Trial
from demeanor.results import (
    DRIFTED,
    TRIALS,
    drifted_judges,
    find_stored_run,
    held_out_labels,
    keep_decisions,
    open_project_history,
)
from demeanor.runner import DEFAULT_TIMEOUT, Catalog, Judges
from demeanor.statistics import Prior
from demeanor.store.captures import capture_text, open_capture_store, read_capture_answers
from demeanor.store.history import SqlHistory

_MOST, _EVERY = 20, timedelta(days=7)
_STEADY = Prior(19, 1)
_LEVEL = 0.01


def recheck_judges(
    evals: Iterable[Eval], catalog: Catalog, environ: Mapping[str, str], *, results: Path
) -> tuple[str, ...]:
    """Ask what is due, and store how many answers changed. A sentence about each judge that has drifted."""
    config, made = catalog.config, []
    with open_project_history(config, environ, results=results) as history:
        by_name = {eval_.name: eval_ for eval_ in evals}
        stored, last = history.last_decisions("calibrate"), history.last_decisions("recheck")
        for name in held_out_labels(history, by_name.values()):
            calibrated, earlier = stored[name], last.get(name)
            if earlier is not None and earlier.made < calibrated.made:
                earlier = None
            if datetime.now(UTC) - datetime.fromisoformat((earlier or calibrated).made) >= _EVERY:
                questions = [*_questions(history, by_name[name], calibrated, catalog, environ, results)]
                made.append(_kept(calibrated, earlier, asyncio.run(_changed(catalog, questions))))
    notes = keep_decisions(config, environ, results, made)
    with open_project_history(config, environ, results=results) as history:
        return (*notes, *drifted_judges(history))


def _questions(
    history: SqlHistory,
    eval_: Eval,
    calibrated: KeptDecision,
    catalog: Catalog,
    environ: Mapping[str, str],
    results: Path,
) -> Iterator[tuple[Trial, JudgeAnswer]]:
    """The recorded answers about some labelled trials. A trial that can't be read is left out."""
    labelled = calibrated.evidence.get(TRIALS)
    trials = [trial for trial in labelled if len(trial) == 3] if isinstance(labelled, list) else []
    config, captures = catalog.config, open_capture_store(catalog.config)
    draw = random.Random(f"{eval_.name} {datetime.now(UTC):%G-%V}")  # noqa: S311 - others every week
    for run_name, subject, number in draw.sample(trials, min(_MOST, len(trials))):
        try:
            run = find_stored_run(run_name, results, config, environ)
            records = history.trials(run_name, name=eval_.name, subject=subject)
            record = next(record for record in records if record.number == number)
            text, where = capture_text(record, run=run.folder, captures=captures, home=run.place.source)
            answers = read_capture_answers(text, where=where)
            trial = Trial(eval=eval_, subject=catalog.subject(subject), number=number, timeout=DEFAULT_TIMEOUT)
        except (DemeanorError, StopIteration):
            continue
        yield from ((trial, answer) for answer in answers if answer.votes and answer.exchanges)


async def _changed(catalog: Catalog, questions: Sequence[tuple[Trial, JudgeAnswer]]) -> list[bool]:
    """Of each question that is answered again: whether the answer changed."""
    judges = Judges(catalog, {"run": catalog.config.budgets.get("run", Limit())})
    await judges.start()
    try:
        pairs = [(earlier, await judges.ask_again(trial, earlier)) for trial, earlier in questions]
    finally:
        await judges.stop()
    return [later.answer != earlier.answer for earlier, later in pairs if later.votes]


def _kept(calibrated: KeptDecision, earlier: KeptDecision | None, changed: Sequence[bool]) -> KeptDecision:
    """The result, compared with all earlier weeks since the calibration that saw no drift."""
    before = _total(earlier)
    same, asked = changed.count(False), len(changed)
    drifted = _STEADY.after(before[0] - before[1], before[1]).at_most(same, asked) <= _LEVEL
    shown = one_line(calibrated.eval, width=200)
    reason = (
        f"the judge of {shown} {'has drifted' if drifted else 'answers as before'}: it answers {asked - same} of "
        f"{count(asked, 'question')} about labelled trials otherwise than when they were judged"
    )
    remedy = f" → label some of its latest trials, then: demeanor validate --calibrate {shlex.quote(shown)}"
    total = before if drifted else (before[0] + asked, before[1] + asked - same)
    return KeptDecision(
        made=datetime.now(UTC).isoformat(timespec="milliseconds"),
        ruling="recheck",
        eval=calibrated.eval,
        answer=DRIFTED if drifted else "steady",
        rule="beta_binomial",
        reason=reason + remedy * drifted,
        eval_hash=calibrated.eval_hash,
        evidence={"asked": asked, "changed": asked - same, "total": list(total)},
    )


def _total(earlier: KeptDecision | None) -> tuple[int, int]:
    """The questions that were asked again in earlier weeks, and how many answers changed."""
    total = earlier.evidence.get("total") if earlier is not None else None
    return (int(total[0]), int(total[1])) if isinstance(total, list) and len(total) == 2 else (0, 0)
