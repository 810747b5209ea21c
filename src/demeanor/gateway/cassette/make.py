"""Trial + capture → cassette."""

from __future__ import annotations

import hashlib
import inspect
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from demeanor.core.codec import decode, encode
from demeanor.core.exchange import Exchange
from demeanor.core.tree_io import scan
from demeanor.gateway.cassette.cassette import Cassette
from demeanor.gateway.cassette.placeholders import Places

if TYPE_CHECKING:
    from collections.abc import Iterable

    from demeanor.core.capture import Capture
    from demeanor.core.scenario import Scenario
    from demeanor.core.trial import Trial


def make_cassette(trial: Trial, capture: Capture, secrets: Iterable[str] = ()) -> Cassette:
    """The cassette of a trial: its exchanges, without the bench they happened on, times, costs and secrets."""
    places = Places(capture.facts, secrets, own_text(trial.eval.scenario))
    return Cassette(
        eval=trial.eval.name,
        subject=str(trial.subject),
        number=trial.number,
        scenario=fingerprint(trial.eval.scenario),
        recorded=datetime.now(UTC).date().isoformat(),
        exchanges=tuple(_recorded(exchange, places) for exchange in capture.exchanges),
    )


def own_text(scenario: Scenario) -> bytes:
    """All that a scenario itself says: what looks like a key in it is part of the play, and no secret."""
    entries = scan(scenario.template).entries.values() if scenario.template and scenario.template.is_dir() else ()
    files = [*scenario.files.values(), *(entry.read() or b"" for entry in entries)]
    return b"\n".join([*(prompt.encode("utf-8", "replace") for prompt in scenario.prompts), *files])


def fingerprint(scenario: Scenario) -> str:
    """Sixteen hex digits that differ as soon as anything differs that an agent is given."""
    files = {path: hashlib.sha256(content).hexdigest() for path, content in scenario.files.items()}
    entries = scan(scenario.template).visible() if scenario.template and scenario.template.is_dir() else {}
    template = {path: [entry.kind, entry.sha256, entry.executable, entry.target] for path, entry in entries.items()}
    told = {
        "prompts": scenario.prompts,
        "files": files,
        "template": template,
        "setup": _source(scenario.setup),
        "params": dict(scenario.params),
        "approval": encode(scenario.approval),
        "messages": encode(scenario.messages),
    }
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _source(setup: object) -> str:
    try:
        return inspect.getsource(setup) if setup else ""  # type: ignore[arg-type]
    except (OSError, TypeError):
        return "?"


def _recorded(exchange: Exchange, places: Places) -> Exchange:
    bare = replace(exchange, started=0.0, first_byte=None, ended=0.0, cost_usd=None)
    data = encode(bare)
    request = places.hide_request(data.pop("request"))
    return decode(Exchange, {**places.hide(data), "request": request})
