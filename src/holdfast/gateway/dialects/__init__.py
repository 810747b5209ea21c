"""The provider APIs that the gateway speaks, one package each."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.gateway.dialects.anthropic import Anthropic
from holdfast.gateway.dialects.dialect import Dialect
from holdfast.gateway.dialects.gemini import Gemini
from holdfast.gateway.dialects.openai_chat import OpenAIChat
from holdfast.gateway.dialects.openai_responses import OpenAIResponses

_ALL: tuple[Dialect, ...] = (OpenAIChat(), OpenAIResponses(), Anthropic(), Gemini())

DIALECTS: Mapping[str, Dialect] = {dialect.name: dialect for dialect in _ALL}
"""Every dialect by its name."""
