"""An option that does not fit the chosen form of a verb is refused, never ignored."""

from __future__ import annotations

import argparse

import pytest

from demeanor.cli.forms import refuse_misfits
from demeanor.core.values.errors import UsageError
from tests.helpers.project import Project

OPTIONS = {"": ("plain", "both"), "--big": ("size", "both"), "--small": ("size",)}


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the verb."""
    for name in ("big", "small", "both"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("-p", "--plain", default=3, type=int)
    parser.add_argument("--size")
    parser.add_argument("--shared")
    parser.add_argument("words", nargs="*")


def refusal(form: str, *words: str) -> str:
    """Why the words do not fit the form; empty if they do."""
    parser = argparse.ArgumentParser()
    arguments(parser)
    try:
        refuse_misfits(parser.parse_args(words), arguments, form, OPTIONS)
    except UsageError as error:
        return str(error)
    return ""


def test_an_option_of_another_form_is_refused() -> None:
    """It names the form that it needs, or the one that it does not go with."""
    assert refusal("", "--size", "1") == "--size needs --big or --small"
    assert refusal("--big", "--plain", "4") == "--plain does not go with --big\n  → leave out one of them"
    assert refusal("--small", "--both").startswith("--both does not go with --small")


def test_what_fits_is_accepted() -> None:
    """Options of the form, options of all forms, positionals, and an option that has its default value."""
    assert refusal("", "-p", "4", "--both", "--shared", "x", "word") == ""
    assert refusal("--big", "--size", "1", "--both", "--shared", "x", "word") == ""
    assert refusal("--small", "--plain", "3") == ""


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("report --k 3", "--k needs --metrics"),
        ("report --subject a:m", "--subject needs --eval"),
        ("report --eval e --nights 3", "--nights does not go with --eval"),
        ("report --eval e --all", "--all does not go with --eval"),
        ("report --eval e --brief 1", "--brief does not go with --eval"),
        ("report --eval e RUN", "--eval: all runs are shown, so RUN=RUN does not fit"),
        ("report --list RUN", "--list: all runs are shown, so RUN=RUN does not fit"),
        ("report --brief 1 --json", "--brief N is markdown, not JSON"),
        ("report --metrics --format html", "--format html does not go with --metrics"),
        ("report a b", "2 runs: a, b\n  → name one, or add --metrics"),
        ("report --eval e --failures", "not allowed with argument"),
        ("validate --labels x.csv", "--labels needs --calibrate"),
        ("validate --list --strict", "--strict does not go with --list"),
        ("validate --calibrate e -k x", "-k does not go with --calibrate"),
        ("validate --calibrate e evals", "--calibrate e: PATH=evals does not fit"),
        ("validate --calibrate e --list", "not allowed with argument"),
        ("trace --note x", "--note needs --label"),
        ("trace --prompt --diff", "--diff does not go with --prompt"),
        ("trace --prompt --label real", "--label does not go with --prompt"),
        ("trace a b --prompt", "--prompt takes one TRIAL, so OTHER=b does not fit"),
        ("trace --notes --full", "--full does not go with --notes"),
        ("trace --label real", "--label real needs a TRIAL"),
        ("promote --demote --trials 5", "--trials does not go with --demote"),
        ("rejudge --trials 2", "--trials needs --watch"),
        ("rejudge --watch --keep", "--keep does not go with --watch"),
        ("rejudge --watch --json", "--json does not go with --watch"),
        ("rejudge a b", "a b: one run or eval is judged again"),
    ],
)
def test_the_forms_of_each_verb(project: Project, line: str, message: str) -> None:
    """With exit code 2."""
    done = project.demeanor(*line.split())
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr


def test_the_environment_does_not_count_as_an_option(project: Project) -> None:
    """A variable that is the default of an option of another form is not refused."""
    done = project.demeanor("compare", "--plan", DEMEANOR_AGENT_DEBUG="1")
    assert done.returncode == 0, done.stderr
