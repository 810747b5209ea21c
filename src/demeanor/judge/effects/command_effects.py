"""The effects of a shell command: of every program in it, seen through wrappers such as sudo, xargs and `bash -c`."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from demeanor.core.text.wording import one_line
from demeanor.core.values.trajectory import Kind
from demeanor.judge.effects.effect import Effect, Effects, Unclear
from demeanor.judge.effects.options import leading, names, separate
from demeanor.judge.effects.programs import is_known, program_effects
from demeanor.judge.effects.shell import Redirect, UnreadableCommand, Word, read_shell
from demeanor.judge.effects.targets import DEVICES, on, unclear

_MAX_NESTING = 6
_SHELLS = names("sh bash zsh dash ksh ash")
_WRAPPERS: Mapping[str, str] = {
    "sudo": "-u -g -h -p -C -r -t -T -U -D", "doas": "-u -C", "nohup": "", "time": "-f -o",
    "command": "", "builtin": "", "exec": "-a",
    "nice": "-n", "ionice": "-c -n -p", "stdbuf": "-i -o -e", "setsid": "", "chronic": "", "unbuffer": "",
    "timeout": "-k -s --kill-after --signal", "flock": "-w -E", "watch": "-n", "busybox": "", "coproc": "", "npx": "-p",
    "bunx": "", "caffeinate": "", "xargs": "-I -n -P -L -d -a -s -E --max-args --max-procs --delimiter --arg-file",
}  # fmt: skip
"""Programs that run the program in their arguments, with their options that take a value."""
_ENV_OPTIONS = ("-u", "-C", "--unset", "--chdir")
_RUN_COMMANDS = {"uv": "run", "poetry": "run", "pipenv": "run", "hatch": "run", "pdm": "run", "pnpm": "exec"}
_MODULES = names("pytest unittest mypy ruff flake8 pylint black isort pyright doctest coverage pip json.tool")
_MODULES |= names("py_compile compileall")
_PROGRAM_FOLDERS = names("/bin /usr/bin /usr/local/bin /sbin /usr/sbin /usr/local/sbin /opt/homebrew/bin")
_PROJECT_FOLDERS = ("venv/bin", "node_modules/.bin", ".tox/bin", "env/bin")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_PYTHON = re.compile(r"python[\d.]*")
_WRITES = frozenset({">", ">>", ">|", "&>", "&>>", ">&", "<>"})


def command_effects(text: str, folder: str = "") -> Effects:
    """The effects of a shell command that starts in `folder`; an unreadable command may do anything."""
    reader = _EffectCollector(folder)
    reader.shell(text)
    return Effects(known=tuple(reader.known), unclear=tuple(reader.unclear))


def argv_effects(argv: Sequence[str], folder: str = "") -> Effects:
    """The effects of a program that is started without a shell."""
    reader = _EffectCollector(folder)
    reader.program([Word(text) for text in argv], (), ())
    return Effects(known=tuple(reader.known), unclear=tuple(reader.unclear))


@dataclass
class _EffectCollector:
    """Collects effects, program by program."""

    folder: str | None
    known: list[Effect] = field(default_factory=list)
    unclear: list[Unclear] = field(default_factory=list)
    _folders: dict[tuple[int, ...], str | None] = field(default_factory=dict)
    _nesting: int = 0
    _step: int = 0

    def shell(self, text: str) -> None:
        """Add the effects of a command line."""
        if self._nesting >= _MAX_NESTING:
            self._add(unclear("the command is nested too deeply"), self.folder)
            return
        outer, self._folders, self._nesting = self._folders, {(): self.folder}, self._nesting + 1
        try:
            commands = read_shell(text)
        except UnreadableCommand as error:
            self._add(unclear(str(error)), self.folder)
        else:
            for command in commands:
                name = _name(command.words[0]) if command.words else None
                own = command.is_function and name is not None and not _is_known(name)
                self.program(() if own else command.words, command.redirects, command.scope)
        self._folders, self._nesting = outer, self._nesting - 1

    def program(self, words: Sequence[Word], redirects: Sequence[Redirect], scope: tuple[int, ...]) -> None:
        """Add the effects of one program with its redirections."""
        self._step += 1
        folder = self._folder(scope)
        stdin = next((redirect.word.text for redirect in redirects if redirect.operator in {"<<", "<<-", "<<<"}), None)
        reads_file = any(redirect.operator == "<" for redirect in redirects)
        self._add(_redirected(redirects, _output(words, stdin)), folder)
        if not words:
            return
        name = _name(words[0])
        if name in {"cd", "pushd", "popd"}:
            self._change_folder(words[1:], scope, folder)
        elif name is None:
            self._add(unclear("runs a program whose name is calculated"), folder)
        else:
            self._run(name, list(words[1:]), None if reads_file else stdin, folder)

    def _run(self, name: str, rest: list[Word], stdin: str | None, folder: str | None, depth: int = 0) -> None:
        """Add the effects of a program, seen through wrappers."""
        if depth > _MAX_NESTING:
            self._add(unclear("the command is nested too deeply"), folder)
        elif name in _SHELLS or name in {"eval", "trap", "su"}:
            self._script(name, rest, stdin, folder)
        elif name == "find":
            self._find(rest, folder, depth)
        elif (inner := _wrapped(name, rest)) is not None:
            if name == "xargs" and (file := separate(rest, _WRAPPERS[name].split()).value("-a", "--arg-file")):
                self._add(on(Kind.READ, (file,)), folder)
            if name == "env" and (
                chosen := separate(rest[: len(rest) - len(inner)], _ENV_OPTIONS).value("-C", "--chdir")
            ):
                folder = _joined(folder, chosen.text)
            inner_name = _name(inner[0]) if inner else ""
            if inner_name is None:
                self._add(unclear("runs a program whose name is calculated"), folder)
            elif inner_name:
                self._run(inner_name, inner[1:], stdin, folder, depth + 1)
        else:
            self._add(program_effects(name, rest, stdin), folder)

    def _script(self, name: str, rest: list[Word], stdin: str | None, folder: str | None) -> None:
        """Add the effects of a script that is given as text: `bash -c TEXT`, `eval TEXT`, or a here-document."""
        script: str | None = ""
        if name in {"eval", "trap"}:
            parts = rest if name == "eval" else rest[:1]
        else:
            at = next((i for i, word in enumerate(rest) if re.fullmatch(r"-\w*c|--command", word.text or "")), None)
            parts = rest[at + 1 : at + 2] if at is not None else []
            script = stdin if not separate(rest, ("-o", "-O")).operands else None
            if name in _SHELLS and rest and {word.text for word in rest} <= {"--version", "--help"}:
                return
            if name in _SHELLS and rest and rest[0].text == "-n":  # it only checks the syntax
                self._add(on(Kind.READ, separate(rest).operands), folder)
                return
        if parts:
            sources = [word.source if word.text is None else word.text for word in parts]
            script = None if None in sources else " ".join(source for source in sources if source is not None)
        if script is None or any(word.text is None for word in parts):
            self._add(unclear(f"runs a script of {name}"), folder)
        if script is not None:
            outer, self.folder = self.folder, folder
            self.shell(script)
            self.folder = outer

    def _find(self, rest: list[Word], folder: str | None, depth: int) -> None:
        """Add the effects of find: it searches, and its actions delete or run programs."""
        start = leading(rest, ("-D", "-O"))
        paths = list(takewhile(_is_path_of_find, rest[start:]))
        tests = rest[start + len(paths) :]
        names = [tests[i + 1].text for i, word in enumerate(tests[:-1]) if word.text in {"-name", "-iname", "-path"}]
        self._add(on(Kind.SEARCH, paths or [Word(".")], text=names[0] if names else None), folder)
        of_action = 0  # words before this one belong to a program that an action runs
        for index, word in enumerate(tests):
            if index < of_action:
                continue
            if word.text == "-delete":
                self._add(on(Kind.DELETE, (Word(None),)), folder)
            elif word.text in {"-fprint", "-fprint0", "-fprintf", "-fls"} and index + 1 < len(tests):
                self._add(on(Kind.EDIT, tests[index + 1 : index + 2]), folder)
            elif word.text in {"-exec", "-execdir", "-ok", "-okdir"}:
                argv = _program_of_find(tests[index + 1 :])
                of_action = index + 1 + len(argv)
                name = _name(argv[0]) if argv else None
                if name is None:
                    self._add(unclear("runs a program whose name is calculated"), folder)
                else:
                    self._run(name, argv[1:], None, folder, depth + 1)

    def _add(self, effects: Iterable[Effect | Unclear], folder: str | None) -> None:
        for effect in effects:
            if isinstance(effect, Unclear):
                self.unclear.append(replace(effect, why=one_line(effect.why, width=80), step=self._step))
            else:
                self.known.append(replace(effect, target=_placed(effect, folder), step=self._step))

    def _folder(self, scope: tuple[int, ...]) -> str | None:
        while scope not in self._folders:
            scope = scope[:-1]
            if not scope:
                break
        return self._folders.get(scope, self.folder)

    def _change_folder(self, rest: Sequence[Word], scope: tuple[int, ...], folder: str | None) -> None:
        operands = separate(rest).operands
        target = operands[0].text if operands else None
        self._folders[scope] = _joined(folder, None if target == "-" else target)


def _joined(folder: str | None, target: str | None) -> str | None:
    """The folder that `target` is, seen from `folder`; None if that is unknown."""
    if target is None or (folder is None and not target.startswith("/")):
        return None
    return posixpath.normpath(posixpath.join(folder or "", target))


def _name(word: Word) -> str | None:
    """The name of a program; its path if it is not where usual programs are: `./rm` may be anything."""
    if not word.text:
        return None
    folder, slash, name = word.text.rpartition("/")
    return name if not slash or folder in _PROGRAM_FOLDERS or folder.endswith(_PROJECT_FOLDERS) else word.text


def _is_known(name: str) -> bool:
    return is_known(name) or name in _SHELLS or name in _WRAPPERS or name in {"find", "env", "eval", "trap", "su", "cd"}


def _is_path_of_find(word: Word) -> bool:
    """Whether a word of find is a path to search; the tests come after all paths."""
    return word.text is None or not (word.text.startswith("-") or word.text in {"(", "!", "\\("})


def _program_of_find(words: Sequence[Word]) -> list[Word]:
    """The program of `-exec` with its arguments, in which `{}` stands for what find has found."""
    argv: list[Word] = []
    for word in takewhile(lambda word: word.text not in {";", "+"}, words):
        argv.append(_filled(word, "{}", argv))
    return argv


def _is_script(argv: Sequence[Word]) -> bool:
    """Whether the next word is the script of `sh -c`."""
    return len(argv) >= 2 and (argv[0].text or "").rpartition("/")[2] in _SHELLS and argv[-1].text == "-c"


def _wrapped(name: str, rest: list[Word]) -> list[Word] | None:
    """The command that a wrapper runs; empty if it runs none; None if the program is not a wrapper."""
    if name == "env":
        inner = rest[leading(rest, _ENV_OPTIONS) :]
        while inner and _ASSIGNMENT.match(inner[0].text or ""):
            inner = inner[1:]
        return inner
    if name in _RUN_COMMANDS and rest and rest[0].text == _RUN_COMMANDS[name]:
        return rest[1 + leading(rest[1:], ("--with", "--python", "-p", "--extra")) :]
    if _PYTHON.fullmatch(name):
        texts = [word.text for word in rest]
        at = texts.index("-m") if "-m" in texts else len(rest)
        if at == leading(rest[:at], ("-W", "-X")) and texts[at + 1 : at + 2] and texts[at + 1] in _MODULES:
            return rest[at + 1 :]
    if name not in _WRAPPERS:
        return None
    inner = rest[leading(rest, _WRAPPERS[name].split()) :]
    while name == "sudo" and inner and _ASSIGNMENT.match(inner[0].text or ""):
        inner = inner[1:]
    if name == "command" and rest and rest[0].text in {"-v", "-V"}:
        return []
    if name in {"timeout", "flock"}:
        return inner[1:]
    return _with_input(rest[: len(rest) - len(inner)], inner) if name == "xargs" else inner


def _with_input(options: list[Word], inner: list[Word]) -> list[Word]:
    """The command of xargs, with an unknown word where it puts its input."""
    placeholder = separate(options, _WRAPPERS["xargs"].split()).value("-I", "--replace")
    if placeholder is None or not placeholder.text or not inner:
        return [*inner, Word(None)] if inner else []
    return [_filled(word, placeholder.text, inner[:index]) for index, word in enumerate(inner)]


def _filled(word: Word, placeholder: str, before: Sequence[Word]) -> Word:
    """A word with unknown text in place of a placeholder."""
    if word.text is None or placeholder not in word.text:
        return word
    return Word(word.text.replace(placeholder, "$_")) if _is_script(before) else Word(None)


def _placed(effect: Effect, folder: str | None) -> str | None:
    """The target, relative to the folder in which the call started; None if the folder is unknown."""
    target = effect.target
    if target is None or effect.kind is Kind.FETCH or target.startswith(("/", "~")):
        return target
    return None if folder is None else posixpath.normpath(posixpath.join(folder, target))


def _redirected(redirects: Iterable[Redirect], text: str | None) -> Iterator[Effect]:
    for redirect in redirects:
        target = redirect.word.text
        if redirect.operator == "<":
            yield from on(Kind.READ, (redirect.word,))
        elif redirect.operator in _WRITES and target not in DEVICES and not (target or "").isdigit():
            yield from on(Kind.EDIT, (redirect.word,), text=text)


def _output(words: Sequence[Word], stdin: str | None) -> str | None:
    """What a program prints, for the usual ways to write a file: echo, printf, and cat of a here-document."""
    name = _name(words[0]) if words else None
    texts = [word.text for word in words[1:]]
    if name == "cat" and not texts:
        return stdin
    if None in texts or name not in {"echo", "printf"}:
        return None
    certain = [text for text in texts if text is not None]
    if name == "echo":
        plain = certain[1:] if certain[:1] in (["-n"], ["-e"]) else certain
        return " ".join(plain) + ("" if certain[:1] == ["-n"] else "\n")
    if certain[:1] in (["%s"], ["%s\\n"]):
        return "".join(f"{text}\n" if certain[0].endswith("n") else text for text in certain[1:])
    return certain[0].replace("\\n", "\n").replace("\\t", "\t") if len(certain) == 1 and "%" not in certain[0] else None
