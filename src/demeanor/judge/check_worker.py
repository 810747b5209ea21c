"""The process in which checks run: it answers questions about evidence until its connection is closed.

An author's check may never end, crash the interpreter or change what it is given. In a process of its own it can be
killed, and what it changes is a copy.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.core.text.ci_commands import neutral
from demeanor.core.text.wording import count, shortened
from demeanor.core.values.checks import FunctionCheck
from demeanor.core.values.errors import WorldError
from demeanor.core.values.eval import Eval
from demeanor.core.values.evidence import Evidence
from demeanor.core.values.scenario import Setup
from demeanor.judge.answers import CheckAnswer, Rehearsals, answer_check, ask_user_here, play
from demeanor.judge.check_channel import Channel, remote_command, remote_judge
from demeanor.judge.fixtures import close_fixtures, missing_fixture
from demeanor.judge.opinion import JudgeAccess
from demeanor.judge.rig import Rig

if TYPE_CHECKING:
    from typing_extensions import Buffer

_MOST_PRINTED = 20_000
"""Characters of what a check printed that are kept."""


def work(connection: socket.socket, evals: Mapping[str, Eval], rehearsals: Rehearsals) -> None:
    """Answer questions until the connection is closed."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    channel = Channel(connection)
    report = os.dup(2)
    programs = _ProgramOutput()
    sys.stdout = sys.stderr = _relay(channel, programs)
    place = os.open(".", os.O_RDONLY)
    sys.breakpointhook = _no_breakpoint
    while True:
        try:
            what, name, numbers, payload = channel.receive()
        except EOFError:
            _end_fixtures(report)
            return
        if what == "judge":
            _judge(channel, evals[name], numbers, payload)
        elif what == "reply":
            answer = ask_user_here(payload, evals[name], remote_command(channel, payload))
            sys.stdout.flush()
            channel.send("answer", answer)
        elif what == "set up":
            setup = evals[name].scenario.setup
            problem = set_up_here(setup, Path(payload)) if setup else None
            sys.stdout.flush()
            channel.send("problem", problem)
        elif what == "fixtures":
            channel.send("problem", fixture_problem(evals[name]))
        else:
            _rehearse(channel, evals[name], numbers[0], payload, rehearsals)
        os.fchdir(place)
        channel.send("done")


def fixture_problem(eval: Eval) -> str | None:  # noqa: A002
    """Why the fixtures that the checks of an eval take can't be used; None if pytest knows all of them."""
    try:
        missing = [missing_fixture(check) for check in eval.checks if isinstance(check, FunctionCheck)]
    except WorldError as error:
        return error.detail
    return next((f"pytest knows no fixture {name!r}" for name in missing if name), None)


def _end_fixtures(report: int) -> None:
    """When Demeanor has closed the connection, nothing but its standard error is left to report to."""
    try:
        close_fixtures()
    except WorldError as error:
        os.write(report, neutral(f"demeanor: {error.detail}\n", os.environ).encode("utf-8", "backslashreplace"))


def set_up_here(setup: Setup, folder: Path) -> str | None:
    """Call `setup` in this process, whose working directory is restored; returns what went wrong."""
    place = os.open(".", os.O_RDONLY)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            setup(folder)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - an author's function may raise anything
        return f"raised {type(error).__name__}: {error}"
    finally:
        os.fchdir(place)
        os.close(place)
    return None


def _judge(channel: Channel, eval: Eval, numbers: tuple[int, ...], evidence: Evidence) -> None:  # noqa: A002
    rig = Rig(evidence, remote_command(channel, evidence), JudgeAccess.of(eval, remote_judge(channel)))
    _ask(channel, eval, numbers, rig)


def _ask(channel: Channel, eval: Eval, numbers: tuple[int, ...], rig: Rig) -> None:  # noqa: A002
    for number in numbers:
        if number != numbers[0]:
            channel.send("began", number)
        answer = answer_check(eval.checks[number], rig)
        sys.stdout.flush()
        channel.send("answer", answer, hold=True)  # "began" or "done" follows at once


def _rehearse(channel: Channel, eval: Eval, number: int, folder: str, rehearsals: Rehearsals) -> None:  # noqa: A002
    """Ask one check about every rehearsal of its eval; temporary files are written to `folder`."""
    tempfile.tempdir = folder
    for behaviour in (*eval.passes_on, *eval.fails_on):
        channel.send("setup")
        played = play(eval, behaviour, rehearsals)
        if isinstance(played, CheckAnswer):
            channel.send("answer", played)
        else:
            channel.send("began", number)
            _ask(channel, eval, (number,), Rig(played, remote_command(channel, None)))
    tempfile.tempdir = None


class Printed:
    """What a check printed, up to a limit."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._size = 0

    def add(self, text: str) -> None:
        """Keep a text, unless there is too much already."""
        if self._size < _MOST_PRINTED:
            self._parts.append(text[: 2 * _MOST_PRINTED])
        self._size += len(text)

    def take(self) -> str:
        """Everything since the last time."""
        text, more = shortened("".join(self._parts), _MOST_PRINTED, end=""), self._size - _MOST_PRINTED
        self._parts, self._size = [], 0
        return f"{text}\n… {count(more, 'character')} left out" if more > 0 else text


class _ProgramOutput:
    """What programs that a check starts write to standard output and standard error, which they inherit.

    It may be text of the agent, so it must neither reach a report nor the log of a CI service as it is.
    """

    def __init__(self) -> None:
        self._file = os.memfd_create("output") if sys.platform == "linux" else _temporary_file()
        for fd in (1, 2):
            os.dup2(self._file, fd)

    def take(self) -> str:
        """Everything since the last time, up to a limit."""
        size = os.fstat(self._file).st_size
        if not size:
            return ""
        output = os.pread(self._file, 2 * _MOST_PRINTED, 0).decode("utf-8", "replace")
        os.ftruncate(self._file, 0)
        os.lseek(self._file, 0, os.SEEK_SET)
        return output if size <= 2 * _MOST_PRINTED else f"{output}\n… more than {size} bytes were written\n"


def _temporary_file() -> int:
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


class _Relay(io.RawIOBase):
    """What checks print, sent to Demeanor, which stores it with the trial."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def writable(self) -> bool:
        return True

    def write(self, data: Buffer, /) -> int:
        raw = bytes(data)
        self._channel.send("print", raw.decode("utf-8", "replace"))
        return len(raw)


class _RelayText(io.TextIOWrapper):
    """Standard output and standard error of checks. What programs wrote comes before what is printed after it."""

    programs: _ProgramOutput

    def write(self, text: str, /) -> int:
        super().write(self.programs.take())
        return super().write(text)

    def flush(self) -> None:
        super().write(self.programs.take())
        super().flush()


def _relay(channel: Channel, programs: _ProgramOutput) -> io.TextIOWrapper:
    raw = io.BufferedWriter(_Relay(channel))
    output = _RelayText(raw, encoding="utf-8", errors="backslashreplace", line_buffering=True)
    output.programs = programs
    return output


def _no_breakpoint(*_: object, **__: object) -> None:
    raise RuntimeError(
        "breakpoint() does not work here: checks run in a process without a terminal; use `pytest --pdb -s`"
    )
