"""The shell reader: any text is read within its limits or refused, and quoting means what it means to a shell."""

from __future__ import annotations

import shlex
import subprocess
import sys
import time

import pytest
from hypothesis import given, strategies as st

from demeanor.judge.effects.command_effects import command_effects
from demeanor.judge.effects.shell import MAX_CODE, SimpleCommand, UnreadableCommand, read_shell

TOKENS = (
    "( ) $( ` { } [[ ]] (( )) ; ;; & && | || |& > >> < << <<- <<< <<'A' <<\"B\" \nA\n \nB\n 2>&1 &> ' \" \\ $ ${ # ! ="
    " * ? ~ if then fi for in do done while case esac function rm cat echo a b.txt -c sh bash eval xargs find -exec \t"
)  # fmt: skip
SCRIPTS = st.lists(st.sampled_from([*TOKENS.split(" "), " ", "\n", "\0", "é"]), max_size=80).map(" ".join)
WORDS = st.lists(st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=20), max_size=6)


@given(SCRIPTS | st.text(max_size=300))
def test_any_text_is_read_or_refused(text):
    """Hostile input never raises anything else, and gives a bounded result."""
    try:
        commands = read_shell(text)
    except UnreadableCommand:
        assert command_effects(text).unclear
    else:
        assert all(isinstance(command, SimpleCommand) for command in commands)
        assert command_effects(text) == command_effects(text)


@given(WORDS)
def test_quoted_words_are_read_as_the_shell_reads_them(words):
    """`shlex.join` quotes for a shell; reading gives the same words back."""
    command = ["rm", "--", *words]
    (found,) = read_shell(shlex.join(command))
    assert [word.text for word in found.words] == command
    assert not any(word.glob for word in found.words)


@given(WORDS)
def test_every_quoted_operand_is_a_target(words):
    """What is deleted is exactly what is named."""
    known = command_effects(f"true && rm -- {shlex.join(words)}" if words else "rm").known
    assert len(known) == len([word for word in words if word not in {"-", "/dev/null"}])


@given(st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0\r"), max_size=400))
def test_text_of_a_quoted_here_document_is_never_a_command(text):
    """Whatever an agent writes into a file that way is text."""
    body = "\n".join(line for line in text.split("\n") if line != "END")
    found = command_effects(f"cat > a.txt <<'END'\n{body}\nEND\n")
    assert [(effect.kind, effect.target, effect.text) for effect in found.known] == [("edit", "a.txt", f"{body}\n")]
    assert not found.unclear


def test_large_here_document_is_readable():
    """Agents write whole files with `cat <<'EOF'`; only the command around them is limited."""
    body = "print('hello')\n" * 20_000
    assert command_effects(f"cat > a.py <<'EOF'\n{body}EOF\n").known[0].text == body


@pytest.mark.parametrize(
    "text",
    [
        "x" * 2_000_000,
        "a;" * MAX_CODE,
        "a;" * 3000,
        "<<'A'\n" * 100_000,
        "(" * MAX_CODE,
        "a|" * (MAX_CODE // 2),
        "$(" * 3000,
    ],
)
def test_hostile_length_and_nesting_are_refused_in_bounded_time(text):
    """Parsing takes time that grows with the square of the length for some inputs, so the length is limited."""
    started = time.process_time()
    assert command_effects(text).unclear
    assert time.process_time() - started < 20


def test_parser_is_loaded_by_the_first_command_only():
    """Start-up and checks that don't ask about shell commands don't pay for it."""
    code = (
        "import sys; from demeanor.judge.effects.command_effects import command_effects; import demeanor.judge.judging;"
        "assert 'tree_sitter' not in sys.modules; command_effects('ls'); assert 'tree_sitter' in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
