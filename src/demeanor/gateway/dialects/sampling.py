"""Sampling settings, which differ between dialects only in their names."""

from __future__ import annotations

from collections.abc import Mapping

from demeanor.core.values.exchange import Sampling
from demeanor.gateway.dialects.json_reader import Json, maybe_count, maybe_number, strings


def read_sampling(data: Json, names: Mapping[str, str]) -> Sampling:
    """The settings in `data`; `names` has the dialect's name for each field of Sampling that it knows."""
    stop = names.get("stop", "")
    return Sampling(
        temperature=maybe_number(data, names["temperature"]),
        top_p=maybe_number(data, names["top_p"]),
        top_k=maybe_count(data, names.get("top_k", "")),
        max_tokens=maybe_count(data, names["max_tokens"]),
        stop=strings(data.get(stop), stop),
        seed=maybe_count(data, names.get("seed", "")),
    )


def write_sampling(sampling: Sampling, names: Mapping[str, str]) -> Json:
    """The settings that are set and that the dialect knows."""
    values = {name: getattr(sampling, field) for field, name in names.items()}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
        if value is not None and value != ()
    }
