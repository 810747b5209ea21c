"""The timeline of a simulated run as SVG: trials in progress over time, by subject."""

from __future__ import annotations

from itertools import pairwise

from markupsafe import Markup

from demeanor.commands.simulate.rules import SimulatedRun
from demeanor.core.text import count
from demeanor.render.numbers import duration

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 900, 320, 60, 40, 40
_STEPS = 400
_COLORS = ("#3b6fb6", "#c8772e", "#4f9d69", "#a8484f", "#7a5ea8", "#8a7a4a", "#4a9aa8", "#b65f97")


def timeline(run: SimulatedRun, *, slots: int) -> str:
    """The trials in progress at each moment, one layer per subject, and the number of slots as a line."""
    subjects = list(dict.fromkeys(one.subject for one in run.trials))
    total = max(run.seconds, 1e-9)
    layers = {subject: _in_progress(run, subject, total) for subject in subjects}
    below = [0.0] * _STEPS
    what = f"{count(len(run.trials), 'trial')} on {count(slots, 'slot')}: {duration(run.seconds)}"
    parts = [_text(_LEFT, 20, what, anchor="start")]
    for index, subject in enumerate(subjects):
        above = [low + number for low, number in zip(below, layers[subject], strict=True)]
        color = _COLORS[index % len(_COLORS)]
        parts.append(_layer(below, above, slots, color, subject))
        parts.append(_legend(index, subject, color))
        below = above
    y = _y(slots, slots)
    parts.append(
        Markup('<line x1="{}" x2="{}" y1="{:g}" y2="{:g}" stroke="#444" stroke-dasharray="4 3"/>').format(
            _LEFT, _WIDTH - 10, y, y
        )
    )
    parts += [_text(_LEFT - 6, _y(number, slots) + 4, str(number), anchor="end") for number in {0, slots}]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = _LEFT + share * (_WIDTH - 10 - _LEFT)
        parts.append(_text(x, _HEIGHT - _BOTTOM + 18, duration(share * total), anchor="middle"))
    label = f"Trials in progress over {duration(run.seconds)}, on {count(slots, 'slot')}"
    return str(
        Markup(
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" width="{w}" height="{h}" role="img"'
            ' aria-label="{label}" font-family="sans-serif" font-size="12">'
            '<rect width="{w}" height="{h}" fill="#fff"/>{parts}</svg>\n'
        ).format(w=_WIDTH, h=_HEIGHT, label=label, parts=Markup().join(parts))
    )


def _in_progress(run: SimulatedRun, subject: str, total: float) -> list[float]:
    """The mean number of trials of a subject in progress, for each step of the time."""
    step = total / _STEPS
    changes = [0.0] * (_STEPS + 1)
    partial = [0.0] * _STEPS
    for one in run.trials:
        if one.subject != subject:
            continue
        first, last = min(int(one.start / step), _STEPS - 1), min(int(one.end / step), _STEPS - 1)
        if first == last:
            partial[first] += (one.end - one.start) / step
            continue
        partial[first] += first + 1 - one.start / step
        partial[last] += one.end / step - last
        changes[first + 1] += 1
        changes[last] -= 1
    found, now = [], 0.0
    for index in range(_STEPS):
        now += changes[index]
        found.append(now + partial[index])
    return found


def _y(number: float, slots: int) -> float:
    return round(_HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * number / max(1, slots), 1)


def _layer(below: list[float], above: list[float], slots: int, color: str, title: str) -> Markup:
    def points(values: list[float]) -> list[str]:
        width = (_WIDTH - 10 - _LEFT) / _STEPS
        edges = [_LEFT + width * index for index in range(_STEPS + 1)]
        return [
            f"{x:.1f},{_y(value, slots):g}"
            for (left, right), value in zip(pairwise(edges), values, strict=True)
            for x in (left, right)
        ]

    outline = [*points(above), *reversed(points(below))]
    return Markup('<polygon fill="{}" points="{}"><title>{}</title></polygon>').format(color, " ".join(outline), title)


def _legend(index: int, subject: str, color: str) -> Markup:
    x = _LEFT + 170 * index
    square = Markup('<rect x="{}" y="{}" width="10" height="10" fill="{}"/>').format(x, _HEIGHT - 14, color)
    return square + _text(x + 14, _HEIGHT - 5, subject, anchor="start")


def _text(x: float, y: float, text: str, *, anchor: str) -> Markup:
    return Markup('<text x="{:g}" y="{:g}" text-anchor="{}">{}</text>').format(x, y, anchor, text)
