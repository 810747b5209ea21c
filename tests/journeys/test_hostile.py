"""An agent that attacks the readers of its report: the terminal, the summary in CI, JUnit, JSON, the log."""

from __future__ import annotations

import json
import re
import sys
from xml.etree import ElementTree

import pytest

from tests.helpers.project import Project

AGENT = r"""
import os, sys
bad = (
    "\x1b[31mred\x1b[0m \x1b[2J\x1b[H \x1b]8;;http://evil.example\x07click\x1b]8;;\x07 \x1b]52;c;ZXZpbA==\x07 "
    "\x9b31m \x00 \x07\r"
    "\u202egnp.exe\u202c \u2066x\u2069 \u200b | a | b |\n|---|---|\n"
    "[link](http://evil.example) ![pic](http://evil.example/x.png) "
    "<script>alert(1)</script> <img src=x onerror=alert(1)> </code></details> ```\n"
    "# heading\n@everyone ]]> &lt; " + "A" * 100_000
)
sys.stdout.buffer.write(bad.encode() + b"\xed\xa0\x80 \xff\xfe")
sys.stderr.buffer.write(bad.encode())
open("out.txt", "w").write(bad)
open("na\x1b[31mme`|<b>.txt", "w").write(bad)
"""
CONFIG = """\
subjects = ["evil"]
attempts = 1
[agents.evil]
adapter = "command"
command = ["{python}", "agent.py", "{{prompt}}"]
exit_codes = [0]
"""
EVAL = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Attack.", files={"agent.py": open("agent.txt").read()}, trials=1)
def attacks(rig, result):
    said = rig.workspace["out.txt"].text
    assert said == "kind", said + "\\ud800" + repr(sorted(rig.workspace))
"""
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


@pytest.fixture
def evil(project: Project) -> Project:
    """A run of it."""
    project.write(agent_txt=AGENT, demeanor_toml=CONFIG.format(python=sys.executable), evals__eval_attacks_py=EVAL)
    return project


def test_nothing_an_agent_writes_reaches_a_reader_unescaped(evil: Project) -> None:
    """Through the real command line: terminal, trace, log, summary, JUnit and JSON."""
    ran = evil.demeanor("run", "--junit", "junit.xml")
    assert ran.returncode == 1, ran.stderr
    trace = evil.demeanor("trace")
    assert trace.returncode == 0, trace.stderr
    results = evil.folder / "results/latest"
    log = next(results.rglob("trial-*.log")).read_text()
    summary, junit = (results / "summary.md").read_text(), (evil.folder / "junit.xml").read_text()
    report = (results / "report.json").read_text()
    for text in (ran.stdout, ran.stderr, trace.stdout, log, summary, junit, report):
        assert not CONTROLS.search(text), CONTROLS.findall(text)[:5]
    assert max(map(len, ran.stdout.splitlines())) < 1000
    assert len(summary) < 100_000
    ElementTree.fromstring(junit)  # noqa: S314 - our own file
    json.loads(report)


def test_markdown_of_an_agent_stays_inside_its_fence(evil: Project) -> None:
    """Links, pictures, tables, HTML and headings stand in code only, and no fence is closed from inside."""
    evil.demeanor("run")
    summary = (evil.folder / "results/latest/summary.md").read_text()
    outside, fence = [], ""
    for line in summary.splitlines():
        if not fence and (found := re.match(r"(`{3,})text$", line)):
            fence = found[1]
        elif fence and line == fence:
            fence = ""
        elif not fence:
            outside.append(re.sub(r"`[^`]*`|<code>[^<]*</code>", "", line))
    assert fence == ""
    prose = "\n".join(outside)
    assert "evil.example" not in prose
    assert "<script" not in prose
    assert "<img" not in prose
    assert "@everyone" not in prose
    assert prose.count("<details>") == prose.count("</details>") == 2  # the failure, and the columns
