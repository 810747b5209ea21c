"""A Dockerfile's text as instructions."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, strategies as st

from demeanor.core.values.errors import BadInput
from demeanor.plugins.harbor.dockerfile.parser import parse

TEXT = """\
# syntax=docker/dockerfile:1
# a comment

FROM debian:12 AS base
run  echo one && \\
  # between
\t
  echo two \\\\
RUN --mount=type=cache,target=/x --network=none make
COPY ["a b", "c"]
COPY [not json] /x
  LABEL last=line"""


def test_lines_are_joined_and_comments_left_out() -> None:
    """The reported line is where an instruction begins; a doubled backslash at the end does not continue it."""
    found = parse(TEXT)
    assert [(one.line, one.name) for one in found] == [
        (4, "FROM"), (5, "RUN"), (9, "RUN"), (10, "COPY"), (11, "COPY"), (12, "LABEL"),
    ]  # fmt: skip
    assert found[1].value == "echo one &&   echo two \\\\"
    assert (found[2].flags, found[2].value) == ({"mount": "type=cache,target=/x", "network": "none"}, "make")
    assert (found[3].words, found[4].words) == (("a b", "c"), None)


def test_here_documents_belong_to_their_instruction() -> None:
    """Also two of them; lines like comments or instructions are just lines in there."""
    one, two = parse("RUN cat <<A <<-'B' > /x\n# kept\nRUN no\nA\n\tindented\n\tB\nRUN after $((1<<2))\n")
    assert [(doc.name, doc.content, doc.indented) for doc in one.heredocs] == [
        ("A", "# kept\nRUN no\n", False),
        ("B", "\tindented\n", True),
    ]
    assert (two.line, two.value, two.heredocs) == (7, "after $((1<<2))", ())


def test_a_here_document_may_have_a_space_before_its_delimiter():
    """As in newer versions of Docker; a shift of bits has none, because no line ends it."""
    one, two, three = parse("RUN cat > /x << 'EOF'\nname: x\nEOF\nRUN << E\necho\nE\nRUN echo $(( 1 << N ))\n")
    assert (one.value, [(doc.name, doc.content, doc.quoted) for doc in one.heredocs]) == (
        "cat > /x <<'EOF'", [("EOF", "name: x\n", True)],
    )  # fmt: skip
    assert (two.value, [doc.content for doc in two.heredocs]) == ("<<E", ["echo\n"])
    assert (three.value, three.heredocs) == ("echo $(( 1 << N ))", ())


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("# escape=`\nFROM a\n", "Dockerfile:1: # escape=: only the escape character"),
        ("FROM a\nRUN <<EOF\nx\n", "Dockerfile:2: the here-document EOF is not terminated"),
        ("FROM a\n\n<<<< HEAD\n", "Dockerfile:3: not an instruction: '<<<<'"),
    ],
)
def test_an_unknown_instruction_is_reported_with_its_line(text: str, complaint: str) -> None:
    """And nothing is guessed."""
    with pytest.raises(BadInput) as caught:
        parse(text)
    assert complaint in str(caught.value)


NAMES = st.sampled_from(["RUN", "COPY", "ENV", "LABEL", "WORKDIR"])
VALUES = st.text(alphabet="abc 12/.=$", min_size=1, max_size=20).map(str.strip).filter(bool)
NOISE = st.sampled_from(["", "# comment", "   ", "\t# another"])


@given(st.lists(st.tuples(NAMES, VALUES, st.lists(NOISE, max_size=3)), max_size=8))
def test_what_is_written_is_read(instructions: list[tuple[str, str, list[str]]]) -> None:
    """Whatever lies between instructions, and each at its line."""
    lines: list[str] = []
    expected = []
    for name, value, noise in instructions:
        lines += noise
        lines.append(f"{name} {value}")
        expected.append((len(lines), name, value))
    found = parse("\n".join(lines))
    assert [(one.line, one.name, one.value) for one in found] == expected


@given(VALUES, st.lists(st.integers(min_value=0, max_value=20), max_size=4), NOISE)
def test_where_a_line_is_broken_changes_nothing(value: str, breaks: list[int], noise: str) -> None:
    """A backslash and the end of the line vanish, with comments and empty lines that follow."""
    whole, broken = f"RUN {value}", f"RUN {value}"
    for place in sorted({min(4 + one, len(whole) - 1) for one in breaks}, reverse=True):
        broken = f"{broken[:place]}\\\n{noise}\n{broken[place:]}" if whole[place] != " " else broken
    (one,), (other,) = parse(whole), parse(broken)
    assert other.value.split() == one.value.split()


@given(st.text(max_size=200))
def test_nothing_but_bad_input_comes_of_any_text(text: str) -> None:
    """A Dockerfile may hold anything."""
    with contextlib.suppress(BadInput):
        parse(text)
