"""The local sandbox: fresh folders, a clean environment, a harvest that nothing can fool, and nothing left behind."""

from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path

import pytest

from demeanor.core.errors import WorldError
from demeanor.core.ports import CommandResult
from demeanor.core.process import Launch, Limits
from demeanor.core.tree import Entry, Tree, changes
from demeanor.core.verdict import VoidCause
from demeanor.sandboxes.levels.none import NoneSandbox, NoneSession
from tests.sandboxes.conftest import SOON, Lab

LIMITS = Limits(wall=SOON)


async def shell(session: NoneSession, script: str) -> str:
    """What a shell script prints on a bench."""
    end = await session.run(Launch(argv=("sh", "-c", script)), limits=LIMITS, last_activity=lambda: 0.0)
    return end.stdout.text


def ask(lab: Lab, tree: Tree, *argv: str, timeout: float = SOON) -> CommandResult:
    """What a command gives, run in a copy of `tree`."""
    sandbox = NoneSandbox(root=lab.folders)
    try:
        return sandbox.command(tree, argv, timeout=timeout)
    finally:
        assert list(sandbox.folder.iterdir()) == []
        asyncio.run(sandbox.stop())
        assert list(lab.folders.iterdir()) == []


def test_environment_is_the_allow_list_and_nothing_else(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The host's variables stay with the host, but those that were passed by name."""
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("SSL_CERT_FILE", "/etc/ca.pem")
    sandbox = NoneSandbox(root=lab.folders, pass_env=("SSL_CERT_FILE", "NOT_SET"), path="/usr/bin:/bin")
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

    lab.in_none(body, sandbox=sandbox)


def test_folders_are_private_and_the_workspace_is_the_current_one(lab: Lab) -> None:
    """Nobody else may look in; HOME holds what the adapter laid there."""

    async def body(session: NoneSession) -> None:
        session.write_home_files({".config/agent.json": b"{}"})
        assert stat.S_IMODE(session.workspace.parent.stat().st_mode) == 0o700
        assert await shell(session, "pwd -P; cat ~/.config/agent.json; umask") == f"{session.workspace}\n{{}}0022\n"
        with pytest.raises(ValueError, match="leads out"):
            session.write_home_files({"../x": b""})

    lab.in_none(body)


def test_harvest_tells_what_was_added_changed_and_deleted(lab: Lab) -> None:
    """And shares the entries of what was not touched."""
    tree = lab.snapshot_after(lab.launch("sh", "-c", "echo new > a.txt; echo more >> README.md; rm docs/guide.txt"))
    found = {change.path: change.how for change in changes(lab.template.tree, tree)}
    assert found == {"a.txt": "added", "README.md": "changed", "docs/guide.txt": "deleted"}
    assert tree.entries["README.md"].read() == b"# Notes\nmore\n"
    untouched = lab.snapshot_after(lab.launch("true"))
    assert all(entry is lab.template.tree.entries[path] for path, entry in untouched.entries.items())


def test_change_that_hides_behind_size_and_date_is_seen(lab: Lab) -> None:
    """Same size, same modification time, another content."""
    script = "touch -r README.md ../date; printf '# Votes\\n' > README.md; touch -r ../date README.md"
    tree = lab.snapshot_after(lab.launch("sh", "-c", script))
    assert tree.entries["README.md"].read() == b"# Votes\n"


def test_file_modes_and_dates_are_kept_in_the_copy(lab: Lab) -> None:
    """A program stays executable, a date stays a date."""
    script = lab.template.folder / "run.sh"
    script.write_text("#!/bin/sh\necho ran\n")
    script.chmod(0o777)
    os.utime(script, (1_000_000_000, 1_000_000_000))
    (lab.template.folder / "link").symlink_to("README.md")
    end = lab.run(lab.launch("sh", "-c", "./run.sh; stat -c '%a %Y' run.sh; readlink link"))
    assert end.stdout.text == "ran\n777 1000000000\nREADME.md\n"


def test_two_benches_share_nothing(lab: Lab) -> None:
    """At the same time, and one after the other in the same place."""
    dirty = (
        "echo $0 > mine; echo $0 > ~/mine; echo $0 > $TMPDIR/mine; echo $0 > README.md; echo $0 > ../mine; mkdir -p d/e"
    )
    look = "cat README.md; ls -A . ~ $TMPDIR ..; git status 2>&1 | head -c 5"

    async def main() -> None:
        sandbox = NoneSandbox(root=lab.folders)
        async with sandbox.open_session(lab.template) as first, sandbox.open_session(lab.template) as second:
            assert not {first.workspace, first.home} & {second.workspace, second.home}
            clean = await shell(second, look)
            await shell(first, dirty)
            assert await shell(second, look) == clean
            used = {first.workspace, second.workspace}
        for _ in range(4):
            async with sandbox.open_session(lab.template) as later:
                assert later.workspace not in used
                used.add(later.workspace)
                assert (await shell(later, look)).replace(str(later.home.parent), "") == clean.replace(
                    str(second.home.parent), ""
                )
                await shell(later, dirty)
        await sandbox.stop()

    asyncio.run(main())
    assert list(lab.folders.iterdir()) == []


def test_what_an_agent_locked_or_buried_is_read_and_removed_all_the_same(lab: Lab) -> None:
    """Folders without any permission, read-only ones, and two hundred folders inside each other."""
    script = (
        "mkdir locked; echo x > locked/x; chmod 000 locked/x locked; mkdir sealed; echo y > sealed/y; chmod 555 sealed;"
        "i=0; while [ $i -lt 200 ]; do mkdir deep; cd deep; i=$((i+1)); done"
    )
    tree = lab.snapshot_after(lab.launch("sh", "-c", script))
    assert tree.entries["locked/x"].read() == b"x\n"
    assert tree.entries["sealed/y"].read() == b"y\n"
    assert any("too deep" in gap for gap in tree.gaps)


def test_workspace_that_was_replaced_by_a_link_is_not_followed(lab: Lab) -> None:
    """Neither the workspace's own name nor the attempt's folder leads the harvest or the removal elsewhere."""
    secret = lab.folder / "elsewhere/workspace/secret"
    secret.parent.mkdir(parents=True)
    secret.touch(mode=0o400)
    for script in (
        "cd ..; rm -rf workspace; ln -s $LAB/elsewhere/workspace workspace",
        "place=$(dirname $PWD); mv $place $LAB/gone; ln -s $LAB/elsewhere $place; kill -9 $$",
    ):
        tree = lab.snapshot_after(lab.launch("sh", "-c", script))
        assert (dict(tree.entries), len(tree.gaps)) == ({}, 1)
    assert stat.S_IMODE(secret.stat().st_mode) == 0o400


def test_place_of_an_attempt_that_did_not_end_in_peace_is_removed_at_once(lab: Lab) -> None:
    """A daemon was left, or a limit was met: nothing of it is used again."""

    async def main() -> None:
        sandbox = NoneSandbox(root=lab.folders)
        for argv, wall, left in (
            (("sh", "-c", "setsid sleep 99 &"), SOON, 0),
            (("sleep", "99"), 0.0, 0),
            (("true",), SOON, 1),
        ):
            async with sandbox.open_session(lab.template) as session:
                await session.run(lab.launch(*argv), limits=Limits(wall=wall), last_activity=lambda: 0.0)
            assert len(list(sandbox.folder.iterdir())) == left
        await sandbox.stop()

    asyncio.run(main())


def test_many_files_are_harvested_and_removed(lab: Lab) -> None:
    """More than are dealt with at once."""
    tree = lab.snapshot_after(lab.launch("sh", "-c", "seq 1000 | xargs touch"))
    assert len(tree.entries) == 1002


def test_command_runs_in_a_copy_that_is_thrown_away(lab: Lab) -> None:
    """It sees the tree, may change it, and changes nothing."""
    tree = Tree(
        entries={"a/b.txt": Entry(kind="file", size=2, content=b"hi"), "l": Entry(kind="link", target="a/b.txt")}
    )
    result = ask(lab, tree, "sh", "-c", "cat l; rm -r a; echo $HOME >&2; exit 4")
    assert (result.exit_code, result.stdout, result.timed_out) == (4, "hi", False)
    assert result.stderr.startswith(str(lab.folders))


def test_command_that_takes_too_long_is_ended_with_its_daemons(lab: Lab) -> None:
    """Its time is over at once; what it printed is kept."""
    started = f"setsid sh -c 'echo $$ > $0/daemon; exec sleep 99' {lab.folder} & echo hello; sleep 99"
    result = ask(lab, Tree(), "sh", "-c", started, timeout=5.0)
    assert (result.timed_out, result.stdout) == (True, "hello\n")
    assert not Path("/proc", (lab.folder / "daemon").read_text().strip()).exists()


def test_command_that_is_missing_or_ended_by_a_signal_is_told(lab: Lab) -> None:
    """A missing program voids; a signal is a negative exit code."""
    with pytest.raises(WorldError, match="no-such-linter: not found") as failure:
        ask(lab, Tree(), "no-such-linter")
    assert failure.value.cause is VoidCause.MISSING
    assert ask(lab, Tree(), "sh", "-c", "kill -9 $$").exit_code == -9


def test_commands_run_beside_agents_from_several_threads(lab: Lab) -> None:
    """Each gets its own answer."""

    async def main() -> None:
        sandbox = NoneSandbox(root=lab.folders)
        async with sandbox.open_session(lab.template) as session:
            questions = [asyncio.to_thread(sandbox.command, Tree(), ("echo", str(n)), timeout=SOON) for n in range(8)]
            *answers, agent = await asyncio.gather(*questions, shell(session, "echo agent"))
        assert [answer.stdout for answer in answers] == [f"{n}\n" for n in range(8)]
        assert agent == "agent\n"
        await sandbox.stop()

    asyncio.run(main())


def test_nothing_is_left_open(lab: Lab) -> None:
    """No descriptor leaks, whether attempts end well or badly."""
    before = len(list(Path("/proc/self/fd").iterdir()))
    lab.run(lab.launch("echo", "hi"))
    lab.run(lab.launch("sleep", "99"), wall=0.0)
    with pytest.raises(WorldError):
        lab.run(Launch(argv=("no-such-agent",)))
    with pytest.raises(WorldError):
        lab.run(Launch(argv=("echo", "\0")))
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_bench_that_can_not_be_set_up_is_void_and_leaves_nothing(lab: Lab) -> None:
    """A large file of the template is gone when the second attempt needs it."""
    large = lab.template.folder / "large"
    large.write_bytes(bytes(100_000))

    async def main() -> None:
        sandbox = NoneSandbox(root=lab.folders)
        async with sandbox.open_session(lab.template) as session:
            assert await shell(session, "wc -c < large") == "100000\n"
        large.unlink()
        with pytest.raises(WorldError, match="can't create the workspace") as failure:
            async with sandbox.open_session(lab.template):
                pass
        assert failure.value.cause is VoidCause.SANDBOX
        assert list(sandbox.folder.iterdir()) == []
        await sandbox.stop()

    asyncio.run(main())


def test_cancelling_while_a_bench_is_set_up_leaves_nothing(lab: Lab) -> None:
    """Many files are being copied in a thread, which is waited for."""
    for number in range(800):
        (lab.template.folder / str(number)).touch()

    async def main() -> None:
        sandbox = NoneSandbox(root=lab.folders)
        task = asyncio.create_task(sandbox.open_session(lab.template).__aenter__())
        while not list(sandbox.folder.iterdir()):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert list(sandbox.folder.iterdir()) == []
        await sandbox.stop()

    asyncio.run(main())


def test_folder_that_can_not_be_made_is_told(lab: Lab) -> None:
    """The root is not there: void, not a crash."""

    async def main() -> None:
        await NoneSandbox(root=lab.folder / "nowhere").start()

    with pytest.raises(WorldError, match="can't create a folder for sandboxes") as failure:
        asyncio.run(main())
    assert failure.value.cause is VoidCause.SANDBOX
