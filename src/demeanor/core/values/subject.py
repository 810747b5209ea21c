"""The subject of a comparison: an agent, the model it calls, and its settings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from demeanor.core.identity_cache import by_identity


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """Agent + model + settings; written `agent:model`."""

    agent: str
    """The agent's name in the configuration, or an adapter's name."""

    model: str
    """The model's name; empty for an agent that needs none."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    """Other configuration that affects its behaviour."""

    model_hash: str = ""
    """Changes with whatever answers for the model: provider, script or weights; empty if no model is called."""

    def __str__(self) -> str:
        return f"{self.agent}:{self.model}" if self.model else self.agent

    @property
    def fingerprint(self) -> str:
        """Twelve hex digits that change with agent, model, settings, or what answers for the model."""
        return _fingerprint(self)


@by_identity
def _fingerprint(subject: Subject) -> str:
    parts = [subject.agent, subject.model, dict(subject.settings), subject.model_hash]
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
