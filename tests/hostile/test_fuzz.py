"""Mutated input for everything that reads untrusted data: it is read, or refused with the error of its reader.

The seeds are fixed and the counts small; `make fuzz` runs many more (`DEMEANOR_FUZZ` is the count of each target).
"""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from demeanor.config.config import read_config
from demeanor.core.trees.tree import Tree
from demeanor.core.trees.tree_io import scan
from demeanor.core.values.errors import DemeanorError
from demeanor.core.values.exchange import Exchange
from demeanor.gateway.cassette.cassette import BadCassette, Cassette, read_cassette, write_cassette
from demeanor.gateway.dialects import DIALECTS
from demeanor.gateway.dialects.dialect import Malformed
from demeanor.gateway.dialects.stream_events import Assembler, deltas_of
from demeanor.judge.git_view import GitView
from demeanor.judge.unknowable import Unknowable
from demeanor.store.imports.common import ImportOptions
from demeanor.store.imports.importer import read_imports
from tests.gateway.server.test_fuzz import ANSWER, QUESTION, mutated, mutated_bytes
from tests.helpers.import_samples import vitest
from tests.judge.helpers import file, read_back

COUNT = int(os.environ.get("DEMEANOR_FUZZ", "200"))
CONFIG = b"""\
subjects = ["native:scripted"]
trials = 3
timeout = 1.5
[limits]
memory = "1 GiB"
request = "8 MiB"
[agents.mine]
adapter = "command"
command = ["mine", "{prompt}"]
also = ["small"]
[models.small]
script = "small.yaml"
[budgets.run]
usd = 1.0
[gate]
thorough = true
"""
JUNIT = b"""\
<testsuites><testsuite name="evals"><testcase classname="a" name="b" time="1.5"/>
<testcase classname="a" name="c"><failure message="no">text</failure></testcase></testsuite></testsuites>
"""


def fuzz(seed: int, sample: bytes, mutate: Callable[[random.Random, bytes], bytes], read: Callable[[bytes], object]):
    """Read many mutations of a sample; `read` raises only what it may not raise."""
    draw = random.Random(seed)
    for number in range(COUNT):
        data = mutate(draw, sample)
        try:
            read(data)
        except Exception as error:
            error.add_note(f"execution {number} of seed {seed}: {data[:2000]!r}")
            raise


def allowing(*errors: type[BaseException]) -> Callable[[Callable[[bytes], object]], Callable[[bytes], object]]:
    """A reader that may raise these errors."""

    def wrap(read: Callable[[bytes], object]) -> Callable[[bytes], object]:
        def careful(data: bytes) -> object:
            try:
                return read(data)
            except errors:
                return None

        return careful

    return wrap


@pytest.mark.parametrize("name", DIALECTS)
def test_requests(name: str) -> None:
    """Bodies of requests, in every dialect."""
    dialect = DIALECTS[name]
    wire = dialect.write_request(QUESTION)
    route = dialect.route("POST", wire.path, {})
    assert route is not None
    fuzz(11, wire.body, mutated, allowing(Malformed)(lambda data: dialect.read_request(data, route)))


@pytest.mark.parametrize("name", DIALECTS)
def test_streams(name: str) -> None:
    """Streamed responses of providers, in chunks that end anywhere, in every dialect."""
    dialect = DIALECTS[name]
    writer = dialect.stream_writer(replace(QUESTION, stream=True))
    sample = b"".join(writer.write(delta) for delta in deltas_of(ANSWER)) + writer.close()

    def read(data: bytes) -> object:
        reader, assembler = dialect.stream_reader(), Assembler()
        for start in range(0, len(data), 100):
            for delta in reader.feed(data[start : start + 100]):
                assembler.take(delta)
        for delta in reader.close():
            assembler.take(delta)
        return assembler.response()

    assert read(sample)

    fuzz(17, sample, mutated_bytes, read)


def test_cassettes() -> None:
    """Cassettes from elsewhere."""
    exchange = Exchange(number=1, dialect="openai-chat", request=QUESTION, response=ANSWER, started=0.0, ended=1.0)
    cassette = Cassette(
        eval="saves",
        subject="native:scripted",
        number=1,
        scenario="0123",
        recorded="2026-01-01T00:00:00+00:00",
        exchanges=(exchange, replace(exchange, number=2)),
    )
    sample = write_cassette(cassette).encode()
    assert read_cassette(sample) == cassette
    fuzz(12, sample, mutated, allowing(BadCassette)(read_cassette))


def test_configuration(tmp_path: Path) -> None:
    """Configuration files."""
    path = tmp_path / "demeanor.toml"

    def read(data: bytes) -> object:
        path.write_bytes(data)
        return read_config(tmp_path)

    path.write_bytes(CONFIG)
    assert read_config(tmp_path).trials == 3
    fuzz(13, CONFIG, mutated_bytes, allowing(DemeanorError)(read))


@pytest.mark.parametrize(("name", "sample"), [("a.xml", JUNIT), ("a.json", json.dumps(vitest(a="passed")).encode())])
def test_imports(tmp_path: Path, name: str, sample: bytes) -> None:
    """Reports of other tools."""
    path = tmp_path / name

    def read(data: bytes) -> object:
        path.write_bytes(data)
        return read_imports([path], ImportOptions(subject="x"))

    assert read(sample)
    fuzz(14, sample, mutated if name.endswith("json") else mutated_bytes, allowing(DemeanorError)(read))


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """A repository with a pack, loose objects, refs, ignore rules and attributes."""
    folder = tmp_path_factory.mktemp("repository")

    def git(*words: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
        subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)

    git("init", "-q")
    (folder / ".gitignore").write_text("*.log\n!keep.log\n/build/\n")
    (folder / ".gitattributes").write_text("*.txt text=auto\n*.bin -text\n")
    for number in range(4):
        (folder / "a.txt").write_text("".join(f"line {line} of {number}\n" for line in range(100)))
        git("add", ".")
        git("commit", "-qm", f"commit {number}")
    git("gc", "-q")
    git("commit", "-q", "--allow-empty", "-m", "loose")
    (folder / "new.txt").write_text("new\n")
    return read_back(folder)


def test_repositories(repository: Tree) -> None:
    """Every file of a repository, one after the other."""
    before = replace(repository, entries={".git/HEAD": file("ref: refs/heads/main\n")})
    paths = sorted(path for path, entry in repository.entries.items() if entry.kind == "file")
    assert GitView(before, repository).commits == (*(f"commit {number}" for number in range(4)), "loose")
    draw = random.Random(15)
    for number in range(COUNT):
        path = draw.choice(paths)
        content = mutated_bytes(draw, repository.entries[path].read() or b"")
        view = GitView(before, replace(repository, entries={**repository.entries, path: file(content)}))
        for question in ("branch", "commits", "status"):
            try:
                getattr(view, question)
            except (AssertionError, Unknowable):
                continue
            except Exception as error:
                error.add_note(f"execution {number}: {question} with {path}: {content[:500]!r}")
                raise


def test_harvesting(tmp_path: Path) -> None:
    """Folders with names, kinds and permissions of all sorts are read without an error."""
    draw = random.Random(16)
    for number in range(max(5, COUNT // 20)):
        folder = tmp_path / str(number)
        folder.mkdir()
        for _ in range(draw.randrange(1, 12)):
            odd_entry(draw, folder)
        found = scan(folder)
        assert all(not path.startswith("/") and ".." not in path.split("/") for path in found.entries)


def odd_entry(draw: random.Random, folder: Path) -> None:
    """Create a file, link, pipe or folder with an odd name, unless there is one."""
    letters = [b"a", b"\n", b"\xff", b"\x1b[2J", b" ", b"-", "é".encode(), b"\\", b"'"]
    name = os.fsencode(folder) + b"/" + b"".join(draw.choices(letters, k=draw.randrange(1, 6)))
    try:
        match draw.randrange(5):
            case 0:
                os.mkdir(name)  # noqa: PTH102 - bytes
            case 1:
                os.symlink(draw.choice([b"/etc", b"..", b"loop", name]), name)  # noqa: PTH211 - bytes
            case 2:
                os.mkfifo(name)
            case _:
                with open(name, "xb") as stream:  # noqa: PTH123 - bytes
                    stream.write(draw.randbytes(draw.randrange(50)))
    except FileExistsError:
        return
