"""`demeanor help`: read the documentation in the terminal."""

from __future__ import annotations

import argparse
import sys

from demeanor.core.exit_code import ExitCode


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "topic", nargs="?", metavar="TOPIC", help="a page, such as ci, or a command (default: list all pages)"
    )
    parser.add_argument("--search", metavar="TEXT", help="list the lines that contain TEXT, in all pages or in TOPIC")


def run(args: argparse.Namespace) -> ExitCode:
    """Print a page, the list of pages, or what a search finds."""
    from demeanor.cli.registry import COMMANDS, command_help
    from demeanor.commands.help.pages import page, pages
    from demeanor.render.pager import show_markdown, show_text

    if args.search is not None:
        return _search(args.search, args.topic)
    if args.topic is None:
        for one in pages().values():
            print(f"{one.name:<22} {one.title}")
        print("\n  demeanor help TOPIC    read one of them\n  demeanor COMMAND --help    the options of a command")
        return ExitCode.ACCEPTED
    if args.topic in COMMANDS and args.topic not in pages():
        show_text(command_help(args.topic))
    else:
        show_markdown(page(args.topic).text)
    return ExitCode.ACCEPTED


def _search(text: str, topic: str | None) -> ExitCode:
    from demeanor.commands.help.pages import page, pages

    found = False
    for one in [page(topic)] if topic else pages().values():
        for line in one.text.splitlines():
            if text.casefold() in line.casefold():
                print(f"{one.name}: {line.strip()}")
                found = True
    if not found:
        sys.stderr.write(f"no page contains {text!r}\n")
    return ExitCode.ACCEPTED if found else ExitCode.REJECTED
