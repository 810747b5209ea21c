"""Turns instructions into steps, with variables, working directory and user resolved. What is not supported is an
error with its line; nothing is ignored silently.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping

from demeanor.core.values.errors import BadInput
from demeanor.plugins.harbor.dockerfile.image import Copy, ImageSpec, MakeFolder, Run, Step
from demeanor.plugins.harbor.dockerfile.parser import Instruction, parse, refusal

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""The default PATH, as in Docker."""

_IGNORED = ("LABEL", "EXPOSE", "MAINTAINER", "STOPSIGNAL", "CMD")
_ZSTD = re.compile(r"\.tar\.zst$")
_VARIABLE = re.compile(r"\\\$|\$\{[^}]*\}|\$\w+")
_REMOTE = re.compile(r"(https?|ftp|git|ssh)://|git@")


def read(
    text: str, *, where: str = "Dockerfile", args: Mapping[str, str] | None = None, base: ImageSpec | None = None
) -> ImageSpec:
    """The image that a Dockerfile describes, with build arguments and the settings of its base image, if these are
    known; raises BadInput for what is not supported.
    """
    builder = _Builder(where, args or {}, base or ImageSpec(base=""))
    for instruction in parse(text, where=where):
        builder.add(instruction)
    return builder.image()


class _Builder:
    """Builds the image from one instruction after the other."""

    def __init__(self, where: str, args: Mapping[str, str], settings: ImageSpec) -> None:
        self._where, self._build_args = where, args
        self._base: str | None = None
        self._global: dict[str, str] = {}
        self._args: dict[str, str] = {}
        self._env: dict[str, str] = {"PATH": PATH, **settings.env}
        self._workdir, self._user, self._user_line = settings.workdir, settings.user, 0
        self._shell: tuple[str, ...] = ("/bin/sh", "-c")
        self._entrypoint: tuple[str, ...] = settings.entrypoint
        self._base_line = 0
        self._steps: list[Step] = []
        self._handlers: dict[str, Callable[[Instruction], None]] = {
            "FROM": self._from, "ARG": self._arg, "ENV": self._set_env, "WORKDIR": self._set_workdir,
            "USER": self._set_user, "COPY": self._copy, "ADD": self._copy, "RUN": self._run,
            "SHELL": self._set_shell, "ENTRYPOINT": self._set_entrypoint, "HEALTHCHECK": self._check_healthcheck,
        }  # fmt: skip

    def image(self) -> ImageSpec:
        """The image."""
        if self._base is None:
            raise BadInput("there is no FROM", where=self._where)
        return ImageSpec(
            base=self._base,
            base_line=self._base_line,
            steps=tuple(self._steps),
            env=self._env,
            workdir=self._workdir,
            user=self._user,
            user_line=self._user_line,
            entrypoint=self._entrypoint,
        )

    def add(self, instruction: Instruction) -> None:
        """Add an instruction."""
        if self._base is None and instruction.name not in ("FROM", "ARG"):
            raise self._refuse(instruction, "comes before FROM")
        if instruction.name in _IGNORED:
            return
        handler = self._handlers.get(instruction.name)
        if handler is None:
            raise self._refuse(instruction, "is not supported by the bubblewrap environment")
        try:
            handler(instruction)
        except ValueError as error:
            raise self._refuse(instruction, str(error)) from None

    def _refuse(self, instruction: Instruction, why: str, *, what: str = "", remedy: str | None = None) -> BadInput:
        return refusal(self._where, instruction.line, f"{instruction.name}{what}", why, remedy)

    def _flags(self, instruction: Instruction, *supported: str) -> Mapping[str, str]:
        for name, value in instruction.flags.items():
            if name not in supported:
                raise self._refuse(
                    instruction,
                    "is not supported by the bubblewrap environment",
                    what=f" --{name}={value}".removesuffix("="),
                )
        return instruction.flags

    @property
    def _values(self) -> dict[str, str]:
        return {**self._args, **self._env}

    def _word(self, text: str) -> str:
        return expand(text, self._values)

    def _from(self, instruction: Instruction) -> None:
        self._flags(instruction)
        words = [expand(word, self._global) for word in split(instruction.value)]
        if self._base is not None:
            raise self._refuse(instruction, "multi-stage builds are not supported", remedy="use one FROM only")
        if not words or not words[0] or words[0] == "scratch":
            raise self._refuse(instruction, "an empty base image is not supported", what=f" {instruction.value}")
        if len(words) not in (1, 3) or (len(words) == 3 and words[1].lower() != "as"):
            raise self._refuse(instruction, "expected IMAGE, or IMAGE AS NAME")
        self._base, self._base_line = words[0], instruction.line

    def _arg(self, instruction: Instruction) -> None:
        for word in split(instruction.value):
            name, has_default, default = word.partition("=")
            scope = self._global if self._base is None else self._args
            values = self._global if self._base is None else self._values
            if name in self._build_args:
                scope[name] = self._build_args[name]
            elif has_default:
                scope[name] = expand(default, values)
            elif name in self._global:
                scope[name] = self._global[name]

    def _set_env(self, instruction: Instruction) -> None:
        words = split(instruction.value)
        if words and "=" not in words[0]:  # the old form: a name, then the value
            self._env[words[0]] = self._word(instruction.value.removeprefix(words[0]).strip())
            return
        variables = {}
        for word in words:
            name, equals, value = word.partition("=")
            if not equals or not name:
                raise ValueError(f"expected NAME=VALUE, not {word!r}")
            variables[expand(name, {})] = self._word(value)
        self._env.update(variables)

    def _set_workdir(self, instruction: Instruction) -> None:
        self._workdir = self._path(self._word(instruction.value))
        self._steps.append(MakeFolder(line=instruction.line, path=self._workdir, user=self._user))

    def _path(self, path: str) -> str:
        if not path:
            raise ValueError("a path is missing")
        return posixpath.normpath(posixpath.join(self._workdir, path))

    def _set_user(self, instruction: Instruction) -> None:
        self._user, self._user_line = self._word(instruction.value), instruction.line
        if not self._user:
            raise ValueError("a user is missing")

    def _copy(self, instruction: Instruction) -> None:
        flags = self._flags(instruction, "chown", "chmod", "link")
        names = {document.name for document in instruction.heredocs}
        words = instruction.words or tuple(split(instruction.value))
        words = tuple(self._word(word) for word in words)
        if len(words) < 2:
            raise ValueError("expected sources and a target")
        *sources, target = words
        sources = [source for source in sources if not (names and source.startswith("<<"))]
        for source in sources:
            self._check_source(instruction, source)
        mode = flags.get("chmod")
        if mode is not None and not re.fullmatch(r"[0-7]{3,4}", mode):
            raise self._refuse(instruction, "permissions must be octal", what=f" --chmod={mode}")
        self._steps.append(
            Copy(
                line=instruction.line,
                name=instruction.name,
                sources=tuple(sources),
                target=self._path(target),
                into=target.endswith(("/", "/.")) or target == "." or len(sources) + len(names) > 1,
                owner=self._word(flags.get("chown", "")) or "0:0",
                mode=int(mode, 8) if mode else None,
                documents={
                    document.name: document.text if document.quoted else self._document(document.text)
                    for document in instruction.heredocs
                },
            )
        )

    def _document(self, text: str) -> str:
        """A here-document with its variables replaced; quotes are kept."""
        return _VARIABLE.sub(lambda match: "$" if match[0] == "\\$" else self._word(match[0]), text)

    def _check_source(self, instruction: Instruction, source: str) -> None:
        if _REMOTE.match(source) and instruction.name == "ADD":
            raise self._refuse(instruction, "downloads are not supported", what=f" {source}")
        if instruction.name == "ADD" and _ZSTD.search(source):
            why = "unpacking archives that are compressed with zstd is not supported"
            raise self._refuse(instruction, why, what=f" {source}", remedy="COPY it, and RUN tar")
        if ".." in source.split("/"):
            raise self._refuse(instruction, "leads out of the build context", what=f" {source}")

    def _run(self, instruction: Instruction) -> None:
        self._flags(instruction)
        argv = instruction.words or (*self._shell, _script(instruction))
        self._steps.append(Run(line=instruction.line, argv=argv, env=self._values, cwd=self._workdir, user=self._user))

    def _set_shell(self, instruction: Instruction) -> None:
        if not instruction.words:
            raise ValueError("expected a JSON form")
        self._shell = instruction.words

    def _set_entrypoint(self, instruction: Instruction) -> None:
        words = instruction.words
        self._entrypoint = words if words is not None else (*self._shell, instruction.value)

    def _check_healthcheck(self, instruction: Instruction) -> None:
        if instruction.value.upper() != "NONE" or instruction.flags:
            raise self._refuse(
                instruction,
                "is not supported by the bubblewrap environment",
                remedy="use [environment.healthcheck] in task.toml",
            )


def _script(instruction: Instruction) -> str:
    """The script for the shell, which reads here-documents itself, except one that is the whole script."""
    documents = instruction.heredocs
    if not documents:
        return instruction.value
    if len(documents) == 1 and len(instruction.value.split()) == 1:
        document = documents[0]
        if document.content.startswith("#!"):
            raise ValueError("a here-document with a shebang line is not supported")
        return document.text
    return "\n".join((instruction.value, *(f"{document.content}{document.name}" for document in documents), ""))


# Splits a Dockerfile's text into words, and expands quotes, escapes and variables. As in Docker, not as in a shell.

_NAME = re.compile(r"[A-Za-z_]\w*")


def split(text: str) -> list[str]:
    """Split a text at blanks outside of quotes and not after a backslash; the words keep their quotes."""
    words: list[str] = []
    word, quote, at = "", "", 0
    while at < len(text):
        char = text[at]
        if char == "\\" and quote != "'" and at + 1 < len(text):
            word += text[at : at + 2]
            at += 2
            continue
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in " \t":
            if word:
                words.append(word)
            word, at = "", at + 1
            continue
        word += char
        at += 1
    return [*words, word] if word else words


def expand(word: str, values: Mapping[str, str]) -> str:
    """Remove the quotes of a word and expand its variables; raises ValueError for what Docker refuses too, or for what
    is not supported.
    """
    return _Reader(word, values).read("")


class _Reader:
    """Expands one word from left to right."""

    def __init__(self, text: str, values: Mapping[str, str]) -> None:
        self._text, self._values, self._at = text, values, 0

    def _next(self) -> str:
        char = self._text[self._at : self._at + 1]
        self._at += 1
        return char

    def read(self, until: str) -> str:
        """Expand up to a character, and skip that."""
        out, quote = "", ""
        while char := self._next():
            if char == until and not quote:
                return out
            if char == "\\" and quote != "'":
                escaped = self._next()
                out += escaped if not quote or escaped in '"$\\' else f"\\{escaped}"
            elif char == quote:
                quote = ""
            elif char in "'\"" and not quote:
                quote = char
            elif char == "$" and quote != "'":
                out += self._variable()
            else:
                out += char
        if quote or until:
            raise ValueError(f"{quote or '}'} is missing in {self._text}")
        return out

    def _variable(self) -> str:
        if self._text[self._at : self._at + 1] != "{":
            match = _NAME.match(self._text, self._at)
            if not match:
                return "$"
            self._at = match.end()
            return self._values.get(match[0], "")
        self._at += 1
        match = _NAME.match(self._text, self._at)
        if not match:
            raise ValueError(f"the name of a variable is missing in {self._text}")
        self._at = match.end()
        char = self._next()
        if char == "}":
            return self._values.get(match[0], "")
        empty_counts_as_unset = char == ":"
        operator = self._next() if empty_counts_as_unset else char
        if operator not in ("-", "+", "?"):
            raise ValueError(f"${{{match[0]}{char}…}} is not supported; use one of :- :+ :? - + ?")
        other = self.read("}")
        value = self._values.get(match[0])
        is_set = bool(value) if empty_counts_as_unset else value is not None
        if operator == "-":
            return value or "" if is_set else other
        if operator == "+":
            return other if is_set else ""
        if not is_set:
            raise ValueError(f"{match[0]} has no value: {other}")
        return value or ""
