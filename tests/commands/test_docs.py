from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from demeanor.decide.policies import NAMES
from demeanor.statistics import boschloo, fisher
from demeanor.statistics.at_k import is_rough, pass_at_k, pass_hat_k
from demeanor.statistics.intervals import clopper_pearson, wilson

ROOT = Path(__file__).parents[2]
SHOWN = re.compile(r"(<!-- golden: (\S+) -->\n```text\n)(.*?)(```\n)", re.DOTALL)


def beginning(golden: Path) -> str:
    """A report of a night until its details."""
    shown, details, _ = golden.read_text(encoding="utf-8").partition("\nFailed\n")
    assert details
    return f"{shown}\n…\n"


def test_the_output_in_the_docs_is_current() -> None:
    """Without its details; `DEMEANOR_UPDATE_GOLDEN=1` updates it."""
    page = ROOT / "docs" / "nightly.md"
    text = page.read_text(encoding="utf-8")
    fresh = SHOWN.sub(lambda shown: shown[1] + beginning(ROOT / shown[2]) + shown[4], text)
    if os.environ.get("DEMEANOR_UPDATE_GOLDEN"):
        page.write_text(fresh, encoding="utf-8")
    assert SHOWN.search(text)
    assert page.read_text(encoding="utf-8") == fresh


def test_the_numbers_in_the_docs_are_correct() -> None:
    """Calculates every row "c of n" of docs/statistics.md again."""
    text = (ROOT / "docs" / "statistics.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) of (\d+) \| (.*) \|$", text, re.MULTILINE)
    assert len(rows) == 13
    for passed, judged, rest in ((int(c), int(n), rest) for c, n, rest in rows):
        if two := re.match(r"(\d+) of (\d+) \| (\S+) \| (\S+)$", rest):
            for p, test in zip(two.groups()[2:], (fisher.p_decrease, boschloo.p_decrease), strict=True):
                assert float(p) == pytest.approx(test(passed, judged, int(two[1]), int(two[2])), rel=0.06)
            continue
        if "–" in rest:
            ends = [wilson(passed, judged), clopper_pearson(passed, judged)]
            shown = [f"{passed / judged:.0%}", *(f"{low * 100:.0f}–{high:.0%}" for low, high in ends)]
        else:
            estimates = (pass_at_k, pass_hat_k)
            mark = "~" if is_rough(judged, 3) else ""
            shown = [f"{mark}{estimate(judged, passed, 3) or 0:.0%}" for estimate in estimates]
        assert rest.replace(" %", "%").split(" | ") == shown


def test_the_rules_in_the_docs_match_the_code() -> None:
    """And so do their policies."""
    text = (ROOT / "docs" / "decide.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([A-Z_]+)` \| `(\w+)` \|", text, re.MULTILINE)
    assert rows == [(policy.value, rule) for policy, rule in NAMES.items()]
