"""`demeanor help`: read the documentation in the terminal."""

from __future__ import annotations

import argparse
import re
import sys

from demeanor.core.values.errors import UsageError, surely_meant
from demeanor.core.values.exit_code import ExitCode

_MORE = """
  demeanor help NAME            read a page; or about an error, a void cause,
                                an exit code or a command
  demeanor help --search TEXT   search all pages
  demeanor help commands        the options of all commands
  demeanor help schema          list the JSON schemas of files and outputs
  demeanor help completion      set up completion in your shell"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "name",
        nargs="*",
        metavar="NAME",
        help="a page (ci), an error (bad-input), a void cause (rate_limit), an exit code (3) or a command (store"
        " import); default: list the pages",
    )
    parser.add_argument("--search", metavar="TEXT", help="list the lines that contain TEXT, in all pages or in NAME")


def run(args: argparse.Namespace) -> ExitCode:
    """Print what has that name, the list of pages, or what a search finds."""
    from demeanor.cli import all_commands, parser_of
    from demeanor.commands.help.explanations import explanations
    from demeanor.commands.help.pages import pages
    from demeanor.render import show_markdown, show_text

    name = re.sub(r"^void\((\w+)\)$", r"\1", " ".join(args.name))  # as reports print a cause
    if args.search is not None:
        return _search(args.search, name)
    if not name:
        _list()
        return ExitCode.ACCEPTED
    explained = explanations()
    texts = [f"# {name}\n\n{explained[name]}\n"] if name in explained else []
    texts += [pages()[name].text] if name in pages() else []
    if texts:
        show_markdown("\n".join(texts))
    elif name in all_commands():
        show_text(parser_of(name).format_help())
    else:
        close = surely_meant(name, [*pages(), *explained, *all_commands()])
        remedy = f"did you mean {close!r}?" if close else "list the pages: demeanor help"
        raise UsageError(f"there is no help about {name!r}\n  → {remedy}")
    return ExitCode.ACCEPTED


def _list() -> None:
    from demeanor.commands.help.pages import pages

    for page in pages().values():
        print(f"{page.name:<22} {page.title}")
    print(_MORE)


def _search(text: str, name: str) -> ExitCode:
    from demeanor.commands.help.pages import page, pages

    lines = [
        f"{searched.name}: {line.strip()}"
        for searched in ([page(name)] if name else pages().values())
        for line in searched.text.splitlines()
        if text.casefold() in line.casefold()
    ]
    if not lines:
        sys.stderr.write(f"no page contains {text!r}\n")
        return ExitCode.REJECTED
    print("\n".join(lines))
    return ExitCode.ACCEPTED
