"""Commands run for real: every file that a command changes is one that its effects name, unless they are unknown."""

from __future__ import annotations

import fnmatch
import os
import posixpath
import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest

from demeanor.core.values.trajectory import Kind
from demeanor.judge.effects.command_effects import command_effects
from demeanor.judge.effects.effect import Effect

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sed, cp and others have other options elsewhere")
FILES = (
    "a",
    "b",
    "a.py",
    "b.py",
    "c.txt",
    "src/x.py",
    "src/y.txt",
    "build/o",
    "dst/keep",
    "Makefile",
    "sub/a",
    "sub/s",
)
HISTORY = (
    "git init -q -b main && git add -A && git commit -qm one && git checkout -qb other && echo other > only_other"
    " && git rm -q c.txt && git add -A && git commit -qm two && git checkout -q main"
    " && tar czf a.tgz src && gzip -k b.py && echo new > new.txt && printf 'a\\nb\\n' > list"
    " && printf -- '--- a/a\\n+++ b/a\\n@@ -1 +1 @@\\n-foo\\n+bar\\n' > p.diff"
)
CHANGES = [
    "rm a", "rm -rf src build", "rm *.py", "find . -name '*.py' -delete", "find . -name '*.py' -exec rm {} +",
    "ls *.py | xargs rm", "ls *.py | xargs -I{} mv {} {}.bak", "ls *.py | xargs -I % sh -c 'mv % %.o'",
    "find . -name '*.txt' -exec sh -c 'mv {} {}.o' \\;", "xargs -a list rm", "while read f; do rm $f; done < list",
    "for f in a b; do mv $f $f.x; done", "bash -lc 'rm a && touch z'", "eval 'rm a'", "env -C sub rm a",
    "(cd sub && rm a)", "cd sub && mv s t; cd .. && rm a",
    "pushd sub >/dev/null; touch p; popd >/dev/null; touch q", "mv a z", "mv a b.txt", "mv src dst", "mv *.py dst/",
    "mv sub/* dst", "mv -t dst a b", "mv a.py b.py c.txt src", "cp a z", "cp -r src dst", "cp -r src/. dst",
    "cp -a src z", "cp sub/* dst", "cp -t dst a b", "cp a{,.bak}", "ln -s a z", "install -d q/w",
    "install -m 600 a z", "mkdir -p p/q/r", "mkdir e; rmdir dst/nosuch e; rm b", "touch z", "truncate -s 0 a",
    "chmod -x Makefile; chmod +x a", "chmod -R a-w src", "dd if=a of=z status=none", "echo x > z", "echo x >| a",
    "echo x &> z", "echo x >> a 2>&1", "{ echo a; } > z", "exec > z; echo x", "> z", "cat <<E > z\nhi\nE",
    "tee z1 z2 < a", "cat a | tee z > /dev/null", "sort -ro list list", "uniq list z", "split -l 1 list",
    "csplit -s list 2", "sed -i s/foo/bar/ a", "sed -i.bak s/foo/bar/ a b", "sed --in-place=~ s/foo/bar/ a",
    "perl -pi -e 's/foo/bar/' a b", "perl -i.bak -pe 's/foo/bar/' a", "python3 -m json.tool --json-lines /dev/null z",
    "tar xzf a.tgz -C dst", "tar czf z.tgz src", "tar -cf z.tar a --remove-files", "gunzip -f b.py.gz", "gzip a",
    "gzip -k a", "patch -sp1 < p.diff", "git apply p.diff", "git apply - < p.diff", "git rm -q a", "git mv a z",
    "git clean -fdxq", "git restore --source other .",
    "git checkout -q other", "git switch -qc n other", "git checkout -qb n other", "git switch -q --orphan n",
    "git reset -q --hard other", "git merge -q other", "git cherry-pick other", "echo x > a; git stash -q; rm b",
    "git stash -qu", "git format-patch -q -1", "git diff --output=z main other",
    "touch sub/z; git -C sub clean -fdxq; rm a", "echo x > a; git checkout -q -- a; touch z",
    "echo x > a; git restore a; rm b",
]  # fmt: skip
READS = [
    "git checkout -qb n", "git commit -q --allow-empty -m x", "git add -A", "git diff; git log -p; git status",
    "cat a; head b; grep foo a; ls; find .; sed -n 1p a; awk 1 a; wc a; diff a b; tar tzf a.tgz; sort a; cut -c1 a",
    "git clean -n", "git apply --check p.diff",
]  # fmt: skip


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with two branches, archives and a patch."""
    folder = tmp_path_factory.mktemp("start")
    for name in FILES:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("foo\n")
    run(HISTORY, folder).check_returncode()
    return folder


def run(command: str, folder: Path) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a folder, with a HOME of its own."""
    who = {f"GIT_{role}_{field}": "x@example.com" for role in ("AUTHOR", "COMMITTER") for field in ("NAME", "EMAIL")}
    env = {"PATH": os.environ["PATH"], "HOME": str(folder.parent / "home"), "GIT_CONFIG_NOSYSTEM": "1", **who}
    given = ["bash", "-c", command]
    return subprocess.run(given, cwd=folder, env=env, capture_output=True, check=False, stdin=subprocess.DEVNULL)


def contents(folder: Path) -> dict[str, object]:
    """Path → what is there, without the repository itself."""
    found: dict[str, object] = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if name.split("/")[0] != ".git":
            mode = path.lstat().st_mode
            found[name] = (mode, "link" if path.is_symlink() else path.read_bytes() if path.is_file() else "folder")
    return found


def names(effect: Effect, path: str) -> bool:
    """Whether an effect is about a path: its target, one of an unknown name, or a folder that it needs."""
    if effect.target is None:
        return True
    target = posixpath.normpath(effect.target)
    above = [path, *map(str, PurePosixPath(path).parents)]
    if effect.reach == "glob":
        return any(fnmatch.fnmatchcase(one, target) for one in above)
    return path == target or target.startswith(f"{path}/") or (effect.reach == "below" and target in above)


def changed_by(command: str, start: Path, folder: Path) -> tuple[list[str], int]:
    """The paths that a command changes in a copy of the start, and its exit code."""
    shutil.copytree(start, folder, symlinks=True)
    before = contents(folder)
    code = run(command, folder).returncode
    after = contents(folder)
    return [path for path in before | after if before.get(path) != after.get(path)], code


@pytest.mark.parametrize("command", CHANGES)
def test_no_change_of_a_command_is_missed(command: str, start: Path, tmp_path: Path) -> None:
    """What the effects do not name stays as it was. A command whose program is missing is harmless."""
    changed, code = changed_by(command, start, tmp_path / "w")
    assert changed or code
    found = command_effects(command)
    assert not found.unclear
    changing = [effect for effect in found.known if effect.kind in {Kind.EDIT, Kind.DELETE}]
    assert not [path for path in changed if not any(names(effect, path) for effect in changing)], found.known


@pytest.mark.parametrize("command", READS)
def test_a_command_without_changing_effects_changes_nothing(command: str, start: Path, tmp_path: Path) -> None:
    """Negative checks rely on it."""
    found = command_effects(command)
    assert not found.unclear
    assert not found.of({"edit", "delete"})
    assert changed_by(command, start, tmp_path / "w")[0] == []
