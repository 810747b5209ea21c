"""Converts values to rows of the history and back."""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

from demeanor.core.text.codec import decode, encode
from demeanor.core.text.wording import shortened
from demeanor.core.values.evidence import Spent
from demeanor.core.values.exchange import Exchange
from demeanor.core.values.history import KeptDecision, PastRun, RunCell
from demeanor.core.values.policy import Policy
from demeanor.core.values.record import Record, RunInfo
from demeanor.core.values.verdict import Finding, Void
from demeanor.store.history.database import Row

RUN_COLUMNS = "uid, name, origin, source, kind, started, seed, demeanor, commit_id, branch, dirty, trials, arguments"
ATTEMPT_COLUMNS = (
    "cell_id, number, digest, attempt, final, verdict, cause, detail, ended, seconds, turns, input_tokens,"
    " output_tokens, cost_usd, eval_hash, prompt_hash, agent_version, fingerprint, model_hash, capture_hash, more"
)
CELL_COLUMNS = (
    "r.name, r.started, r.kind, c.eval, c.subject, c.policy, t.passed, t.failed, t.voided, c.skipped, r.commit_id,"
    " t.eval_hash, t.prompt_hash, t.agent_version, t.fingerprint, t.model_hash, t.seconds, t.turns, t.input_tokens,"
    " t.output_tokens, t.cost_usd, c.planned, t.attempts, t.unpriced, t.uncounted, r.branch, r.dirty, r.demeanor,"
    " c.layer"
)
_LONGEST_TEXT = 8_000
"""Characters of an attempt that can be searched."""
_OWN_COLUMNS = {  # all other fields of a record are in `more`
    "eval", "subject", "number", "attempt", "verdict", "final", "ended", "spent", "policy", "eval_hash", "prompt_hash",
    "agent_version", "fingerprint", "model_hash", "capture_hash",
}  # fmt: skip


def uid_of(run: RunInfo) -> str:
    """The unique id of a run; calculated for imported runs, which have none."""
    return run.uid or blake2b(f"{run.id}\n{run.started}\n{run.seed}".encode(), digest_size=8).hexdigest()


def digest(*parts: object) -> int:
    """63 bits of a hash: an integer in both databases."""
    hashed = blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=8).digest()
    return int.from_bytes(hashed, "big") >> 1


def clean(text: str) -> str:
    """Text that both databases can store: without NUL and lone surrogates."""
    return text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode()


def _row(*values: Any) -> Row:
    """Values that both databases can store."""
    return tuple(clean(value) if isinstance(value, str) else value for value in values)


def _integer(number: int | None) -> int | None:
    """An integer that fits into a column, else None: imported files may contain any number."""
    return number if number is not None and abs(number) < 2**53 else None


def run_row(run: RunInfo, *, origin: str, source: str) -> Row:
    """A row of `runs`."""
    dirty = None if run.dirty is None else int(run.dirty)
    return _row(
        uid_of(run), run.id, origin, source, run.kind, run.started, _integer(run.seed) or 0, run.demeanor, run.commit,
        run.branch, dirty, _integer(run.trials) or 0, json.dumps(encode(run.arguments)),
    )  # fmt: skip


def past_run(row: Row) -> PastRun:
    """The value of a row of `runs` with the number of its cells."""
    uid, name, origin, source, kind, started, seed, demeanor, commit, branch, dirty, trials, arguments, cells = row
    info = RunInfo(
        id=name, started=started, uid=uid, kind=kind, seed=seed, demeanor=demeanor, commit=commit, branch=branch,
        dirty=None if dirty is None else bool(dirty), trials=trials, arguments=json.loads(arguments),
    )  # fmt: skip
    return PastRun(info=info, origin=origin, source=source, cells=cells)


def attempt_row(record: Record, cell: int, uid: str) -> Row:
    """A row of `attempts`; its first three values are its key."""
    data = encode(record)
    verdict, spent = record.verdict, record.spent
    cause, detail = (verdict.cause.value, verdict.detail) if isinstance(verdict, Void) else (None, None)
    more = {name: value for name, value in data.items() if name not in _OWN_COLUMNS}
    return _row(
        cell, _small(record.number), digest(uid, data), _small(record.attempt), int(record.final), verdict.outcome,
        cause, detail, record.ended, _number(spent.seconds) or 0.0, _small(spent.turns), _integer(spent.input_tokens),
        _integer(spent.output_tokens), _number(spent.cost_usd), record.eval_hash, record.prompt_hash,
        record.agent_version, record.fingerprint, record.model_hash, record.capture_hash,
        json.dumps(more, separators=(",", ":")),
    )  # fmt: skip


def search_row(record: Record, attempt: Row) -> Row:
    """A row of `texts`, without its id: why it failed, its calls and its last lines."""
    verdict = record.verdict
    reasons = [finding.reason for finding in verdict.findings if finding.answer != "yes"]
    detail = verdict.detail if isinstance(verdict, Void) else ""
    parts = [detail, *reasons, record.chain, record.stdout]
    return _row(*attempt, shortened("\n".join(filter(None, dict.fromkeys(parts))), _LONGEST_TEXT))


def _small(number: int) -> int:
    """A count, limited to 32 bits."""
    return max(-(2**31), min(number, 2**31 - 1))


def _number(value: float | None) -> float | None:
    """A number that can be added up, else None: a log may contain an infinite cost."""
    return value if value is not None and abs(value) < 1e15 else None


def finding_rows(findings: Iterable[Finding], attempt: Row) -> list[Row]:
    """Rows of `findings`."""
    return [_row(*attempt, i, f.check, f.answer, f.reason) for i, f in enumerate(findings)]


def usage(exchange: Exchange) -> Row:
    """A row of `usages`, without the key of its attempt."""
    response, error = exchange.response, exchange.error
    used = response.usage if response else None
    model = (response.model if response else None) or exchange.request.model
    stop = response.stop.value if response else "unknown"
    if error:
        stop = error.reason
    counted = (used.input, used.output, used.cache_read, used.cache_write, used.reasoning) if used else (None,) * 5
    tokens = [_integer(number) for number in counted]
    times = (exchange.started, exchange.first_byte, exchange.ended)
    return _row(_small(exchange.number), model, stop, *tokens, _number(exchange.cost_usd), *times)


def record_of(row: Row, findings: tuple[Finding, ...]) -> Record:
    """The value of a row of `attempts`, preceded by the eval, subject and policy of its cell."""
    name, subject, policy, _, number, _, attempt, final, outcome, cause, detail, ended, *rest = row
    seconds, turns, sent, received, cost, eval_hash, prompt_hash, version, fingerprint, *others = rest
    model_hash, capture_hash, more = others
    verdict: dict[str, Any] = {"outcome": outcome, "findings": encode(findings)}
    if outcome == "void":
        verdict |= {"cause": cause, "detail": detail}
    data = {
        **json.loads(more),
        "eval": name, "subject": subject, "policy": policy, "number": number, "attempt": attempt, "final": bool(final),
        "verdict": verdict, "ended": ended, "eval_hash": eval_hash, "prompt_hash": prompt_hash,
        "agent_version": version, "fingerprint": fingerprint, "model_hash": model_hash, "capture_hash": capture_hash,
        "spent": encode(_spent(seconds, turns, sent, received, cost)),
    }  # fmt: skip
    return decode(Record, data)


def _spent(seconds: float, turns: int, sent: int | None, received: int | None, cost: float | None) -> Spent:
    return Spent(seconds=seconds, turns=turns, input_tokens=sent, output_tokens=received, cost_usd=cost)


def run_cell(row: Row) -> RunCell:
    """The value of a row of `cells` with its tally."""
    (
        run, started, kind, name, subject, policy, passed, failed, voided, skipped, commit, eval_hash, prompt_hash,
        version, fingerprint, model_hash, seconds, turns, sent, received, cost, planned, attempts, unpriced, uncounted,
        branch, dirty, demeanor, layer,
    ) = row  # fmt: skip
    return RunCell(
        run=run, started=started, kind=kind, eval=name, subject=subject, policy=_POLICIES[policy], passed=passed,
        failed=failed, voided=voided, skipped=skipped is not None, commit=commit, eval_hash=eval_hash or "",
        prompt_hash=prompt_hash, agent_version=version, fingerprint=fingerprint or "",
        model_hash=model_hash or "",
        spent=_spent(seconds, turns, sent, received, cost),
        planned=planned, attempts=attempts, unpriced=unpriced, uncounted=uncounted, skip_reason=skipped, branch=branch,
        dirty=None if dirty is None else bool(dirty), demeanor=demeanor, layer=layer,
    )  # fmt: skip


_POLICIES = {policy.value: policy for policy in Policy}


def decision_row(decision: KeptDecision) -> Row:
    """A row of `decisions`."""
    return _row(
        digest(encode(decision)), decision.made, decision.ruling, decision.eval, decision.subject, decision.answer,
        decision.rule, decision.reason, decision.run, decision.commit, decision.eval_hash,
        json.dumps(encode(decision.evidence)),
    )  # fmt: skip


def kept_decision(row: Row) -> KeptDecision:
    """The value of a row of `decisions`."""
    _, made, ruling, name, subject, answer, rule, reason, run, commit, eval_hash, evidence = row
    return KeptDecision(
        made=made, ruling=ruling, eval=name, subject=subject, answer=answer, rule=rule, reason=reason, run=run,
        commit=commit, eval_hash=eval_hash, evidence=json.loads(evidence),
    )  # fmt: skip
