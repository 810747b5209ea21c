"""Everything that the goldens take from the package and from other tests: the one place to mend when modules move.

`CASES` holds reports that are made of values, so that they are the same everywhere, with the renderers that show them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from demeanor.cli.program import main
from demeanor.cli.registry import all_commands, parser_of, program_help
from demeanor.commands.fix.render import fix_markdown, fix_terminal
from demeanor.commands.fix.report import FIX_DOCUMENT, FixOutcome
from demeanor.commands.rejudge.render import rejudge_terminal
from demeanor.commands.rejudge.report import REJUDGE_DOCUMENT
from demeanor.core.values.trajectory import Called, Kind, Said
from demeanor.plugins.lab.bisect.render import bisect_terminal
from demeanor.plugins.lab.bisect.report import BISECT_DOCUMENT, BisectOutcome
from demeanor.plugins.lab.fork.render import fork_terminal
from demeanor.plugins.lab.fork.report import FORK_DOCUMENT, ForkOutcome
from demeanor.render.terminal import Screen
from demeanor.reports.comparison.render import compare_markdown, compare_terminal
from demeanor.reports.comparison.report import COMPARE_DOCUMENT
from demeanor.reports.eval_history.render import history_terminal
from demeanor.reports.eval_history.report import HISTORY_DOCUMENT
from demeanor.reports.failures.render import group_brief, triage_terminal
from demeanor.reports.failures.report import TRIAGE_DOCUMENT, Triage
from demeanor.reports.gate.render import gate_markdown, gate_terminal
from demeanor.reports.gate.report import GATE_DOCUMENT
from demeanor.reports.metrics.render import analysis_terminal
from demeanor.reports.metrics.report import ANALYSIS_DOCUMENT, AnalysisSource, analysis
from demeanor.reports.night.junit import night_junit
from demeanor.reports.night.markdown import night_markdown
from demeanor.reports.night.report import NIGHTS_DOCUMENT
from demeanor.reports.night.terminal import night_terminal
from demeanor.reports.prompt_coverage.render import cover_markdown, cover_terminal
from demeanor.reports.prompt_coverage.report import COVER_DOCUMENT
from demeanor.reports.run.junit import junit_report
from demeanor.reports.run.markdown import markdown
from demeanor.reports.run.terminal import terminal_report
from demeanor.reports.run.to_json import json_report
from demeanor.web.night_file import night_html
from tests.commands.fix.test_render import REFUSED, a_fix
from tests.commands.rejudge.test_report import again, judged
from tests.helpers.decision_reports import a_comparison, a_gate
from tests.helpers.fix_project import GOOD_FIX, HELP, BrokenToyAgent
from tests.helpers.night_reports import a_week
from tests.helpers.project import Project
from tests.helpers.run_reports import make_mixed
from tests.helpers.runs import records
from tests.helpers.toy_agent import ToyAgent
from tests.helpers.versions import Versions
from tests.plugins.lab.bisect.test_render import a_bisection
from tests.plugins.lab.fork.test_render import a_fork
from tests.reports.eval_history.test_report import course
from tests.reports.failures.test_render import groups
from tests.reports.prompt_coverage.test_render import a_cover
from tests.web.test_night_file import a_pair, a_story

__all__ = ["CASES", "GOOD_FIX", "HELP", "BrokenToyAgent", "Project", "ToyAgent", "Versions", "commands", "main"]


def commands() -> Iterator[tuple[str, str]]:
    """Every command and sub-command with its help; the first is the whole program."""
    yield "", program_help()
    for name in all_commands():
        yield name, parser_of(name).format_help()


def _widths(show: Callable[[Screen], str]) -> dict[str, Callable[[], str]]:
    """On a screen of 80 and 120 columns, and of 80 that knows ASCII only."""
    return {
        "-80.txt": lambda: show(Screen(width=80)),
        "-120.txt": lambda: show(Screen(width=120)),
        "-ascii.txt": lambda: show(Screen(width=80, ascii=True)),
    }


def _formats(name: str, formats: Mapping[str, Callable[[], str]]) -> dict[str, Callable[[], str]]:
    return {f"{name}{ending}": make for ending, make in formats.items()}


def _pair() -> Any:
    deletes = Called(
        turn=1, id="1", tool="shell", kind=Kind.EXECUTE, arguments={"command": "rm -rf build"}, succeeded=True
    )
    asks = Said(turn=1, text="Shall I delete it?")
    return a_pair(a_story(1, deletes), a_story(2, asks, passed=True))


def _triage() -> Triage:
    return Triage(run="r", trials=4, failed=2, voided=1, groups=groups(), notes=("a note",))


def _rejudged() -> Any:
    return judged([*again("pffpv", "ppp-p"), *again("pp", "pp", eval="other")])


def _fallen() -> Any:
    return course("ppp " * 10 + "fff " * 4, agent_version="2.0", fingerprint="f2")


def _analysis() -> Any:
    first = AnalysisSource(name="a", records=tuple(records("ppfv", fingerprint="f1")))
    second = AnalysisSource(name="b", records=tuple(records("fff", fingerprint="f2")))
    return analysis([first, second], ks=(1, 3))


CASES: Mapping[str, Callable[[], str]] = {
    **_formats("run", _widths(lambda screen: terminal_report(make_mixed(), screen))),
    "run.md": lambda: markdown(make_mixed()),
    "run.junit.xml": lambda: junit_report(make_mixed()),
    "run.json": lambda: json_report(make_mixed()),
    **_formats("gate", _widths(lambda screen: gate_terminal(*a_gate(), screen))),
    "gate.md": lambda: gate_markdown(a_gate()[0]),
    "gate.json": lambda: GATE_DOCUMENT.write(a_gate()[0]),
    **_formats("compare", _widths(lambda screen: compare_terminal(a_comparison(), screen))),
    "compare.md": lambda: compare_markdown(a_comparison()),
    "compare.json": lambda: COMPARE_DOCUMENT.write(a_comparison()),
    **{
        name: make
        for outcome in BisectOutcome
        for name, make in _formats(
            f"bisect-{outcome.name.lower()}",
            _widths(lambda screen, outcome=outcome: bisect_terminal(a_bisection(outcome), screen)),  # type: ignore[misc]
        ).items()
    },
    "bisect.json": lambda: BISECT_DOCUMENT.write(a_bisection()),
    **{
        name: make
        for outcome in ForkOutcome
        for name, make in _formats(
            f"fork-{outcome.name.lower()}",
            _widths(lambda screen, outcome=outcome: fork_terminal(a_fork(outcome), screen)),  # type: ignore[misc]
        ).items()
    },
    "fork.json": lambda: FORK_DOCUMENT.write(a_fork()),
    **_formats("cover", _widths(lambda screen: cover_terminal(a_cover(), screen))),
    "cover.md": lambda: cover_markdown(a_cover()),
    "cover.json": lambda: COVER_DOCUMENT.write(a_cover()),
    **_formats("fix", _widths(lambda screen: fix_terminal(a_fix(), screen))),
    "fix-refused.txt": lambda: fix_terminal(a_fix(REFUSED, outcome=FixOutcome.REFUSED)),
    "fix.md": lambda: fix_markdown(a_fix()),
    "fix.json": lambda: FIX_DOCUMENT.write(a_fix()),
    **_formats("nights", _widths(lambda screen: night_terminal(a_week(), screen))),
    "nights.md": lambda: night_markdown(a_week()),
    "nights.junit.xml": lambda: night_junit(a_week()),
    "nights.json": lambda: NIGHTS_DOCUMENT.write(a_week()),
    "nights.html": lambda: night_html(a_week(), [_pair()]),
    **_formats("rejudge", _widths(lambda screen: rejudge_terminal(_rejudged(), screen))),
    "rejudge.json": lambda: REJUDGE_DOCUMENT.write(_rejudged()),
    **_formats("failures", _widths(lambda screen: triage_terminal(_triage(), screen))),
    "failures.json": lambda: TRIAGE_DOCUMENT.write(_triage()),
    "failures-briefs.md": lambda: "\n\n".join(group_brief(group) for group in groups()),
    **_formats("eval-history", _widths(lambda screen: history_terminal(_fallen(), screen))),
    "eval-history.json": lambda: HISTORY_DOCUMENT.write(_fallen()),
    **_formats("metrics", _widths(lambda screen: analysis_terminal(_analysis(), screen))),
    "metrics.json": lambda: ANALYSIS_DOCUMENT.write(_analysis()),
}
"""A file name and what makes its text."""
