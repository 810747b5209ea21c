"""The repository of a toy agent with a prompt file, a tool file and a build step, and a history with a broken commit.

Its files are in toy/repository/. Its model (toy/world/) is a script outside of the repository, like a provider: it
follows the prompt and the tool descriptions, with a rate that can be set.

    toy = ToyAgent(project)                      # one good commit
    toy.break_reading()                          # the next one breaks `reads_before_editing`
    toy.history(8, breaks_at=5)                  # or: eight commits, of which the one with that index breaks it

Random results depend on the seed of the run and on the trial, not on the commit: for independent results, give each run
its own seed.
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
    """The repository of the toy agent."""

    def __init__(self, project: Project, *, instructed: float = 1.0, uninstructed: float = 0.0) -> None:
        """Both are rates: how often the model does the right thing with and without an instruction to do so."""
        self.project = project
        self.folder = project.folder
        self.world = project.folder.parent / "world"
        shutil.copytree(_TOY / "repository", self.folder, dirs_exist_ok=True)
        shutil.copytree(_TOY / "world", self.world)
        config = self.folder / "demeanor.toml"
        filled = config.read_text().replace("@PYTHON@", sys.executable).replace("@WORLD@", str(self.world))
        config.write_text(filled)
        self.rates(instructed=instructed, uninstructed=uninstructed)
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit("A careful agent")
        self.build()

    @property
    def prompt(self) -> Path:
        """The file with the system prompt."""
        return self.folder / "prompts" / "system.md"

    @property
    def tools(self) -> Path:
        """The file with the tool descriptions."""
        return self.folder / "tools" / "tools.json"

    def rates(self, *, instructed: float, uninstructed: float) -> None:
        """Set how often the model does the right thing."""
        (self.world / "rates.json").write_text(json.dumps({"instructed": instructed, "uninstructed": uninstructed}))

    def configure(self, text: str) -> None:
        """Append to the configuration, and commit it."""
        with (self.folder / "demeanor.toml").open("a") as file:
            file.write(text)
        self.commit("Configure")

    def break_reading(self) -> str:
        """Commit a prompt with which `reads_before_editing` fails; return the commit."""
        return self._replace(self.prompt, CAREFUL, HASTY, "Shorter prompt")

    def break_deleting(self) -> str:
        """Commit a tool description with which `deletes_with_its_tool` fails; return the commit."""
        return self._replace(self.tools, ALWAYS_THE_TOOL, ONE_OF_MANY, "Shorter description")

    def history(self, number: int, *, breaks_at: int) -> list[str]:
        """Return `number` commits, the oldest first. `reads_before_editing` passes before the one at `breaks_at`
        and fails from it on. The other commits change something harmless; the first one exists already."""
        commits = [self.head]
        for index in range(1, number):
            commits.append(self.break_reading() if index == breaks_at else self._harmless(index))
        self.build()
        return commits

    def build(self) -> None:
        """Build the agent, as the project's build command does."""
        subprocess.run([sys.executable, "-IS", "build.py"], cwd=self.folder, env=self.project.env, check=True)

    def git(self, *words: str) -> str:
        """Run git and return its output."""
        who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        done = subprocess.run(
            ["git", *who, *words], cwd=self.folder, env=self.project.env, capture_output=True, text=True, check=True
        )
        return done.stdout

    def commit(self, message: str) -> str:
        """Commit everything; return the commit."""
        self.git("add", ".")
        self.git("commit", "--quiet", "--allow-empty", "-m", message)
        return self.head

    @property
    def head(self) -> str:
        """The current commit."""
        return self.git("rev-parse", "HEAD").strip()

    def worktrees(self) -> list[str]:
        """The worktrees that git knows besides the project, and folders that are left of them."""
        known = self.git("worktree", "list", "--porcelain").split("worktree ")[2:]
        return known + [name for name in self.project.temporary() if "checkout" in name]

    def _replace(self, file: Path, old: str, new: str, message: str) -> str:
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))
        self.build()
        return self.commit(message)

    def _harmless(self, index: int) -> str:
        """Commit a harmless change to the prompt, to a tool or to the program, in turn."""
        if index % 3 == 0:
            with self.prompt.open("a") as file:
                file.write(f"\nHint {index}: be kind.\n")
        elif index % 3 == 1:
            self.tools.write_text(self.tools.read_text().replace("in the user's folder.\"", f'(hint {index})."', 1))
        else:
            with (self.folder / "agent" / "main.py").open("a") as file:
                file.write(f"# remark {index}\n")
        return self.commit(f"Change {index}")
