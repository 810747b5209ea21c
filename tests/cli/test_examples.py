"""The examples in the help of each command."""

from __future__ import annotations

import shlex

import pytest

from demeanor.cli.examples import EXAMPLES
from demeanor.cli.registry import COMMANDS, command_help, make_parser


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_every_command_ends_with_examples_that_can_be_parsed(name: str) -> None:
    """Each example is a command line that the command accepts."""
    assert command_help(name).rstrip().endswith(EXAMPLES[name][-1][1])
    for line, _ in EXAMPLES[name]:
        words = shlex.split(line.partition(">")[0])
        if words[0] == "demeanor":
            parsed, rest = make_parser(words[1] if len(words) > 1 else None).parse_known_args(words[1:])
            assert parsed.command in COMMANDS
            assert [word for word in rest if word.startswith("-")] == [], line


def test_no_command_without_examples_or_examples_without_command() -> None:
    """In both directions."""
    assert set(EXAMPLES) == set(COMMANDS)
