"""Options that commands share: the request that they describe, and the output format."""

from __future__ import annotations

import argparse
import re
from dataclasses import replace
from pathlib import Path

import pytest

from demeanor.cli.options import (
    choice_arguments,
    env_argument,
    load_config,
    on_argument,
    output_format,
    request_of,
    subject_arguments,
    trial_arguments,
)
from demeanor.cli.program import main
from demeanor.config import read_config
from demeanor.config.tables import Limit
from demeanor.core.values.errors import BadInput, UsageError
from demeanor.core.values.executor_spec import ExecutorSpec
from demeanor.core.values.run_request import RunRequest
from demeanor.plugins.cluster.spec import ClusterSpec


@pytest.fixture(autouse=True)
def outside_of_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)


def parsed(*words: str) -> argparse.Namespace:
    """A command line with all shared options."""
    parser = argparse.ArgumentParser()
    parser.set_defaults(config=None)
    for add in (choice_arguments, subject_arguments, env_argument, on_argument):
        add(parser)
    trial_arguments(parser.add_argument_group("how"))
    return parser.parse_args(words)


def test_every_shared_option_reaches_the_request():
    """Each under the field of its name."""
    words = "evals/a.py -k x --scenario n --suite s --subject a:m --subject b --model m --env docker"
    words += " --jobs 2 --timeout 9 --budget 1.5usd --budget 20tokens --sandbox none --seed 7"
    assert request_of(parsed(*words.split())) == RunRequest(
        paths=("evals/a.py",), keyword="x", names=("n",), suites=("s",), subjects=("a:m", "b"), model="m",
        env="docker", jobs=2, timeout=9.0, budget_usd=1.5, budget_tokens=20, sandbox="none", seed=7,
    )  # fmt: skip


def test_no_option_is_the_default_request():
    """Nothing is set that was not given."""
    assert request_of(parsed()) == RunRequest()


def test_a_commands_own_fields_take_precedence():
    """`bisect` has one subject, which is not a list."""
    args = argparse.Namespace(subject=None, trials=3, jobs=2)
    assert request_of(args, subjects=("a:m",), trials=None) == RunRequest(subjects=("a:m",), jobs=2)


@pytest.mark.parametrize(
    ("amount", "message"),
    [
        ("5", "'5' has no unit\n  → write 5usd for US dollars, or 5tokens"),
        ("5eur", "'5eur' is not an amount\n  → write US dollars as 5usd or 0.50usd, and tokens as 200000tokens"),
        ("1.5tokens", "'1.5tokens' is not an amount"),
        ("0usd", "expected an amount above 0"),
        ("0.00usd", "expected an amount above 0"),
        ("-5usd", "'-5usd' is not an amount"),
        ("infusd", "'infusd' is not an amount"),
    ],
)
def test_an_amount_needs_a_number_and_a_unit(amount: str, message: str) -> None:
    """A guess would cost money."""
    with pytest.raises(BadInput, match=re.escape(message)):
        parsed(f"--budget={amount}")


def test_an_amount_is_named_once_for_each_unit() -> None:
    """The second one may be a mistake."""
    assert parsed("--budget", "20tokens", "--budget", "0.50usd").budget == Limit(usd=0.5, tokens=20)
    with pytest.raises(UsageError, match="--budget is given twice in usd"):
        parsed("--budget", "5usd", "--budget", "20tokens", "--budget", "6usd")


def test_a_second_model_does_not_silently_replace_the_first() -> None:
    """It would leave out what was asked for."""
    assert parsed("--model", "gpt-4o", "--model", "gpt-4o").model == "gpt-4o"
    with pytest.raises(UsageError, match="--model is given twice: 'gpt-4o' and 'gpt-5'"):
        parsed("--model", "gpt-4o", "--model", "gpt-5")


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("0", "expected 1 to 1000 workers, found 0"),
        ("host:8786", "'host:8786' is not a place where attempts can run"),
        ("tcp://host:8786", "tcp://host:8786 is not an address of TLS"),
    ],
)
def test_a_place_is_one_of_an_executor(
    place: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the command line and in the configuration; the remedy says which there are."""
    remedy = "\n  → write a number of workers to start here, such as 4, the tls://HOST:PORT of a scheduler"
    with pytest.raises(BadInput, match=re.escape(f"--on: {message}")) as on:
        parsed("--on", place)
    (tmp_path / "demeanor.toml").write_text(f'[executor]\non = "{place}"\n')
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match=re.escape(f"executor.on: {message}")) as configured:
        load_config(parsed())
    assert remedy in str(on.value)
    assert remedy in str(configured.value)


def test_the_place_of_the_option_overrides_that_of_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The settings stay; a command without the option runs everything in its process."""
    (tmp_path / "demeanor.toml").write_text('[executor]\non = 3\n[executor.cluster]\ncerts = "certs"\nslots = 2\n')
    monkeypatch.chdir(tmp_path)
    cluster = ClusterSpec(slots=2, certs=str(tmp_path / "certs"))
    assert load_config(parsed()).executor == replace(cluster, workers=3)
    assert load_config(parsed("--on", "4")).executor == replace(cluster, workers=4)
    assert load_config(parsed("--on", "local")).executor == ExecutorSpec()
    assert load_config(parsed("--on", "tls://host:8786")).executor == replace(cluster, scheduler="tls://host:8786")
    assert load_config(argparse.Namespace(config=None)).executor == ExecutorSpec()


def test_the_environment_says_whether_a_run_is_one_of_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    """CI systems set CI."""
    assert request_of(parsed()).kind == "local"
    monkeypatch.setenv("CI", "true")
    assert request_of(parsed()).kind == "ci"
    assert request_of(argparse.Namespace(kind="nightly")).kind == "nightly"


def test_options_are_not_abbreviated_and_a_mistake_is_one_message(capsys: pytest.CaptureFixture[str]) -> None:
    """Without the usage, which is long."""
    for words, message in {
        ("run", "--budg", "5usd"): "demeanor: run: unknown option '--budg'\n  → did you mean '--budget'?\n",
        ("run", "--jobs", "0"): "demeanor: run: argument --jobs: expected a whole number of at least 1, found 0\n",
        ("run", "--budget", "5"): "demeanor: --budget: '5' has no unit\n",
    }.items():
        assert main(words) == 2
        printed = capsys.readouterr().err
        assert printed.startswith(message), printed
        assert "usage:" not in printed


@pytest.mark.parametrize("words", [("--config", "absent.toml", "validate"), ("validate", "--config", "absent.toml")])
def test_the_configuration_is_named_before_or_after_the_command(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """It is an option of all commands that read one."""
    assert main(words) == 2
    assert "absent.toml: there is no such file" in capsys.readouterr().err


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


@pytest.mark.parametrize("command", ["nightly --dry-run", "report", "serve", "store export x"])
def test_an_address_is_no_folder_of_runs(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No folder is made that has the name of a scheme."""
    assert main([*command.split(), "--results=sqlite:////x/y.db"]) == 2
    assert "expected a folder, found an address" in capsys.readouterr().err
    (tmp_path / "demeanor.toml").write_text('results = "postgresql://host/db"')
    with pytest.raises(BadInput, match="results: expected a folder, found 'postgresql://host/db'"):
        read_config(tmp_path)


@pytest.mark.parametrize("command", ["serve", "gateway serve"])
@pytest.mark.parametrize("port", ["-1", "65536", "x"])
def test_a_port_that_does_not_exist_is_named(command: str, port: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is started."""
    assert main([*command.split(), f"--port={port}"]) == 2
    assert "argument --port: " in capsys.readouterr().err
