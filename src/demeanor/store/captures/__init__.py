"""Captures: written once per attempt, addressed by the hash of their content."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.store.captures.capture_store import (
        CaptureStore as CaptureStore,
        capture_text as capture_text,
        open_capture_store as open_capture_store,
        publish as publish,
        read_capture as read_capture,
        read_start as read_start,
    )
    from demeanor.store.captures.document import (
        capture_json as capture_json,
        read_capture_answers as read_capture_answers,
        read_capture_json as read_capture_json,
        read_exchanges as read_exchanges,
        read_start_hash as read_start_hash,
    )

__getattr__ = lazy_names(
    __name__,
    {
        "capture_store": "CaptureStore capture_text open_capture_store publish read_capture read_start",
        "document": "capture_json read_capture_answers read_capture_json read_exchanges read_start_hash",
    },
)
