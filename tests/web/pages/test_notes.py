"""Notes from the browser, over HTTP: only with `--notes`, with the token, and from our own pages."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from tests.helpers.dashboard_server import Answer, Dashboard, ParsedPage, served
from tests.helpers.dashboard_store import HOSTILE, READS, SUBJECTS, DashboardStore, make_dashboard_store

TRIAL = f"{READS}/{SUBJECTS[0]}/1"


@pytest.fixture(scope="module")
def one_night(tmp_path_factory: pytest.TempPathFactory) -> DashboardStore:
    """A store of its own: these tests write to it."""
    return make_dashboard_store(tmp_path_factory.mktemp("notes") / "project", nights=1)


@pytest.fixture(scope="module")
def site(one_night: DashboardStore) -> Iterator[Dashboard]:
    """A server that accepts notes, with its cookie."""
    with served(one_night, "--notes") as dashboard:
        dashboard.address, _, token = dashboard.address.partition("/?token=")
        assert dashboard.get("/").status == 401, "a token is needed on this machine, too"
        cookie = dashboard.get(f"/?token={token}").headers["set-cookie"].partition(";")[0]
        dashboard.cookie = cookie  # type: ignore[attr-defined]
        yield dashboard


def page(site: Dashboard, path: str) -> ParsedPage:
    found = site.get(path, Cookie=site.cookie)  # type: ignore[attr-defined]
    assert found.status == 200, found.text
    return ParsedPage(found.text)


def form(site: Dashboard) -> dict[str, str]:
    """The hidden fields of the form on the page of the trial."""
    fields = [found for tag, found in page(site, f"/trial/{site.store.last}/{TRIAL}").elements if tag == "input"]
    hidden = {one["name"] or "": one["value"] or "" for one in fields if one.get("type") == "hidden"}
    assert set(hidden) == {"form_token", "run", "eval", "subject", "number"}
    return hidden


def post(site: Dashboard, fields: dict[str, str], **headers: str) -> Answer:
    host = urlsplit(site.address).netloc
    own = {"Origin": site.address, "Cookie": site.cookie, "Content-Type": "application/x-www-form-urlencoded"}  # type: ignore[attr-defined]
    sent = {name: value for name, value in (own | headers).items() if value}
    connection = http.client.HTTPConnection(host, timeout=120)
    connection.request("POST", "/note", urlencode(fields), sent)
    found = connection.getresponse()
    answer = Answer(status=found.status, text=found.read().decode(), headers=dict(found.getheaders()))
    connection.close()
    return answer


def stored(site: Dashboard) -> list[dict[str, object]]:
    command = [sys.executable, "-m", "demeanor", "trace", "--notes", "--json"]
    done = subprocess.run(command, cwd=site.store.root, capture_output=True, text=True, timeout=300, check=True)
    return list(json.loads(done.stdout)["notes"])


def test_a_note_is_saved_and_shown_everywhere(site: Dashboard):
    """On the page of its trial, of its run and of its eval; hostile text is inert."""
    answer = post(site, form(site) | {"label": "flaky", "text": f"seen before {HOSTILE}", "author": "Ada"})
    assert answer.status == 303, answer.text
    night = site.store.last
    assert answer.headers["Location"] == f"/trial/{night}/{READS}/native%3Acareful/1#notes"
    shown = page(site, f"/trial/{night}/{TRIAL}")
    assert re.search(r"Notes flaky 20\d\d-\d\d-\d\d .* Ada seen before <script>", shown.text)
    assert [found.get("src") for tag, found in shown.elements if tag == "script"] == ["/static/app.js"]
    assert f"native: careful/ 1 of {night}".replace("-", "- ") in page(site, f"/eval/{READS}").text
    labels = [found for tag, found in page(site, f"/run/{night}").elements if "l-flaky" in (found.get("class") or "")]
    assert [found["href"] for found in labels] == [f"/trial/{night}/{READS}/native%3Acareful/1"]
    (note,) = stored(site)
    assert (note["label"], note["author"], note["run"], note["number"]) == ("flaky", "Ada", night, 1)


def test_what_does_not_come_from_our_own_page_is_refused(site: Dashboard):
    """Another origin, no origin, another site, no cookie, no form token; nothing is written."""
    before = len(stored(site))
    good = form(site) | {"label": "real", "text": "x"}
    refused = {
        "another origin": post(site, good, Origin="http://evil.example"),
        "a hidden origin": post(site, good, Origin="null"),
        "no origin": post(site, good, Origin=""),
        "another site": post(site, good, **{"Sec-Fetch-Site": "cross-site"}),
        "the same site": post(site, good, **{"Sec-Fetch-Site": "same-site"}),
        "no form token": post(site, good | {"form_token": ""}),
        "a wrong form token": post(site, good | {"form_token": "ü" * 32}),
    }
    assert {name: answer.status for name, answer in refused.items()} == dict.fromkeys(refused, 403)
    assert post(site, good, Cookie="").status == 401
    assert post(site, good, Host="evil.example", Origin="http://evil.example").status == 421
    assert post(site, good | {"label": "sad"}).status == 400
    assert post(site, good | {"text": "x" * 4001}).status == 400
    assert post(site, good | {"text": "x" * 200_000}).status == 413
    for wrong in ({"number": "99"}, {"number": "²"}, {"eval": "nope"}, {"run": "../../etc"}):
        assert post(site, good | wrong).status == 404, wrong
    assert len(stored(site)) == before


def test_without_the_option_nothing_can_be_written(one_night: DashboardStore):
    """No form, and no route."""
    with served(one_night) as dashboard:
        text = dashboard.get(f"/trial/{dashboard.store.last}/{TRIAL}").text
        assert '<form class="note-form"' not in text
        dashboard.cookie = ""  # type: ignore[attr-defined]
        assert post(dashboard, {"label": "real"}).status == 405


def test_exported_pages_show_notes_without_a_form(site: Dashboard, tmp_path: Path):
    """They have no server to send it to."""
    if not stored(site):
        assert post(site, form(site) | {"label": "flaky", "text": "seen before"}).status == 303
    command = [sys.executable, "-m", "demeanor", "serve", "--export", str(tmp_path / "out")]
    subprocess.run(command, cwd=site.store.root, capture_output=True, timeout=600, check=True)
    texts = [path.read_text("utf-8") for path in (tmp_path / "out/trial").iterdir() if READS in path.name]
    assert any("l-flaky" in text for text in texts)
    assert not any("<form" in text for text in texts)
