"""Options that commands share: the request that they describe, and the output format."""

from __future__ import annotations

import argparse

import pytest

from demeanor.cli import main
from demeanor.cli.options import (
    choice_arguments,
    output_format,
    request_of,
    subject_arguments,
    task_arguments,
    trial_arguments,
)
from demeanor.core.errors import UsageError
from demeanor.core.run_request import RunRequest


def parsed(*words: str) -> argparse.Namespace:
    """A command line with all shared options."""
    parser = argparse.ArgumentParser()
    for add in (choice_arguments, subject_arguments, task_arguments):
        add(parser)
    trial_arguments(parser.add_argument_group("how"))
    return parser.parse_args(words)


def test_every_shared_option_reaches_the_request():
    """Each under the field of its name."""
    words = "evals/a.py -k x --scenario n --suite s --tag t --subject a:m --subject b --model m --tasks w --env docker"
    words += " --jobs 2 --timeout 9 --budget-usd 1.5 --sandbox none --seed 7"
    assert request_of(parsed(*words.split())) == RunRequest(
        paths=("evals/a.py",), keyword="x", names=("n",), suites=("s",), tags=("t",), subjects=("a:m", "b"), model="m",
        tasks=("w",), env="docker", jobs=2, timeout=9.0, budget_usd=1.5, sandbox="none", seed=7,
    )  # fmt: skip


def test_no_option_is_the_default_request():
    """Nothing is set that was not given."""
    assert request_of(parsed()) == RunRequest()


def test_a_commands_own_fields_take_precedence():
    """`bisect` has one subject, which is not a list."""
    args = argparse.Namespace(subject=None, trials=3, jobs=2)
    assert request_of(args, subjects=("a:m",), trials=None) == RunRequest(subjects=("a:m",), jobs=2)


def test_a_provider_is_put_before_its_model_and_needs_one():
    """`--provider p --model m` is short for `--model p/m`."""
    assert request_of(parsed("--provider", "p", "--model", "m")).model == "p/m"
    with pytest.raises(UsageError, match="--provider needs a model"):
        request_of(parsed("--provider", "p"))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"json": True}, "json"),
        ({"json": True, "format": "markdown"}, "json"),
        ({"json": False, "format": "markdown"}, "markdown"),
        ({"json": False}, "terminal"),
    ],
)
def test_json_takes_precedence_over_format(options: dict[str, object], expected: str):
    """A command without `--format` prints for the terminal."""
    assert output_format(argparse.Namespace(**options)) == expected


@pytest.mark.parametrize("command", ["serve", "gateway serve"])
@pytest.mark.parametrize("port", ["-1", "65536", "x"])
def test_a_port_that_does_not_exist_is_named(command: str, port: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is started."""
    assert main([*command.split(), f"--port={port}"]) == 2
    assert "argument --port: " in capsys.readouterr().err
