"""No secret reaches the disk, and what an agent gives away is told."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.helpers.project import Project

SECRET = 'pa55/w0rd+"quoted"&ünicode-1234567'
VENDOR = "ghp_" + "aB3d" * 9
SHAPES = (
    SECRET,
    json.dumps(SECRET)[1:-1],
    quote(SECRET, safe=""),
    SECRET.encode().hex(),
    base64.b64encode(SECRET.encode()).decode().rstrip("=")[:-1],
    base64.b64encode(b"k" + SECRET.encode()).decode().rstrip("=")[2:-1],
    base64.b64encode(b"k:" + SECRET.encode()).decode().rstrip("=")[3:-1],
    VENDOR,
)
AGENT = """\
import base64, json, os, sys, urllib.parse
s = os.environ["PASSED_VALUE"]
shapes = [s, json.dumps(s), json.dumps(s, ensure_ascii=False), urllib.parse.quote(s, safe=""), s.encode().hex()]
shapes += [base64.b64encode(before + s.encode()).decode() for before in (b"", b"k", b"k:")] + ["ghp_" + "aB3d" * 9]
for text in shapes:
    print("here:", text)
    print("there:", text, file=sys.stderr)
open("out.txt", "w").write("\\n".join(shapes))
open("out.bin", "wb").write(b"\\0\\1".join(text.encode() for text in shapes))
os.symlink(s.replace("/", "_"), "link")
"""
CONFIG = """\
subjects = ["blabber"]
attempts = 1
canary = "{canary}"
[agents.blabber]
adapter = "command"
command = ["{python}", "agent.py", "{{prompt}}"]
pass_env = ["PASSED_VALUE"]
"""
EVALS = """\
from demeanor import ALWAYS_PASSES, eval_test

FILES = {"agent.py": open("agent.txt").read(), "kept.txt": open("kept.txt").read()}

@eval_test(ALWAYS_PASSES, prompt="Talk.", files=FILES, trials=2, log=True)
def talks(rig, result):
    assert rig.workspace["out.txt"].text == "quiet", rig.workspace["out.txt"].text
"""


def everything(folder: Path) -> bytes:
    """All that lies in a folder, names included; what is packed is unpacked too."""
    found = []
    for path in sorted(folder.rglob("*")):
        found.append(str(path).encode())
        if path.is_symlink():
            found.append(str(path.readlink()).encode())
        elif path.is_file():
            content = path.read_bytes()
            found += [content, gzip.decompress(content) if path.suffix == ".gz" else b""]
    return b"\n".join(found)


@pytest.fixture
def blabber(project: Project) -> Project:
    """An agent that tells its secret in every shape, wherever it can."""
    import sys

    project.write(
        agent_txt=AGENT, kept_txt=f"{SECRET}\n", demeanor_toml=CONFIG.format(canary="fail", python=sys.executable)
    )
    project.write(evals__eval_talks_py=EVALS)
    return project


def test_no_secret_reaches_the_disk(blabber: Project) -> None:
    """Ledger, captures, logs, diffs, workspaces, reports, JUnit and the summary of CI: in no shape and in no place."""
    summary = blabber.folder / "summary-of-ci.md"
    ran = blabber.demeanor("run", "--junit", "results/junit.xml", PASSED_VALUE=SECRET, GITHUB_STEP_SUMMARY=str(summary))
    assert ran.returncode == 1, ran.stderr
    assert "‹redacted:PASSED_VALUE:" in ran.stdout
    kept = everything(blabber.folder / "results") + summary.read_bytes() + everything(blabber.folder / "evals")
    kept += ran.stdout.encode() + ran.stderr.encode()
    for shape in SHAPES:
        assert shape.encode() not in kept, shape
        assert base64.b64encode(shape.encode())[:-4] not in kept, f"{shape} in a capture"
    names = {path.name for path in (blabber.folder / "results").rglob("*")}
    assert {
        "log.txt",
        "workspace.diff",
        "out.bin",
        "kept.txt",
        "captures.jsonl.gz",
        "junit.xml",
        "demeanor.db",
    } <= names
    diff = next((blabber.folder / "results").rglob("workspace.diff")).read_text()
    assert diff.count("‹redacted:PASSED_VALUE:") >= 8
    assert diff.count("‹redacted:github-token:") >= 1


def test_the_kept_capture_can_be_read_again(blabber: Project) -> None:
    """What stands for a secret breaks neither JSON nor base64."""
    blabber.demeanor("run", PASSED_VALUE=SECRET)
    packed = next((blabber.folder / "results").rglob("captures.jsonl.gz"))
    for line in gzip.decompress(packed.read_bytes()).splitlines():
        files = json.loads(line)["after"]["entries"]
        assert b"redacted:PASSED_VALUE" in base64.b64decode(files["out.txt"]["content"], validate=True)
    trace = blabber.demeanor("trace", "talks")
    assert trace.returncode == 0, trace.stderr


LEAKY = """\
subjects = ["leaky"]
attempts = 1
[agents.leaky]
adapter = "command"
command = ["sh", "-c", "{script}", "{{prompt}}"]
"""
QUIET = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Work.", trials=1)
def works(rig, result):
    assert True
"""


@pytest.mark.parametrize(
    ("script", "where"),
    [
        ("env", "printed on stdout"),
        ("cat ~/.release-credentials >&2", "printed on stderr"),
        ("cp ~/.release-credentials notes.txt", "in the workspace in notes.txt"),
        ("printenv RELEASE_DEPLOY_TOKEN | base64 -w0 > x", "in the workspace in x"),
    ],
)
def test_a_canary_that_is_seen_is_a_leak_and_the_trial_fails(project: Project, script: str, where: str) -> None:
    """Although its check is content: the finding says what was leaked, and where."""
    project.write(demeanor_toml=LEAKY.format(script=script), evals__eval_works_py=QUIET)
    ran = project.demeanor("run")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "leaked" in ran.stdout
    report = json.loads((project.folder / "results/latest/report.json").read_text())
    assert where in json.dumps(report)


def test_a_leak_can_be_noted_only_and_the_canary_be_left_out(project: Project) -> None:
    """As the configuration says."""
    project.write(demeanor_toml='canary = "note"\n' + LEAKY.format(script="env"), evals__eval_works_py=QUIET)
    ran = project.demeanor("run")
    assert ran.returncode == 0, ran.stdout
    assert "was leaked: printed on stdout" in (project.folder / "results/latest/report.json").read_text()
    project.write(demeanor_toml='canary = "off"\n' + LEAKY.format(script="env"))
    ran = project.demeanor("run")
    assert ran.returncode == 0
    assert "RELEASE_DEPLOY_TOKEN" not in (project.folder / "results/latest/ledger.jsonl").read_text()


def test_what_is_sent_to_the_model_is_a_leak_too_and_replays(project: Project) -> None:
    """An agent that shows its environment to the model; a cassette of it is matched by another trial's canary."""
    evals = QUIET.replace('prompt="Work."', 'prompt="Run the command `env`."')
    project.write(demeanor_toml='subjects = ["native:scripted"]\nattempts = 1\n', evals__eval_works_py=evals)
    ran = project.demeanor("run", "--record")
    report = (project.folder / "results/latest/report.json").read_text()
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "sent to the model in" in report
    cassette = everything(project.folder / "evals/cassettes").decode()
    assert "RELEASE_DEPLOY_TOKEN={{demeanor:canary}}" in cassette
    again = project.demeanor("run", "--replay")
    assert again.returncode == 1, again.stdout
    assert "sent to the model in" in (project.folder / "results/latest/report.json").read_text()
