"""Runs checks in worker processes that can be killed, under a time limit.

The server is forked before Demeanor starts threads and services, with all evals in memory. It forks workers on demand;
they are reused for further attempts, and killed with everything they started if a check exceeds its time. A worker
answers about a copy of the evidence, so no check can alter what is stored.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import gc
import os
import signal
import socket
import stat
import struct
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from demeanor.core.errors import WorldError
from demeanor.core.eval import Eval
from demeanor.core.evidence import Evidence
from demeanor.core.judge_question import AskJudge
from demeanor.core.ports import RunCommand
from demeanor.core.scenario import Setup
from demeanor.core.temp_names import temp_prefix
from demeanor.core.verdict import VoidCause
from demeanor.judge.answers import Blame, CheckAnswer, Rehearsals
from demeanor.judge.check_answers import title
from demeanor.judge.check_channel import Channel, Message, answer_command, answer_question
from demeanor.judge.check_worker import Printed, set_up_here, work
from demeanor.judge.opinion import no_judge

_REQUEST = struct.Struct(">cq")
_SPAWN, _KILL = b"s", b"k"
_PR_SET_PDEATHSIG = 1
_SETUP_SECONDS = 600.0
"""The longest time to create the workspace of a rehearsal."""


class ChecksStopped(Exception):
    """The run was stopped while a check ran; there is no answer."""


@dataclass(frozen=True, slots=True)
class _Worker:
    pid: int
    channel: Channel


class CheckServer:
    """Worker processes for the checks of some evals."""

    def __init__(self, evals: Iterable[Eval], rehearsals: Rehearsals, *, limit: float) -> None:
        """`limit`: seconds for one check, without the time that its commands take."""
        self._limit = limit
        self._owner = os.getpid()
        self._idle: list[_Worker] = []
        self._busy: set[_Worker] = set()
        self._lock = threading.Lock()
        self._closed = False
        self._blame: dict[tuple[str, int], Blame] = {}
        self._blaming = threading.Lock()
        self._control, theirs = socket.socketpair()
        by_name = {one.name: one for one in evals}
        self._setups = {id(one.scenario.setup): name for name, one in by_name.items() if one.scenario.setup is not None}
        sys.stdout.flush()
        sys.stderr.flush()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # other threads, if any, are not needed in the child
            self._pid = os.fork()
        if self._pid == 0:
            self._control.close()
            _end_with(lambda: _serve(theirs, by_name, rehearsals))
        theirs.close()

    def ask(
        self,
        evidence: Evidence,
        eval: Eval,  # noqa: A002
        run_command: RunCommand,
        ask_judge: AskJudge = no_judge,
    ) -> tuple[CheckAnswer, ...]:
        """Ask all checks of an eval about some evidence."""
        answers: list[CheckAnswer] = []
        while len(answers) < len(eval.checks):
            left = tuple(range(len(answers), len(eval.checks)))
            try:
                answers += self._job(("judge", eval.name, left, evidence), eval, left, run_command, evidence, ask_judge)
            except WorldError as error:
                trouble = (error.cause, error.detail)
                answers += [CheckAnswer(check=title(eval.checks[number]), trouble=trouble) for number in left]
        return tuple(answers)

    def find_blame(self, eval: Eval, number: int, run_command: RunCommand) -> Blame:  # noqa: A002
        """Whether a check that crashed on what an agent left also crashes on the eval's own rehearsals."""
        if not eval.passes_on and not eval.fails_on:
            return "unknown"
        with self._blaming:
            key = (eval.name, number)
            if key not in self._blame:
                with tempfile.TemporaryDirectory(prefix=temp_prefix()) as folder:
                    job = ("rehearse", eval.name, (number,), folder)
                    answers = list(self._job(job, eval, (number,), run_command, None))
                crashed = any(answer.crash is not None or answer.trouble is not None for answer in answers)
                self._blame[key] = "eval" if crashed else "content"
            return self._blame[key]

    def set_up(self, setup: Setup, folder: Path) -> str | None:
        """Call the `setup` of an eval in a worker; what it changes besides `folder` stays there. Returns the problem.

        What it prints goes to standard error.
        """
        name = self._setups.get(id(setup))
        if name is None:
            return set_up_here(setup, folder)
        worker, well = self._acquire(), False
        problem: str | None = None
        try:
            worker.channel.socket.settimeout(_SETUP_SECONDS)
            worker.channel.send("set up", name, (), str(folder))
            while not well:
                what, *rest = worker.channel.receive()
                if what == "print":
                    sys.stderr.write(rest[0])
                problem = rest[0] if what == "problem" else problem
                well = what == "done"
        except TimeoutError:
            problem = f"did not end within {_SETUP_SECONDS:g} s"
        except (EOFError, OSError):
            if self._closed:
                raise ChecksStopped from None
            problem = "ended the process in which it ran"
        finally:
            self._release(worker, well=well)
        return problem

    def __del__(self) -> None:
        """A run that was prepared and never executed leaves no process behind."""
        if self._owner == os.getpid():
            self.close()

    def close(self) -> None:
        """Kill all workers and the server. Threads that wait for an answer get ChecksStopped."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            for worker in self._idle:
                worker.channel.socket.close()
            for worker in self._busy:
                with contextlib.suppress(OSError):
                    worker.channel.socket.shutdown(socket.SHUT_RDWR)
            self._control.close()  # the server kills its workers, then ends
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._pid, 0)

    def _job(
        self,
        job: Message,
        eval: Eval,  # noqa: A002
        numbers: tuple[int, ...],
        run_command: RunCommand,
        evidence: Evidence | None,
        ask_judge: AskJudge = no_judge,
    ) -> Iterator[CheckAnswer]:
        """The answers of one worker; if it does not end or dies, the last one says so."""
        worker = self._acquire()
        number, well, printed = numbers[0], False, Printed()
        try:
            worker.channel.socket.settimeout(self._limit)
            worker.channel.send(*job)
            deadline = time.monotonic() + self._limit
            while True:
                worker.channel.socket.settimeout(max(0.0, deadline - time.monotonic()) or 1e-3)
                what, *rest = worker.channel.receive()
                if what == "done":
                    well = True
                    return
                if what == "answer":
                    yield replace(rest[0], printed=printed.take())
                elif what == "began":
                    number = numbers[0] if evidence is None else rest[0]
                elif what == "print":
                    printed.add(rest[0])
                    continue
                elif what == "command":
                    answer_command(worker.channel, rest, evidence, run_command)
                elif what == "question":
                    answer_question(worker.channel, rest[0], ask_judge)
                deadline = time.monotonic() + (_SETUP_SECONDS if what == "setup" else self._limit)
        except TimeoutError:
            late = f"did not end within {self._limit:g} s"
            yield CheckAnswer(check=title(eval.checks[number]), crash=late, printed=printed.take())
        except (EOFError, OSError):
            if self._closed:
                raise ChecksStopped from None
            ended = "crashed: it ended the process in which checks run"
            yield CheckAnswer(check=title(eval.checks[number]), crash=ended, printed=printed.take())
        finally:
            self._release(worker, well=well)

    def _acquire(self) -> _Worker:
        with self._lock:
            if self._closed:
                raise ChecksStopped
            worker = self._idle.pop() if self._idle else self._spawn()
            self._busy.add(worker)
        return worker

    def _release(self, worker: _Worker, *, well: bool) -> None:
        with self._lock:
            self._busy.discard(worker)
            if self._closed:
                worker.channel.socket.close()
            elif well:
                self._idle.append(worker)
            else:
                worker.channel.socket.close()
                self._request(_KILL, worker.pid)

    def _spawn(self) -> _Worker:
        ours, theirs = socket.socketpair()
        with theirs:
            return _Worker(self._request(_SPAWN, 0, theirs.fileno()), Channel(ours))

    def _request(self, what: bytes, pid: int, *fds: int) -> int:
        """Let the server fork or kill a worker; returns its process id."""
        try:
            socket.send_fds(self._control, [_REQUEST.pack(what, pid)], fds)
            data = self._control.recv(_REQUEST.size, socket.MSG_WAITALL)
        except OSError:
            data = b""
        if len(data) != _REQUEST.size:
            raise WorldError(VoidCause.HARNESS, "the server of check processes ended unexpectedly")
        number: int = _REQUEST.unpack(data)[1]
        return number


def _serve(control: socket.socket, evals: dict[str, Eval], rehearsals: Rehearsals) -> None:
    """The server: fork and kill workers until Demeanor closes the connection or dies."""
    gc.freeze()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    _forget_files(control.fileno())
    pids: set[int] = set()
    try:
        while True:
            data, fds, _, _ = socket.recv_fds(control, _REQUEST.size, 1)
            if len(data) != _REQUEST.size:
                return
            what, pid = _REQUEST.unpack(data)
            if what == _SPAWN:
                pid = _fork_worker(control, fds[0], evals, rehearsals)
                pids.add(pid)
            else:
                _kill(pid)
                pids.discard(pid)
            control.sendall(_REQUEST.pack(what, pid))
    finally:
        for pid in pids:
            _kill(pid)


def _fork_worker(control: socket.socket, fd: int, evals: dict[str, Eval], rehearsals: Rehearsals) -> int:
    server = os.getpid()
    pid = os.fork()
    if pid == 0:
        control.close()
        _die_with(server)
        os.setpgid(0, 0)
        _end_with(lambda: work(socket.socket(fileno=fd), evals, rehearsals))
    with contextlib.suppress(OSError):  # the worker may have done it already, and may even have ended
        os.setpgid(pid, pid)
    os.close(fd)
    return pid


def _die_with(server: int) -> None:
    """In a worker: be killed when the server dies, also if it is dead already. Elsewhere than on Linux, a worker ends
    when it next reads from its connection."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != server:
            os._exit(1)


def _kill(pid: int) -> None:
    """Kill a worker with everything in its process group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


def _forget_files(kept: int) -> None:
    """Replace inherited sockets, pipes and files opened for writing by /dev/null: when Demeanor closes them, their
    other ends must see it, and their locks must be released."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in [int(path.name) for path in Path("/dev/fd").iterdir()]:
        with contextlib.suppress(OSError):
            mode, flags = os.fstat(fd).st_mode, fcntl.fcntl(fd, fcntl.F_GETFL)
            shared = stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode) or flags & os.O_ACCMODE != os.O_RDONLY
            if fd > 2 and fd not in (kept, null) and shared:
                os.dup2(null, fd)


def _end_with(main: Any) -> None:
    """Run `main` as the whole rest of this process, without the clean-up of the process that it was forked from."""
    code = 1
    try:
        main()
        code = 0
    except OSError:
        code = 0  # the connection is gone: Demeanor has ended
    finally:
        os._exit(code)
