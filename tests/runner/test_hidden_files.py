"""Files of this machine that an agent says are missing."""

from __future__ import annotations

from pathlib import Path

from demeanor.core.values.process import Output, ProcessEnd
from demeanor.runner.attempt import hidden_files
from demeanor.sandboxes.host.bwrap_args import can_read, paths_to_bind


def test_only_a_file_that_the_agent_cannot_read_is_hidden(tmp_path: Path) -> None:
    """A readable file that it complains about is no reason to add anything to `reads`; a link out of it is."""
    (tmp_path / "app").mkdir()
    for path in ("app/readable.txt", "hidden.txt"):
        (tmp_path / path).touch()
    (tmp_path / "app/link.txt").symlink_to(tmp_path / "hidden.txt")
    shown = paths_to_bind([str(tmp_path / "app")])
    names = ("app/readable.txt", "app/link.txt", "hidden.txt", "gone.txt")
    lines = [f"can't open {tmp_path / name}" for name in names]
    end = ProcessEnd(exit_code=1, stderr=Output(text="\n".join([*lines, "/usr/bin/env: No module named x"])))
    hidden = hidden_files(end, ("/workspace",), lambda path: can_read(path, shown))
    assert hidden == (str(tmp_path / "app/link.txt"), str(tmp_path / "hidden.txt"))
