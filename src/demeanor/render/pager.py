"""Long text in a terminal: through the reader's pager, in the way of git.

PAGER names the program; `cat`, or nothing after `PAGER=`, means none. `less` gets git's options unless LESS is set:
F (leave if it fits on one screen), R (show colours) and X (keep the text on the screen).
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.render.terminal import Screen, screen_of

if TYPE_CHECKING:
    from markdown_it.token import Token

_OPTIONS = {"LESS": "FRX", "LV": "-c"}
_NEED_R = {"less": "LESS", "more": "MORE"}
"""Pagers that print escape codes as text unless an option says otherwise, and the variable with their options."""

_SHOWS_COLORS = re.compile(r"(?:^|\s)(?:-?[a-z]*r|--raw)", re.IGNORECASE)
_NOT_STARTED = (126, 127)
"""The exit codes of a shell that can't start a program."""

# Styles without a background: rich's own have a black one, in which dark text of a light terminal can't be read.
_STYLES = {"markdown.code": "bold cyan", "markdown.code_block": "cyan"}
_CODE_THEME = "ansi_light"  # the terminal's own colours, without a background


def show_markdown(markdown: str) -> None:
    """Print Markdown: formatted and paged in a terminal, as it is elsewhere."""
    if not sys.stdout.isatty():
        sys.stdout.write(markdown)
        return
    screen = screen_of(sys.stdout)
    color = screen.color and shows_colors(pager_command(os.environ), os.environ)
    show_text(_formatted(markdown, screen, color=color))


def show_text(text: str) -> None:
    """Print text: through a pager in a terminal, directly elsewhere or if the pager can't be started."""
    command = pager_command(os.environ) if screen_of(sys.stdout).live else ""
    if not command or _paged(text, command) in _NOT_STARTED:
        sys.stdout.write(text)


def pager_command(environ: Mapping[str, str]) -> str:
    """The command line of the pager, for a shell; empty if there is none."""
    if "PAGER" not in environ:
        return "less" if shutil.which("less", path=environ.get("PATH")) else ""
    command = environ["PAGER"].strip()
    return "" if command == "cat" else command


def shows_colors(command: str, environ: Mapping[str, str]) -> bool:
    """Whether a pager shows escape codes as colours, and not as text."""
    program, _, options = command.partition(" ")
    variable = _NEED_R.get(Path(program).name)
    if variable is None:
        return True
    return bool(_SHOWS_COLORS.search(f"{environ.get(variable, _OPTIONS.get(variable, ''))} {options}"))


def _paged(text: str, command: str) -> int:
    """Show text in a pager until the reader leaves it; its exit code. It reads a file, so leaving early is no error."""
    sys.stdout.flush()
    with tempfile.TemporaryFile("w+", encoding=sys.stdout.encoding, errors="replace") as file, _ctrl_c_is_the_pagers():
        file.write(text)
        file.seek(0)
        return subprocess.run(
            ["sh", "-c", command], stdin=file, stdout=sys.stdout, env={**_OPTIONS, **os.environ}, check=False
        ).returncode


@contextmanager
def _ctrl_c_is_the_pagers() -> Iterator[None]:
    """Ctrl-C ends a search or a long jump in the pager, which goes on. The signal is not ignored, because the pager
    would inherit that."""
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _formatted(markdown: str, screen: Screen, *, color: bool) -> str:
    from rich.console import Console
    from rich.markdown import Markdown
    from rich.theme import Theme

    console = Console(
        width=screen.width,
        color_system="standard" if color else None,
        force_terminal=color,
        theme=Theme(_STYLES),
        _environ={},
    )
    document = Markdown(markdown, code_theme=_CODE_THEME, hyperlinks=False)
    _unlink_pages(document.parsed)
    with console.capture() as text:
        console.print(document)
    return "".join(f"{line.rstrip()}\n" for line in text.get().splitlines())


def _unlink_pages(tokens: Sequence[Token]) -> None:
    """Leave the text of links to other pages only: in a terminal they can't be followed, as an address can."""
    for token in tokens:
        kept: list[Token] = []
        to_page = False
        for part in token.children or ():
            if part.type == "link_open":
                to_page = ":" not in str(part.attrs["href"])
            if not to_page or part.type not in ("link_open", "link_close"):
                kept.append(part)
        token.children = kept
