"""The OpenAI Responses API."""

from __future__ import annotations

import re
from collections.abc import Mapping

from demeanor.gateway.dialects.dialect import Dialect, Route, post_route
from demeanor.gateway.dialects.openai_chat import key_headers, token, write_count, write_models
from demeanor.gateway.dialects.openai_chat.response import write_error
from demeanor.gateway.dialects.openai_responses.content import NAME
from demeanor.gateway.dialects.openai_responses.reader import ResponsesReader
from demeanor.gateway.dialects.openai_responses.request import read_request, write_request
from demeanor.gateway.dialects.openai_responses.response import read_response, write_response
from demeanor.gateway.dialects.openai_responses.writer import ResponsesWriter

_PATH = re.compile(r"(?:/v\d+\w*)?/responses(/input_tokens)?")


def route(method: str, path: str, query: Mapping[str, str]) -> Route | None:
    """The route for a path."""
    return post_route(_PATH, method, path)


DIALECT = Dialect(
    name=NAME,
    route=route,
    token=token,
    key_headers=key_headers,
    read_request=read_request,
    write_request=write_request,
    read_response=read_response,
    write_response=write_response,
    stream_reader=ResponsesReader,
    stream_writer=ResponsesWriter,
    write_error=write_error,
    write_count=write_count,
    write_models=write_models,
    names_events=True,
    stored_state=("previous_response_id", "conversation", "prompt"),
)
"""OpenAI Responses. A provider's base URL ends with its version, as in `https://api.openai.com/v1`."""
