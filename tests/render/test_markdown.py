from __future__ import annotations

import html
import re

from hypothesis import given, strategies as st
from markdown_it import MarkdownIt

from demeanor.core.values.exit_code import ExitCode
from demeanor.render.markdown import code_block, escape, fit, headline, html_code, inline_code, prose, table_row

NASTY = st.text(alphabet="`|\\<>&[]()!*_~@#:/.wh$\"' \n\ta1\x1b\u202e")


@given(text=NASTY)
def test_inline_code_is_only_code(text: str) -> None:
    """In a table cell, it does not affect the next cell."""
    page = f"| a | b |\n|---|---|\n{table_row([inline_code(text), 'after'])}\n"
    html = MarkdownIt("commonmark").enable("table").render(page)
    assert re.findall("<td>(.*)</td>", html)[1:] == ["after"]
    assert set(re.findall("<([a-z0-9]+)", html)) <= {"table", "thead", "tbody", "tr", "th", "td", "code"}


@given(text=NASTY)
def test_a_code_block_contains_the_text_and_nothing_else(text: str) -> None:
    """No fence in the text can close it."""
    html = MarkdownIt("commonmark").render(code_block(text) + "\n\nafter\n")
    assert html.startswith('<pre><code class="language-text">')
    assert html.endswith("</code></pre>\n<p>after</p>\n")
    assert html.count("<") == 6


@given(text=NASTY)
def test_html_code_contains_no_other_element(text: str) -> None:
    """Inside of <summary>, markdown is not interpreted, but HTML is."""
    assert re.findall("<[^>]*>", html_code(text)) == ["<code>", "</code>"]


@given(st.text("&<>\"'`abc;#") | st.text())
def test_text_is_escaped_as_the_standard_library_does_it(text: str) -> None:
    assert escape(text) == html.escape(text)


def test_inline_code_is_cut_at_its_width() -> None:
    """Its fence is longer than any in the text."""
    assert inline_code("a" * 20, width=5) == "`aaaa…`"
    assert inline_code("a <b> ``c") == "```a <b> ``c```"
    assert (inline_code("`x"), inline_code(" ")) == ("`` `x ``", "")


@given(text=NASTY | st.text("ab _.-1"))
def test_a_sentence_is_plain_or_code(text: str) -> None:
    """Whatever it quotes; a sentence without anything special is not changed."""
    html = MarkdownIt("commonmark").enable("table").render(f"Note: {prose(text)}\n")
    assert set(re.findall("<([a-z0-9]+)", html)) <= {"p", "code"}
    assert prose("USUALLY_PASSES: 3 trials, not 5 (100 %).") == "USUALLY_PASSES: 3 trials, not 5 (100 %)."


def test_a_headline_shows_the_outcome() -> None:
    """Anything but accepted and rejected is a warning."""
    assert [headline("x", code)[3] for code in (ExitCode.ACCEPTED, ExitCode.REJECTED)] == ["✅", "❌"]
    assert headline("x", ExitCode.UNDECIDED) == headline("x", ExitCode.INTERRUPTED) == "## ⚠️ x"


def test_parts_beyond_the_limit_are_counted() -> None:
    """CI services reject summaries that are too large."""
    assert fit(["ää", "bb"], 12, remedy="parts.") == ["ää", "bb"]
    assert fit(["ää", "bb", "cc"], 7, remedy="parts.") == ["ää", "… and 2 more parts."]
