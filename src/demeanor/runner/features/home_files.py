"""What an eval says about HOME and about commands after the agent: files before, files kept after, `then`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace

from demeanor.core.text.globs import matches
from demeanor.core.trees.tree import Entry, Tree
from demeanor.core.values.agent import Orders, Task
from demeanor.core.values.capture import Capture
from demeanor.core.values.ports import SandboxSession
from demeanor.core.values.process import Launch
from demeanor.core.values.scenario import Scenario
from demeanor.runner.features.feature import Feature
from demeanor.runner.trial_so_far import TrialSoFar


class HomeFiles(Feature):
    """The eval's files in HOME, which win over those of the adapter; and those that it keeps."""

    def with_orders(self, orders: Orders, task: Task, scenario: Scenario) -> Orders:
        values = _values(task)
        files = {path: _filled(content, values) for path, content in scenario.home_files.items()}
        return replace(orders, home_files={**orders.home_files, **files})

    def then(self, orders: Orders, task: Task, scenario: Scenario) -> tuple[Launch, ...]:
        """As the agent's last launch, with other words."""
        if not scenario.then:
            return ()
        last = orders.launches[-1]
        program = orders.program or last.argv[:1]
        values = _values(task)
        return tuple(
            replace(last, argv=tuple(part for word in words for part in _word(word, program, values)))
            for words in scenario.then
        )

    async def with_capture(self, capture: Capture, attempt: TrialSoFar) -> Capture:
        run, scenario = attempt.run, attempt.trial.eval.scenario
        before = _kept_before(run.orders, scenario)
        return replace(capture, home_before=before, home_after=await _kept_after(run.sandbox, scenario))


def _kept_before(orders: Orders, scenario: Scenario) -> Tree:
    """The kept files of HOME at the start."""
    files = {path: content for path, content in orders.home_files.items() if _is_kept(path, scenario)}
    return Tree(entries={path: _entry(content) for path, content in sorted(files.items())})


async def _kept_after(sandbox: SandboxSession, scenario: Scenario) -> Tree | None:
    """The kept files of HOME at the end; None if the eval keeps none."""
    if not scenario.keep_home:
        return None
    home = await sandbox.snapshot(home=True)
    return replace(home, entries={path: entry for path, entry in home.entries.items() if _is_kept(path, scenario)})


def _is_kept(path: str, scenario: Scenario) -> bool:
    return any(matches(path, pattern) for pattern in scenario.keep_home)


def _entry(content: bytes) -> Entry:
    return Entry(kind="file", size=len(content), sha256=hashlib.sha256(content).hexdigest(), content=content)


def _values(task: Task) -> dict[str, str]:
    return {"{workspace}": str(task.workspace), "{home}": str(task.home), "{model}": task.model}


def _filled(content: bytes, values: Mapping[str, str]) -> bytes:
    for name in ("{workspace}", "{home}"):
        content = content.replace(name.encode(), values[name].encode())
    return content


def _word(word: str, program: tuple[str, ...], values: Mapping[str, str]) -> tuple[str, ...]:
    if word == "{agent}":
        return program
    for name, value in values.items():
        word = word.replace(name, value)
    return (word,)
