"""A converter that is a program: it may end, be silent or talk nonsense, and the other messages are still checked."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from demeanor.gateway.contract import converter_program, program
from demeanor.gateway.contract.program import ConverterError
from demeanor.gateway.contract.runner import NoConverter
from tests.helpers.processes import alive

ODD = """\
import json, os, sys, time
for line in sys.stdin:
    asked = json.loads(line)
    match asked["body"]:
        case "ends": sys.exit(7)
        case "sleeps": time.sleep(600)
        case "jokes": print("knock, knock")
        case "lists": print("[]")
        case "fails": print(json.dumps({"error": "not today"}))
        case "nothing": print("{}")
        case "object": print(json.dumps({"body": {"pid": os.getpid()}}))
        case body: print(json.dumps({"body": body[::-1]}))
    sys.stdout.flush()
"""


@pytest.fixture
def command(tmp_path: Path) -> str:
    path = tmp_path / "odd.py"
    path.write_text(ODD)
    return shlex.join([sys.executable, str(path)])


def test_each_message_has_its_own_answer(command: str, monkeypatch: pytest.MonkeyPatch):
    """An ended or silent program is started again, and no process is left."""
    with converter_program(command) as convert:
        assert convert("a", "b", "request", "ärm".encode()) == "mrä".encode()
        assert convert("a", "b", "stream", b"x" * 300_000) == b"x" * 300_000
        for body, said in {
            "ends": "it ended with exit code 7",
            "jokes": "it answered 'knock, knock'",
            "lists": "it answered '\\[\\]'",
            "fails": "^not today$",
            "nothing": "neither body nor error",
        }.items():
            with pytest.raises(ConverterError, match=said):
                convert("a", "b", "request", body.encode())
        with monkeypatch.context() as short:
            short.setattr(program, "_ANSWER_TIME", 0.2)
            with pytest.raises(ConverterError, match="did not answer within"):
                convert("a", "b", "request", b"sleeps")
        pid = int(convert("a", "b", "request", b"object").split(b":")[1].strip(b" }"))
        assert alive(pid)
    assert not alive(pid)


def test_a_program_that_never_answers_is_no_converter(tmp_path: Path):
    """It would fail every case for the same reason."""
    with converter_program("true") as convert, pytest.raises(NoConverter, match="before it answered a message"):
        convert("a", "b", "request", b"{}")
