"""Prefixes as cassettes with a cut: made from the capture of a trial, written beside the evals, and read again."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from demeanor.core.text.codec import encode
from demeanor.core.values.errors import CassetteAbsent, CassetteUnreadable, did_you_mean
from demeanor.core.values.intervention import Intervention
from demeanor.core.values.prefix import Prefix
from demeanor.gateway.cassette.cassette import Cassette
from demeanor.gateway.cassette.folder import COMPRESSED, UNCOMPRESSED, read_cassette_file
from demeanor.gateway.cassette.placeholders import RedactedPlaceholders
from demeanor.gateway.cassette.recording import recorded, scenario_fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterable

    from demeanor.core.redaction.redactor import Redactor
    from demeanor.core.values.capture import Capture
    from demeanor.core.values.exchange import Response
    from demeanor.core.values.trial import Trial


def record_prefixes(
    trial: Trial, capture: Capture, cuts: Iterable[tuple[int, int]], redactor: Redactor
) -> tuple[Cassette, ...]:
    """The cassette of a trial for each step and its exchange, at which it is cut."""
    placeholders = RedactedPlaceholders(capture.facts, redactor)
    whole = Cassette(
        eval=trial.eval.name,
        subject=str(trial.subject),
        number=trial.number,
        scenario=scenario_fingerprint(replace(trial.eval.scenario, start=None)),
        recorded=datetime.now(UTC).date().isoformat(),
        exchanges=tuple(recorded(exchange, placeholders) for exchange in capture.exchanges),
        intervention=Intervention.of(trial.subject),
    )
    content = _content_hash(whole)
    return tuple(replace(whole, step=step, cut=cut, digest=_hash([content, step, cut])) for step, cut in cuts)


def prefix_of(cassette: Cassette, *, name: str = "", file: str = "", instead: Response | None = None) -> Prefix:
    """The prefix that a cassette with a cut holds; `instead` answers at the cut."""
    agent, _, model = cassette.subject.partition(":")
    return Prefix(
        name=name,
        file=file,
        agent=agent,
        model=model,
        step=cassette.step,
        cut=cassette.cut,
        exchanges=cassette.exchanges,
        intervention=cassette.intervention,
        instead=instead,
        scenario=cassette.scenario,
        digest=cassette.digest if instead is None else _hash([cassette.digest, encode(instead)]),
    )


def renew_prefix(old: Cassette, trial: Trial, capture: Capture, redactor: Redactor) -> Cassette:
    """The prefix with the requests that an agent sends now, and the recorded answers; `capture` is that of a trial
    which started from it, `lenient` and with an end at the cut."""
    made = capture.exchanges[: old.cut]
    last = replace(made[-1], response=old.exchanges[old.cut - 1].response, error=None, number=old.cut)
    whole = replace(capture, exchanges=(*made[:-1], last))
    (prefix,) = record_prefixes(trial, whole, [(old.step, old.cut)], redactor)
    prefix = replace(prefix, eval=old.eval, subject=old.subject, number=old.number, intervention=old.intervention)
    return replace(prefix, digest=_hash([_content_hash(prefix), prefix.step, prefix.cut]))


def read_prefix(plain: Path) -> Cassette:
    """Read a prefix; raises CassetteAbsent or CassetteUnreadable."""
    compressed = plain.with_name(plain.name.removesuffix(UNCOMPRESSED) + COMPRESSED)
    path = next((file for file in (plain, compressed) if file.is_file() or file.is_symlink()), None)
    if path is None:
        others = {file.name.removesuffix(COMPRESSED).removesuffix(UNCOMPRESSED) for file in plain.parent.glob("*")}
        save = "save it: demeanor fork TRIAL --at K --save NAME"
        remedy = did_you_mean(plain.name.removesuffix(UNCOMPRESSED), sorted(others), save)
        raise CassetteAbsent(f"{plain}: there is no such prefix\n  → {remedy}")
    cassette = read_cassette_file(path)
    again = "save it again: demeanor fork TRIAL --at K --save NAME"
    if not 1 <= cassette.cut <= len(cassette.exchanges) or cassette.step < 1:
        raise CassetteUnreadable(f"{path}: it is not a prefix: cut={cassette.cut}, step={cassette.step}\n  → {again}")
    if cassette.digest != _hash([_content_hash(cassette), cassette.step, cassette.cut]):
        raise CassetteUnreadable(f"{path}: it was edited: its hash is not {cassette.digest!r}\n  → {again}")
    return cassette


def _content_hash(cassette: Cassette) -> str:
    return _hash([encode(cassette.exchanges), cassette.subject, cassette.scenario, encode(cassette.intervention)])


def _hash(data: Any) -> str:
    text = json.dumps(data, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
