"""Self-tests of evals: each must be able to pass and to fail, which is shown without an agent or a model."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.config import Config
from demeanor.core.text.codec import decode, encode
from demeanor.core.text.wording import slug
from demeanor.core.trees.atomic_file import write_atomically
from demeanor.core.trees.tree_io import scan
from demeanor.core.values.capture import Capture
from demeanor.core.values.errors import BadInput
from demeanor.core.values.eval import Eval
from demeanor.core.values.judge_question import JudgeAnswer
from demeanor.core.values.run_request import RunRequest
from demeanor.core.values.subject import Subject
from demeanor.core.values.trial import Trial
from demeanor.runner.budget import budget_limits
from demeanor.runner.catalog import Catalog
from demeanor.runner.checks import build_workspace, open_checks
from demeanor.runner.judges import Asking, Judges, TrialJudge
from demeanor.runner.sandbox import verified_sandbox

if TYPE_CHECKING:
    from demeanor.judge import SelfTest


def self_tests(
    evals: Sequence[Eval], config: Config, *, asking: Asking = "never", environ: Mapping[str, str] | None = None
) -> Iterator[SelfTest]:
    """Show for each eval whether it can pass and can fail. `asking` says whether judges are asked about rehearsals."""
    from demeanor.judge import playable, self_test

    checks = open_checks([playable(eval_) for eval_ in evals], config)
    try:
        sandbox = verified_sandbox(config.sandbox, config)
        asyncio.run(sandbox.start())
        try:
            with open_judges(Catalog(config=config, environ=environ or {})) as judges:
                for eval_ in evals:
                    judge = rehearsal_judge(judges, eval_, asking)
                    yield self_test(
                        eval_,
                        lay_out=build_workspace,
                        read_back=scan,
                        run_command=sandbox.command,
                        ask=checks.ask,
                        ask_judge=judge,
                    )
                    keep_answers(eval_, judge)
        finally:
            asyncio.run(sandbox.stop())
    finally:
        checks.close()


# Judges in the self-test of evals: their recorded answers about the rehearsals, in a file next to the eval.
#
# The file is committed with the eval, so the self-test needs no model. A question without a recorded answer is a
# complaint, until `demeanor validate --ask-judge missing` asks it.


def answers_file(eval_: Eval) -> Path:
    """Where the answers about an eval's rehearsals are recorded."""
    place = eval_.source.path
    return (place if place.is_dir() else place.parent) / "judge_answers" / f"{slug(eval_.name)}.json"


@contextmanager
def open_judges(catalog: Catalog) -> Iterator[Judges]:
    """Judges for code without an event loop: they get one in a thread."""
    judges = Judges(catalog, budget_limits(catalog.config, RunRequest()))
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="judges", daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(judges.start(), loop).result()
        yield judges
    finally:
        asyncio.run_coroutine_threadsafe(judges.stop(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def rehearsal_judge(judges: Judges, eval_: Eval, asking: Asking) -> TrialJudge:
    """Answers the questions about an eval's rehearsals: from its file, or by asking the model."""
    trial = Trial(eval=eval_, subject=Subject(agent="rehearsal", model=""), number=1, timeout=0)
    recorded = Capture(trial=trial.id, attempt=1, judge_answers=_read(answers_file(eval_)))
    return judges.of_trial(trial, recorded, asking=asking)


def keep_answers(eval_: Eval, judge: TrialJudge) -> None:
    """Write the answers that the rehearsals need, and no others, if the model was asked."""
    if judge.fresh:
        path = answers_file(eval_)
        path.parent.mkdir(exist_ok=True)
        kept = [encode(replace(answer, exchanges=())) for answer in judge.answers if answer.problem is None]
        write_atomically(path, json.dumps(kept, indent=1, ensure_ascii=False) + "\n")


def _read(path: Path) -> tuple[JudgeAnswer, ...]:
    if not path.is_file():
        return ()
    try:
        return tuple(decode(JudgeAnswer, answer) for answer in json.loads(path.read_text("utf-8")))
    except (ValueError, TypeError, OSError) as error:
        raise BadInput(
            f"the recorded answers of the judge can't be read: {error}",
            where=path,
            remedy="record them again: demeanor validate --ask-judge all",
        ) from None
