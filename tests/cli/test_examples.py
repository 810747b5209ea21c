"""The examples in the help of each command."""

from __future__ import annotations

import shlex

import pytest

from demeanor.cli.examples import EXAMPLES
from demeanor.cli.registry import COMMANDS, NOTHING_ALONE, all_commands, command_module, command_of, parser_of


@pytest.mark.parametrize("name", all_commands())
def test_the_help_of_every_command_ends_with_examples_that_can_be_parsed(name: str) -> None:
    """Each example is a command line that the command accepts."""
    examples = EXAMPLES[name] if name in COMMANDS else command_module(name).EXAMPLES
    assert parser_of(name).format_help().rstrip().endswith(examples[-1][1])
    for line, _ in examples:
        words = shlex.split(line.partition(">")[0])
        if words[0] == "demeanor":
            command, arguments = command_of(words[1:])
            assert command not in NOTHING_ALONE
            _, rest = parser_of(command).parse_known_args(arguments)
            assert [word for word in rest if word.startswith("-")] == [], line


def test_no_command_without_examples_or_examples_without_command() -> None:
    """In both directions."""
    assert set(EXAMPLES) == set(COMMANDS)
