"""Answers that judges gave after a run, when its trials were judged again: one line each, beside its captures, which
never change."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from demeanor.core.text.codec import decode, encode
from demeanor.core.values.errors import StoreError
from demeanor.core.values.judge_question import JudgeAnswer
from demeanor.core.values.record import Record
from demeanor.store.captures.capture_file import append_whole

FILE = "judge_answers.jsonl"


def add_judge_answers(run: Path, record: Record, answers: Sequence[JudgeAnswer]) -> None:
    """Append the answers about one attempt."""
    if not answers:
        return
    lines = [
        json.dumps({"trial": record.trial, "attempt": record.attempt, "answer": encode(answer)}) for answer in answers
    ]
    try:
        file = os.open(run / FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            append_whole(file, ("\n".join(lines) + "\n").encode())
        finally:
            os.close(file)
    except OSError as error:
        raise StoreError(f"{run / FILE}: the judge's answers can't be stored: {error.strerror}") from error


def read_judge_answers(run: Path | None) -> dict[tuple[str, int], list[JudgeAnswer]]:
    """The answers by trial and attempt, in the order in which they were given."""
    answers: dict[tuple[str, int], list[JudgeAnswer]] = {}
    if run is None or not (run / FILE).is_file():
        return answers
    try:
        lines = (run / FILE).read_bytes().splitlines()
    except OSError as error:
        raise StoreError(f"{run / FILE}: can't be read: {error.strerror}\n  → restore the file, or remove it") from None
    for number, line in enumerate(lines, 1):
        try:
            data = json.loads(line)
            answer = decode(JudgeAnswer, data["answer"])
            answers.setdefault((data["trial"], data["attempt"]), []).append(answer)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            where = f"{run / FILE}: line {number}"
            raise StoreError(f"{where} is damaged: {error}\n  → remove the line, or the file") from None
    return answers
