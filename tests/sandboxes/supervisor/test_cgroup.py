"""Control groups: found where they can be had, made for each attempt, and gone with it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from demeanor.sandboxes.supervisor.cgroup import Cgroup, CgroupParent, container_cgroup, find_parent, has_pids_limit
from demeanor.sandboxes.supervisor.memory_watch import MeasuredTree, OomKills

V2_FILES = ("cgroup.controllers", "cgroup.subtree_control", "cgroup.procs")


def group(folder: Path, *, controllers: str = "", delegates: str = "", members: str = "") -> Path:
    """A folder that looks like a group of version 2."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in zip(V2_FILES, (controllers, delegates, members), strict=True):
        (folder / name).write_text(text)
    return folder


def find(tmp_path: Path, lines: str) -> CgroupParent | None:
    """The parent that is found below `tmp_path` for a process in these groups."""
    (tmp_path / "of").write_text(lines)
    return find_parent(4096, root=str(tmp_path / "root"), own_groups=str(tmp_path / "of"))


def test_the_nearest_group_that_hands_memory_on_is_found(tmp_path: Path) -> None:
    """A user's own services have one above them; who hands on nothing is passed over."""
    root = group(tmp_path / "root", controllers="memory pids", delegates="memory pids")
    near = group(root / "user/app", controllers="memory", delegates="memory")
    group(root / "user", controllers="memory", delegates="memory")
    group(near / "terminal", controllers="memory", members="1\n2\n")
    assert find(tmp_path, "0::/user/app/terminal\n") == CgroupParent(str(near), 2, 4096)
    (near / "cgroup.subtree_control").write_text("pids")
    assert find(tmp_path, "0::/user/app/terminal\n") == CgroupParent(str(root / "user"), 2, 4096)


def test_a_group_that_is_ours_alone_is_made_to_hand_memory_on(tmp_path: Path) -> None:
    """Its only member moves one down, as who hands on has none; with others in it, nothing is touched."""
    root = group(tmp_path / "root", controllers="memory")
    unit = group(root / "unit", controllers="cpu memory", members=f"{os.getpid()}\n")
    group(unit / "demeanor")
    assert find(tmp_path, "0::/unit\n") == CgroupParent(str(unit), 2, 4096)
    assert (unit / "cgroup.subtree_control").read_text() == "+memory"
    assert (unit / "demeanor/cgroup.procs").read_text() == "0"
    group(unit, controllers="cpu memory", members=f"{os.getpid()}\n1\n")
    assert find(tmp_path, "0::/unit\n") is None
    assert (unit / "cgroup.subtree_control").read_text() == ""


@pytest.mark.parametrize("lines", ["", "0::/unit\n", "nonsense", "4:memory:/nowhere\n0::/\n", "1:cpu:/\n"])
def test_where_there_is_no_memory_to_hand_on_nothing_is_found(tmp_path: Path, lines: str) -> None:
    """Neither where the kernel has no groups, nor where memory belongs to the other version."""
    group(tmp_path / "root", controllers="hugetlb", delegates="hugetlb")
    group(tmp_path / "root/unit", controllers="hugetlb")
    assert find(tmp_path, lines) is None


def test_version_1_is_used_where_memory_is_there(tmp_path: Path) -> None:
    """Beside a version 2 without it."""
    group(tmp_path / "root/unified", controllers="hugetlb")
    own = tmp_path / "root/memory/here"
    own.mkdir(parents=True)
    (own / "cgroup.procs").touch()
    (own / "memory.limit_in_bytes").touch()
    assert find(tmp_path, "9:cpu:/\n4:memory:/here\n0::/\n") == CgroupParent(str(own), 1, 4096)


@pytest.mark.parametrize(
    ("version", "limits"),
    [
        (1, {"memory.limit_in_bytes": "4096", "memory.memsw.limit_in_bytes": "4096"}),
        (2, {"memory.max": "4096", "memory.swap.max": "0"}),
    ],
)
def test_a_group_gets_its_limits_before_its_member(tmp_path: Path, version: int, limits: dict[str, str]) -> None:
    """The kernel makes the files with the folder; here they are made by hand. Swap may not be accounted for."""
    for name in (*limits, "cgroup.procs"):
        (tmp_path / name).touch()
    made = CgroupParent("/nowhere", 1 if version == 1 else 2, 4096)
    made.limit_and_enter(str(tmp_path), 77)
    assert {name: (tmp_path / name).read_text() for name in limits} == limits
    assert (tmp_path / "cgroup.procs").read_text() == "77"
    (tmp_path / list(limits)[1]).unlink()
    made.limit_and_enter(str(tmp_path), 78)
    (tmp_path / next(iter(limits))).unlink()
    with pytest.raises(OSError, match="No such file"):
        made.limit_and_enter(str(tmp_path), 79)
    assert (tmp_path / "cgroup.procs").read_text() == "78"
    assert CgroupParent.from_args(list(made.to_args())) == made
    assert CgroupParent.from_args([]) is None


@pytest.mark.parametrize(("version", "name"), [(1, "memory/memory.oom_control"), (2, "memory.events")])
def test_whom_the_kernel_ended_is_counted(tmp_path: Path, version: int, name: str) -> None:
    """As a container's own group says it."""
    assert container_cgroup(str(tmp_path)) is None
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("oom 9\noom_kill 3\noom_group_kill 1\n")
    cgroup = container_cgroup(str(tmp_path))
    assert cgroup == Cgroup(str((tmp_path / name).parent), 1 if version == 1 else 2)
    assert cgroup.oom_kills() == 3
    (tmp_path / name).unlink()
    assert cgroup.oom_kills() == 0


def test_who_was_ended_by_the_kernel_had_taken_all_of_it(tmp_path: Path) -> None:
    """Whatever the last look at its memory saw."""
    events = tmp_path / "memory.events"
    events.write_text("oom_kill 0\n")
    counts = [OomKills(Cgroup(str(tmp_path), 2)) for _ in range(2)]
    calm = MeasuredTree(1, 8 * 2**20, counts[0]).report().split()
    events.write_text("oom_kill 1\n")  # a program may be ended before anything else is known of it
    starved = MeasuredTree(1, 8 * 2**20, counts[1]).report().split()
    assert (len(calm), int(calm[4])) == (5, 0)
    assert starved[5] == b"memory"
    assert int(starved[4]) > 8 * 2**20


@pytest.mark.parametrize(("text", "held"), [("4096", True), ("4097", False), ("max", False), ("", False)])
def test_a_limit_is_believed_where_the_kernel_says_so(tmp_path: Path, text: str, held: bool) -> None:
    """A rootless engine may ignore limits."""
    for name in ("memory.max", "memory.limit_in_bytes", "pids.max"):
        (tmp_path / name).write_text(text)
    assert Cgroup(str(tmp_path), 2).has_memory_limit(4096) is Cgroup(str(tmp_path), 1).has_memory_limit(4096) is held
    assert has_pids_limit(4096, str(tmp_path)) is held
    (tmp_path / "pids").mkdir()
    (tmp_path / "pids.max").rename(tmp_path / "pids/pids.max")
    assert has_pids_limit(4096, str(tmp_path)) is held
    assert not has_pids_limit(4096, str(tmp_path / "nowhere"))


def test_what_killed_supervisors_left_is_taken_away(tmp_path: Path) -> None:
    """Groups of running processes stay, and those of other pid namespaces, whose processes can't be seen."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    here = CgroupParent(str(tmp_path), 2, 1)
    stale, kept = (Path(here.cgroup(pid).folder).name for pid in (gone.pid, os.getpid()))
    others = {kept, f"demeanor-1-{gone.pid}", "demeanor-x", "other"}
    for name in (stale, *others):
        (tmp_path / name).mkdir()
    here.remove_stale()
    assert {path.name for path in tmp_path.iterdir()} == others


def test_a_group_of_the_real_kernel_holds_its_member_to_its_memory() -> None:
    """It is ended for what it takes; and the group can be taken away."""
    here = find_parent(32 * 2**20)
    if here is None:
        pytest.skip("no control group with memory can be made here")
    code = (
        f"import sys, os; sys.path[:] = {sys.path!r}\nfrom demeanor.sandboxes.supervisor.cgroup import CgroupParent\n"
    )
    code += f"CgroupParent.from_args({list(here.to_args())!r}).create(os.getpid())\n"
    code += "print('in', flush=True)\nx = bytearray(2**28)"
    member = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    out, _ = member.communicate(timeout=300)
    cgroup = here.cgroup(member.pid)
    try:
        assert (out, member.returncode, cgroup.oom_kills()) == (b"in\n", -9, 1)
    finally:
        cgroup.remove()
    assert not Path(cgroup.folder).exists()


@pytest.mark.skipif(
    not os.access("/sys/fs/cgroup/unified", os.W_OK), reason="no writable cgroup2 beside version 1 here"
)
def test_processes_in_a_group_are_killed_with_it() -> None:
    """`cgroup.kill` of the real kernel, on a group without any controller."""
    cgroup = Cgroup(f"/sys/fs/cgroup/unified/demeanor-test-{os.getpid()}", 2)
    Path(cgroup.folder).mkdir()
    stays = subprocess.Popen(["sleep", "600"])
    Path(cgroup.folder, "cgroup.procs").write_text(str(stays.pid))
    cgroup.remove()
    assert stays.wait(300) == -9
    assert not Path(cgroup.folder).exists()
