"""The starting workspace: built and committed once, without anything of the host, and checked beforehand."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import zlib
from pathlib import Path
from typing import NamedTuple

import pytest

from demeanor.core.trees.git import GitError, git as project_git
from demeanor.core.trees.tree_io import scan
from demeanor.core.values.errors import BadInput, WorldError
from demeanor.core.values.scenario import Scenario
from demeanor.core.values.verdict import VoidCause
from demeanor.runner.template import TemplateCache, build_template, check_template
from demeanor.runner.workspace_git import EPOCH


def scenario(**fields: object) -> Scenario:
    """A scenario with these fields."""
    return Scenario(prompts=("Do it.",), **fields)  # type: ignore[arg-type]


def git(folder: Path, *arguments: str) -> str:
    """The output of git in a folder, as an agent with its own HOME sees it."""
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    return subprocess.run(["git", *arguments], cwd=folder, env=env, check=True, capture_output=True, text=True).stdout


def refusal(where: str = "evals/eval_notes.py", **fields: object) -> BadInput:
    """The error of a scenario that is refused."""
    with pytest.raises(BadInput) as caught:
        check_template(scenario(**fields), where)
    assert str(caught.value).startswith(where)
    assert caught.value.remedy
    return caught.value


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A template folder with a file, a folder, an empty folder, a link and a program."""
    folder = tmp_path / "source"
    (folder / "src").mkdir(parents=True)
    (folder / "empty").mkdir()
    (folder / "src/main.py").write_text("print()\n")
    (folder / "README.md").write_text("old\n")
    (folder / "link").symlink_to("src/main.py")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    return folder


def test_the_workspace_is_built_from_folder_then_files_then_setup(source: Path, tmp_path: Path) -> None:
    """Files override those of the folder, and setup sees both."""

    def setup(workspace: Path) -> None:
        (workspace / "log").write_text((workspace / "README.md").read_text() + "and setup\n")

    template = build_template(
        scenario(template=source, files={"README.md": b"new\n", "a/b.txt": b"b"}, setup=setup), tmp_path / "made"
    )
    visible = template.tree.visible()
    assert set(visible) == {"README.md", "a/b.txt", "empty", "link", "log", "run.sh", "src/main.py"}
    assert visible["log"].read() == b"new\nand setup\n"
    assert (visible["run.sh"].executable, visible["link"].target) == (True, "src/main.py")
    assert visible["README.md"].content == template.folder / "README.md"
    assert (template.folder / "empty").is_dir()


def test_an_agent_finds_a_clean_repository_with_one_commit(source: Path, tmp_path: Path) -> None:
    """Without remote, tag, reflog and hook, also in a copy; and it can commit."""
    build_template(scenario(template=source), tmp_path / "made")
    folder = tmp_path / "copy"
    shutil.copytree(tmp_path / "made", folder, symlinks=True)
    assert git(folder, "status", "--porcelain", "--branch") == "## main\n"
    assert git(folder, "log", "--all", "--format=%an %ae %ad %cd %s", "--date=raw") == (
        f"Demeanor demeanor@localhost {EPOCH} +0000 {EPOCH} +0000 Start\n"
    )
    assert [git(folder, *words) for words in (("remote",), ("tag",), ("reflog",), ("stash", "list"))] == [""] * 4
    assert git(folder, "fsck", "--unreachable") == ""
    assert not (folder / ".git/hooks").exists()
    (folder / "new").touch()
    git(folder, "add", "new")
    git(folder, "commit", "--quiet", "--message", "More")
    assert git(folder, "status", "--porcelain") == ""


def test_two_builds_give_the_same_commit_and_dates(source: Path, tmp_path: Path) -> None:
    """What an agent sees does not depend on the time of the build."""
    made = [build_template(scenario(template=source), tmp_path / name).folder for name in ("one", "two")]
    assert len({git(folder, "rev-parse", "HEAD") for folder in made}) == 1
    assert {(folder / path).stat().st_mtime for folder in made for path in ("README.md", "src/main.py")} == {EPOCH}


def test_the_git_configuration_of_the_host_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither its files and hooks, nor the repository in which Demeanor is started."""
    home = tmp_path / "home"
    (home / "templates/hooks").mkdir(parents=True)
    (home / "templates/hooks/pre-commit").write_text("#!/bin/sh\nexit 1\n")
    (home / "templates/hooks/pre-commit").chmod(0o755)
    (home / ".gitconfig").write_text(
        "[user]\nname = Host\nemail = host@example.com\n[commit]\ngpgSign = true\n[core]\nexcludesFile = ~/ignore\n"
        f"hooksPath = {home}/templates/hooks\n[init]\ntemplateDir = {home}/templates\ndefaultBranch = trunk\n"
    )
    (home / "ignore").write_text("*\n")
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_AUTHOR_NAME"):
        monkeypatch.setenv(name, str(home / "none"))
    monkeypatch.setenv("HOME", str(home))
    made = build_template(scenario(files={"a.txt": b"a"}), tmp_path / "made").folder
    assert git(made, "log", "--format=%an <%ae> %D", "--name-only").split("\n") == [
        "Demeanor <demeanor@localhost> HEAD -> main",
        "",
        "a.txt",
        "",
    ]


def test_history_of_a_template_folder_is_left_out(source: Path, tmp_path: Path) -> None:
    """At any depth, as a folder or as a file, because it may hold the answer."""
    (source / ".git").mkdir()
    (source / ".git/HEAD").write_text("the future\n")
    (source / "src/.git").write_text("gitdir: /elsewhere\n")
    tree = build_template(scenario(template=source), tmp_path / "made").tree
    assert not any(path.startswith("src/.git") for path in tree.entries)
    assert tree.entries[".git/HEAD"].read() == b"ref: refs/heads/main\n"


def test_a_repository_that_setup_creates_is_kept(tmp_path: Path) -> None:
    """With its own commits."""

    def setup(workspace: Path) -> None:
        git(workspace, "init", "--quiet", "--initial-branch", "feature")

    made = build_template(scenario(files={"a": b""}, setup=setup), tmp_path / "made").folder
    assert git(made, "status", "--porcelain", "--branch").splitlines() == ["## No commits yet on feature", "?? a"]


def test_empty_scenario_has_an_empty_workspace(tmp_path: Path) -> None:
    """It still has a commit."""
    template = build_template(scenario(), tmp_path / "made")
    assert template.tree.visible() == {}
    assert git(template.folder, "log", "--format=%s") == "Start\n"


def test_a_workspace_of_empty_folders_has_a_commit(tmp_path: Path) -> None:
    (tmp_path / "source/folder").mkdir(parents=True)
    template = build_template(scenario(template=tmp_path / "source"), tmp_path / "made")
    assert git(template.folder, "log", "--format=%s") == "Start\n"


def test_the_repository_of_an_empty_workspace_is_the_one_that_git_creates(tmp_path: Path) -> None:
    ours, theirs = build_template(scenario(), tmp_path / "ours").folder, tmp_path / "theirs"
    theirs.mkdir()
    git(theirs, "init", "--quiet", "--initial-branch=main")
    shutil.copy(ours / ".git/config", theirs / ".git/config")
    person = {f"GIT_{who}_DATE": f"{EPOCH} +0000" for who in ("AUTHOR", "COMMITTER")}
    commit = ["git", "commit", "--quiet", "--allow-empty", "--message", "Start"]
    subprocess.run(commit, cwd=theirs, env={"PATH": os.environ["PATH"], "HOME": os.devnull, **person}, check=True)
    for question in (["rev-parse", "HEAD", "HEAD^{tree}"], ["log", "--format=raw"], ["status", "--branch"]):
        assert git(ours, *question) == git(theirs, *question)
    objects = {path: zlib.decompress((ours / path).read_bytes()) for path in _objects(ours)}
    assert objects == {path: zlib.decompress((theirs / path).read_bytes()) for path in _objects(theirs)}
    assert {(ours / path).stat().st_mode & 0o777 for path in objects} == {0o444}
    assert (ours / ".git/index").read_bytes() == (theirs / ".git/index").read_bytes()
    assert git(ours, "fsck", "--strict", "--full") == ""


def _objects(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.glob(".git/objects/??/*")}


def test_the_tree_equals_a_scan_of_the_folder(source: Path, tmp_path: Path) -> None:
    """Also a scan of an untouched copy."""
    template = build_template(scenario(template=source), tmp_path / "made")
    found = scan(template.folder)
    assert found.entries.keys() == template.tree.entries.keys()
    assert all(entry.same(template.tree.entries[path]) for path, entry in found.entries.items())


@pytest.mark.parametrize(
    "path", ["../x", "/etc/x", "a/../../x", "", "a//b", "./a", "a/", "\0", ".git/config", "sub/.git"]
)
def test_paths_outside_the_workspace_are_refused(path: str) -> None:
    """The error has the path, the key and a remedy."""
    error = refusal(files={path: b""})
    assert (error.key, repr(path) in error.problem) == ("files", True)


def test_name_that_is_file_and_folder_is_refused(source: Path) -> None:
    """Among the files, and between the files and the folder, either way."""
    assert "'a'" in refusal(files={"a": b"", "a/b": b""}).problem
    assert "'src'" in refusal(template=source, files={"src": b""}).problem
    assert "'README.md'" in refusal(template=source, files={"README.md/x": b""}).problem
    assert "'link'" in refusal(template=source, files={"link/x": b""}).problem
    assert "'empty'" in refusal(template=source, files={"empty": b""}).problem
    check_template(scenario(template=source, files={"src/other.py": b"", "link": b"", "empty/x": b""}), "here")


def test_a_template_that_is_not_a_folder_is_refused(tmp_path: Path) -> None:
    """Missing, or a file."""
    (tmp_path / "file").touch()
    for name in ("missing", "file"):
        error = refusal(template=tmp_path / name)
        assert (error.key, str(tmp_path / name) in error.problem) == ("template", True)


@pytest.mark.parametrize("target", ["/etc/passwd", "../outside", "src/../../outside", "deep/up/../../outside"])
def test_a_link_out_of_the_template_is_refused(source: Path, target: str) -> None:
    """Absolute, upwards, and upwards by way of another link."""
    (source / "deep").mkdir()
    (source / "deep/up").symlink_to("..")
    (source / "evil").symlink_to(target)
    error = refusal(template=source)
    assert (error.key, "evil" in error.problem, target in error.problem) == ("template", True, True)


def test_special_files_and_names_that_are_not_utf8_are_refused(source: Path) -> None:
    """Reading a fifo would block; a name that is not UTF-8 can't be displayed."""
    os.mkfifo(source / "fifo")
    assert "is not a file, folder or link" in refusal(template=source).problem
    (source / "fifo").unlink()
    Path(os.fsdecode(os.fsencode(source) + b"/caf\xe9")).touch()
    assert "not UTF-8" in refusal(template=source).problem


def test_checking_writes_nothing_and_building_checks(source: Path, tmp_path: Path) -> None:
    """Neither does a refused build."""
    check_template(scenario(template=source), "here")
    with pytest.raises(BadInput, match=r"\.\./x"):
        build_template(scenario(files={"../x": b""}), tmp_path / "made")
    assert {path.name for path in tmp_path.iterdir()} == {"source"}


def test_a_setup_that_raises_or_links_outside_is_an_error(tmp_path: Path) -> None:
    """With the file of the eval."""

    def broken(workspace: Path) -> None:
        raise KeyError("oops")

    def evil(workspace: Path) -> None:
        (workspace / "out").symlink_to("/etc")

    for name, setup, words in (("a", broken, "raised KeyError: 'oops'"), ("b", evil, "outside the folder")):
        with pytest.raises(BadInput, match=words) as caught:
            build_template(scenario(setup=setup), tmp_path / name, where="evals/x.py")
        assert (caught.value.where, caught.value.key) == ("evals/x.py", "setup")


@pytest.fixture
def origin(tmp_path: Path) -> Origin:
    """A repository with an old commit, tagged v1, and the answer on top, tagged v2."""
    folder = tmp_path / "origin"
    folder.mkdir()
    author_git(folder, "init", "-q")
    names = []
    for text, tag in (("old", "v1"), ("answer", "v2")):
        (folder / "f").write_text(text)
        author_git(folder, "add", "f")
        author_git(folder, "commit", "-qm", text)
        author_git(folder, "tag", tag)
        names.append(author_git(folder, "rev-parse", "HEAD").strip())
    return Origin(folder, *names)


class Origin(NamedTuple):
    """A repository that evals clone."""

    folder: Path
    old: str
    answer: str


def author_git(where: Path, *words: str) -> str:
    own = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
    command = ["git", *own, "-c", "protocol.file.allow=always", *words]
    return subprocess.run(command, cwd=where, check=True, capture_output=True, text=True).stdout


def has_object(folder: Path, name: str) -> bool:
    done = subprocess.run(["git", "cat-file", "-t", name], cwd=folder, capture_output=True, check=False)
    return done.returncode == 0


def test_a_clone_made_by_setup_is_stripped_to_its_branches(tmp_path: Path, origin: Origin) -> None:
    """An answer in a remote, a later tag, the reflog, a stash or a loose object is removed."""

    def setup(workspace: Path) -> None:
        author_git(workspace, "clone", "-q", str(origin.folder), ".")
        author_git(workspace, "branch", "feature", origin.old)
        (workspace / "f").write_text("stashed")
        author_git(workspace, "stash")
        author_git(workspace, "reset", "-q", "--hard", origin.old)

    made = build_template(scenario(setup=setup), tmp_path / "made").folder
    assert has_object(origin.folder, origin.answer)
    assert not has_object(made, origin.answer)
    assert git(made, "remote") == ""
    assert git(made, "for-each-ref", "--format=%(refname)").split() == [
        "refs/heads/feature", "refs/heads/main", "refs/tags/v1",
    ]  # fmt: skip
    assert git(made, "log", "--all", "--format=%s").split() == ["old"]
    assert git(made, "reflog") == ""
    assert git(made, "status", "--porcelain") == ""


@pytest.mark.parametrize("option", [(), ("--shared",), ("--bare",)])
def test_clones_in_sub_folders_are_stripped_too(tmp_path: Path, origin: Origin, option: tuple[str, ...]) -> None:
    """At any depth, whatever kind of clone it is."""

    def setup(workspace: Path) -> None:
        (workspace / "deep").mkdir()
        author_git(workspace, "clone", "-q", *option, str(origin.folder), "deep/sub")
        author_git(workspace / "deep/sub", "update-ref", "HEAD", origin.old)

    made = build_template(scenario(setup=setup), tmp_path / "made").folder
    assert not has_object(made / "deep/sub", origin.answer)
    assert git(made / "deep/sub", "remote") == ""
    assert git(made / "deep/sub", "log", "--all", "--format=%s").split() == ["old"]


def test_submodules_are_stripped_too(tmp_path: Path, origin: Origin) -> None:
    """A submodule at an old commit has nothing of the remote's later ones, and stays usable."""

    def setup(workspace: Path) -> None:
        author_git(workspace, "init", "-q")
        author_git(workspace, "submodule", "add", "-q", str(origin.folder), "sub")
        author_git(workspace / "sub", "checkout", "-q", origin.old)
        author_git(workspace, "add", ".")
        author_git(workspace, "commit", "-qm", "start")

    made = build_template(scenario(setup=setup), tmp_path / "made").folder
    assert not has_object(made / "sub", origin.answer)
    assert git(made / "sub", "remote") == ""
    assert git(made / "sub", "log", "--all", "--format=%s").split() == ["old"]
    assert git(made, "submodule", "status").split()[:2] == [origin.old, "sub"]
    assert git(made, "status", "--porcelain") == ""


@pytest.mark.parametrize("option", ["--bare", "--mirror"])
def test_bare_clones_keep_only_their_current_branch(tmp_path: Path, origin: Origin, option: str) -> None:
    """The others are branches of the remote."""
    author_git(origin.folder, "branch", "answer", origin.answer)

    def setup(workspace: Path) -> None:
        author_git(workspace, "clone", "-q", option, str(origin.folder), "bare")
        author_git(workspace / "bare", "update-ref", "HEAD", origin.old)
        author_git(workspace, "init", "-q", "--bare", "own")
        author_git(workspace / "bare", "push", "-q", "../own", f"{origin.old}:refs/heads/feature")

    made = build_template(scenario(setup=setup), tmp_path / "made").folder
    assert not has_object(made / "bare", origin.answer)
    assert git(made / "bare", "for-each-ref", "--format=%(refname)").split() == ["refs/heads/main", "refs/tags/v1"]
    assert git(made / "own", "for-each-ref", "--format=%(refname)").split() == ["refs/heads/feature"]


def test_no_program_that_a_repository_of_the_template_names_is_run(tmp_path: Path, origin: Origin) -> None:
    """A stranger's folder may contain one with hooks, and with settings for missing objects."""
    ran, bare = tmp_path / "ran", tmp_path / "source/bare"
    author_git(tmp_path, "clone", "-q", "--bare", str(origin.folder), str(bare))
    author_git(bare, "update-ref", "refs/other/x", origin.old)
    (bare / "hooks/reference-transaction").write_text(f"#!/bin/sh\ntouch {ran}\n")
    (bare / "hooks/reference-transaction").chmod(0o755)
    made = build_template(scenario(template=tmp_path / "source"), tmp_path / "made").folder
    assert git(made / "bare", "for-each-ref", "--format=%(refname)", "refs/other") == ""
    assert not ran.exists()

    for setting in ("core.repositoryformatversion=1", "extensions.partialClone=origin", "remote.origin.url=ssh://x/y",
                    "remote.origin.promisor=true", f"core.sshCommand=touch {ran}; false"):  # fmt: skip
        author_git(bare, "config", *setting.split("=", 1))
    with pytest.raises(GitError):
        project_git(bare, "cat-file", "-e", "1" * 40, trusted=False)
    assert not ran.exists()


def test_worktrees_work_in_a_copy(tmp_path: Path, origin: Origin) -> None:
    """They refer to their repository by a relative path, so nothing shows where the template was built."""

    def setup(workspace: Path) -> None:
        author_git(workspace, "clone", "-q", str(origin.folder), "main")
        author_git(workspace / "main", "reset", "-q", "--hard", origin.old)
        author_git(workspace / "main", "worktree", "add", "-q", "../deep/tree", "HEAD")

    made = build_template(scenario(setup=setup), tmp_path / "made").folder
    copy = shutil.move(made, tmp_path / "copy")
    assert git(copy / "deep/tree", "log", "--format=%s").split() == ["old"]
    assert git(copy / "deep/tree", "status", "--porcelain") == ""
    assert str(tmp_path).encode() not in b"".join(path.read_bytes() for path in copy.rglob("*") if path.is_file())


def test_missing_git_voids_the_trial_with_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not crash the run."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(WorldError, match="git is not installed; install it") as caught:
        build_template(scenario(files={"a.txt": b""}), tmp_path / "made")
    assert caught.value.cause is VoidCause.MISSING


def test_many_trials_build_once(source: Path, tmp_path: Path) -> None:
    """However many wait at the same time; equal scenarios share a build, different ones do not."""
    built: list[Path] = []
    cache = TemplateCache(tmp_path / "cache")

    async def session() -> None:
        one = scenario(template=source, setup=built.append)
        same = scenario(template=source, setup=built.append, timeout=5.0)
        got = await asyncio.gather(*(cache.get(which) for which in (one, same) * 50))
        assert len({template.folder for template in got}) == 1
        others = [scenario(template=source), scenario(template=source, files={"x": b"1"}), scenario(files={"x": b"1"})]
        assert len({(await cache.get(other)).folder for other in (*others, scenario(files={"x": b"2"}))}) == 4

    asyncio.run(session())
    assert len(built) == 1
    cache.close()
    assert list((tmp_path / "cache").iterdir()) == []


def test_changed_template_folder_is_another_template(source: Path, tmp_path: Path) -> None:
    """The content decides, not the path."""
    cache = TemplateCache(tmp_path / "cache")

    async def session() -> None:
        before = await cache.get(scenario(template=source))
        (source / "README.md").write_text("changed\n")
        after = await cache.get(scenario(template=source))
        assert [template.tree.entries["README.md"].read() for template in (before, after)] == [b"old\n", b"changed\n"]

    asyncio.run(session())
    cache.close()


def test_a_failed_build_raises_in_all_waiting_callers_and_is_repeated(tmp_path: Path) -> None:
    """A cancelled caller does not cancel the build for the others."""
    attempts: list[Path] = []

    def full_disk_once(setup: object, workspace: Path) -> None:
        attempts.append(workspace)
        if len(attempts) == 1:
            raise WorldError(VoidCause.SANDBOX, "the disk is full")

    async def session() -> None:
        cache, one = TemplateCache(tmp_path / "cache", full_disk_once), scenario(setup=Path.iterdir)
        results = await asyncio.gather(*(cache.get(one) for _ in range(3)), return_exceptions=True)
        assert [type(result) for result in results] == [WorldError] * 3
        impatient = asyncio.create_task(cache.get(one))
        patient = asyncio.create_task(cache.get(one))
        await asyncio.sleep(0)
        impatient.cancel()
        assert (await patient).folder == attempts[1]
        assert len(attempts) == 2
        cache.close()

    asyncio.run(session())


def test_a_setup_that_raises_is_called_once(tmp_path: Path) -> None:
    """The scenario is at fault, so another build would fail in the same way."""
    attempts: list[Path] = []

    def setup(workspace: Path) -> None:
        attempts.append(workspace)
        raise RuntimeError("always")

    async def session() -> None:
        cache, one = TemplateCache(tmp_path / "cache"), scenario(setup=setup)
        for _ in range(3):
            with pytest.raises(BadInput, match="raised RuntimeError: always"):
                await cache.get(one)
        assert len(attempts) == 1
        cache.close()

    asyncio.run(session())
