"""The level none: new folders, a clean environment, a snapshot that can't be fooled, and nothing left behind."""

from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path

import pytest

from demeanor.core.trees.tree import Entry, Tree, changes
from demeanor.core.values.errors import WorldError
from demeanor.core.values.ports import CommandResult
from demeanor.core.values.process import Launch, Limits
from demeanor.core.values.verdict import VoidCause
from demeanor.sandboxes.levels.none import NoneSandbox, NoneSession
from tests.helpers.processes import alive
from tests.sandboxes.conftest import SOON, SandboxHarness

LIMITS = Limits(wall=SOON)


async def shell(session: NoneSession, script: str) -> str:
    """The output of a shell script in a session."""
    end = await session.run(Launch(argv=("sh", "-c", script)), limits=LIMITS, last_activity=lambda: 0.0)
    return end.stdout.text


def ask(harness: SandboxHarness, tree: Tree, *argv: str, timeout: float = SOON) -> CommandResult:
    """What a command gives, run in a copy of `tree`."""
    sandbox = NoneSandbox(root=harness.folders)
    try:
        return sandbox.command(tree, argv, timeout=timeout)
    finally:
        assert list(sandbox.folder.iterdir()) == []
        asyncio.run(sandbox.stop())
        assert list(harness.folders.iterdir()) == []


def test_environment_is_the_allow_list_and_nothing_else(
    harness: SandboxHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host's variables stay with the host, but those that were passed by name."""
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("SSL_CERT_FILE", "/etc/ca.pem")
    sandbox = NoneSandbox(root=harness.folders, pass_env=("SSL_CERT_FILE", "NOT_SET"), path="/usr/bin:/bin")
    launch = Launch(argv=("env", "-0"), env={"TOKEN": "a=b\nc", "TERM": "xterm"})

    async def body(session: NoneSession) -> None:
        text = (await session.run(launch, limits=LIMITS, last_activity=lambda: 0.0)).stdout.text
        temp = str(session.home.with_name("tmp"))
        assert dict(item.split("=", 1) for item in text.split("\0")[:-1]) == {
            "PATH": "/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "USER": "agent",
            "HOME": str(session.home),
            "TMPDIR": temp,
            "TMUX_TMPDIR": temp,
            "XDG_CONFIG_HOME": f"{session.home}/.config",
            "XDG_CACHE_HOME": f"{session.home}/.cache",
            "XDG_DATA_HOME": f"{session.home}/.local/share",
            "XDG_STATE_HOME": f"{session.home}/.local/state",
            "SSL_CERT_FILE": "/etc/ca.pem",
            "TOKEN": "a=b\nc",
            "TERM": "xterm",
        }

    harness.in_none(body, sandbox=sandbox)


def test_folders_are_private_and_the_workspace_is_the_current_one(harness: SandboxHarness) -> None:
    """Other users may not enter; HOME contains the adapter's files."""

    async def body(session: NoneSession) -> None:
        session.write_home_files({".config/agent.json": b"{}"})
        assert stat.S_IMODE(session.workspace.parent.stat().st_mode) == 0o700
        assert await shell(session, "pwd -P; cat ~/.config/agent.json; umask") == f"{session.workspace}\n{{}}0022\n"
        with pytest.raises(ValueError, match="leads out"):
            session.write_home_files({"../x": b""})

    harness.in_none(body)


def test_a_snapshot_shows_what_was_added_changed_and_deleted(harness: SandboxHarness) -> None:
    """And shares the entries of what was not touched."""
    tree = harness.snapshot_after(
        harness.launch("sh", "-c", "echo new > a.txt; echo more >> README.md; rm docs/guide.txt")
    )
    found = {change.path: change.how for change in changes(harness.template.tree, tree)}
    assert found == {"a.txt": "added", "README.md": "changed", "docs/guide.txt": "deleted"}
    assert tree.entries["README.md"].read() == b"# Notes\nmore\n"
    untouched = harness.snapshot_after(harness.launch("true"))
    assert all(entry is harness.template.tree.entries[path] for path, entry in untouched.entries.items())


def test_change_that_hides_behind_size_and_date_is_seen(harness: SandboxHarness) -> None:
    """Same size, same modification time, another content."""
    script = "touch -r README.md ../date; printf '# Votes\\n' > README.md; touch -r ../date README.md"
    tree = harness.snapshot_after(harness.launch("sh", "-c", script))
    assert tree.entries["README.md"].read() == b"# Votes\n"


def test_file_modes_and_dates_are_kept_in_the_copy(harness: SandboxHarness) -> None:
    """A program stays executable, a date stays a date."""
    script = harness.template.folder / "run.sh"
    script.write_text("#!/bin/sh\necho ran\n")
    script.chmod(0o777)
    os.utime(script, (1_000_000_000, 1_000_000_000))
    (harness.template.folder / "link").symlink_to("README.md")
    end = harness.run(harness.launch("sh", "-c", "./run.sh; stat -c '%a %Y' run.sh; readlink link"))
    assert end.stdout.text == "ran\n777 1000000000\nREADME.md\n"


def test_two_sessions_share_nothing(harness: SandboxHarness) -> None:
    """At the same time, and one after the other in the same place."""
    dirty = (
        "echo $0 > mine; echo $0 > ~/mine; echo $0 > $TMPDIR/mine; echo $0 > README.md; echo $0 > ../mine; mkdir -p d/e"
    )
    look = "cat README.md; ls -A . ~ $TMPDIR ..; git status 2>&1 | head -c 5"

    async def main() -> None:
        sandbox = NoneSandbox(root=harness.folders)
        async with sandbox.open_session(harness.template) as first, sandbox.open_session(harness.template) as second:
            assert not {first.workspace, first.home} & {second.workspace, second.home}
            clean = await shell(second, look)
            await shell(first, dirty)
            assert await shell(second, look) == clean
            used = {first.workspace, second.workspace}
        for _ in range(4):
            async with sandbox.open_session(harness.template) as later:
                assert later.workspace not in used
                used.add(later.workspace)
                assert (await shell(later, look)).replace(str(later.home.parent), "") == clean.replace(
                    str(second.home.parent), ""
                )
                await shell(later, dirty)
        await sandbox.stop()

    asyncio.run(main())
    assert list(harness.folders.iterdir()) == []


def test_what_an_agent_locked_or_nested_is_read_and_removed_all_the_same(harness: SandboxHarness) -> None:
    """Folders without any permission, read-only ones, and two hundred folders inside each other."""
    script = (
        "mkdir locked; echo x > locked/x; chmod 000 locked/x locked; mkdir sealed; echo y > sealed/y; chmod 555 sealed;"
        "i=0; while [ $i -lt 200 ]; do mkdir deep; cd deep; i=$((i+1)); done"
    )
    tree = harness.snapshot_after(harness.launch("sh", "-c", script))
    assert tree.entries["locked/x"].read() == b"x\n"
    assert tree.entries["sealed/y"].read() == b"y\n"
    assert any("too deep" in gap for gap in tree.gaps)


def test_workspace_that_was_replaced_by_a_link_is_not_followed(harness: SandboxHarness) -> None:
    """Neither the workspace's own name nor the attempt's folder leads the snapshot or the removal elsewhere."""
    secret = harness.folder / "elsewhere/workspace/secret"
    secret.parent.mkdir(parents=True)
    secret.touch(mode=0o400)
    for script in (
        "cd ..; rm -rf workspace; ln -s $FOLDER/elsewhere/workspace workspace",
        "place=$(dirname $PWD); mv $place $FOLDER/gone; ln -s $FOLDER/elsewhere $place; kill -9 $$",
    ):
        tree = harness.snapshot_after(harness.launch("sh", "-c", script))
        assert (dict(tree.entries), len(tree.gaps)) == ({}, 1)
    assert stat.S_IMODE(secret.stat().st_mode) == 0o400


def test_folders_of_an_attempt_that_did_not_end_cleanly_are_removed_at_once(harness: SandboxHarness) -> None:
    """A daemon was left, or a limit was met: nothing of it is used again."""

    async def main() -> None:
        sandbox = NoneSandbox(root=harness.folders)
        for argv, wall, left in (
            (("sh", "-c", "setsid sleep 99 &"), SOON, 0),
            (("sleep", "99"), 0.0, 0),
            (("true",), SOON, 1),
        ):
            async with sandbox.open_session(harness.template) as session:
                await session.run(harness.launch(*argv), limits=Limits(wall=wall), last_activity=lambda: 0.0)
            assert len(list(sandbox.folder.iterdir())) == left
        await sandbox.stop()

    asyncio.run(main())


def test_many_files_are_in_the_snapshot_and_removed(harness: SandboxHarness) -> None:
    """More than are dealt with at once."""
    tree = harness.snapshot_after(harness.launch("sh", "-c", "seq 1000 | xargs touch"))
    assert len(tree.entries) == 1002


def test_command_runs_in_a_copy_that_is_thrown_away(harness: SandboxHarness) -> None:
    """It sees the tree, may change it, and changes nothing."""
    tree = Tree(
        entries={"a/b.txt": Entry(kind="file", size=2, content=b"hi"), "l": Entry(kind="link", target="a/b.txt")}
    )
    result = ask(harness, tree, "sh", "-c", "cat l; rm -r a; echo $HOME >&2; exit 4")
    assert (result.exit_code, result.stdout, result.timed_out) == (4, "hi", False)
    assert result.stderr.startswith(str(harness.folders))


def test_command_that_takes_too_long_is_ended_with_its_daemons(harness: SandboxHarness) -> None:
    """Its time is over at once; what it printed is kept."""
    started = f"setsid sh -c 'echo $$ > $0/daemon; exec sleep 99' {harness.folder} & echo hello; sleep 99"
    result = ask(harness, Tree(), "sh", "-c", started, timeout=5.0)
    assert (result.timed_out, result.stdout) == (True, "hello\n")
    assert not alive((harness.folder / "daemon").read_text().strip())


def test_command_that_is_missing_or_killed_by_a_signal_is_reported(harness: SandboxHarness) -> None:
    """A missing program voids; a signal is a negative exit code."""
    with pytest.raises(WorldError, match="no-such-linter: not found") as failure:
        ask(harness, Tree(), "no-such-linter")
    assert failure.value.cause is VoidCause.MISSING
    assert ask(harness, Tree(), "sh", "-c", "kill -9 $$").exit_code == -9


def test_commands_run_beside_agents_from_several_threads(harness: SandboxHarness) -> None:
    """Each gets its own answer."""

    async def main() -> None:
        sandbox = NoneSandbox(root=harness.folders)
        async with sandbox.open_session(harness.template) as session:
            questions = [asyncio.to_thread(sandbox.command, Tree(), ("echo", str(n)), timeout=SOON) for n in range(8)]
            *answers, agent = await asyncio.gather(*questions, shell(session, "echo agent"))
        assert [answer.stdout for answer in answers] == [f"{n}\n" for n in range(8)]
        assert agent == "agent\n"
        await sandbox.stop()

    asyncio.run(main())


def test_nothing_is_left_open(harness: SandboxHarness) -> None:
    """No descriptor leaks, whether attempts end well or badly."""
    before = len(list(Path("/proc/self/fd").iterdir()))
    harness.run(harness.launch("echo", "hi"))
    harness.run(harness.launch("sleep", "99"), wall=0.0)
    with pytest.raises(WorldError):
        harness.run(Launch(argv=("no-such-agent",)))
    with pytest.raises(WorldError):
        harness.run(Launch(argv=("echo", "\0")))
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_workspace_that_can_not_be_created_is_void_and_leaves_nothing(harness: SandboxHarness) -> None:
    """A large file of the template is gone when the second attempt needs it."""
    large = harness.template.folder / "large"
    large.write_bytes(bytes(100_000))

    async def main() -> None:
        sandbox = NoneSandbox(root=harness.folders)
        async with sandbox.open_session(harness.template) as session:
            assert await shell(session, "wc -c < large") == "100000\n"
        large.unlink()
        with pytest.raises(WorldError, match="can't create the workspace") as failure:
            async with sandbox.open_session(harness.template):
                pass
        assert failure.value.cause is VoidCause.SANDBOX
        assert list(sandbox.folder.iterdir()) == []
        await sandbox.stop()

    asyncio.run(main())


def test_cancelling_while_a_session_is_opened_leaves_nothing(harness: SandboxHarness) -> None:
    """Many files are being copied in a thread, which is waited for."""
    for number in range(800):
        (harness.template.folder / str(number)).touch()

    async def main() -> None:
        sandbox = NoneSandbox(root=harness.folders)
        task = asyncio.create_task(sandbox.open_session(harness.template).__aenter__())
        while not list(sandbox.folder.iterdir()):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert list(sandbox.folder.iterdir()) == []
        await sandbox.stop()

    asyncio.run(main())


def test_folder_that_can_not_be_created_is_reported(harness: SandboxHarness) -> None:
    """The root is not there: void, not a crash."""

    async def main() -> None:
        await NoneSandbox(root=harness.folder / "nowhere").start()

    with pytest.raises(WorldError, match="can't create a folder for sandboxes") as failure:
        asyncio.run(main())
    assert failure.value.cause is VoidCause.SANDBOX
