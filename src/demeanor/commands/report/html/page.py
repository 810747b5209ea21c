"""The page: everything in one file, and a policy by which a browser runs no script and asks no server for anything.

What agents, providers and authors wrote is escaped (see `markup.py`); even if something got through, the content
security policy allows the one style sheet with this very hash and nothing else.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256

from demeanor.commands.report import phrases as night_words
from demeanor.commands.report.html.heat_map import subject_section
from demeanor.commands.report.html.side_by_side import failures_section, voids_section
from demeanor.commands.report.report import NightReport
from demeanor.commands.trace.trials import TrialStepsPair
from demeanor.render.html.markup import Markup, el, joined
from demeanor.render.html.style import style

_HOW_TO_READ = (
    "Rates are of judged trials, with Wilson's interval of 95 %. Voids are in no rate. Change is in percentage points"
    " since the last night with data, with its interval; ▼ and ▲ mark what chance does not explain at 95 %. Nights"
    " together are the shown nights since the last ◆ or ◇."
)


def night_html(report: NightReport, pairs: Sequence[TrialStepsPair] = ()) -> str:
    """The report as one HTML file."""
    title = f"{night_words.title(report)} – Demeanor"
    sheet = style()
    digest = b64encode(sha256(sheet.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=policy),
        el("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name_="referrer", content="no-referrer"),
        el("title", title),
        Markup(f"<style>{sheet}</style>"),
    )
    return "<!DOCTYPE html>\n" + el("html", head, el("body", *_body(report, pairs)), lang="en") + "\n"


def _body(report: NightReport, pairs: Sequence[TrialStepsPair]) -> list[Markup]:
    header = el(
        "header",
        el("h1", night_words.title(report)),
        el("p", night_words.origin(report), class_="soft"),
        el("p", f"History: {night_words.history(report)}.", class_="soft"),
    )
    sections = [subject_section(report, one, number) for number, one in enumerate(report.subjects)]
    main = el("main", *sections, failures_section(report, pairs), voids_section(report), _changes(report))
    return [header, main, _footer(report)]


def _changes(report: NightReport) -> Markup:
    found = [el("li", el("span", mark, class_="m"), f" {told}") for mark, told in night_words.changes(report)]
    if not found:
        return Markup("")
    return el("section", el("h2", "What changed", id="changed"), el("ul", *found), aria_labelledby="changed")


def _footer(report: NightReport) -> Markup:
    signs = [
        joined(el("span", mark, class_="m"), f" {night_words.LEGEND[mark]}. ")
        for mark in night_words.used_marks(report)
        if mark not in {"○", "·"}
    ]
    notes = [el("p", f"Note: {note}") for note in report.notes]
    return el("footer", el("p", _HOW_TO_READ), el("p", *signs), *notes)
