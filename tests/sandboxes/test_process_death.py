"""Every process dies with its attempt, whatever it does to survive, and whichever process is killed."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from demeanor.core.values.errors import WorldError
from demeanor.core.values.process import Limits
from demeanor.core.values.verdict import VoidCause
from demeanor.sandboxes.levels.none import NoneSandbox, NoneSession
from demeanor.sandboxes.supervisor.process_tree import HAS_SUBREAPERS
from tests.helpers.processes import alive, children, command_line
from tests.sandboxes.conftest import SOON, SandboxHarness, wait_until

pytestmark = pytest.mark.skipif(not HAS_SUBREAPERS, reason="whole trees of processes can be ended on Linux only")

DAEMON = """
import os, signal, sys, time
def note(name):
    with open(os.environ["FOLDER"] + "/" + name, "a") as file: file.write(f"{os.getpid()}\\n")
def daemon(life):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0: life()
        os._exit(0)
    os.wait()
def until(condition):
    while not condition(): time.sleep(0.001)
def exists(name): return os.path.exists(os.environ["FOLDER"] + "/" + name)
"""
HEARTBEAT = """
def life():
    while True: note("beat"); time.sleep(0.001)
"""


def forkserver_of(parent: int) -> int:
    """The pid of the fork server that `parent` has started."""

    def found() -> list[int]:  # the list may miss a process while others come and go
        return [pid for pid in children(parent) if "forkserver" in command_line(pid)]

    return wait_until(found)[0]


def test_daemon_in_a_session_of_its_own_dies_when_its_agent_ends(harness: SandboxHarness) -> None:
    """A double fork with setsid is seen beating, then is ended and counted."""
    end = harness.run(harness.python(DAEMON + HEARTBEAT + "daemon(life); until(lambda: exists('beat'))"))
    beats = harness.noted("beat")
    assert (end.exit_code, end.ended_by, end.leftovers) == (0, "exit", 1)
    assert len(beats) >= 1
    assert not alive(beats[0])


def test_daemon_that_forks_itself_anew_all_the_time_dies(harness: SandboxHarness) -> None:
    """It is another process each time one looks; none of them is left."""
    code = "def life():\n    while os.fork() == 0: note('lives')\n    os._exit(0)\n"
    end = harness.run(
        harness.python(DAEMON + code + "for _ in range(20): daemon(life)\nuntil(lambda: exists('lives'))")
    )
    assert len(harness.noted("lives")) >= 1
    assert end.leftovers >= 1


def test_daemons_that_ignore_every_signal_they_can_die(harness: SandboxHarness) -> None:
    """Ten of them, all deaf."""
    code = (
        "def life():\n"
        "    for number in set(signal.Signals) - {9, 19}: signal.signal(number, signal.SIG_IGN)\n"
        "    note('deaf')\n"
        "    while True: signal.pause()\n"
        "for _ in range(10): daemon(life)\n"
        "until(lambda: exists('deaf') and len(open(os.environ['FOLDER'] + '/deaf').readlines()) == 10)\n"
    )
    assert harness.run(harness.python(DAEMON + code)).leftovers == 10
    assert not any(map(alive, harness.noted("deaf")))


def test_agent_that_ignores_term_is_killed_after_the_grace(harness: SandboxHarness) -> None:
    """TERM is sent and ignored; KILL ends it."""
    code = "signal.signal(signal.SIGTERM, lambda *_: note('term'))\nnote('ready')\nwhile True: time.sleep(0.01)"
    end = harness.run_until_quiet(harness.python(DAEMON + code), ready="ready", grace=0.2)
    assert (end.signal, end.exit_code, end.ended_by) == (signal.SIGKILL, None, "idle")
    assert harness.noted("ready") == harness.noted("term")


def test_agent_that_heeds_term_ends_itself_within_the_grace(harness: SandboxHarness) -> None:
    """Its own exit code is kept, and its child got TERM too."""
    code = (
        "if os.fork() == 0:\n"
        "    signal.signal(signal.SIGTERM, lambda *_: (note('child'), os._exit(0)))\n"
        "    note('half')\n"
        "    while True: time.sleep(1)\n"
        "signal.signal(signal.SIGTERM, lambda *_: (os.wait(), os._exit(7)))\n"
        "until(lambda: exists('half'))\n"
        "note('ready')\n"
        "while True: time.sleep(1)\n"
    )
    end = harness.run_until_quiet(harness.python(DAEMON + code), ready="ready")
    assert (end.exit_code, end.ended_by) == (7, "idle")
    assert len(harness.noted("child")) == 1


def test_agent_that_kills_its_own_supervisor_is_ended_and_the_attempt_is_void(harness: SandboxHarness) -> None:
    """Its processes become children of the fork server, which kills them before the attempt ends."""
    code = DAEMON + HEARTBEAT + "daemon(life); until(lambda: exists('beat')); os.kill(os.getppid(), %d); time.sleep(99)"
    for number in (signal.SIGKILL, signal.SIGSTOP):
        with pytest.raises(WorldError, match="supervisor was killed") as failure:
            harness.run(harness.python(code % number))
        assert failure.value.cause is VoidCause.SANDBOX
    assert not any(map(alive, harness.noted("beat")))


def test_an_agent_can_not_stop_its_supervisor(harness: SandboxHarness) -> None:
    """`pkill python` and the like must not void an attempt."""
    code = "import os\nfor number in (1, 2, 3, 15): os.kill(os.getppid(), number)\nprint('still here')"
    assert harness.run(harness.python(code)).stdout.text == "still here\n"


def test_cancelling_ends_everything_before_it_is_raised(harness: SandboxHarness) -> None:
    """Also where the agent ignores TERM and has a daemon, and where one cancels twice."""
    code = DAEMON + HEARTBEAT + "signal.signal(15, signal.SIG_IGN); daemon(life); time.sleep(99)"

    async def body(session: NoneSession) -> None:
        run = session.run(harness.python(code), limits=Limits(wall=SOON), last_activity=lambda: 0.0)
        task = asyncio.create_task(run)
        await asyncio.to_thread(wait_until, lambda: harness.noted("beat"))
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert harness.processes() == []

    harness.in_none(body)
    assert len(harness.noted("beat")) >= 1


@pytest.mark.parametrize("stubborn", [False, True])
def test_cancelling_lets_a_program_say_farewell_where_it_may(harness: SandboxHarness, stubborn: bool) -> None:
    """It tidies up after TERM; one that does not end is killed when its time is over."""
    tidy = "until(lambda: False)" if stubborn else "sys.exit()"
    code = f"{DAEMON}signal.signal(15, lambda *_: [note('tidied'), {tidy}]); note('up'); time.sleep(99)"

    async def body(session: NoneSession) -> None:
        limits = Limits(wall=SOON, farewell=0.3 if stubborn else SOON)
        task = asyncio.create_task(session.run(harness.python(code), limits=limits, last_activity=lambda: 0.0))
        await asyncio.to_thread(wait_until, lambda: harness.noted("up"))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert harness.processes() == []

    harness.in_none(body)
    assert len(harness.noted("tidied")) == 1


def test_killing_demeanor_ends_every_agent_and_removes_the_folders(harness: SandboxHarness) -> None:
    """`kill -9` of the process that drives the sandbox, with an agent and its daemon at work."""
    agent = DAEMON + HEARTBEAT + "signal.signal(15, signal.SIG_IGN); daemon(life); note('agent'); time.sleep(99)"
    driver = (
        "import asyncio, sys; from pathlib import Path; from tests.sandboxes.conftest import SandboxHarness\n"
        "harness = SandboxHarness(Path(sys.argv[1])); harness.mark = sys.argv[2]\n"
        "harness.run(harness.python(sys.argv[3]))\n"
    )
    path = os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])
    env = {"PYTHONPATH": path, "PATH": os.environ["PATH"]}
    place = harness.folder / "driven"
    process = subprocess.Popen([sys.executable, "-c", driver, str(place), harness.mark, agent], env=env)
    try:
        wait_until(lambda: (place / "beat").exists() and (place / "agent").exists())
        assert len(harness.processes()) == 2
        assert any((place / "attempts").iterdir())
    finally:
        process.kill()
        process.wait()
    wait_until(lambda: harness.processes() == [])
    wait_until(lambda: not any((place / "attempts").iterdir()))


def test_a_fork_server_that_was_killed_voids_one_attempt_and_is_restarted(harness: SandboxHarness) -> None:
    """The next run says so instead of hanging; the one after it works."""
    sandbox = NoneSandbox(root=harness.folders)

    async def body(session: NoneSession) -> None:
        forkserver = forkserver_of(os.getpid())
        os.kill(forkserver, signal.SIGKILL)
        wait_until(lambda: not alive(forkserver))
        limits, hello = Limits(wall=SOON), harness.launch("echo", "hello")
        with pytest.raises(WorldError, match="the fork server exited unexpectedly") as failure:
            await session.run(hello, limits=limits, last_activity=lambda: 0.0)
        assert failure.value.cause is VoidCause.SANDBOX
        assert (await session.run(hello, limits=limits, last_activity=lambda: 0.0)).stdout.text == "hello\n"

    harness.in_none(body, sandbox=sandbox)


def test_an_agent_at_work_is_not_disturbed_by_the_death_of_the_fork_server(harness: SandboxHarness) -> None:
    """Its supervisor goes on, and still ends everything."""
    code = DAEMON + HEARTBEAT + "daemon(life); note('agent'); until(lambda: exists('go')); print('done')"

    async def body(session: NoneSession) -> None:
        run = asyncio.create_task(
            session.run(harness.python(code), limits=Limits(wall=SOON), last_activity=lambda: 0.0)
        )
        await asyncio.to_thread(wait_until, lambda: harness.noted("agent"))
        os.kill(forkserver_of(os.getpid()), signal.SIGKILL)
        (harness.folder / "go").touch()
        end = await run
        assert (end.stdout.text, end.leftovers) == ("done\n", 1)

    harness.in_none(body)
