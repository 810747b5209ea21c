"""Imports logs of Inspect, as `.eval` (a zip of JSON) or `.json`; Inspect need not be installed.

A sample is an eval, an epoch is a trial. A sample passes if every score is 1 (`C`, true, 1.0); an error or a missing
score is void. Newer versions compress with zstd, which Python itself supports from 3.14 on.
"""

from __future__ import annotations

import math
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from demeanor.core.installation import install_extra
from demeanor.core.values.errors import BadInput
from demeanor.core.values.evidence import Spent
from demeanor.core.values.record import Record
from demeanor.core.values.verdict import Fail, Finding, Pass, Verdict, Void, VoidCause
from demeanor.store.history.run_writer import WrittenRecord
from demeanor.store.imports.common import (
    Imported,
    ImportOptions,
    as_integer,
    as_number,
    as_text,
    cells_of,
    expect,
    import_uid,
    imported_run,
    iso_time,
    read_json,
)  # fmt: skip

ORIGIN = "inspect"
_ID_FIELDS = ("eval_id", "run_id", "task_id", "created", "task", "model")
_ZSTANDARD = 93
_MAX_BYTES = 512 * 2**20
_SCORES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}


def matches(data: Any) -> bool:
    """Whether a JSON document is a log of Inspect."""
    return isinstance(data, dict) and isinstance(data.get("eval"), dict) and "status" in data and "task" in data["eval"]


def read(path: Path, options: ImportOptions) -> Imported:
    """Read the run of a log."""
    header, samples = _read_json(path) if path.suffix == ".json" else _read_zip(path)
    spec = expect(header.get("eval"), dict, path, "eval")
    task = expect(spec.get("task"), str, path, "eval.task")
    started = iso_time(spec.get("created"))
    if started is None:
        raise BadInput("expected a time in ISO 8601", where=path, key="eval.created")
    solver, model = as_text(spec.get("solver")) or ORIGIN, as_text(spec.get("model"))
    revision = spec.get("revision") if isinstance(spec.get("revision"), dict) else {}
    records = []
    for i, sample in enumerate(samples):
        expect(sample, dict, path, f"samples[{i}]")
        record = Record(
            eval=f"{task}/{as_text(sample.get('id'))}",
            subject=options.subject or f"{solver.replace(':', '_')}:{model}",
            number=as_integer(sample.get("epoch")) or 1,
            attempt=1,
            verdict=_verdict(sample),
            spent=_spent(sample),
            ended=iso_time(sample.get("completed_at")) or started,
            eval_hash=as_text(spec.get("task_version")),
        )
        records.append(WrittenRecord(record=record))
    run = imported_run(
        ORIGIN, started=started, kind=options.kind or "ci", commit=revision.get("commit"),
        dirty=revision.get("dirty"),
        uid=import_uid(ORIGIN, *(as_text(spec.get(name)) for name in _ID_FIELDS)),
    )  # fmt: skip
    return Imported(run=run, origin=ORIGIN, source=path, cells=cells_of(records), records=tuple(records))


def _read_json(path: Path) -> tuple[Mapping[str, Any], Iterable[Any]]:
    data = expect(read_json(path), dict, path, "")
    return data, expect(data.get("samples") or [], list, path, "samples")


def _read_zip(path: Path) -> tuple[Mapping[str, Any], Iterable[Any]]:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            start = "header.json" if "header.json" in names else "_journal/start.json"
            if start not in names:
                raise BadInput("has no header.json", where=path, remedy="this is not a log of Inspect")
            header = expect(read_json(path, _member(archive, start, path)), dict, path, start)
            return header, list(_samples(archive, names, path))
    except (zipfile.BadZipFile, OSError, zlib.error, struct.error) as error:
        raise BadInput(
            f"is not a zip file: {error}", where=path, remedy="if it is incomplete, download it again"
        ) from None


def _samples(archive: zipfile.ZipFile, names: list[str], path: Path) -> Iterator[Any]:
    """The summaries of all samples; the last summary of a sample counts."""
    if "summaries.json" in names:
        yield from expect(read_json(path, _member(archive, "summaries.json", path)), list, path, "summaries.json")
        return
    samples: dict[tuple[str, Any], Any] = {}
    for name in sorted(n for n in names if n.startswith("_journal/summaries/")):
        for sample in expect(read_json(path, _member(archive, name, path)), list, path, name):
            expect(sample, dict, path, name)
            samples[as_text(sample.get("id")), sample.get("epoch")] = sample
    yield from samples.values()


def _member(archive: zipfile.ZipFile, name: str, path: Path) -> bytes:
    """One file of the archive, up to a maximum size."""
    info = archive.getinfo(name)
    if info.file_size > _MAX_BYTES:
        raise BadInput(f"is too large ({info.file_size / 2**20:.0f} MB)", where=path, key=name)
    if info.compress_type != _ZSTANDARD or _ZSTANDARD in getattr(zipfile, "compressor_names", {}):
        with archive.open(info) as member:
            return member.read(_MAX_BYTES)
    try:
        import zstandard
    except ImportError:
        raise BadInput(
            "is compressed with zstd",
            where=path,
            key=name,
            remedy=f"{install_extra('inspect')}, or: inspect log convert --to json",
        ) from None
    file = archive.fp
    if file is None:
        raise BadInput("is closed", where=path, key=name)
    file.seek(info.header_offset)
    head = file.read(30)
    name_length, extra_length = struct.unpack("<HH", head[26:30])
    file.seek(info.header_offset + 30 + name_length + extra_length)
    packed = file.read(info.compress_size)
    try:
        with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as reader:
            return reader.read(info.file_size)
    except zstandard.ZstdError as error:
        raise BadInput(f"can't be unpacked: {error}", where=path, key=name) from None


def _verdict(sample: Mapping[str, Any]) -> Verdict:
    error = sample.get("error")
    if error:
        return Void(cause=VoidCause.HARNESS, detail=as_text(error.get("message") if isinstance(error, dict) else error))
    scores = sample.get("scores")
    values = {name: _value(score) for name, score in scores.items()} if isinstance(scores, dict) else {}
    if not values or any(value is None for value in values.values()):
        return Void(cause=VoidCause.UNREADABLE, detail="the sample was not scored")
    findings = tuple(
        Finding(
            check=name, answer="yes" if value == 1.0 else "no", reason="" if value == 1.0 else f"{name} is {value:g}"
        )
        for name, value in values.items()
        if value is not None
    )
    return Pass(findings=findings) if all(finding.answer == "yes" for finding in findings) else Fail(findings=findings)


def _value(score: Any) -> float | None:
    """A score as a number; None if it is not one."""
    value = score.get("value") if isinstance(score, dict) else score
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, str):
        return _SCORES.get(value, _SCORES.get(value.lower()))
    number = as_number(value)
    return number if number is not None and math.isfinite(number) else None


def _spent(sample: Mapping[str, Any]) -> Spent:
    usage = sample.get("model_usage")
    used = [part for part in usage.values() if isinstance(part, dict)] if isinstance(usage, dict) else []
    return Spent(
        seconds=as_number(sample.get("total_time")) or 0.0,
        input_tokens=sum(as_integer(part.get("input_tokens")) or 0 for part in used) if used else None,
        output_tokens=sum(as_integer(part.get("output_tokens")) or 0 for part in used) if used else None,
    )
