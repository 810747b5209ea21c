"""A session of pytest that runs no tests: it sets up and tears down the fixtures of checks.

It knows the project's conftest files and the installed plugins. Options in `addopts` do not apply, because they are
meant for the session that runs tests.

Some internals of pytest are used, all of them since pytest 8: how a session is created (`_prepareconfig`,
`Session.from_config`), and how the fixtures of one item are set up and torn down (`_setupstate`).
"""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from _pytest.config import _prepareconfig
from _pytest.main import Session
from _pytest.tmpdir import tmppath_result_key

from demeanor.core.trees.temp_names import temp_prefix
from demeanor.core.values.checks import FunctionCheck

_OPTIONS = ("-s", "-o", "addopts=", "-p", "no:cacheprovider", "-p", "no:faulthandler", "-p", "no:demeanor")


class FixtureSession:
    """The fixtures of one process."""

    def __init__(self, first: Path) -> None:
        """`first`: a file of evals, from which pytest finds its rootdir."""
        self.process = os.getpid()
        self._temporary = tempfile.mkdtemp(prefix=temp_prefix())
        self._files = _EvalFiles()
        addopts = os.environ.pop("PYTEST_ADDOPTS", None)
        try:
            with contextlib.redirect_stdout(io.StringIO()):  # pytest's terminal reporter writes to it from now on
                options = [*_OPTIONS, f"--basetemp={self._temporary}/pytest", str(first)]
                self._config = _prepareconfig(options, [self._files])
                self._config._do_configure()
                self._session = Session.from_config(self._config)
                self._config.hook.pytest_sessionstart(session=self._session)
        finally:
            if addopts is not None:
                os.environ["PYTEST_ADDOPTS"] = addopts

    def set_up(self, check: FunctionCheck) -> dict[str, Any]:
        """The values of the fixtures that a check takes, by name."""
        item = self._item(check)
        self._session._setupstate.teardown_exact(item)  # the fixtures of another file
        self._session._setupstate.setup(item)
        return {name: item.funcargs[name] for name in check.fixtures}

    def tear_down(self, check: FunctionCheck) -> None:
        """End the fixtures of a check that are not those of its module or of the session."""
        self._session._setupstate.teardown_exact(self._item(check))

    def missing(self, check: FunctionCheck) -> str | None:
        """The first fixture that a check takes and that is not known."""
        fixtures = self._item(check)._fixtureinfo.name2fixturedefs
        return next((name for name in check.fixtures if name not in fixtures and name != "request"), None)

    def close(self) -> None:
        """End all fixtures."""
        try:
            self._session._setupstate.teardown_exact(None)
        finally:
            self._config.hook.pytest_sessionfinish(session=self._session, exitstatus=pytest.ExitCode.OK)
            self._config._ensure_unconfigure()
            shutil.rmtree(self._temporary, ignore_errors=True)

    def _item(self, check: FunctionCheck) -> pytest.Function:
        """A test function that takes the same fixtures as a check."""
        path = file_of(check)
        if path not in self._files.nodes:
            self._files.modules[path] = sys.modules[check.function.__module__]
            self._session.perform_collect([str(path)])
        if path not in self._files.nodes:
            raise RuntimeError(self._files.problem or f"pytest does not collect {path}")

        def taking() -> None:
            """Stands for the check."""

        parameters = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in check.fixtures]
        taking.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        taking.pytestmark = getattr(check.function, "pytestmark", [])  # type: ignore[attr-defined]
        node = self._files.nodes[path]
        item = pytest.Function.from_parent(node, name=check.function.__name__, callobj=taking)
        item.stash[tmppath_result_key] = {}  # the teardown of tmp_path looks for the outcome of the test
        return item


class _EvalFiles:
    """The plugin that collects files of evals, whose modules are imported already."""

    def __init__(self) -> None:
        self.modules: dict[Path, Any] = {}
        self.nodes: dict[Path, pytest.Module] = {}
        self.problem: str | None = None

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(
        self, file_path: Path, parent: pytest.Collector
    ) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
        """Collect the file's fixtures, and nothing else."""
        yield
        if file_path not in self.modules:
            return []
        node = _EvalModule.from_parent(parent, path=file_path)
        node.imported = self.modules[file_path]
        self.nodes[file_path] = node
        return [node]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep the first problem, such as a conftest file that can't be imported."""
        if report.failed and self.problem is None:
            self.problem = report.longreprtext


class _EvalModule(pytest.Module):
    """The fixtures of one file."""

    imported: Any

    def _getobj(self) -> Any:
        return self.imported

    def collect(self) -> list[pytest.Item | pytest.Collector]:
        """Nothing to run."""
        self.session._fixturemanager.parsefactories(self)
        return []


def file_of(check: FunctionCheck) -> Path:
    """The file that defines a check."""
    return Path(inspect.unwrap(check.function).__code__.co_filename).resolve()
