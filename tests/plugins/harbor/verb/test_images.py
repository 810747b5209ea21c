"""`demeanor harbor images`: list, pull, import and remove."""

from __future__ import annotations

import base64
import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from demeanor.cli.program import main
from demeanor.sandboxes.supervisor.process_tree import HAS_SUBREAPERS
from tests.helpers.image_registry import image_registry, layer, manifest, write_layout
from tests.helpers.processes import alive
from tests.sandboxes.conftest import wait_until

IMAGE = manifest([layer(("bin/", ""), ("bin/sh", "x" * 2**21))])


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEMEANOR_CACHE", str(tmp_path / "cache"))


def test_an_image_is_imported_listed_and_removed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Pruning removes what is over the limit; without one, everything."""
    assert main(["harbor", "images"]) == 0
    assert "no images yet" in capsys.readouterr().out
    folder = write_layout(tmp_path / "layout", *IMAGE)
    assert main(["harbor", "images", "import", str(folder), "lab/base:1"]) == 0
    assert capsys.readouterr().out.startswith("lab/base:1 is ready: sha256:")
    assert main(["harbor", "images", "list"]) == 0
    heading, row, _, total = capsys.readouterr().out.splitlines()
    assert heading.split() == ["IMAGE", "SIZE", "LAST", "USED", "DIGEST"]
    assert row.split()[:4] == ["lab/base:1", "2.0", "MB", "today"]
    assert total.endswith(f"in {tmp_path}/cache/images")
    assert main(["harbor", "images", "--json"]) == 0
    assert [image["name"] for image in json.loads(capsys.readouterr().out)["images"]] == ["lab/base:1"]
    assert main(["harbor", "images", "prune", "--max-gb", "1"]) == 0
    assert capsys.readouterr().out.startswith("removed 0.0 MB")
    assert main(["harbor", "images", "prune"]) == 0
    assert capsys.readouterr().out.startswith("removed 2.0 MB")
    assert main(["harbor", "images"]) == 0
    assert "no images yet" in capsys.readouterr().out


def test_a_pull_shows_the_size_and_the_progress(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On standard error; the name of a missing image is an error."""
    with image_registry(tmp_path) as registry:
        registry.push("base", "1", *IMAGE)
        assert main(["harbor", "images", "pull", f"{registry.host}/base:1"]) == 0
        shown = capsys.readouterr()
        assert main(["harbor", "images", "pull", f"{registry.host}/base:1"]) == 0
        again = capsys.readouterr()
        assert main(["harbor", "images", "pull", f"{registry.host}/base:2"]) == 2
    assert f"{registry.host}/base:1: downloading 0.0 MB" in shown.err
    assert f"{registry.host}/base:1: 100 % of 0.0 MB" in shown.err
    assert shown.out.startswith(f"{registry.host}/base:1 is ready: sha256:")
    assert (again.out, again.err) == (shown.out, f"{registry.host}/base:1: nothing to download\n")
    assert "there is no such image in the registry" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["images", "remove"], "unknown action: remove"),
        (["images", "import", "x"], "images import: expected PATH NAME, found x"),
        (["images", "pull"], "images pull: expected NAME, found nothing"),
        (["images", "prune", "a"], "images prune: expected no further words, found a"),
        (["images", "import", "missing.tar", "a:1"], "missing.tar: No such file or directory"),
        (["rootfs", "make", "ubuntu:24"], "expected debian:VERSION, not 'ubuntu:24'"),
        (["rootfs", "make", "debian:14"], "for example debian:12 (known: 11 bullseye, 12 bookworm, 13 trixie)"),
        (["rootfs", "x", "debian:12"], "unknown action 'x'"),
        (["show", "x"], "harbor show: unexpected number of arguments"),
    ],
)
def test_a_mistake_is_named(words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With exit code 2 and what to do."""
    assert main(["harbor", *words]) == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize("size", ["nan", "inf", "-1", "x"])
def test_a_size_that_can_not_be_is_named(size: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is removed."""
    assert main(["harbor", "images", "prune", f"--max-gb={size}"]) == 2
    assert "argument --max-gb: " in capsys.readouterr().err


@pytest.mark.skipif(subprocess.call(["unshare", "-rm", "true"], stderr=subprocess.DEVNULL) != 0, reason="can't mount")
@pytest.mark.parametrize(
    ("size", "problem"),
    [
        (1, "the cache of images in {cache}/images can't be written: No space left on device"),
        (3, "lab/base:1: it unpacks to more than this disk has space for"),
    ],
)
def test_a_full_disk_is_named_and_nothing_is_left(size: int, problem: str, tmp_path: Path) -> None:
    """While a layer is stored, and while it is unpacked; with a remedy."""
    noise = base64.b64encode(random.Random(1).randbytes(2**21)).decode()
    write_layout(tmp_path / "layout", *manifest([layer(("bin/", ""), ("bin/sh", noise))]))
    (tmp_path / "cache").mkdir()
    script = f"""mount -t tmpfs -o size={size}m full cache
    {sys.executable} -m demeanor harbor images import layout lab/base:1; echo "exit $?"
    find cache -name '*.json' -o -name 'new-*' -o -name '.*'"""
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "exit 2\n", done.stderr
    assert problem.format(cache=tmp_path / "cache") in done.stderr
    assert "free some space" in done.stderr
    assert "Traceback" not in done.stderr


def a_program(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Let `mmdebstrap` be a shell script."""
    folder.mkdir()
    (folder / "mmdebstrap").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "mmdebstrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_a_debian_image_is_made_from_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its archive, the last argument, becomes an image; what mmdebstrap does is shown, and nothing else is left."""
    made = tmp_path / "made"
    (made / "bin").mkdir(parents=True)
    a_program(tmp_path / "programs", monkeypatch, f'echo "I: downloading"; for f; do :; done; tar -cf "$f" -C {made} .')
    assert main(["harbor", "rootfs", "make", "debian:12"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("debian:12 is ready: sha256:")
    assert "debian:12: downloading\n" in shown.err
    assert len(list((tmp_path / "cache/images/roots").iterdir())) == 1


def test_an_ordinary_user_is_told_what_mmdebstrap_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Or to pull the image instead; other errors have no such advice."""
    a_program(tmp_path / "a", monkeypatch, 'echo "E: unable to pick chroot mode automatically"; exit 25')
    assert main(["harbor", "rootfs", "make", "debian:12"]) == 2
    shown = capsys.readouterr().err
    assert "apt-get install fakechroot" in shown
    assert "demeanor harbor images pull debian:12" in shown
    a_program(tmp_path / "b", monkeypatch, 'echo "E: no such suite"; exit 25')
    assert main(["harbor", "rootfs", "make", "debian:12"]) == 2
    assert "fakechroot" not in capsys.readouterr().err


@pytest.mark.skipif(not HAS_SUBREAPERS, reason="whole trees of processes can be ended on Linux only")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_mmdebstrap_leaves_nothing_running(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither itself nor its daemon (`faked`), however Demeanor ends. It may clean up first, unless Demeanor is killed;
    its archive is gone then, too."""
    daemon = "setsid sh -c 'echo $$ > new; mv new daemon; exec sleep 1000' &"
    script = f"touch $TMPDIR/file; cd {tmp_path}; {daemon} trap 'echo > cleaned; exit 1' TERM; echo $$ > own\n"
    script += 'while [ ! -e daemon ]; do sleep 0.01; done; echo "I: begun"; while :; do sleep 0.01; done'
    a_program(tmp_path / "programs", monkeypatch, script)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    command = [sys.executable, "-m", "demeanor", "harbor", "rootfs", "make", "debian:12"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == b"debian:12: begun\n"
        os.kill(process.pid, number)
        process.wait(120)
    wait_until(lambda: not any(alive(int((tmp_path / name).read_text())) for name in ("daemon", "own")))
    if number != signal.SIGKILL:
        assert process.returncode == 130
        assert (tmp_path / "cleaned").exists()
        assert list((tmp_path / "cache/images/roots").iterdir()) == []
        assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.skipif(
    subprocess.call(["unshare", "--mount", "true"], stderr=subprocess.DEVNULL) != 0, reason="can't mount"
)
def test_mounts_of_mmdebstrap_are_gone_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also if it does not unmount them: removing its temporary files must not remove files of this machine."""
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious/file").touch()
    script = f'mkdir $TMPDIR/in && mount --bind {tmp_path}/precious $TMPDIR/in && echo "E: mounted"; exit 1'
    a_program(tmp_path / "programs", monkeypatch, script)
    assert main(["harbor", "rootfs", "make", "debian:12"]) == 2
    assert "E: mounted" in capsys.readouterr().err
    assert str(tmp_path) not in Path("/proc/mounts").read_text()
    assert (tmp_path / "precious/file").exists()
