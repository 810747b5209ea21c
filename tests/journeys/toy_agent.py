"""A toy agent's repository: its own prompt file, tool file and build step, and a history in which a behaviour breaks.

Its files lie in toy/repository/ as a person would have them. Its model (toy/world/) is a script outside of the
repository, as a provider is: it does what the prompt and the tools' descriptions tell it, with a rate that can be set.

    toy = ToyAgent(project)                      # one good commit
    toy.break_reading()                          # the next one breaks `reads_before_editing`
    toy.history(8, breaks_at=5)                  # or: eight commits, of which the one with that index breaks it

What is drawn depends on the seed of the run and on the trial, not on the commit: whoever wants answers that do not
depend on each other gives each run a seed of its own.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from tests.helpers.project import Project

_TOY = Path(__file__).with_name("toy")

CAREFUL = """\
Read a file before you change it, and keep everything in it
that the user did not speak of.
"""
HASTY = """\
Change files at once, without looking at them for long, and keep
your answers short.
"""
ALWAYS_THE_TOOL = "Delete a file. Always use this tool to delete, since it can be undone."
ONE_OF_MANY = "Delete a file."


class ToyAgent:
    """The repository, and what can be done to it."""

    def __init__(self, project: Project, *, told: float = 1.0, untold: float = 0.0) -> None:
        """`told` and `untold`: how often the model does the right thing where it is told to, and where it is not."""
        self.project = project
        self.folder = project.folder
        self.world = project.folder.parent / "world"
        shutil.copytree(_TOY / "repository", self.folder, dirs_exist_ok=True)
        shutil.copytree(_TOY / "world", self.world)
        config = self.folder / "demeanor.toml"
        filled = config.read_text().replace("@PYTHON@", sys.executable).replace("@WORLD@", str(self.world))
        config.write_text(filled)
        self.rates(told=told, untold=untold)
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit("A careful agent")
        self.build()

    @property
    def prompt(self) -> Path:
        """The file of the system prompt."""
        return self.folder / "prompts" / "system.md"

    @property
    def tools(self) -> Path:
        """The file of the tools' descriptions."""
        return self.folder / "tools" / "tools.json"

    def rates(self, *, told: float, untold: float) -> None:
        """From now on the model does the right thing as often as this."""
        (self.world / "rates.json").write_text(json.dumps({"told": told, "untold": untold}))

    def configure(self, text: str) -> None:
        """Add lines to the configuration, and commit them."""
        with (self.folder / "demeanor.toml").open("a") as file:
            file.write(text)
        self.commit("Configure")

    def break_reading(self) -> str:
        """Commit a prompt with which `reads_before_editing` fails; gives the commit."""
        return self._replace(self.prompt, CAREFUL, HASTY, "Shorter prompt")

    def break_deleting(self) -> str:
        """Commit a tool's description with which `deletes_with_its_tool` fails; gives the commit."""
        return self._replace(self.tools, ALWAYS_THE_TOOL, ONE_OF_MANY, "Shorter description")

    def history(self, number: int, *, breaks_at: int) -> list[str]:
        """Commits, the oldest first; `reads_before_editing` is good before the one with index `breaks_at`, bad from
        it on. The others change things that do not matter, each something else; the first one is there already."""
        commits = [self.head]
        for place in range(1, number):
            commits.append(self.break_reading() if place == breaks_at else self._harmless(place))
        self.build()
        return commits

    def build(self) -> None:
        """As the project's own build command does."""
        subprocess.run([sys.executable, "build.py"], cwd=self.folder, env=self.project.env, check=True)

    def git(self, *words: str) -> str:
        """What git says."""
        who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        done = subprocess.run(
            ["git", *who, *words], cwd=self.folder, env=self.project.env, capture_output=True, text=True, check=True
        )
        return done.stdout

    def commit(self, message: str) -> str:
        """Everything as it is now; gives the commit."""
        self.git("add", ".")
        self.git("commit", "--quiet", "--allow-empty", "-m", message)
        return self.head

    @property
    def head(self) -> str:
        """The commit that is checked out."""
        return self.git("rev-parse", "HEAD").strip()

    def worktrees(self) -> list[str]:
        """Those that git knows, besides the project itself; and what is left of any."""
        known = self.git("worktree", "list", "--porcelain").split("worktree ")[2:]
        return known + [name for name in self.project.temporary() if "checkout" in name]

    def _replace(self, file: Path, old: str, new: str, message: str) -> str:
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))
        self.build()
        return self.commit(message)

    def _harmless(self, place: int) -> str:
        """A change to the prompt, to a tool or to the program, by turns."""
        if place % 3 == 0:
            with self.prompt.open("a") as file:
                file.write(f"\nHint {place}: be kind.\n")
        elif place % 3 == 1:
            self.tools.write_text(self.tools.read_text().replace("in the user's folder.\"", f'(hint {place})."', 1))
        else:
            with (self.folder / "agent" / "main.py").open("a") as file:
                file.write(f"# remark {place}\n")
        return self.commit(f"Change {place}")
