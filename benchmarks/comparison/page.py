"""Writes the figures to docs/scale.md, between two marks, with charts beside it. The prose around it stays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.comparison.measure import Sample, Spread
from benchmarks.plots import Bar, bars

BEGIN, END = "<!-- measured -->", "<!-- end measured -->"
WORKS = {
    "python": "A Python process that writes a file",
    "sh": "The cheapest process: `sh` writes a file",
    "model": "A Python process that asks a model over HTTP and writes a file",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """The samples of one kind and number of trials."""

    program: str
    """The program of a trial."""

    trials: int
    """The number of trials."""

    samples: Mapping[str, Sequence[Sample]]
    """Tool → its samples; the first tool is the bare loop."""

    most: Mapping[str, int] = field(default_factory=dict)
    """Tool → the number of trials that it was given, if that is smaller."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Figures:
    """Everything that was measured."""

    machine: Mapping[str, str]
    """Facts about the machine."""

    works: Sequence[Work]
    """Many trials."""

    start_up: Mapping[str, float]
    """Command → seconds."""

    stored: Mapping[str, float]
    """Command on a stored run → seconds."""

    stored_trials: int
    """The number of trials of that run."""

    size: tuple[float, float]
    """Bytes per trial of that run: sizes of files, and what the file system allocates."""

    keeps: Mapping[str, str]
    """Tool → what it keeps and isolates."""

    left_out: Mapping[str, str]
    """Tool → why it was not measured."""


def write_page(path: Path, figures: Figures) -> None:
    """Replace the measured part of the page, and its charts."""
    text = path.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise SystemExit(f"{path}: has no part between {BEGIN} and {END}")
    images = path.parent / "images"
    for work in figures.works:
        (images / chart_name(work)).write_text(_chart(work), "utf-8")
    lines = "\n".join(_lines(figures))
    path.write_text(f"{before}{BEGIN}\n{lines}\n{END}{after}", "utf-8")


def chart_name(work: Work) -> str:
    """The file of the chart of a work."""
    return f"benchmarks-{work.program}-{work.trials}.svg"


def _lines(figures: Figures) -> Iterator[str]:
    facts = ", ".join(f"{name} {value}" for name, value in figures.machine.items())
    yield f"Measured on {datetime.now(UTC):%Y-%m-%d}: {facts}.\n"
    for tool, why in figures.left_out.items():
        yield f"Not measured: {tool} ({why}).\n"
    yield "| tool | what it keeps and isolates |"
    yield "|---|---|"
    for tool, kept in figures.keeps.items():
        yield f"| {tool} | {kept} |"
    yield ""
    for program, title in WORKS.items():
        works = [work for work in figures.works if work.program == program]
        if works:
            yield f"### {title.replace('`', '')}\n"
            for work in works:
                yield f"![{title}, {work.trials:,} trials: CPU time per trial](images/{chart_name(work)})\n"
            yield from overview(works)
            yield ""
    yield "### Start-up\n"
    yield from _seconds("command", figures.start_up)
    yield ""
    if figures.stored:
        yield f"### A stored run of {figures.stored_trials:,} trials\n"
        yield from _seconds("command", figures.stored)
        yield ""
        size, allocated = figures.size
        yield (
            f"It takes {size / 1000:.2f} kB per trial on disk, all files and the history included "
            f"({allocated / 1000:.2f} kB as the file system allocates blocks).\n"
        )


def overview(works: Sequence[Work]) -> Iterator[str]:
    """The table of a program with any number of trials, in Markdown: medians, and how many times the bare loop."""
    head = "".join(f" {work.trials:,} trials: wall, ms | CPU, ms |" for work in works)
    yield f"| tool |{head} peak MB |"
    yield "|---|" + "---|---|" * len(works) + "---|"
    for name in dict.fromkeys(name for work in works for name in work.samples):
        cells = "".join(f" {' | '.join(_times(work, name))} |" for work in works)
        peak = max(sample.peak_mb for work in works for sample in work.samples.get(name, ()))
        yield f"| {name} |{cells} {peak:.0f} |"


def _times(work: Work, name: str) -> tuple[str, str]:
    """Wall and CPU time per trial; two dashes if the tool was not measured with this number of trials."""
    if name not in work.samples:
        return "–", "–"
    bare = next(iter(work.samples.values()))
    trials = work.most.get(name, work.trials)
    fewer = f", {trials} trials" if trials != work.trials else ""
    texts = []
    for times, bare_times in (
        ([sample.wall for sample in work.samples[name]], [sample.wall for sample in bare]),
        ([sample.cpu for sample in work.samples[name]], [sample.cpu for sample in bare]),
    ):
        each = Spread.of(times).median / trials
        texts.append(f"{each * 1000:.2f} ({each / (Spread.of(bare_times).median / work.trials):.2f}x{fewer})")
    return texts[0], texts[1]


def table(work: Work) -> Iterator[str]:
    """The table of a work with its spread, for the terminal."""
    bare = next(iter(work.samples.values()))
    limit_wall = Spread.of([sample.wall for sample in bare]).median / work.trials
    limit_cpu = Spread.of([sample.cpu for sample in bare]).median / work.trials
    yield "| tool | wall, ms per trial | of the bare loop | CPU, ms per trial | of the bare loop | peak MB | rounds |"
    yield "|---|---|---|---|---|---|---|"
    for name, samples in work.samples.items():
        trials = work.most.get(name, work.trials)
        wall = Spread.of([sample.wall / trials for sample in samples])
        cpu = Spread.of([sample.cpu / trials for sample in samples])
        peak = max(sample.peak_mb for sample in samples)
        fewer = f" of {trials} trials" if trials != work.trials else ""
        yield (
            f"| {name} | {_ms(wall)} | {wall.median / limit_wall:.2f}x | {_ms(cpu)} | {cpu.median / limit_cpu:.2f}x "
            f"| {peak:.0f} | {len(samples)}{fewer} |"
        )


def _ms(found: Spread) -> str:
    return f"{found.median * 1000:.2f} ({found.low * 1000:.2f}–{found.high * 1000:.2f})"


def _seconds(title: str, times: Mapping[str, float]) -> Iterator[str]:
    yield f"| {title} | ms |"
    yield "|---|---|"
    for name, seconds in times.items():
        yield f"| `{name}` | {seconds * 1000:.0f} |"


def _chart(work: Work) -> str:
    rows = []
    for name, samples in work.samples.items():
        cpu = Spread.of([sample.cpu / work.most.get(name, work.trials) * 1000 for sample in samples])
        shown = name.replace("`", "").replace("--sandbox ", "")
        text = f"{cpu.median:.1f} ms"
        ours = name.startswith("Demeanor")
        rows.append(Bar(name=shown, value=cpu.median, low=cpu.low, high=cpu.high, text=text, ours=ours))
    return bars(rows, f"CPU time per trial, {work.trials} trials")
