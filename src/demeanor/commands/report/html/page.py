"""The page: one file without scripts, which loads nothing from any server.

Text from agents, providers and authors is escaped (see `markup.py`). In addition, the content security policy allows
only the style sheet with this hash.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256

from demeanor.commands.report import phrases
from demeanor.commands.report.html.heat_map import subject_section
from demeanor.commands.report.html.side_by_side import failures_section, voids_section
from demeanor.commands.report.report import NightReport
from demeanor.commands.report.step_pairs import TrialStepsPair
from demeanor.render.html.markup import Markup, el, joined
from demeanor.render.html.style import style

_HOW_TO_READ = (
    "Rates are of judged trials, with the 95 % Wilson interval. Voids don't count. Change is in percentage points since"
    " the last night with data, with its interval; ▼ and ▲ mark changes that are significant at 95 %. Nights together"
    " combines the shown nights since the last ◆ or ◇."
)


def night_html(report: NightReport, pairs: Sequence[TrialStepsPair] = ()) -> str:
    """The report as one HTML file."""
    title = f"{phrases.title(report)} – Demeanor"
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
        el("h1", phrases.title(report)),
        el("p", phrases.origin(report), class_="soft"),
        el("p", f"History: {phrases.history(report)}.", class_="soft"),
    )
    sections = [subject_section(report, one, number) for number, one in enumerate(report.subjects)]
    main = el("main", *sections, failures_section(report, pairs), voids_section(report), _changes(report))
    return [header, main, _footer(report)]


def _changes(report: NightReport) -> Markup:
    found = [el("li", el("span", mark, class_="m"), f" {text}") for mark, text in phrases.changes(report)]
    if not found:
        return Markup("")
    return el("section", el("h2", "What changed", id="changed"), el("ul", *found), aria_labelledby="changed")


def _footer(report: NightReport) -> Markup:
    signs = [
        joined(el("span", mark, class_="m"), f" {phrases.LEGEND[mark]}. ")
        for mark in phrases.used_marks(report)
        if mark not in {"○", "·"}
    ]
    notes = [el("p", f"Note: {note}") for note in report.notes]
    return el("footer", el("p", _HOW_TO_READ), el("p", *signs), *notes)
