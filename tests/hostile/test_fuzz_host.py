"""Random input for what handles files of strangers on the host: run folders, layers of images, replies of workers.

As in test_fuzz.py, the seeds are fixed and the counts small; `make fuzz` runs many more.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import os
import random
import shutil
import stat
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgpack
import pytest
from distributed.protocol import dumps, to_serialize

from demeanor.cli.program import main
from demeanor.core.trees.tree import Tree
from demeanor.core.values.capture import Capture
from demeanor.core.values.errors import StoreError, UsageError
from demeanor.core.values.process import Output, ProcessEnd
from demeanor.core.values.starting_state import start_hash
from demeanor.core.values.subject import Subject
from demeanor.core.values.trial import Trial
from demeanor.plugins.cluster.archive import Archive
from demeanor.plugins.cluster.cluster_run import ClusterRun
from demeanor.plugins.cluster.connection import read_message
from demeanor.plugins.cluster.messages import (
    AttemptReply,
    BadMessage,
    RunSetup,
    WorkerReport,
    pack_message,
    pack_replies,
    unpack_message,
    unpack_replies,
)
from demeanor.plugins.cluster.spec import ClusterSpec
from demeanor.plugins.cluster.worker_attempt import PackedStart, WorkerAttempts
from demeanor.plugins.harbor.images.layer import apply_layer, remove_tree
from demeanor.plugins.harbor.images.tar_stream import Allowance
from demeanor.runner.agent_start import start_eval
from demeanor.store.captures.document import capture_json
from tests.gateway.server.test_fuzz import mutated_bytes
from tests.helpers.project import Project
from tests.hostile.test_fuzz import COUNT, allowing, fuzz
from tests.judge.helpers import file

EVALS = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Save the note 'buy milk' in notes.txt.", trials=1)
def saves(rig, result):
    assert "notes.txt" in rig.workspace

@eval_test(ALWAYS_PASSES, prompt="Save the note 'buy milk' in notes.txt.", trials=1)
def fails(rig, result):
    assert "nothing.txt" in rig.workspace
"""
ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    10**30,
    1e308,
    float("nan"),
    "",
    "\ud800",
    "\0",
    "x" * 3000,
    "../../..",
    [],
    {},
    [[]],
)
_PER_COMMAND = 16


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of a run; its project is the current folder."""
    project = Project(tmp_path_factory.mktemp("fuzz") / "project")
    project.write(demeanor_toml='subjects = ["native:scripted"]\nsandbox = "none"\n', evals__eval_a_py=EVALS)
    ran = project.demeanor("run", "--policy", "all")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    with contextlib.chdir(project.folder):
        yield (project.folder / "results/latest").resolve()


def odd_value(draw: random.Random, text: bytes) -> bytes:
    """JSON of which one value is odd or missing."""
    data = json.loads(text)
    places: list[tuple[Any, Any]] = []
    waiting = [data]
    while waiting:
        value = waiting.pop()
        keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
        places += ((value, key) for key in keys)
        waiting += (value[key] for key in keys)
    place, key = draw.choice(places)
    if isinstance(place, dict) and draw.random() < 0.3:
        del place[key]
    else:
        place[key] = draw.choice(ODD)
    return json.dumps(data).encode()


def odd_line(draw: random.Random, text: bytes) -> bytes:
    """Lines of JSON of which one has an odd value."""
    lines = text.splitlines()
    number = draw.randrange(len(lines))
    return b"\n".join((*lines[:number], odd_value(draw, lines[number]), *lines[number + 1 :], b""))


def damage(draw: random.Random, run: Path) -> str:
    """Change one file of a run; returns what was done."""
    name = draw.choice(("run.json", "ledger.jsonl", "captures.jsonl.gz", "trajectory", "starts", "capture"))
    path = {"trajectory": next(run.rglob("trajectory.jsonl")), "starts": next((run / "starts").iterdir())}.get(name)
    path = path or run / name
    how = draw.random()
    if name == "capture":
        odd_captures(draw, run)
    elif how < 0.1:
        path.unlink()
    elif how < 0.15:
        path.unlink()
        path.mkdir()
    elif how < 0.4 or name == "captures.jsonl.gz":
        path.write_bytes(mutated_bytes(draw, path.read_bytes()))
    elif name == "run.json":
        path.write_bytes(odd_value(draw, path.read_bytes()))
    elif name == "starts":
        path.write_bytes(gzip.compress(odd_line(draw, gzip.decompress(path.read_bytes()))))
    else:
        path.write_bytes(odd_line(draw, path.read_bytes()))
    return f"{name} {how}"


def odd_captures(draw: random.Random, run: Path) -> None:
    """Captures with an odd value each, whose positions and hashes are right."""
    packed, written = (run / "captures.jsonl.gz").read_bytes(), b""
    records = [json.loads(line) for line in (run / "ledger.jsonl").read_bytes().splitlines()]
    for record in records:
        start, length = record["capture"]
        text = odd_value(draw, gzip.decompress(packed[start : start + length]))
        own = gzip.compress(text)
        record |= {"capture": [len(written), len(own)], "capture_hash": hashlib.sha256(text).hexdigest()}
        written += own
    (run / "captures.jsonl.gz").write_bytes(written)
    (run / "ledger.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))


def test_run_folders(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every command reads a damaged run, or refuses it in a line with a remedy."""
    commands = (
        ("report", run.name), ("report", run.name, "--failures"), ("report", "--metrics", run.name),
        ("trace", "fails/native:scripted/1"), ("trace", "saves", "--diff"), ("compare", run.name, run.name),
        ("rejudge", run.name), ("store", "import", str(run)), ("store", "export", "--output", str(tmp_path / "a.csv")),
        ("run", "--resume", run.name, "--dry-run"), ("trace", "--notes"), ("report", "--eval", "fails"),
    )  # fmt: skip
    shutil.copytree(run, tmp_path / "whole")
    draw = random.Random(21)
    for number in range(max(1, COUNT // _PER_COMMAND)):
        shutil.rmtree(run)
        shutil.copytree(tmp_path / "whole", run)
        if draw.random() < 0.5:
            (run.parent / "demeanor.db").unlink(missing_ok=True)
        what = damage(draw, run)
        for command in draw.sample(commands, 2):
            code = main(command)
            err = capsys.readouterr().err
            note = f"execution {number}: {what}: {command}\n{err}"
            assert "this is a bug" not in err, note
            assert "Traceback" not in err, note
            assert code in (0, 1, 3) or "→" in err, note


NAMES = (
    "a", "b", "l", "a/b", "l/a", "a/b/a", "l/b/l", "../out", "l/out", "/a", "l/../out", ".", "out", ".wh.a", ".wh.l",
    ".wh...", ".wh..", "a/.wh...", "l/.wh.out", "a/.wh..wh..opq", "l/.wh..wh..opq", ".wh..wh..opq",
)  # fmt: skip
TARGETS = ("..", "/", "../out", "/out", "a", "b", "l", "a/..", "../..", "l/out", "../out/inner", ".", "out")
KINDS = (tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE)  # fmt: skip  # noqa: E501


def random_layer(draw: random.Random) -> bytes:
    """A few entries that may refer to one another, and to what is outside."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for _ in range(draw.randrange(1, 9)):
            info = tarfile.TarInfo(draw.choice(NAMES))
            info.type, info.linkname = draw.choice(KINDS), draw.choice(TARGETS)
            info.mode, info.uid, info.mtime = 0o6777, 4711, 1
            tar.addfile(info)
    return raw.getvalue()


def test_layers(tmp_path: Path) -> None:
    """Nothing outside of the root changes, whatever a layer has, and it is applied or refused."""
    outside = tmp_path / "out"
    (outside / "inner").mkdir(parents=True)
    (outside / "file").write_text("mine")

    def state() -> list[tuple[str, int, int, int, float, int]]:
        places = [tmp_path, *sorted(outside.rglob("*")), outside]
        found = [(str(place), place.lstat()) for place in places]
        times = [(name, info.st_mtime if name != str(tmp_path) else 0.0) for name, info in found]
        modes = [(stat.S_IMODE(info.st_mode), info.st_uid, info.st_nlink, info.st_size) for _, info in found]
        return [(name, *mode[:3], time, mode[3]) for (name, time), mode in zip(times, modes, strict=True)]

    (tmp_path / "root").mkdir()
    before = state()

    def apply(data: bytes) -> None:
        remove_tree(tmp_path / "root")
        (tmp_path / "root").mkdir()
        with contextlib.suppress(UsageError):
            apply_layer(io.BytesIO(data), tmp_path / "root", "test", allowance=Allowance(size=2**20, entries=100))
        assert state() == before
        assert sorted(os.listdir(tmp_path)) == ["out", "root"]

    draw = random.Random(22)
    fuzz(22, b"", lambda _, __: random_layer(draw), apply)
    fuzz(23, random_layer(random.Random(1)), mutated_bytes, apply)


def test_replies_of_workers(tmp_path: Path) -> None:
    """A reply is read as data or refused, at each of its layers."""
    trial = Trial(eval=start_eval(), subject=Subject(agent="native", model="scripted"), number=1, timeout=1.0)
    start = PackedStart(archive=Archive(sha256="", packed=b""), tree=Tree(), hashed=start_hash(Tree()))
    end = ProcessEnd(exit_code=0, stdout=Output(text="x", total_bytes=1), seconds=1.0)
    capture = Capture(trial=trial.id, attempt=1, ends=(end,), seconds=1.0, after=Tree(entries={"a/b.txt": file("x")}))
    reply = AttemptReply(nonce="n", trial=trial.id, attempt=1, start_hash=start.hashed)
    body = capture_json(capture)
    setup = RunSetup(run="r", version="1", python="3.12", root="/", sandbox="none", seed=1)
    attempts = WorkerAttempts(ClusterRun(setup=setup, spec=ClusterSpec(workers=1)), None, tmp_path)  # type: ignore[arg-type]
    careful = allowing(BadMessage, StoreError)
    assert attempts._capture(trial, start, reply, body).after.entries.keys() == {"a/b.txt"}

    fuzz(24, body, odd_value, careful(lambda data: attempts._capture(trial, start, reply, data)))
    fuzz(25, pack_message(reply, body), mutated_bytes, careful(lambda data: unpack_message(AttemptReply, data)))
    for kind, value in ((AttemptReply, reply), (WorkerReport, WorkerReport(clock=1.0))):
        text = json.dumps(json.loads(unpack_json(pack_message(value)))).encode()
        fuzz(26, text, odd_value, careful(lambda data, kind=kind: unpack_message(kind, packed_json(data))))
    fuzz(27, pack_replies([("n", b"x"), ("m", b"y")]), mutated_bytes, careful(unpack_replies))
    answer = {"tls://a:1": {"status": "OK", "result": to_serialize(pack_replies([("n", b"x")]))}}
    frames = [bytes(frame) for frame in dumps(answer, serializers=("msgpack",))]
    whole = msgpack.packb(frames)

    def read(data: bytes) -> object:
        try:
            changed = msgpack.unpackb(data)
        except (ValueError, msgpack.UnpackException):
            return None
        is_message = isinstance(changed, list) and changed and all(isinstance(frame, bytes) for frame in changed)
        return read_message(changed) if is_message else None

    fuzz(28, whole, mutated_bytes, allowing(ConnectionError)(read))


def unpack_json(packed: bytes) -> bytes:
    """The head of a message."""
    import zlib

    return zlib.decompress(packed).partition(b"\n")[0]


def packed_json(head: bytes) -> bytes:
    """A message with this head."""
    import zlib

    return zlib.compress(head + b"\n")
