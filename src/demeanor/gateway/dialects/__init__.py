"""The provider APIs that the gateway supports, one package each."""

from __future__ import annotations

from collections.abc import Mapping

from demeanor.gateway.dialects.anthropic import ANTHROPIC
from demeanor.gateway.dialects.dialect import Dialect
from demeanor.gateway.dialects.gemini import GEMINI
from demeanor.gateway.dialects.openai_chat import OPENAI_CHAT
from demeanor.gateway.dialects.openai_responses import OPENAI_RESPONSES

_ALL: tuple[Dialect, ...] = (OPENAI_CHAT, OPENAI_RESPONSES, ANTHROPIC, GEMINI)

DIALECTS: Mapping[str, Dialect] = {dialect.name: dialect for dialect in _ALL}
"""Every dialect by its name."""
