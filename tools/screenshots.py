"""Pictures of every page, light and dark, 390 and 1500 pixels wide, written to build/screenshots.

With `--docs`: the pictures in docs/images, which are small (WebP) and are shown by the docs and the README.
"""

from __future__ import annotations

import argparse
import base64
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.helpers.browser import PATIENCE, browser  # noqa: E402
from tests.helpers.dashboard_server import Dashboard, served  # noqa: E402
from tests.helpers.dashboard_store import (  # noqa: E402
    HOSTILE_RUN,
    READS,
    RENAMES,
    SCANNED,
    SUBJECTS,
    make_dashboard_store,
)

OUT = ROOT / "build" / "screenshots"
DOCS = ROOT / "docs" / "images"
LARGEST = 60_000
"""Bytes of a picture in the docs."""

IN_DOCS = {
    "overview": 820,
    "trial": 800,
    "eval": 760,
    "run": 760,
    "compare": 720,
    "failures": 760,
    "live": 640,
    "cost": 640,
}
"""The pages that the docs show, and the height of the picture."""


def pages(dashboard: Dashboard) -> dict[str, str]:
    """Name → path."""
    night, first = dashboard.store.last, dashboard.store.nights[6]
    trial = f"/trial/{night}/{READS}/{SUBJECTS[0]}/first"
    renames = f"/trial/{night}/{RENAMES}/{SUBJECTS[2]}/1"
    return {
        "overview": "/",
        "runs": "/runs",
        "run": f"/run/{night}",
        "eval": f"/eval/{READS}",
        "trial": trial,
        **{f"trial-{tab}": f"{renames}?tab={tab}" for tab in ("diff", "prompt", "log", "commands")},
        "trial-exchanges": f"{renames}?tab=exchanges&x=1",
        "trial-scan": f"/trial/{night}/{SCANNED}",
        "trial-hostile": f"/trial/{HOSTILE_RUN}/hostile_output/native:hasty/1",
        "compare": f"/compare?a={first}&b={night}",
        "board": "/board",
        "failures": f"/failures/{night}",
        "cost": "/cost",
        "cover": "/cover",
        "live": "/live",
        "find": "/find?q=rea",
        "not-found": "/run/nope",
    }


def take_all(dashboard: Dashboard, chromium: Any) -> Path:
    """Every page in both themes and widths."""
    OUT.mkdir(parents=True, exist_ok=True)
    for theme in ("light", "dark"):
        for width in (390, 1500):
            context = chromium.new_context(
                color_scheme=theme, viewport={"width": width, "height": 900}, base_url=dashboard.address
            )
            context.set_default_timeout(PATIENCE)
            tab = context.new_page()
            for name, path in pages(dashboard).items():
                tab.goto(path)
                tab.screenshot(path=OUT / f"{name}-{theme}-{width}.png", full_page=width == 1500)
            context.close()
    return OUT


def take_for_docs(dashboard: Dashboard, chromium: Any) -> Path:
    """Some pages, light, as small files."""
    DOCS.mkdir(parents=True, exist_ok=True)
    context = chromium.new_context(color_scheme="light", base_url=dashboard.address)
    context.set_default_timeout(PATIENCE)
    tab = context.new_page()
    session = context.new_cdp_session(tab)
    for name, height in IN_DOCS.items():
        tab.set_viewport_size({"width": 1200, "height": height})
        tab.goto(pages(dashboard)[name])
        taken = session.send("Page.captureScreenshot", {"format": "webp", "quality": 70})
        content = base64.b64decode(taken["data"])
        if len(content) > LARGEST:
            raise SystemExit(f"{name}: {len(content)} bytes, at most {LARGEST} are allowed")
        (DOCS / f"dashboard-{name}.webp").write_bytes(content)
    context.close()
    return DOCS


def main() -> int:
    """Make the store, serve it, and take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", action="store_true", help="write the pictures of the docs instead")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = make_dashboard_store(Path(folder, "project"))
        with served(store) as dashboard, browser() as chromium:
            out = (take_for_docs if args.docs else take_all)(dashboard, chromium)
    sys.stdout.write(f"pictures written to {out}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
