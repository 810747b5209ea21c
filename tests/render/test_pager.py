"""Pages in a real terminal with the real `less`, as a reader sees them."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from demeanor.render.pager import pager_command, show_markdown, shows_colors
from tests.helpers.project import LONGEST, Project

BACKGROUND = re.compile(r"\x1b\[(?:\d+;)*(?:4\d|10\d)[;m]")
MARKDOWN = """\
# Title

Some `code`, a [page](ci.md#here), [a site](https://example.com/) and [another page](gate.md).

```python
answer = 42
```
"""


@contextmanager
def terminal() -> Iterator[tuple[int, int]]:
    """Both ends of a terminal with 24 lines of 80 columns: the reader's and the program's."""
    ends = pty.openpty()
    fcntl.ioctl(ends[1], termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    try:
        yield ends
    finally:
        os.close(ends[0])


def read_until(end: int, complete: Callable[[str], object]) -> str:
    """What a program writes to a terminal until it is complete, or the program has ended."""
    shown = ""
    while not complete(shown):
        assert select.select([end], [], [], LONGEST)[0], f"the terminal shows no more than {shown!r}"
        try:
            shown += os.read(end, 1 << 16).decode()
        except OSError:  # all programs have closed the terminal
            return shown
    return shown


def press(end: int, key: bytes) -> None:
    """Press a key, and take what the program writes then, so that it can go on."""
    with suppress(OSError):  # all programs have closed the terminal
        os.write(end, key)
        if select.select([end], [], [], 0.05)[0]:
            os.read(end, 1 << 16)


def test_a_page_in_less_has_colors_and_no_raw_escape_codes(project: Project) -> None:
    """Without LESS, `less` would print `ESC[1m` as text. Ctrl-C does not leave it, and leaving it is no error."""
    as_session_leader = "import os, sys; os.login_tty(0); os.execv(sys.argv[1], sys.argv[1:])"
    env = {**project.env, "TERM": "xterm-256color"}
    with terminal() as (reader, screen):
        command = [sys.executable, "-c", as_session_leader, *project.command("help", "configuration")]
        process = subprocess.Popen(command, stdin=screen, stdout=screen, stderr=screen, env=env)
        os.close(screen)
        first = read_until(reader, lambda shown: re.search(r"\n\r?:|ESC", shown))
        assert "\x1b[1;4mConfiguration" in first
        assert "ESC" not in first
        assert not BACKGROUND.search(first)
        os.write(reader, b"\x03")
        while process.poll() is None:
            press(reader, b"q")  # again and again, because `less` and the terminal discard keys around Ctrl-C
    assert process.returncode == 0


def shown_in_terminal(monkeypatch: pytest.MonkeyPatch, **env: str) -> str:
    """What `show_markdown` shows in a terminal, with these variables."""
    for name in ("PAGER", "LESS", "NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm-256color", **env}.items():
        monkeypatch.setenv(name, value)
    with terminal() as (reader, screen):
        with open(screen, "w", encoding="utf-8") as stream:  # noqa: PTH123 - a file descriptor
            monkeypatch.setattr(sys, "stdout", stream)
            show_markdown(MARKDOWN)
        monkeypatch.undo()
        return read_until(reader, lambda shown: False).replace("\r\n", "\n")


@pytest.mark.parametrize(
    ("env", "color"),
    [
        ({"PAGER": "cat"}, True),
        ({"PAGER": ""}, True),
        ({"PAGER": "no-such-pager"}, True),
        ({"PAGER": "head -1; true"}, True),
        ({"PAGER": "less -FX", "LESS": "-i"}, False),
        ({"PAGER": "less -FRX", "LESS": "-i"}, True),
        ({"PAGER": "cat", "NO_COLOR": "1"}, False),
        ({"TERM": "dumb", "PAGER": "false"}, False),
    ],
)
def test_pages_are_shown_with_every_setting(monkeypatch: pytest.MonkeyPatch, env: dict[str, str], color: bool) -> None:
    """With colours only where the pager and the terminal show them, and never with a background."""
    shown = shown_in_terminal(monkeypatch, **env)
    assert "Title" in shown
    assert ("\x1b[1;4mTitle" in shown) == color
    assert "ESC" not in shown
    assert not BACKGROUND.search(shown)
    assert ("answer" in shown) == ("head" not in env.get("PAGER", ""))


def test_only_addresses_are_written_beside_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other pages can't be opened from a terminal; escape codes for links are text in older versions of `less`."""
    shown = shown_in_terminal(monkeypatch, PAGER="cat", NO_COLOR="1")
    assert "Some code, a page, a site (https://example.com/) and another page." in shown
    assert "\x1b]8" not in shown_in_terminal(monkeypatch, PAGER="cat")


def test_the_pager_is_chosen_as_git_does_it() -> None:
    assert pager_command({"PATH": os.environ["PATH"]}) == "less", "`less` is not installed; `make machine` installs it"
    assert pager_command({"PATH": "/nonexistent"}) == ""
    assert pager_command({"PAGER": "most -s"}) == "most -s"
    assert [pager_command({"PAGER": none}) for none in ("", "cat", " ")] == ["", "", ""]


@pytest.mark.parametrize(
    ("command", "options", "color"),
    [
        ("less", None, True),
        ("/usr/bin/less", "-iMR", True),
        ("less", "--RAW-CONTROL-CHARS", True),
        ("less -R", "-i", True),
        ("less", "--ignore-case", False),
        ("less", "", False),
        ("more", None, False),
        ("most", "", True),
    ],
)
def test_less_needs_an_option_for_colors(command: str, options: str | None, color: bool) -> None:
    assert shows_colors(command, {} if options is None else {"LESS": options}) == color
