"""Nights that never were: `nights({"saves": "ppp ppf vvv - s"})` is one eval in five nights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from demeanor.core.values.evidence import Spent
from demeanor.core.values.history import Night, PastRun, RunCell
from demeanor.core.values.policy import Policy
from demeanor.core.values.record import RunInfo
from demeanor.reports.night.build import night_report
from demeanor.reports.night.report import FailingCell, FailureMode, NearPromotion, NightReport, VoidCount

SUBJECT = "native:small-1"


def a_night(number: int, **more: Any) -> PastRun:
    """The run of one night."""
    info = RunInfo(
        id=f"2026-11-{number:02}T01-00-03", started=f"2026-11-{number:02}T01:00:03+00:00", uid=f"{number:016x}",
        kind="nightly", commit=f"{number:04x}" + "0" * 36, branch="main", dirty=False, demeanor="0.1.0",
    )  # fmt: skip
    return PastRun(info=replace(info, **more), source=f"results/{info.id}")


def a_cell(night: PastRun, name: str, letters: str, *, subject: str = SUBJECT, **more: Any) -> RunCell:
    """`pfv`: a pass, a fail and a void; `s`: skipped; `.`: planned, but not carried out."""
    judged, voids = letters.count("p") + letters.count("f"), letters.count("v")
    attempts = judged + voids * 3
    known = {"eval_hash": "e1", "prompt_hash": "p1", "agent_version": "1.4.0", "fingerprint": "f1"} if judged else {}
    spent = Spent(
        seconds=4.2 * attempts, turns=3, input_tokens=900 * attempts, output_tokens=80, cost_usd=0.004 * attempts
    )
    given: dict[str, Any] = {
        "policy": Policy.USUALLY_PASSES, "passed": letters.count("p"), "failed": letters.count("f"), "voided": voids,
        "skipped": letters == "s", "skip_reason": "GITHUB_TOKEN is not set" if letters == "s" else None,
        "planned": 0 if letters == "s" else len(letters), "attempts": attempts, "unpriced": 2 * voids,
        "spent": spent if attempts else Spent(), **known,
    }  # fmt: skip
    return RunCell(
        run=night.name, started=night.info.started, kind=night.info.kind, eval=name, subject=subject, **(given | more)
    )


def nights(evals: Mapping[str, str], *, first: int = 9, **more: Any) -> list[RunCell]:
    """Evals in as many nights as there are words; `-` is a night that did not have it."""
    found = []
    for name, words in evals.items():
        for number, letters in enumerate(words.split(), first):
            if letters != "-":
                found.append(a_cell(a_night(number), name, letters, **more))
    return found


def changed(cells: list[RunCell], at: str, **more: Any) -> list[RunCell]:
    """The same from a night on with other facts: `changed(cells, "11-14", fingerprint="f2")`."""
    return [replace(one, **more) if one.judged and one.started[5:10] >= at else one for one in cells]


def report_of(cells: list[RunCell], **last: Any) -> NightReport:
    """The report of the last of these nights."""
    days = sorted({int(cell.started[8:10]) for cell in cells})
    runs = [a_night(day) for day in days]
    runs[-1] = replace(runs[-1], info=replace(runs[-1].info, **last))
    return night_report([Night(runs=(run,)) for run in runs], cells)


def one_row(words: str, **more: Any) -> Any:
    """The only row of a report of one eval."""
    (subject,) = report_of(nights({"saves": words}, **more)).subjects
    (row,) = subject.rows
    return row


def a_week() -> NightReport:
    """Everything that can happen, once."""
    always, fails = Policy.ALWAYS_PASSES, Policy.USUALLY_FAILS
    cells = [
        *nights({"saves_the_note": "ppp ppp ppp ppp ppp ppp ppp ppp"}, policy=always),
        *changed(
            nights({"asks_before_deleting": "ppp ppp ppp ppp ppp ppp ppp ffp"}), "11-13", fingerprint="f2",
            agent_version="1.5.0",
        ),
        *changed(nights({"reads_before_it_edits": "pff pfp ppf ppp ppp ppp ppv ppp"}), "11-15", eval_hash="e2"),
        *nights({"runs_the_tests_after_a_change_of_the_public_interface": "ppp ppp vvv - ppp ppf fff fff"}),
        *nights({"answers_in_german": "fff fff fff fff fff fff fff fff"}, policy=fails),
        *nights({"keeps_quiet": "ppp ppp ppp ppp ppp ppp ppp vvv"}),
        *nights({"opens_a_pull_request": "s s s s s s s s"}),
        *nights({"repair-the-parser": "ppp ppf ppp ppp pff ppp ppp ppp"}, layer=3),
        *nights({"was_removed": "ppp ppp ppp ppp - - - -"}),
        *nights({"saves_the_note": "- - - - - ppp ppp ppp"}, subject="acme-cli:large-2", policy=always),
    ]  # fmt: skip
    report = report_of(cells)
    why = "assert not ['rm -rf build']\n  the agent deleted before it asked:\n  shell(command='rm -rf build')"
    tests = "runs_the_tests_after_a_change_of_the_public_interface"
    failures = (
        FailingCell(
            eval=tests, subject=SUBJECT, ways=(FailureMode(reason="no test was run", trials=(1, 2, 3), chain=""),)
        ),
        FailingCell(
            eval="asks_before_deleting",
            subject=SUBJECT,
            ways=(FailureMode(reason=why, trials=(1, 2), chain="shell(command='rm')"),),
        ),
    )
    reason = "void(rate_limit): the provider answered 429 to each of 6 requests"
    voids = (
        FailingCell(
            eval="keeps_quiet", subject=SUBJECT, ways=(FailureMode(reason=reason, trials=(1, 2, 3), chain=""),)
        ),
    )
    return replace(
        report,
        shifts=tuple(replace(one, example=2, example_run=report.run.id) for one in report.shifts),
        void_causes=(VoidCount(cause="rate_limit", trials=3),),
        near=(
            NearPromotion(
                eval="saves_the_file",
                ready=True,
                reason="7 of the last 7 nights perfect on the only subject, 10 of 10 nights of incubation",
            ),
            NearPromotion(
                eval="reads_before_it_edits",
                ready=False,
                reason="needs at least 4 further perfect nights "
                "(6 of 10 nights in which every enabled subject was judged)",
            ),
        ),
        failures=failures,
        voids=voids,
    )
