"""One program: how it is started, what it prints, how long it may take, how it ended."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import socket
import sys
import time

import pytest

from demeanor.core.values.errors import WorldError
from demeanor.core.values.process import Launch, Limits, ProcessEnd
from demeanor.core.values.verdict import VoidCause
from demeanor.sandboxes.host.process import SupervisedProcess, supervise, supervise_blocking
from demeanor.sandboxes.levels.none import NoneSession
from tests.helpers.processes import alive
from tests.sandboxes.conftest import SOON, SandboxHarness, wait_until


def failure(harness: SandboxHarness, *argv: str, env: dict[str, str] | None = None) -> WorldError:
    """Why a program can't be started."""
    with pytest.raises(WorldError) as caught:
        harness.run(Launch(argv=argv, env=env or {}))
    return caught.value


def test_exit_code_stdout_and_stderr_are_kept_apart(harness: SandboxHarness) -> None:
    """An ordinary end."""
    end = harness.run(harness.launch("sh", "-c", "echo out; echo err >&2; exit 3"))
    assert (end.exit_code, end.signal, end.ended_by, end.leftovers) == (3, None, "exit", 0)
    assert (end.stdout.text, end.stderr.text) == ("out\n", "err\n")
    assert 0 < end.seconds < SOON


def test_signal_that_ended_a_program_is_reported(harness: SandboxHarness) -> None:
    """An end by signal has no exit code."""
    end = harness.run(harness.launch("sh", "-c", "kill -SEGV $$"))
    assert (end.exit_code, end.signal, end.ended_by) == (None, signal.SIGSEGV, "exit")


def test_arguments_arrive_verbatim(harness: SandboxHarness) -> None:
    """Quotes, newlines, dollars, a leading dash, nothing at all: there is no shell in between."""
    words = ('it\'s "quoted"', "two\nlines\n", "-rf", "--help", "$HOME `id` \\", "", "ünïcödé 🐚", " ")
    code = "import sys; sys.stdout.buffer.write(b'\\0'.join(map(__import__('os').fsencode, sys.argv[1:])))"
    end = harness.run(harness.launch(sys.executable, "-c", code, *words))
    assert tuple(end.stdout.text.split("\0")) == words


def test_standard_input_is_empty(harness: SandboxHarness) -> None:
    """A program that asks gets no answer, and does not wait for one."""
    assert harness.run(harness.launch("sh", "-c", "read line || echo nobody")).stdout.text == "nobody\n"


def test_nothing_but_three_streams_is_open(harness: SandboxHarness) -> None:
    """No descriptor of Demeanor reaches an agent, and it leads a session of its own."""
    code = "import os; print(sorted(map(int, os.listdir('/proc/self/fd')))[:-1], os.getsid(0) == os.getpid())"
    assert harness.run(harness.python(code)).stdout.text == "[0, 1, 2] True\n"


def test_signals_are_as_usual_for_an_agent(harness: SandboxHarness) -> None:
    """What its supervisor ignores or blocks, it does not inherit."""
    shown = harness.run(harness.launch("grep", "-E", "Sig(Blk|Ign)", "/proc/self/status")).stdout.text.split()
    assert [int(mask, 16) & 0x7FFFFFFF for mask in shown[1::2]] == [0, 0]


def test_missing_program_is_named_with_the_remedy(harness: SandboxHarness) -> None:
    """The trial is void, not failed."""
    error = failure(harness, "no-such-agent", "-p", "hi")
    assert (error.cause, "no-such-agent: not found" in error.detail) == (VoidCause.MISSING, True)
    assert failure(harness, "/no/such/agent").cause is VoidCause.MISSING
    assert failure(harness, "sh", env={"PATH": "/no/such/folder"}).cause is VoidCause.MISSING


def test_file_that_is_not_executable_is_distinguished_from_a_missing_one(harness: SandboxHarness) -> None:
    """Not executable; a folder; text without a first line that says who reads it."""
    plain, script = harness.folder / "plain", harness.folder / "script"
    plain.write_text("hello")
    script.write_text("hello")
    script.chmod(0o755)
    assert "is not executable" in failure(harness, str(plain)).detail
    assert "is not executable" in failure(harness, "plain", env={"PATH": str(harness.folder)}).detail
    assert "is not a program" in failure(harness, str(script)).detail
    assert failure(harness, str(harness.folder)).cause is VoidCause.MISSING


def test_arguments_that_are_too_long_are_reported(harness: SandboxHarness) -> None:
    """The system's own limit, not a hang and not a crash."""
    error = failure(harness, "echo", "x" * 3_000_000)
    assert (error.cause, "too long" in error.detail) == (VoidCause.HARNESS, True)


def test_long_arguments_arrive(harness: SandboxHarness) -> None:
    """A megabyte in many words, which takes more than one piece to hand over."""
    end = harness.run(harness.launch("sh", "-c", "echo $#", "sh", *(["word" * 2500] * 100)))
    assert end.stdout.text == "100\n"


def test_arguments_that_no_program_can_be_given_are_refused(harness: SandboxHarness) -> None:
    """A NUL would end the argument, and begin another."""
    assert "NUL" in failure(harness, "echo", "a\0PATH=/evil").detail
    assert "not valid Unicode" in failure(harness, "echo", "\ud800").detail


def test_hundred_megabytes_of_output_cost_little_memory(harness: SandboxHarness) -> None:
    """The first and the last half are kept; the rest is counted."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    end = harness.run(harness.launch("sh", "-c", "echo first; head -c 100000000 /dev/zero | tr '\\0' x; echo last"))
    assert end.stdout.total_bytes == 100_000_011
    assert end.stdout.text.startswith("first\nxxx")
    assert end.stdout.text.endswith("xxxlast\n")
    assert end.stdout.left_out == 100_000_011 - Limits(wall=1).output_bytes
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 40_000


def test_what_was_printed_last_is_not_lost(harness: SandboxHarness) -> None:
    """A megabyte is in the pipe, and the program is reaped, before anything is read."""
    note = harness.folder / "pid"
    fill = "import fcntl, os; fcntl.fcntl(1, 1031, 2**20); os.write(1, b'x' * 10**6); "
    code = fill + f"open({str(note)!r}, 'w').write(str(os.getpid()))"

    def reaped() -> bool:
        return note.exists() and not alive(note.read_text()) and not harness.processes()

    async def body(session: NoneSession) -> int:
        run = asyncio.create_task(
            session.run(harness.python(code), limits=Limits(wall=SOON), last_activity=lambda: 0.0)
        )
        await asyncio.sleep(0)
        wait_until(reaped)
        return (await run).stdout.total_bytes

    assert harness.in_none(body) == 10**6


class Reported:
    """A starter whose supervisor has reported before anybody looks."""

    def launch(self, message: bytes, fds: tuple[int, int]) -> socket.socket:
        """A control socket that holds the report."""
        ours, theirs = socket.socketpair()
        with theirs:
            os.write(fds[0], b"done\n")
            theirs.sendall(b"end 0 0 0.0 0\n")
        ours.setblocking(False)
        return ours

    def receive(self, control: socket.socket) -> bytes:
        """The report."""
        return control.recv(256)

    def release(self, control: socket.socket, *, clean: bool) -> None:
        """It is used once."""
        control.close()


@pytest.mark.parametrize("blocking", [False, True])
def test_a_program_that_ended_in_time_did_not_time_out(blocking: bool) -> None:
    """Also where we come to look at the clock and at the report only after its time is over."""
    program = SupervisedProcess(Reported(), b"", argv=("echo",), limits=Limits(wall=0.0))
    try:
        end = supervise_blocking(program) if blocking else asyncio.run(supervise(program, time.monotonic))
    finally:
        program.close()
    assert (end.ended_by, end.exit_code, end.stdout.text) == ("exit", 0, "done\n")


def test_activity_is_asked_for_without_an_idle_limit(harness: SandboxHarness) -> None:
    """The caller learns from the last call whether the provider was silent when the time ran out."""
    calls: list[float] = []

    def last_activity() -> float:
        calls.append(time.monotonic())
        return 0.0

    async def body(session: NoneSession) -> ProcessEnd:
        return await session.run(
            harness.launch("sleep", "99"), limits=Limits(wall=0.5, grace=0.0), last_activity=last_activity
        )

    started = time.monotonic()
    assert harness.in_none(body).ended_by == "wall"
    assert calls[-1] >= started + 0.5


def test_output_that_is_no_text_does_not_hurt(harness: SandboxHarness) -> None:
    """Bytes that are not UTF-8 are shown as escapes."""
    assert harness.run(harness.launch("printf", r"caf\351 \377\n")).stdout.text == "caf\\xe9 \\xff\n"


def test_program_that_closes_its_streams_and_lives_on_is_ended_by_the_clock(harness: SandboxHarness) -> None:
    """The end of output is not the end."""
    code = (
        "import os, time; print('hi', flush=True); os.close(1); os.close(2); os.mkdir(os.environ['FOLDER'] + '/closed')"
    )
    end = harness.run_until_quiet(harness.python(f"{code}; time.sleep(99)"), ready="closed")
    assert (end.ended_by, end.signal, end.stdout.text) == ("idle", signal.SIGTERM, "hi\n")


def test_daemon_that_holds_the_output_open_does_not_delay_the_end(harness: SandboxHarness) -> None:
    """The agent has ended; what its daemon might still say is not waited for."""
    end = harness.run(harness.launch("sh", "-c", "setsid sleep 99 & echo done"))
    assert (end.stdout.text, end.leftovers, end.ended_by) == ("done\n", 1, "exit")


def test_silence_ends_a_program_where_that_is_asked_for(harness: SandboxHarness) -> None:
    """It spoke, then fell silent."""
    end = harness.run_until_quiet(
        harness.launch("sh", "-c", "echo hello; mkdir $FOLDER/said; exec sleep 99"), ready="said"
    )
    assert (end.ended_by, end.signal, end.stdout.text) == ("idle", signal.SIGTERM, "hello\n")


def test_output_or_model_traffic_is_no_silence(harness: SandboxHarness) -> None:
    """One program that speaks more often than the limit, and one that does so with its model."""
    talk = harness.launch("sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do echo $i; sleep 0.2; done")
    assert harness.run(talk, idle=1.5).ended_by == "exit"

    async def body(session: NoneSession) -> str:
        limits = Limits(wall=SOON, idle=0.1)
        return (await session.run(harness.launch("sleep", "0.4"), limits=limits, last_activity=time.monotonic)).ended_by

    assert harness.in_none(body) == "exit"


def test_no_time_left_ends_a_program_at_once(harness: SandboxHarness) -> None:
    """A limit of nothing is a limit too."""
    assert harness.run(harness.launch("sleep", "99"), wall=0.0).ended_by == "wall"


def test_what_a_tree_of_processes_used_is_counted(harness: SandboxHarness) -> None:
    """CPU time of a grandchild, and memory of the largest."""
    child = "x = bytearray(60_000_000); sum(range(4_000_000))"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', '{child}'])"
    end = harness.run(harness.python(code))
    assert end.cpu_seconds > 0.05
    assert 60_000_000 < end.peak_bytes < 200_000_000


def test_workspace_that_is_gone_is_no_missing_program(harness: SandboxHarness) -> None:
    """An agent removed the folder that its second turn should start in."""

    async def body(session: NoneSession) -> None:
        limits = Limits(wall=SOON)
        await session.run(harness.launch("sh", "-c", "rm -rf ../workspace"), limits=limits, last_activity=lambda: 0.0)
        with pytest.raises(WorldError, match="can't change to the workspace"):
            await session.run(harness.launch("true"), limits=limits, last_activity=lambda: 0.0)

    harness.in_none(body)
