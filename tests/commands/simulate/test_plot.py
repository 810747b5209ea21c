from __future__ import annotations

import re
from xml.etree import ElementTree

from demeanor.commands.simulate.plot import timeline
from demeanor.commands.simulate.rules import TrialLoad, simulate


def test_the_timeline_shows_each_subject_below_the_slots() -> None:
    """It is well-formed on its own, escapes names, and its layers stay inside the picture."""
    loads = [TrialLoad(subject=name, seconds=30.0) for name in ("a:m", "b:<m>") for _ in range(5)]
    text = timeline(simulate(loads, 4, {}), slots=4)
    root = ElementTree.fromstring(text)  # noqa: S314 - our own
    titles = [one.text for one in root.iter("{http://www.w3.org/2000/svg}title")]
    assert titles == ["a:m", "b:<m>"]
    assert root.attrib["aria-label"] == "Trials in progress over 1 min 30 s, on 4 slots"
    heights = [float(y) for points in re.findall(r'points="([^"]+)"', text) for y in re.findall(r",([\d.]+)", points)]
    assert min(heights) >= 39.9
    assert max(heights) <= 280.1
