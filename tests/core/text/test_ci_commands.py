"""What agents, evals and providers write is never a command of a CI service."""

from __future__ import annotations

import json
import re
import subprocess

import pytest
from hypothesis import given, strategies as st

from demeanor.core.text.ci_commands import CommandFilter, neutral
from tests.helpers.project import Project

COMMANDS = {
    "GITHUB_ACTIONS": [
        "::set-env name=A::b",
        "  ::error::x",
        "\t::stop-commands::y",
        "x ##[command]z",
        "a\r::add-mask::b",
    ],
    "TF_BUILD": ["##vso[task.setvariable variable=A]b", "x ##vso[task.complete]", "##[section]x"],
    "TEAMCITY_VERSION": ["##teamcity[buildStatus status='SUCCESS']", "x ##teamcity[message]"],
    "GITLAB_CI": ["section_start:1:a", "x section_end:1:a"],
    "BUILDKITE": ["--- group", "+++ open", "~~~ shut", "^^^ +++"],
}
ACTIVE = {
    "GITHUB_ACTIONS": ["\n::", "\n  ::", "\n\t::", "\r::", "##["],
    "TF_BUILD": ["##vso[", "##["],
    "TEAMCITY_VERSION": ["##teamcity["],
    "GITLAB_CI": ["section_start:", "section_end:"],
    "BUILDKITE": ["\n---", "\n+++", "\n~~~", "\n^^^"],
}
CASES = [(service, command) for service, commands in COMMANDS.items() for command in commands]


@pytest.mark.parametrize(("service", "command"), CASES)
def test_commands_are_escaped_on_their_service_only(service: str, command: str) -> None:
    """Elsewhere, the text stays as it is."""
    text = f"line\n{command}\nline\n"
    found = neutral(text, {service: "1"})
    assert not any(mark in found for mark in ACTIVE[service])
    assert neutral(text, {}) == text
    assert json.loads(f'"{found}"'.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")) == text


@given(st.sampled_from(CASES), st.lists(st.integers(1, 8), max_size=12), st.text("ab:#\n ", max_size=6))
def test_commands_in_pieces(case: tuple[str, str], sizes: list[int], before: str) -> None:
    """However a text is divided into writes, no command gets through."""
    service, command = case
    text, pieces = f"{before}\n{command}\n", []
    for size in sizes:
        pieces.append(text[:size])
        text = text[size:]
    filtered = CommandFilter({service: "1"})
    found = "".join(map(filtered, (*pieces, text)))
    assert not any(mark in f"\n{found}" for mark in ACTIVE[service])


def test_ordinary_output_stays() -> None:
    """Places of evals, C++ names, headings and rules."""
    text = "evals/a.py::b  std::string\n# a\n## b\n- c\n+ d\n-- e\n"
    assert neutral(text, dict.fromkeys(COMMANDS, "1")) == text


EVALS = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Write.", trials=1)
def says(rig, result):
    print("::warning::printed by the check")
    assert rig.workspace["out.txt"].text == "good", rig.workspace["out.txt"].text
"""
CONFIG = """\
subjects = ["writer"]
sandbox = "none"
[agents.writer]
adapter = "command"
command = ["sh", "-c", "printf 'x\\n::error::y\\n##vso[task]z' | tee out.txt", "{prompt}"]
"""


def test_a_report_in_a_job_has_no_commands_but_files_are_exact(project: Project) -> None:
    """On the terminal, in JSON and in pytest; a redirect to a file gets the data as it is."""
    project.write(demeanor_toml=CONFIG, evals__eval_a_py=EVALS)
    services = {"GITHUB_ACTIONS": "true", "TF_BUILD": "True"}
    for words in (("run",), ("trace", "says"), ("report", "--format", "markdown")):
        ran = project.demeanor(*words, **services)
        output = "\n" + ran.stdout + "\n" + ran.stderr
        assert not any(line.lstrip().startswith("::") for line in output.splitlines()), (words, output)
        assert "##vso[" not in output, words
    ran = project.demeanor("run", "--json", **services)
    printed = ran.stdout[ran.stdout.index("{") :]
    assert "##vso[" not in printed
    assert "##vso[task]z" in json.dumps(json.loads(printed)).replace("\\u0023", "#")
    tested = project.pytest("evals", **services)
    assert "##vso[" not in tested.stdout
    with (project.folder / "trace.txt").open("w") as file:
        subprocess.run(
            project.command("trace", "says", "--json"), cwd=project.folder, env={**project.env, **services},
            stdout=file, check=True, timeout=300,
        )  # fmt: skip
    assert "\\u0023" not in (project.folder / "trace.txt").read_text()


NAMED = """\
import os
from demeanor import ALWAYS_PASSES, eval_test

def says(rig, result):
    os.write(1, result.encode())
    os.system("cat <<'END'\\n" + result + "\\nEND")
    print("printed")
    assert result == "quiet"

ALL = [eval_test(ALWAYS_PASSES, prompt="x", name="##vso[task]a", trials=1)(says)]
"""


def test_a_check_and_its_programs_write_no_commands(project: Project) -> None:
    """What they write is stored with the trial, in its order, like what a check prints. Names of evals are escaped."""
    project.write(demeanor_toml=CONFIG, evals__eval_a_py=NAMED)
    services = {"GITHUB_ACTIONS": "true", "TF_BUILD": "True"}
    runs = [project.demeanor("run", **services), project.demeanor("rejudge", "latest", **services)]
    runs += [project.pytest("-v", "-s", "-rA", "evals", **services)]
    for ran in runs:
        output = ran.stdout + ran.stderr
        assert ran.returncode == 1, output
        assert not any(line.lstrip().startswith("::") for line in output.splitlines()), output
        assert "##vso[" not in output
    log = next((project.folder / "results/latest").rglob("trial-1.log")).read_text()
    assert re.search(r"(?s)x\n *::error::y\n *##vso\[task\]zx\n *::error::y\n *##vso\[task\]z\n *printed", log), log
