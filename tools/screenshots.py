"""Pictures of every page, light and dark, 390 and 1500 pixels wide, written to build/screenshots."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.helpers.browser import browser  # noqa: E402
from tests.helpers.dashboard_server import Dashboard, served  # noqa: E402
from tests.helpers.dashboard_store import HOSTILE_RUN, READS, RENAMES, SUBJECTS, make_dashboard_store  # noqa: E402

OUT = ROOT / "build" / "screenshots"


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
        "trial-hostile": f"/trial/{HOSTILE_RUN}/hostile_output/native:hasty/1",
        "compare": f"/compare?a={first}&b={night}",
        "board": "/board",
        "triage": f"/triage/{night}",
        "cost": "/cost",
        "live": "/live",
        "find": "/find?q=rea",
        "not-found": "/run/nope",
    }


def main() -> int:
    """Make the store, serve it, and take the pictures."""
    OUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        store = make_dashboard_store(Path(folder, "project"))
        with served(store) as dashboard, browser() as chromium:
            for theme in ("light", "dark"):
                for width in (390, 1500):
                    context = chromium.new_context(
                        color_scheme=theme, viewport={"width": width, "height": 900}, base_url=dashboard.address
                    )
                    tab = context.new_page()
                    for name, path in pages(dashboard).items():
                        tab.goto(path)
                        tab.screenshot(path=OUT / f"{name}-{theme}-{width}.png", full_page=width == 1500)
                    context.close()
    sys.stdout.write(f"pictures written to {OUT}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
