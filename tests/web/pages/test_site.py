"""The pages, over HTTP, on thirteen nights of three subjects with a real fall in it."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from pathlib import Path
from urllib.parse import quote

import pytest

from demeanor.core.values.record import Record
from demeanor.core.values.verdict import Pass
from demeanor.decide.promotion.candidate import Candidate
from demeanor.store.runs import RunFolder
from demeanor.web.pages.overview import near_promotion
from demeanor.web.pages.site import harmless
from demeanor.web.pages.trial_files import workspace_diff
from tests.helpers.dashboard_server import Dashboard, ParsedPage, served
from tests.helpers.dashboard_store import (
    HAIKU,
    HOSTILE_RUN,
    READS,
    RENAMES,
    SCANNED,
    SUBJECTS,
    DashboardStore,
    make_dashboard_store,
)
from tests.helpers.postgres_server import postgres_server

CAREFUL = SUBJECTS[0]


def every_page(dashboard: Dashboard) -> list[str]:
    """A path of each page."""
    night = dashboard.store.last
    trial = f"/trial/{night}/{READS}/{CAREFUL}"
    tabs = [f"{trial}/first?tab={tab}" for tab in ("steps", "diff", "prompt", "exchanges", "log", "commands")]
    more = [
        f"/trial/{night}/{SCANNED}",
        f"/compare?a={dashboard.store.nights[0]}&b={night}",
        "/board",
        f"/failures/{night}",
        "/cost",
        "/cover",
        "/live",
        "/find?q=rea",
    ]
    return ["/", "/runs", f"/run/{night}", f"/eval/{READS}", f"{trial}/first", *tabs, *more]


def test_the_overview_says_what_got_worse_and_between_which_nights(dashboard: Dashboard):
    """The verdict first; the fall with both rates, the nights around it, and commands to go on with."""
    page = dashboard.page("/")
    assert "rejected 1 of 21 cells rejected" in page.text
    assert re.search(
        rf"Got worse 1 .*{CAREFUL} 9\d % .* → 1\d % .* between 11-12 and 11-13, commits \w{{7}}\.\.\w{{7}}", page.text
    )
    assert f"demeanor bisect {READS} --subject {CAREFUL} --good" in page.text
    assert "Got better 2" in page.text
    assert f"★ {HAIKU}".replace("_", "_ ") in page.text
    assert "provider 3" in page.text
    assert f"/trial/{dashboard.store.last}/{READS}/native%3Acareful/first" in page.links()


def test_only_evals_that_need_a_few_nights_are_near_promotion(dashboard: Dashboard):
    """Those that are ready come first. Those that need many are left out."""
    answers = (("a", "wait", 10), ("b", "wait", 8), ("c", "promote", 0), ("d", "refuse", 1), ("e", "wait", 1))
    found = [
        Candidate(eval=name, answer=answer, reason="", rule="classic", distance=nights)
        for name, answer, nights in answers
    ]
    assert [one.eval for one in near_promotion(found)] == ["c", "e", "b"]


def test_every_page_of_an_eval_names_the_layer_of_a_whole_task(dashboard: Dashboard):
    """The run's pages also say how each layer did; a behaviour has no tag."""
    last = dashboard.store.last
    for path in ("/", f"/run/{last}"):
        page = dashboard.page(path)
        assert re.search(r"layer 2, behaviour: 13 of 15 held · layer 3, whole tasks: 3 of 3 held", page.text), path
        assert page.text.count("layer 3, whole task ") == (3 if path.startswith("/run") else 1), path
    assert "layer 3, whole task" in dashboard.page(f"/eval/{RENAMES}").text
    assert "layer 3" not in dashboard.page(f"/eval/{READS}").text


def test_the_newest_night_is_next_to_the_name(dashboard: Dashboard):
    """Its score is the first thing in a cell; the bars end with this night, as every series does."""
    text = dashboard.get("/").text
    row = text[text.index("reads_<wbr>before_<wbr>it_<wbr>edits", text.index("<tbody>")) :].split("</tr>")[0]
    assert re.search(r'<span class="score">1/5</span>', row)
    assert re.search(r'aria-label="oldest first: 100 %, [^"]*, 20 %"', row)


def test_an_expected_fail_is_not_alarming(dashboard: Dashboard):
    """0 % of an eval that usually fails has its own style and the word expected."""
    text = dashboard.get(f"/run/{dashboard.store.last}?eval={HAIKU}&subject={CAREFUL}").text
    assert 'class="badge k-expected"' in text
    assert "expected fail" in text
    assert 'class="k-expected"' in dashboard.get("/").text


def test_every_link_of_every_page_leads_somewhere(dashboard: Dashboard):
    """Two clicks deep from the overview."""
    seen: dict[str, int] = {}
    waiting = every_page(dashboard)
    for depth in range(2):
        found: list[str] = []
        for path in waiting:
            if path not in seen:
                answer = dashboard.get(path)
                seen[path] = answer.status
                found += [link.partition("#")[0] for link in ParsedPage(answer.text).links()]
        waiting = sorted({link for link in found if link.startswith("/")} - set(seen))[: 60 if depth == 0 else 0]
    assert {path: status for path, status in seen.items() if status != 200} == {}
    assert len(seen) > 20


@pytest.mark.parametrize(
    ("query", "cells"),
    [
        ("status=rejected", 1), ("status=undecided", 1), ("status=skipped", 3), ("status=void", 1), ("status=news", 1),
        ("policy=ALWAYS_PASSES", 3), (f"subject={CAREFUL}", 7), ("cause=provider", 1), ("tag=safety", 3),
        ("layer=3+whole+task", 3), ("layer=2+behaviour", 18),
        ("q=HAIKU", 3), (f"q=haiku&subject={CAREFUL}", 1), ("q=nothing-has-this", 0),
    ],
)  # fmt: skip
def test_a_run_can_be_filtered(dashboard: Dashboard, query: str, cells: int):
    """By decision, policy, subject, cause of a void, tag, layer and text."""
    text = dashboard.page(f"/run/{dashboard.store.last}?{query}").text
    assert (f"{cells} of 21 cells" in text) if cells else "No cell of this run matches" in text


def test_a_run_can_be_sorted(dashboard: Dashboard):
    """What needs attention first, unless another order is asked for."""

    def first(query: str) -> str:
        text = dashboard.get(f"/run/{dashboard.store.last}?{query}").text
        return re.sub(r"<[^>]*>", "", text[text.index("<tbody>") :].split("</th>")[0]).split()[0]

    assert first("") == READS
    assert first("sort=eval") == "asks_before_deleting"
    assert first("sort=plan") == READS


def test_a_trial_shows_why_and_where_it_diverged(dashboard: Dashboard):
    """The failed check with the compared values, the trials of the cell, and the step that differs from a pass."""
    page = dashboard.page(f"/trial/{dashboard.store.last}/{READS}/{CAREFUL}/first")
    assert "0 = count(read)" in page.text
    assert "It never calls read; a passing trial does: step 1 ." in page.text
    rows = [
        attributes
        for tag, attributes in page.elements
        if tag == "tr" and "divergence" in (attributes.get("class") or "")
    ]
    assert [row["id"] for row in rows] == ["step-1"]
    dots = [
        attributes
        for tag, attributes in page.elements
        if tag == "a" and (attributes.get("class") or "").startswith("dot ")
    ]
    assert len(dots) == 5
    assert [dot.get("aria-current") for dot in dots].count("true") == 1
    assert any(tag == "svg" and "start-up" in (attributes.get("aria-label") or "") for tag, attributes in page.elements)
    assert "I should look at the file before I change anything." in page.text


def test_steps_show_when_they_began_also_beside_old_ones_without_a_time(dashboard: Dashboard):
    """The strip tells tools from the agent's own time; a night that was stored without times can be read as well."""

    def of(night: str) -> tuple[str, str]:
        page = dashboard.page(f"/trial/{night}/{RENAMES}/{SUBJECTS[2]}/1")
        strip = next(one for tag, one in page.elements if tag == "svg" and one.get("class") == "strip")
        return strip["aria-label"] or "", page.text

    strip, text = of(dashboard.store.last)
    assert re.search(r"start-up .*, model .*, tools .*, agent .* in all", strip)
    assert re.search(r"grep -rn area \. \d\.\d s", text)
    strip, text = of(dashboard.store.nights[0])
    assert re.search(r"start-up .*, model .*, tools [^a]*, \d.* in all", strip)
    assert not re.search(r"grep -rn area \. \d\.\d s", text)


def test_a_failing_trial_can_be_copied_as_a_task(dashboard: Dashboard):
    """With where it diverges, and what not to do; a passing one has no such button."""

    def tasks(path: str) -> list[str]:
        elements = dashboard.page(f"/trial/{dashboard.store.last}/{path}").elements
        return [one["data-copy"] or "" for tag, one in elements if tag == "button" and "data-copy" in one]

    (task,) = tasks(f"{READS}/{CAREFUL}/first")
    assert "never calls read; a passing trial does" in task
    assert "Do not change the eval" in task
    assert tasks(f"{RENAMES}/{SUBJECTS[2]}/1") == []


def test_the_tabs_of_a_trial(dashboard: Dashboard):
    """Diff, prompt with tools, exchanges, log and commands; each has its own address."""
    trial = f"/trial/{dashboard.store.last}/{RENAMES}/{SUBJECTS[2]}/1"
    assert "+def surface(): ..." in dashboard.page(f"{trial}?tab=diff").text
    prompt = dashboard.page(f"{trial}?tab=prompt").text
    assert "Rename area to surface, everywhere." in prompt
    assert "Read before you edit." in prompt
    assert "Run a command." in prompt
    assert '"dialect": "openai-chat"' in dashboard.page(f"{trial}?tab=exchanges&x=2").text
    assert "verdict: pass" in dashboard.page(f"{trial}?tab=log").text
    assert (
        f"demeanor trace {RENAMES}/{SUBJECTS[2]}/1 --run {dashboard.store.last}"
        in dashboard.page(f"{trial}?tab=commands").text
    )


def test_an_eval_shows_its_rate_its_change_and_its_source(dashboard: Dashboard):
    """Per subject, with the nights between which the rate fell."""
    page = dashboard.page(f"/eval/{READS}")
    assert re.search(r"▼ Fell between 2026-11-12 and 2026-11-13: 4\d/\d\d → \d/\d\d; agent changed", page.text)
    assert 'assert rig.calls.of_kind("read").count() > 0' in page.text
    assert "renames_all_callers" not in page.text.partition("Source")[2].partition("Decisions")[0]
    assert [tag for tag, attributes in page.elements if tag == "svg" and attributes.get("class") == "chart"] == [
        "svg"
    ] * 3


def test_an_expected_fail_is_not_shown_as_an_alarm(dashboard: Dashboard):
    """An eval that usually fails has neutral dots and badges: on its run, its trials and its own page."""
    night = dashboard.store.last

    def classes(path: str) -> list[str]:
        return [attributes.get("class") or "" for _, attributes in dashboard.page(path).elements]

    trial = f"/trial/{night}/{HAIKU}/{CAREFUL}/1"
    assert "expected fail" in dashboard.page(trial).text
    assert {"badge b-expected", "hero v-expected", "dot fail expected"} <= set(classes(trial))
    assert not {"badge b-fail", "hero v-fail", "dot fail"} & set(classes(trial))
    assert {"dot fail expected", "dot fail"} <= set(classes(f"/run/{night}"))
    assert "dot fail" not in classes(f"/run/{night}?policy=USUALLY_FAILS")
    assert "badge k-bad" not in classes(f"/eval/{HAIKU}")
    assert "badge k-bad" in classes(f"/eval/{READS}")
    assert "expected fail" in dashboard.page("/").text


def test_hostile_output_is_inert_and_shown(dashboard: Dashboard):
    """Markup, terminal escapes, directional characters and giant lines of an agent."""
    for tab in ("steps", "log", "diff", "prompt", "exchanges"):
        answer = dashboard.get(f"/trial/{HOSTILE_RUN}/hostile_output/native:hasty/1?tab={tab}")
        assert answer.status == 200
        assert len(answer.text) < 150_000
        page = ParsedPage(answer.text)
        scripts = [attributes for tag, attributes in page.elements if tag == "script"]
        assert [one.get("src") for one in scripts] == ["/static/app.js"]
        assert not [tag for tag, _ in page.elements if tag in {"img", "iframe", "object", "embed"}]
        assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
        assert not [link for link in page.links() if link.startswith("javascript")]
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", answer.text)
    shown = dashboard.page(f"/trial/{HOSTILE_RUN}/hostile_output/native:hasty/1").text
    assert "<script>document.title='owned'</script>" in shown
    assert "\\u202egnp.exe" in shown
    assert "{{ 7 * 7 }}" in shown


def test_pages_need_no_script_and_load_nothing_from_elsewhere(dashboard: Dashboard):
    """One style sheet, one script, one icon, all of our own; no inline code and no inline style."""
    for path in every_page(dashboard):
        page = dashboard.page(path)
        loaded = {
            attributes.get("src") or attributes.get("href")
            for tag, attributes in page.elements
            if tag in {"script", "link"}
        }
        assert loaded == {"/static/app.js", "/static/style.css", "/static/icon.svg"}
        assert not [
            name for _, attributes in page.elements for name in attributes if name == "style" or name.startswith("on")
        ]
        assert all(link.startswith(("/", "#")) for link in page.links())


def test_what_does_not_exist_is_said(dashboard: Dashboard):
    """With the nearest name, and a status of 404."""
    night = dashboard.store.last
    trial = f"/trial/{night}/{READS}/{CAREFUL}"
    wrong = ["/run/nope", "/eval/reads_before_it_edit", f"{trial}/99", "/static/nope.js", "/nope"]
    for path in [*wrong, f"{trial}/..%2F..%2Fetc", "/run/..%2F..%2Fetc%2Fpasswd"]:
        assert dashboard.get(path).status == 404, path
    assert "did you mean 'reads_before_it_edits'" in dashboard.page_of_404("/eval/reads_before_it_edit")
    assert "demeanor.db" not in dashboard.page_of_404("/run/nope"), "a path of the server"
    assert dashboard.get("/runs?kind=weekly").status == 400


def test_an_empty_store_says_what_to_do(tmp_path: Path):
    """Before the first run, and without creating a file."""
    (tmp_path / "demeanor.toml").write_text("")
    with served(DashboardStore(root=tmp_path, nights=())) as empty:
        assert "No runs yet" in empty.page("/").text
        assert "demeanor nightly" in empty.page("/").text
        assert "There are no such runs yet" in empty.page("/runs").text
    assert not (tmp_path / "results").exists()


def test_the_pages_of_a_history_on_postgresql(tmp_path: Path):
    """The same pages; and a capture that is elsewhere says where."""
    with postgres_server() as address:
        store = make_dashboard_store(tmp_path / "project", address=address, nights=2)
        with served(store, DEMEANOR_STORE=address) as dashboard:
            for path in every_page(dashboard):
                dashboard.page(path)
            assert "2 nights" not in dashboard.page("/").text
            (store.root / "results").rename(tmp_path / "elsewhere")
            text = dashboard.page(f"/trial/{store.last}/{READS}/{CAREFUL}/first").text
            assert "The steps are not available: " in text
            assert "is not on this machine; the folder of its run is " in text
            assert str(store.root / "results" / store.last) in text


def test_the_server_has_a_lower_priority_than_runs(dashboard: Dashboard):
    """So that many readers do not slow down a run on the same machine."""
    own, its = (os.getpriority(os.PRIO_PROCESS, process) for process in (0, dashboard.process))
    assert its == min(19, own + 5)


def test_a_port_that_is_taken_is_an_error(dashboard: Dashboard):
    """With the port and what to do."""
    import subprocess
    import sys

    port = dashboard.address.rpartition(":")[2]
    done = subprocess.run(
        [sys.executable, "-m", "demeanor", "serve", "--port", port], cwd=dashboard.store.root, capture_output=True,
        text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert f"--port {port}: can't listen there" in done.stderr
    assert "--port 0" in done.stderr


def test_comparing_two_runs_two_subjects_and_nothing(dashboard: Dashboard):
    """With the result per eval and the command; an unknown side is said, and no file is looked for."""
    first, last = dashboard.store.nights[0], dashboard.store.last
    page = dashboard.page(f"/compare?a={first}&b={last}")
    assert f"demeanor compare {first} {last}" in page.text
    assert re.search(r"improved .*0/5 5/5 \+100", page.text)
    assert "They are the same on both sides." in page.text
    badges = [attributes["class"] for tag, attributes in page.elements if "badge" in (attributes.get("class") or "")]
    assert badges[0] == "badge b-undecided", "too few trials to say that nothing got worse"
    assert "regressed" in dashboard.page(f"/compare?a={SUBJECTS[2]}&b={CAREFUL}").text
    assert "Name a base and a new side" in dashboard.page("/compare").text
    assert dashboard.get(f"/compare?a={first}&b=nope").status == 400
    assert dashboard.get(f"/compare?a={first}&b={dashboard.store.root}/results/{last}").status == 400


def test_a_comparison_has_its_answer_intervals_and_the_steps_of_both_sides(dashboard: Dashboard):
    """The answer is that of the command; the intervals are corrected for their number; steps stand side by side."""
    first, last = dashboard.store.nights[6], dashboard.store.last
    address = f"/compare?a={first}&b={last}"
    page = dashboard.page(address)
    assert re.search(r"undecided Can't tell: .*the mean pass rate may have fallen by up to [\d.]+ points", page.text)
    assert re.search(r"edits native: careful (underpowered|suspicious) [45]/5 1/5 −[68]0 −\d+ … \+?\d+", page.text)
    assert "Steps of" not in page.text
    (steps,) = [link for link in page.links() if READS in link and "careful" in link and link.startswith("/compare")]
    text = dashboard.page(steps.partition("#")[0]).text
    assert re.search(rf"Steps of {READS} .*that did not pass .*New: trial \d , fail Base: trial \d , pass", text)
    assert "1 ≠ — read shapes.py" in text
    subjects = f"/compare?a={SUBJECTS[2]}&b={CAREFUL}&eval={READS}&subject={SUBJECTS[2]} → {CAREFUL}"
    assert "1 ≠ — read shapes.py" in dashboard.page(quote(subjects, safe="/?=&")).text
    assert "can't be compared: no trial has stored steps" in dashboard.page(f"{address}&eval=nope&subject=nope").text


def test_the_board_lists_what_is_ready_and_what_is_missing(dashboard: Dashboard):
    """Both directions."""
    text = dashboard.page("/board").text
    assert "Promote to ALWAYS_PASSES" in text
    assert f"{CAREFUL}: " in text
    assert "of 10 nights of incubation" in text
    assert "Demote to USUALLY_PASSES" in text
    assert "asks_ before_ deleting" in text


def test_failures_are_grouped_with_a_task_for_an_agent(dashboard: Dashboard):
    """By what failing trials did where passing ones did something else; voids apart."""
    page = dashboard.page(f"/failures/{dashboard.store.last}")
    assert "never calls read; a passing trial does" in page.text
    assert "void(provider): the provider answered 503" in page.text
    tasks = [
        attributes["data-copy"] or ""
        for tag, attributes in page.elements
        if tag == "button" and "data-copy" in attributes
    ]
    assert any("Do not change the eval" in task for task in tasks)
    assert "Every trial of this run passed" not in page.text


def test_cost_by_night_subject_and_eval(dashboard: Dashboard):
    """In the order that is asked for."""
    text = dashboard.page("/cost").text
    assert "The last 13 nights" in text
    assert re.search(r"By subject .*steady 390 \$\d\.\d\d", text)
    assert re.search(r"By eval .*195 \$\d\.\d\d", text)
    assert dashboard.page("/cost?by=time")
    assert dashboard.get("/cost?by=charm").status == 400


def test_a_diff_is_shown_file_by_file(tmp_path: Path):
    """With the number of its lines; a removed line that looks like a path begins no file."""
    (tmp_path / "workspace.diff").write_text(
        "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1 @@\n-one\n--- two\n+three\n"
        "--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+four\n"
        "--- a/old.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-five\n"
    )
    record = Record(eval="e", subject="a:m", number=1, attempt=1, verdict=Pass())
    _, files = workspace_diff(RunFolder(tmp_path), record) or (None, ())
    assert [(file.path, file.added, file.removed) for file in files] == [
        ("x.py", 1, 1),
        ("new.py", 1, 0),
        ("old.py", 0, 1),
    ]
    (tmp_path / "workspace.diff").write_text("")
    assert workspace_diff(RunFolder(tmp_path), record)[1] == ()  # type: ignore[index]


def test_trials_are_found_by_what_failed_and_what_was_called(dashboard: Dashboard):
    """Words of a reason, in any run; each trial is linked, with the words around."""
    page = dashboard.page("/find?q=count+READ+0")
    assert "reads_ before_ it_ edits" in page.text
    assert "0 = count(read)" in page.text
    assert any(link.startswith(f"/trial/{dashboard.store.last}/") for link in page.links())
    assert "no trial has all these words" in dashboard.page("/find?q=absentword").text


@pytest.mark.parametrize("path", ["/run/{}?status=rejected", "/eval/" + READS, "/cost"])
def test_tables_can_be_downloaded(dashboard: Dashboard, path: str):
    """As CSV and as JSON, with the same rows; the page links to both."""
    path = path.format(dashboard.store.last)
    links = [link for link in dashboard.page(path).links() if "format=" in link]
    assert len(links) == 2
    text, data = (dashboard.get(link) for link in links)
    assert text.headers["content-type"].startswith("text/csv")
    assert text.headers["content-disposition"].startswith("attachment")
    rows = list(csv.DictReader(io.StringIO(text.text)))
    assert [
        {key: str(value) if value is not None else "" for key, value in row.items()} for row in json.loads(data.text)
    ] == rows
    assert rows
    assert dashboard.get("/board?format=csv").status == 400


@pytest.mark.parametrize(("value", "written"), [("=cmd()", "'=cmd()"), ("@x", "'@x"), ("a=b", "a=b"), (-1, -1)])
def test_a_name_is_no_formula_in_a_spreadsheet(value: str | int, written: str | int):
    """Evals and subjects have any name."""
    assert harmless(value) == written


def test_live_without_a_run_shows_the_latest(dashboard: Dashboard):
    """And says that nothing is running."""
    text = dashboard.page("/live").text
    assert "Nothing is running" in text
    assert "finished" in text
    assert "90 of 90" in text
