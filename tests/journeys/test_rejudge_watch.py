"""`demeanor rejudge --watch`: an edited check is applied to stored trials; agents run only with --run and a budget."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator

import pytest

from tests.helpers.processes import alive, children, command_line
from tests.helpers.project import Project, default_signals

EVAL = """\
from demeanor import USUALLY_PASSES, eval_test

@eval_test(USUALLY_PASSES, prompt="Save the note 'buy milk' in notes.txt.", trials=2)
def saves_the_note(rig, result):
    assert rig.workspace["notes.txt"].text == "buy milk\\n"

@eval_test(USUALLY_PASSES, prompt="Save the note 'buy tea' in notes.txt.", trials=1)
def saves_tea(rig, result):
    assert "tea" in rig.workspace["notes.txt"].text
"""
CONFIG = """\
subjects = ["native:priced"]
sandbox = "none"
[models.priced]
script = "priced.py"
price = { input = 1000, output = 1000 }
"""
SCRIPT = """\
def play(turn):
    if turn.done:
        return "Saved."
    text = "buy tea\\n" if "tea" in turn.prompt else "buy milk\\n"
    return turn.call("edit", path="notes.txt", content=text)
"""
FILE = "evals/eval_notes.py"


class Watch:
    """A running `demeanor rejudge --watch`."""

    def __init__(self, project: Project, *words: str) -> None:
        self.project = project
        self.process = subprocess.Popen(
            project.command("rejudge", "--watch", *words), cwd=project.folder, env=project.env, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=default_signals,  # noqa: PLW1509 - it only sets signals
        )  # fmt: skip
        self.lines: queue.Queue[str] = queue.Queue()
        self.thread = threading.Thread(target=self._read)
        self.thread.start()
        self.start = self.until("watching evals")

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as output:
            for line in output:
                self.lines.put(line)

    def until(self, text: str) -> str:
        """All output up to a line with `text`."""
        seen = ""
        while text not in seen:
            try:
                seen += self.lines.get(timeout=300)
            except queue.Empty:
                raise AssertionError(f"{text!r} was not printed:\n{seen}") from None
        return seen

    def edit(self, old: str, new: str, *, then: str) -> str:
        """Edit the evals, and wait for a line."""
        file = self.project.folder / FILE
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))
        return self.until(then)

    def stop(self, number: int = signal.SIGINT) -> int:
        """Send a signal, and return the exit code."""
        self.process.send_signal(number)
        code = self.process.wait(timeout=300)
        self.thread.join()
        return code


@pytest.fixture
def ran(project: Project) -> Project:
    """A project with one run of both evals."""
    project.write(evals__eval_notes_py=EVAL, demeanor_toml=CONFIG, priced_py=SCRIPT)
    done = project.demeanor("run", "--policy", "all")
    assert done.returncode == 0, done.stdout + done.stderr
    return project


@pytest.fixture
def watch(ran: Project) -> Iterator[Callable[..., Watch]]:
    """Starts `demeanor rejudge --watch`; whatever still runs at the end is killed."""
    started: list[Watch] = []

    def start(*words: str) -> Watch:
        started.append(Watch(ran, *words))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.wait()
        one.thread.join()


def runs(project: Project) -> list[str]:
    """The names of all runs."""
    return sorted(path.name for path in (project.folder / "results").iterdir() if (path / "run.json").is_file())


def test_an_edited_check_judges_stored_trials_without_an_agent(ran: Project, watch: Callable[..., Watch]) -> None:
    """A stricter check turns passes into fails, a broken file is reported, and nothing is run."""
    before = runs(ran)
    (ran.folder / "priced.py").unlink()  # no model can answer
    one = watch()
    text = one.edit('== "buy milk\\n"', '== "buy oats\\n"', then="without agent or model")
    assert "eval_notes.py: 2 evals" in text
    assert "saves_the_note" in text
    assert "pass → fail  trials 1 and 2" in text, text
    assert "2 changed, 1 unchanged" in text
    one.edit("def saves_tea", "def saves tea", then="demeanor help")
    text = one.edit("def saves tea", "def saves_tea", then="without agent or model")
    assert "2 changed, 1 unchanged" in text
    assert one.stop() == 0
    assert runs(ran) == before


def test_an_edited_prompt_needs_a_run(ran: Project, watch: Callable[..., Watch]) -> None:
    """Trials of another prompt are not judged; the message names the command that runs the eval."""
    before = runs(ran)
    one = watch("--scenario", "saves_tea")
    text = one.edit("'buy tea'", "'buy green tea'", then="demeanor rejudge --watch --run")
    assert "its scenario has been edited since (prompt" in text
    assert "→ demeanor run --scenario saves_tea" in text
    assert one.stop(signal.SIGTERM) == 0
    assert runs(ran) == before


def test_with_run_agents_start_until_the_budget_is_spent(ran: Project, watch: Callable[..., Watch]) -> None:
    """An edited prompt runs its eval; once the budget of all edits together is spent, nothing is started."""
    before = runs(ran)
    one = watch("--run", "--budget", "1usd", "--trials", "1")
    text = one.edit("'buy tea'", "'buy green tea'", then="exit ")
    assert "saves_tea" in text
    assert len(runs(ran)) == len(before) + 1
    text = one.edit("'buy green tea'", "'buy black tea'", then="the budget is spent")
    assert "so 1 eval did not run" in text
    assert one.stop() == 0
    assert len(runs(ran)) == len(before) + 1


def test_a_run_needs_a_budget(project: Project) -> None:
    """--run without --budget is a usage error, and so is a budget without --run."""
    project.write(evals__eval_notes_py=EVAL)
    for words, remedy in (
        (["--run"], "--budget 1usd"),
        (["--budget", "1usd"], "add --run"),
        (["--trials", "2"], "add --run"),
    ):
        done = project.demeanor("rejudge", "--watch", *words)
        assert done.returncode == 2
        assert remedy in done.stderr


def test_a_selection_without_an_eval_is_refused(project: Project) -> None:
    """It would otherwise wait for an edit that never counts."""
    project.write(evals__eval_notes_py=EVAL, demeanor_toml=CONFIG, priced_py=SCRIPT)
    done = project.demeanor("rejudge", "--watch", "--scenario", "saves_te")
    assert done.returncode == 2, done.stdout + done.stderr
    assert "did you mean 'saves_tea'" in done.stderr
    assert "watching" not in done.stderr


def test_a_file_that_is_broken_at_the_start_is_reported_and_watched(ran: Project, watch: Callable[..., Watch]) -> None:
    """It may be the file that is being written."""
    file = ran.folder / FILE
    file.write_text(file.read_text().replace("def saves_tea", "def saves tea"))
    one = watch("--scenario", "saves_tea")
    assert "eval_notes.py:8: syntax error" in one.start, one.start
    text = one.edit("def saves tea", "def saves_tea", then="without agent or model")
    assert "1 unchanged" in text
    assert one.stop() == 0


def test_killing_watch_stops_its_run(ran: Project, watch: Callable[..., Watch]) -> None:
    """If `watch` is killed, the run that it started stops."""
    mark = ran.folder.parent / "asked"
    command = ["sh", "-c", f"touch {mark}; exec sleep 600", "{prompt}"]
    slow = f'[agents.slow]\nadapter = "command"\ncommand = {json.dumps(command)}\n'
    (ran.folder / "demeanor.toml").write_text(CONFIG + slow)
    one = watch("--run", "--budget", "1usd", "--trials", "1", "--subject", "slow")
    one.edit("'buy tea'", "'buy green tea'", then="── ")
    until(mark.exists)
    (child,) = [pid for pid in children(one.process.pid) if "spawn_main" in command_line(pid)]
    one.process.send_signal(signal.SIGKILL)
    one.process.wait(timeout=300)
    until(lambda: not alive(child))


def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition, for at most two minutes."""
    done = threading.Event()
    for _ in range(1200):
        if condition():
            return
        done.wait(0.1)
    raise AssertionError(f"did not happen; load {os.getloadavg()}")
