"""`demeanor gateway contract`: our dialects, another converter, and a server."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from playwright._impl._driver import compute_driver_executable

from tests.helpers.project import Project
from tests.journeys.test_live_provider import serving

LOSSY = """\
import json
from demeanor.gateway.contract import builtin_converter

def convert(source, target, kind, body):
    out = builtin_converter(source, target, kind, body)
    return out.replace(b"call_", b"kall_") if kind == "request" else out

def broken(source, target, kind, body):
    raise RuntimeError("not today")
"""


def test_our_own_dialects_pass(project: Project):
    """Every case passes."""
    ran = project.demeanor("gateway", "contract")
    assert ran.returncode == 0, ran.stdout
    assert ran.stdout.endswith(" 0 failed\n")
    assert int(ran.stdout.split()[0]) > 500


def test_a_lossy_converter_fails_with_details(project: Project):
    """Each failure names the case, why it matters, and what was found."""
    project.write(lossy_py=LOSSY)
    ran = project.demeanor("gateway", "contract", "--converter", "lossy:convert", "-k", "ids")
    assert ran.returncode == 1
    assert "kall_" in ran.stdout
    everything = json.loads(project.demeanor("gateway", "contract", "--converter", "lossy:broken", "--json").stdout)
    assert everything["passed"] == 0
    assert "RuntimeError: not today" in everything["cases"][0]["problems"][0]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--converter", "nothing"], "can't be started: No such file or directory"),
        (["--converter", "unbalanced 'quote"], "name a function as MODULE:FUNCTION, or a command such as"),
        (["--converter", "false"], "it ended with exit code 1 before it answered a message"),
        (["--converter", "false convert.ts"], "with a node before 22.18: npx --yes tsx FILE"),
        (["--converter", "no_such_module:f"], "can't be imported"),
        (["--converter", "json:f"], "this function does not exist"),
        (["-k", "nosuchcase"], "no case matches"),
        (["--url", "http://127.0.0.1:1"], "--url needs --dialect and --model"),
    ],
)
def test_wrong_options_are_reported(project: Project, words: list[str], complaint: str):
    """Before anything runs."""
    ran = project.demeanor("gateway", "contract", *words)
    assert ran.returncode == 2
    assert complaint in ran.stderr


def typescript_node() -> str:
    """A node that runs TypeScript as it is: this machine's, or the one that tests in a browser bring along."""
    nodes = [path for path in (shutil.which("node"), compute_driver_executable()[0]) if path]
    for node in nodes:
        version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
        if tuple(map(int, version.strip()[1:].split(".")[:2])) >= (22, 18):
            return node
    raise AssertionError(f"none of these is node 22.18 or newer: {nodes}")


def test_a_converter_in_typescript_is_checked(project: Project):
    """The example passes what its first lines say, and fails where it loses something."""
    example = Path(__file__).parents[3] / "examples/contract/convert.ts"
    assert "await" not in example.read_text(), "tsx, for older versions of node, makes it CommonJS"
    converter = f"{typescript_node()} {example}"
    words = ("gateway", "contract", "--converter", converter)
    thoughts = project.demeanor(*words, "-k", "Thinking Trace and anthropic → openai-chat")
    assert (thoughts.returncode, thoughts.stdout) == (0, "3 cases, 0 failed\n"), thoughts.stderr
    calls = project.demeanor(*words, "-k", "Tool Call and anthropic → openai-chat", "--json")
    assert calls.returncode == 1
    outcomes = {one["name"].partition(":")[0]: one.get("problems") for one in json.loads(calls.stdout)["cases"]}
    assert sum(map(bool, outcomes.values())) == 8
    assert "9007199254740992" in str(outcomes["3-tool-calls/exact-numbers"])
    other = project.demeanor(*words, "-k", "Thinking Trace and anthropic → gemini and request and unsigned")
    assert "ConverterError: no converter for a request from anthropic to gemini" in other.stdout


def test_words_beside_each_other_are_a_phrase(project: Project):
    """As the names of other tools' tests are written."""
    listed = project.demeanor("gateway", "contract", "--list", "-k", "Thinking Trace").stdout.splitlines()
    assert listed
    assert {line.partition("/")[0] for line in listed} == {"5-thinking-traces"}
    listed = project.demeanor("gateway", "contract", "--list", "-k", "Tool Call").stdout.splitlines()
    assert {line.partition("/")[0] for line in listed} >= {"3-tool-calls", "4-tool-call-ids"}


WEATHER = """\
from demeanor.gateway.script import Answer

def play(turn):
    if turn.request.tools and not turn.done:
        return Answer(calls=(turn.call_tool("get_weather", {"city": "Oslo"}),))
    return Answer(text="It rains in Oslo.")
"""


def test_a_server_is_probed(project: Project):
    """Our own gateway preserves ids, streams valid events and reports usage, in each dialect."""
    project.write(demeanor_toml='[models.weather]\nscript = "weather.py"\n', weather_py=WEATHER)
    with serving(project, "--model", "weather") as (url, key):
        for dialect in ("anthropic", "openai-chat", "openai-responses", "gemini"):
            words = (
                "gateway",
                "contract",
                "--url",
                url,
                "--dialect",
                dialect,
                "--model",
                "weather",
                "--key-env",
                "KEY",
            )
            ran = project.demeanor(*words, KEY=key)
            assert ran.returncode == 0, ran.stdout + ran.stderr
            assert "0 failed" in ran.stdout
    silent = project.demeanor("gateway", "contract", "--url", url, "--dialect", "anthropic", "--model", "m")
    assert silent.returncode == 3
    assert silent.stdout.count("can't be reached") == 1
    assert silent.stdout.endswith("7 probes, 0 failed, 7 undecided\n")
