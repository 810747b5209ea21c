"""What conductor and workers send one another: plain values as compressed JSON, decoded strictly.

No code is sent. Every message is decoded into one of the types below; an unknown or missing field, a wrong type or a
message that is too large is an error.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from demeanor.config import BuildRules, Limit, ReplayRules
from demeanor.core.text.codec import decode, encode
from demeanor.core.values.gateway_limits import GatewayLimits
from demeanor.core.values.sandbox_spec import Ceilings, Network
from demeanor.core.values.scenario import Scenario
from demeanor.core.values.subject import Subject

T = TypeVar("T")

MAX_BYTES = 2**30
"""The largest message, uncompressed."""

SMALL = 256 * 1024
"""Bytes of a message up to which it is packed and unpacked in the event loop: a thread takes longer."""


class BadMessage(ValueError):
    """A message that does not describe a value of the expected type."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunSetup:
    """What the attempts of a run have in common: what a worker needs to make them."""

    run: str
    """A random name of the run, unknown to others."""

    version: str
    """The conductor's version of Demeanor."""

    python: str
    """The conductor's version of Python, as in `3.12`."""

    root: str
    """The project's folder, as the worker can read it; empty if its files are sent."""

    project: str = ""
    """The hash of the archive with the project's files; empty if the worker reads `root`."""

    file: str = "demeanor.toml"
    """The name of the configuration file, for messages."""

    subjects: tuple[Subject, ...] = ()
    """All subjects of the run."""

    other_models: tuple[str, ...] | None = None
    """The models that features of the evals ask; None if none of them needs a gateway."""

    agents: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """`[agents]` of the configuration."""

    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """`[models]` of the configuration."""

    providers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """`[providers]` of the configuration, without keys."""

    sandbox: str
    """The sandbox level."""

    min_isolation: str | None = None
    """The weakest level that is allowed."""

    network: Network = "gateway"
    """What agents can reach."""

    limits: Ceilings = field(default_factory=Ceilings)
    """Resource limits of an attempt."""

    gateway_limits: GatewayLimits = field(default_factory=GatewayLimits)
    """Limits of an attempt's model requests."""

    idle_timeout: float | None = None
    """Seconds without output or model traffic after which an agent is killed."""

    canary: bool = True
    """Whether each trial gets a canary token."""

    seed: int
    """The run's seed."""

    agent_debug: bool = False
    """Whether agents write verbose logs."""

    trial_budget: Limit = field(default_factory=Limit)
    """The budget of one trial."""

    replay: str | None = None
    """The folder that cassettes are replayed from, for messages; None if models answer."""

    replay_rules: ReplayRules = field(default_factory=ReplayRules)
    """How requests are compared with recorded ones."""

    allow_different: bool = False
    """Whether a worker with another version is used."""

    build: BuildRules = field(default_factory=BuildRules)
    """How the worker builds the project's files; no command if they are built already."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerReport:
    """A worker's answer to a run's setup: whether it can make attempts, and with what."""

    problem: str = ""
    """Why it can't be used; empty if it can."""

    host: str = ""
    """The name of its machine."""

    version: str = ""
    """Its version of Demeanor."""

    python: str = ""
    """Its version of Python."""

    cores: int = 0
    """Its number of cores."""

    sandbox: str = ""
    """The sandbox level that works there."""

    agents: Mapping[str, str] = field(default_factory=dict)
    """The agents of the run that are installed there → their version; empty if unknown."""

    missing: Mapping[str, str] = field(default_factory=dict)
    """The agents of the run that are not installed there → what is missing."""

    keys: Mapping[str, bool] = field(default_factory=dict)
    """The variables with the keys of the run's providers → whether they are set there."""

    clock: float = 0.0
    """Its time, in seconds since 1970."""

    needs_project: bool = False
    """Whether it has to get the archive with the project's files first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptRequest:
    """One attempt at one trial, for a worker."""

    run: str
    """The run, as in its setup."""

    nonce: str
    """A random name of this request, which the reply has to repeat."""

    eval: str
    """The eval's name."""

    scenario: Scenario
    """The scenario without files: these are in the starting state."""

    subject: Subject
    """The subject under test."""

    number: int
    """The trial's number within its cell."""

    attempt: int
    """1, 2, 3 …"""

    timeout: float
    """The time limit in seconds."""

    start: str
    """The hash of the archive with the starting state."""

    cassette: bytes | None = None
    """The recording that is replayed, as the text of its file; None if there is none."""

    cassette_problem: str = ""
    """Why there is no cassette, if one is to be replayed."""

    eval_budget: Limit = field(default_factory=Limit)
    """What is left of the eval's budget."""

    run_budget: Limit = field(default_factory=Limit)
    """What is left of the run's budget."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptReply:
    """The head of a worker's reply; the capture follows."""

    nonce: str
    """That of the request."""

    trial: str
    """The trial's id."""

    attempt: int
    """1, 2, 3 …"""

    status: Literal["done", "needs start", "failed"] = "done"
    """`needs start`: the archive with the starting state has to be sent first. `failed`: there is no capture."""

    problem: str = ""
    """Why it failed."""

    start_hash: str = ""
    """The hash of the starting state that the worker unpacked, calculated from its files."""

    spooled: Mapping[str, bytes] = field(default_factory=dict)
    """The content of files in the workspace that are too large to keep; only commands of checks get it."""


def pack_message(value: object, body: bytes = b"") -> bytes:
    """A value, and an attached text, as bytes."""
    head = json.dumps(encode(value)).encode("utf-8", "surrogatepass")
    return zlib.compress(head + b"\n" + body, 1)


def unpack_message(kind: type[T], packed: object) -> tuple[T, bytes]:
    """The value of type `kind` and the attached text; raises BadMessage."""
    if not isinstance(packed, bytes):
        raise BadMessage(f"expected bytes, found {type(packed).__name__}")
    engine = zlib.decompressobj()
    try:
        text = engine.decompress(packed, MAX_BYTES)
    except zlib.error as error:
        raise BadMessage(f"it can't be decompressed: {error}") from None
    if not engine.eof or engine.unused_data:
        raise BadMessage(f"it is cut off, or has more than {MAX_BYTES >> 20} MiB")
    head, _, body = text.partition(b"\n")
    try:
        return decode(kind, json.loads(head)), body
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise BadMessage(str(error)) from None


def pack_replies(replies: Iterable[tuple[str, bytes]]) -> bytes:
    """Replies by nonce, as bytes."""
    import msgpack

    return bytes(msgpack.packb(tuple(replies)))


def unpack_replies(packed: object) -> tuple[tuple[str, bytes], ...]:
    """Replies by nonce; raises BadMessage."""
    import msgpack

    try:
        replies = msgpack.unpackb(packed, use_list=False)
    except (ValueError, TypeError, RecursionError, msgpack.UnpackException) as error:
        raise BadMessage(str(error)) from None
    if not isinstance(replies, tuple) or not all(map(_is_reply, replies)):
        raise BadMessage("expected replies by nonce")
    return replies


def _is_reply(pair: object) -> bool:
    return isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str) and isinstance(pair[1], bytes)
