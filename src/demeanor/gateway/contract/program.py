"""A converter in any language: a program that reads a line of JSON per message, and answers each with a line.

It reads `{"source", "target", "kind", "body"}`, where `body` is the message as text (a stream is its events), and
answers `{"body": TEXT OR MESSAGE}` or `{"error": TEXT}`. What it writes to standard error is shown.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

from demeanor.core.text.wording import one_line
from demeanor.gateway.contract.case import MessageKind
from demeanor.gateway.contract.runner import Converter, NoConverter

_ANSWER_TIME = 30.0


class ConverterError(Exception):
    """The program answered with an error, or not at all."""


@contextmanager
def converter_program(command: str) -> Iterator[Converter]:
    """The converter of a command, which starts with the first message; it is started again if it ends."""
    program = _Program(command)
    try:
        yield program
    finally:
        program.end()


class _Program:
    def __init__(self, command: str) -> None:
        self._command = command
        self._answered = False
        self._process: subprocess.Popen[bytes] | None = None

    def __call__(self, source: str, target: str, kind: MessageKind, body: bytes) -> bytes:
        asked = {"source": source, "target": target, "kind": kind, "body": body.decode()}
        line = self._line(self._process or self._start(), json.dumps(asked).encode() + b"\n")
        try:
            answer = json.loads(line)
            translated = answer.get("body")
        except (ValueError, AttributeError, RecursionError):
            raise ConverterError(f"it answered {one_line(line.decode('utf-8', 'replace'))!r}") from None
        self._answered = True
        if translated is None:
            raise ConverterError(one_line(str(answer.get("error", "its answer has neither body nor error")), width=300))
        return (translated if isinstance(translated, str) else json.dumps(translated)).encode()

    def end(self) -> None:
        """End the program, and whatever it started."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for pipe in _pipes(process):
                with suppress(BrokenPipeError):
                    pipe.close()

    def _start(self) -> subprocess.Popen[bytes]:
        try:
            words = shlex.split(self._command)
            self._process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
            )
        except (OSError, ValueError, IndexError) as error:
            raise NoConverter(
                f"--converter {self._command!r}: can't be started: {getattr(error, 'strerror', None) or error}\n"
                "  → name a function as MODULE:FUNCTION, or a command such as 'node convert.ts'"
            ) from None
        return self._process

    def _line(self, process: subprocess.Popen[bytes], asked: bytes) -> bytes:
        """Its next line. If it does not come in time, or the program ended, the next message starts it again."""
        late = threading.Timer(_ANSWER_TIME, os.killpg, (process.pid, signal.SIGKILL))
        late.start()
        try:
            questions, answers = _pipes(process)
            questions.write(asked)
            questions.flush()
            line = answers.readline()
        except BrokenPipeError:
            line = b""
        finally:
            late.cancel()
        if line.endswith(b"\n"):
            return line
        self.end()
        code = process.returncode
        late_answer = f"it did not answer within {_ANSWER_TIME:.0f} s"
        said = late_answer if code == -signal.SIGKILL else f"it ended with exit code {code}"
        if not self._answered:
            older = "\n  → with a node before 22.18: npx --yes tsx FILE" if ".ts" in self._command else ""
            raise NoConverter(f"--converter {self._command!r}: {said} before it answered a message{older}")
        raise ConverterError(said)


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    """What the program reads, and what it writes."""
    if process.stdin is None or process.stdout is None:
        raise ValueError("the program was started without pipes")
    return process.stdin, process.stdout
