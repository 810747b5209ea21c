"""Runs checks in worker processes that can be killed, under a time limit.

The server is forked before Demeanor starts threads and services, with all evals in memory. It forks workers on demand;
they are reused for further attempts, and killed with everything they started if a check exceeds its time. A worker
answers about a copy of the evidence, so no check can alter what is stored.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from demeanor.core.trees.temp_names import temp_prefix
from demeanor.core.values.errors import WorldError
from demeanor.core.values.eval import Eval
from demeanor.core.values.evidence import Evidence
from demeanor.core.values.judge_question import AskJudge
from demeanor.core.values.ports import RunCommand
from demeanor.core.values.scenario import Setup
from demeanor.core.values.verdict import VoidCause
from demeanor.judge.answers import Blame, CheckAnswer, Rehearsals, blame_of
from demeanor.judge.check_answers import title
from demeanor.judge.check_channel import REQUESTS, Channel, Message, answer_request, packed
from demeanor.judge.check_conversation import SETUP_SECONDS, CheckConversation, receive, send_all
from demeanor.judge.check_forkserver import KILL, REQUEST, SPAWN, end_with, serve
from demeanor.judge.check_worker import set_up_here
from demeanor.judge.opinion import no_judge


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
        self._first: socket.socket | None = None
        self._lock = threading.Lock()
        self._closed = False
        self._blame: dict[tuple[str, int], Blame] = {}
        self._blaming = threading.Lock()
        self._control, theirs = socket.socketpair()
        by_name = {eval_.name: eval_ for eval_ in evals}
        self._setups = {
            id(eval_.scenario.setup): name for name, eval_ in by_name.items() if eval_.scenario.setup is not None
        }
        sys.stdout.flush()
        sys.stderr.flush()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # other threads, if any, are not needed in the child
            self._pid = os.fork()
        if self._pid == 0:
            self._control.close()
            end_with(lambda: serve(theirs, by_name, rehearsals))
        theirs.close()
        self._first = self._ask_for_worker()

    def ask(
        self,
        evidence: Evidence,
        eval: Eval,  # noqa: A002
        run_command: RunCommand,
        ask_judge: AskJudge = no_judge,
    ) -> tuple[CheckAnswer, ...]:
        """Ask all checks of an eval about some evidence."""
        answers: list[CheckAnswer] = []
        while left := tuple(range(len(answers), len(eval.checks))):
            try:
                answers += self._job(("judge", eval.name, left, evidence), eval, left, run_command, evidence, ask_judge)
            except WorldError as error:
                answers += _troubled(eval, left, error)
        return tuple(answers)

    def ask_user(self, evidence: Evidence, eval: Eval, run_command: RunCommand) -> CheckAnswer:  # noqa: A002
        """Call the function of an eval's user."""
        (answer,) = self._job(("reply", eval.name, (0,), evidence), eval, (0,), run_command, evidence)
        return replace(answer, check="the user's function")

    async def ask_in_loop(
        self,
        evidence: Evidence,
        eval: Eval,  # noqa: A002
        run_command: RunCommand,
        ask_judge: AskJudge = no_judge,
    ) -> tuple[CheckAnswer, ...]:
        """The same in the event loop, which goes on meanwhile. For evidence that is quickly sent."""
        answers: list[CheckAnswer] = []
        while left := tuple(range(len(answers), len(eval.checks))):
            try:
                conversation = CheckConversation(eval, left, self._limit)
                request = ("judge", eval.name, left, evidence)
                answers += await self._converse(conversation, request, evidence, run_command, ask_judge)
            except WorldError as error:
                answers += _troubled(eval, left, error)
        return tuple(answers)

    async def _converse(
        self,
        conversation: CheckConversation,
        job: Message,
        evidence: Evidence,
        run_command: RunCommand,
        ask_judge: AskJudge,
    ) -> list[CheckAnswer]:
        worker, answers = self._acquire(), list[CheckAnswer]()
        channel = worker.channel
        try:
            channel.socket.setblocking(False)
            await send_all(channel, packed(*job), conversation)
            while not conversation.over:
                message = await receive(channel, conversation)
                if message[0] in REQUESTS:
                    channel.socket.settimeout(self._limit)
                    await asyncio.to_thread(answer_request, channel, message, evidence, run_command, ask_judge)
                    channel.socket.setblocking(False)
                answers += conversation.take(message)
        except TimeoutError:
            answers.append(conversation.late())
        except (EOFError, OSError):
            if self._closed:
                raise ChecksStopped from None
            answers.append(conversation.ended())
        finally:
            self._release(worker, well=conversation.over)
        return answers

    def find_blame(self, eval: Eval, number: int, run_command: RunCommand) -> Blame:  # noqa: A002
        """Whether a check that crashed on what an agent left also crashes on the eval's own rehearsals."""
        if not eval.passes_on and not eval.fails_on:
            return "unknown"
        with self._blaming:
            key = (eval.name, number)
            if key not in self._blame:
                with tempfile.TemporaryDirectory(prefix=temp_prefix()) as folder:
                    job = ("rehearse", eval.name, (number,), folder)
                    self._blame[key] = blame_of(list(self._job(job, eval, (number,), run_command, None)))
            return self._blame[key]

    def set_up(self, setup: Setup, folder: Path) -> str | None:
        """Call the `setup` of an eval in a worker; what it changes besides `folder` stays there. Returns the problem.

        What it prints goes to standard error.
        """
        name = self._setups.get(id(setup))
        return set_up_here(setup, folder) if name is None else self._problem("set up", name, str(folder))

    def fixture_problem(self, eval: Eval) -> str | None:  # noqa: A002
        """Why the pytest fixtures that the checks of an eval take can't be used; None if all of them are known."""
        return self._problem("fixtures", eval.name, None)

    def _problem(self, job: str, name: str, payload: str | None) -> str | None:
        """Let a worker do something for an eval, and return what went wrong."""
        worker, well = self._acquire(), False
        problem: str | None = None
        try:
            worker.channel.socket.settimeout(SETUP_SECONDS)
            worker.channel.send(job, name, (), payload)
            while not well:
                what, *rest = worker.channel.receive()
                if what == "print":
                    sys.stderr.write(rest[0])
                problem = rest[0] if what == "problem" else problem
                well = what == "done"
        except TimeoutError:
            problem = f"did not end within {SETUP_SECONDS:g} s"
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
            if self._first is not None:
                self._first.close()
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
        conversation = CheckConversation(eval, numbers, self._limit)
        worker = self._acquire()
        try:
            worker.channel.socket.settimeout(self._limit)
            worker.channel.send(*job)
            while not conversation.over:
                worker.channel.socket.settimeout(conversation.seconds_left())
                message = worker.channel.receive()
                if message[0] in REQUESTS:
                    answer_request(worker.channel, message, evidence, run_command, ask_judge)
                yield from conversation.take(message)
        except TimeoutError:
            yield conversation.late()
        except (EOFError, OSError):
            if self._closed:
                raise ChecksStopped from None
            yield conversation.ended()
        finally:
            self._release(worker, well=conversation.over)

    def _acquire(self) -> _Worker:
        with self._lock:
            if self._closed:
                raise ChecksStopped
            worker = self._idle.pop() if self._idle else self._new_worker()
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
                self._send(KILL, worker.pid)
                self._answer()

    def _new_worker(self) -> _Worker:
        """The worker that was asked for at the start, which is ready by now, or a further one."""
        ours, self._first = self._ask_for_worker() if self._first is None else self._first, None
        return _Worker(self._answer(), Channel(ours))

    def _ask_for_worker(self) -> socket.socket:
        """Let the server fork a worker, whose process id is its next answer; returns the connection to the worker."""
        ours, theirs = socket.socketpair()
        with theirs:
            self._send(SPAWN, 0, theirs.fileno())
        return ours

    def _send(self, what: bytes, pid: int, *fds: int) -> None:
        with contextlib.suppress(OSError):  # then there is no answer either
            socket.send_fds(self._control, [REQUEST.pack(what, pid)], fds)

    def _answer(self) -> int:
        """Wait until the server has forked or killed a worker; returns its process id."""
        try:
            data = self._control.recv(REQUEST.size, socket.MSG_WAITALL)
        except OSError:
            data = b""
        if len(data) != REQUEST.size:
            raise WorldError(VoidCause.HARNESS, "the server of check processes ended unexpectedly")
        number: int = REQUEST.unpack(data)[1]
        return number


def _troubled(eval: Eval, numbers: tuple[int, ...], error: WorldError) -> list[CheckAnswer]:  # noqa: A002
    """The answers of checks that could not be asked."""
    trouble = (error.cause, error.detail)
    return [CheckAnswer(check=title(eval.checks[number]), trouble=trouble) for number in numbers]
