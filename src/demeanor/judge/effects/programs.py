"""What well-known programs do, from their arguments. An unknown program may do anything.

A program is described by a function from its arguments to effects. Tables cover those that only read, only search, or
touch no file. Test runners and linters are taken to touch no file either: they run the project's own code, but that is
not what they are for (docs/checks.md lists what is inferred).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from demeanor.core.values.trajectory import Kind
from demeanor.judge.effects.developer_tools import DEVELOPER_TOOLS, FORMATTERS, Found, Program, format_files
from demeanor.judge.effects.effect import Effect, Reach, Unclear
from demeanor.judge.effects.git import git
from demeanor.judge.effects.options import Arguments, names, separate
from demeanor.judge.effects.patch import patch_effects
from demeanor.judge.effects.shell import Word
from demeanor.judge.effects.targets import kept_copy, on, unclear
from demeanor.judge.effects.transfers import TRANSFERS

_HARMLESS = names(
    ": [ [[ alias basename bg break cd clear continue date declare df dirname disown du echo exit export false fg free"
    " groups hash hostname id jobs kill let local locale logname nproc pgrep pkill printenv printf ps pwd"
    " read readlink readonly realpath return seq set shift shopt sleep sync test tput tr true tty type typeset ulimit"
    " umask uname unalias unset uptime wait whereis which whoami yes lsof netstat ss top expr factor getconf stty"
    " hostnamectl nslookup dig ping arch cal bc getent mktemp history man"
)
_RUNNERS = names(
    "pytest py.test unittest nose2 mypy pyright flake8 pylint bandit vulture jest vitest mocha ava rspec phpunit ctest"
    " shellcheck hadolint yamllint markdownlint luacheck golangci-lint staticcheck doctest"
)
_READERS: Mapping[str, str] = {
    "cat": "", "tac": "", "nl": "-b -d -f -h -i -l -n -s -v -w", "head": "-n -c --lines --bytes",
    "tail": "-n -c -s --lines --bytes --pid", "less": "-p -P", "more": "-n", "bat": "-r -l --line-range --language",
    "batcat": "-r -l --line-range --language", "od": "-A -t -j -N -w", "hexdump": "-n -s -e -f", "strings": "-n -t -e",
    "wc": "",
    "file": "-m -F", "stat": "-c -f --format --printf", "md5sum": "", "sha1sum": "", "sha256sum": "",
    "sha512sum": "", "cksum": "", "b2sum": "", "cut": "-d -f -c -b", "paste": "-d", "comm": "", "cmp": "-n -i",
    "diff": "-U -C -x -I", "colordiff": "", "column": "-s -c -o -N", "fold": "-w", "rev": "", "zcat": "", "xzcat": "",
    "zless": "", "base64": "-w", "base32": "-w", "fmt": "-w", "expand": "-t", "unexpand": "-t", "tsort": "",
    "join": "-t", "cloc": "", "tokei": "", "pr": "", "look": "", "nm": "", "objdump": "",
    "ldd": "", "py_compile": "", "compileall": "",
}  # fmt: skip
"""Programs that only read the files named by their operands, with their options that take a value."""
_GREP_OPTIONS = "-e -f -A -B -C -m -d -D --regexp --file --include --exclude --exclude-dir --max-count --context"
_RG_OPTIONS = "-e -f -A -B -C -m -g -t -T -j -r -M -E -d --regexp --file --glob --iglob --type --type-not --max-count"
_RG_OPTIONS += " --context --max-depth --sort --replace --threads --encoding"
_SEARCHERS = {**dict.fromkeys(("grep", "egrep", "fgrep", "zgrep"), _GREP_OPTIONS), "rg": _RG_OPTIONS}
_SEARCHERS |= {
    "ag": "-A -B -C -m -G -p --depth",
    "ack": "-A -B -C -m",
    "fd": "-e -t -d -E -x -X",
    "fdfind": "-e -t -d -E",
}
_LISTERS: Mapping[str, str] = {
    "ls": "-I -w -T", "ll": "", "dir": "", "vdir": "", "tree": "-L -P -I -o", "exa": "-L -I", "eza": "-L -I",
    "locate": "-n",
}  # fmt: skip
_CREATORS: Mapping[str, str] = {
    "touch": "-d -t -r", "mkdir": "-m", "truncate": "-s -r", "dos2unix": "", "unix2dos": "", "mkfifo": "-m",
    "setfacl": "-m -x -M -X",
}  # fmt: skip
_MODE_OPTION = re.compile(r"-[Rvcf]+|--.*")
_ADDRESS = r"(?:\d++(?:~\d++)?|\$|/(?:[^/\\\n]|\\.)*/)"
_SUBSTITUTION = r"[sy]([/|#,@])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpiI\d]*+"
_SED_COPY = re.compile(r"(?:-[nErsuz]*i|--in-place=)(.+)")
_SAFE_SED = re.compile(
    rf"(?:\s*+{_ADDRESS}?(?:,\s*+[+~]?{_ADDRESS})?\s*+!?\s*+"
    rf"(?:[pdqQ=nNgGhHxDPl{{}}]|[bt:][ \t]*+\w*+|[aic][^\n]*+|{_SUBSTITUTION})[ \t]*+(?:;|\n|$))+"
)
_RISKY_AWK = re.compile(r"system\s*\(|getline|[>|]\s*[\"$a-zA-Z(]|inplace")


def program_effects(name: str, words: Sequence[Word], stdin: str | None) -> Found:
    """The effects of a program with these arguments."""
    texts = [word.text for word in words]
    if name in _HARMLESS or name in _RUNNERS or _only_asks(name, texts):
        return ()
    if name in _READERS:
        return on(Kind.READ, separate(words, _READERS[name].split()).operands)
    if name in _SEARCHERS:
        return _grep(name, words, _SEARCHERS[name].split())
    if name in _LISTERS:
        return on(Kind.SEARCH, separate(words, _LISTERS[name].split()).operands or (Word("."),), text="")
    if name in _CREATORS:
        return on(Kind.EDIT, separate(words, _CREATORS[name].split()).operands, text="")
    if name in FORMATTERS:
        return format_files(name, words)
    program = _PROGRAMS.get(name)
    return program(words, stdin) if program is not None else unclear(f"runs {name}")


def _only_asks(name: str, texts: Sequence[str | None]) -> bool:
    """Whether a program only prints its version or help."""
    return bool(texts) and set(texts) <= {"--version", "--help", "-V"} and "/" not in name


def is_known(name: str) -> bool:
    """Whether the effects of a program of this name are known."""
    tables = (_HARMLESS, _RUNNERS, _READERS, _SEARCHERS, _LISTERS, _CREATORS, FORMATTERS, _PROGRAMS)
    return any(name in table for table in tables)


def _grep(name: str, words: Sequence[Word], with_value: Sequence[str]) -> Found:
    arguments = separate(words, with_value)
    if arguments.has("--pre"):
        return unclear(f"runs a program for each file of {name}")
    if arguments.has("-x", "-X", "--exec", "--exec-batch") and name in {"fd", "fdfind"}:
        return unclear(f"runs a program for each result of {name}")
    word = arguments.value("-e", "--regexp") if name not in {"fd", "fdfind"} else None
    operands = arguments.operands
    if word is None and not arguments.has("-f", "--files"):
        word, operands = (operands[0] if operands else None), operands[1:]
    pattern = word.text if word is not None else None
    if not operands and name.endswith("grep") and not arguments.has("-r", "-R", "--recursive"):
        return ()  # it filters its standard input
    return on(Kind.SEARCH, operands or (Word("."),), text=pattern)


def _rm(words: Sequence[Word], _: str | None) -> Found:
    arguments = separate(words)
    reach: Reach = "below" if arguments.has("-r", "-R", "--recursive") else "exact"
    return on(Kind.DELETE, arguments.operands, reach=reach)


def _rimraf(words: Sequence[Word], _: str | None) -> Found:
    return on(Kind.DELETE, separate(words).operands, reach="below")


def _shred(words: Sequence[Word], _: str | None) -> Found:
    arguments = separate(words, ("-n", "-s", "--iterations", "--size"))
    yield from on(Kind.EDIT, arguments.operands)
    if arguments.has("-u", "--remove"):
        yield from on(Kind.DELETE, arguments.operands)


def _sed(words: Sequence[Word], _: str | None) -> Found:
    copies = [match for word in words if (match := _SED_COPY.fullmatch(word.text or ""))]
    plain = [Word("-i") if _SED_COPY.fullmatch(word.text or "") else word for word in words]
    arguments = separate(plain, ("-e", "-f", "-l", "--expression", "--file"))
    scripts = [word for name, word in arguments.values if name in {"-e", "--expression"}]
    operands = arguments.operands
    if not scripts and not arguments.has("-f", "--file"):
        if arguments.has("-i") and operands[:1] == (Word(""),):
            operands = operands[1:]  # on macOS, `-i ''` keeps no copy of the file
        scripts, operands = list(operands[:1]), operands[1:]
    if arguments.has("-i", "--in-place"):
        yield from on(Kind.EDIT, operands)
        yield from on(Kind.EDIT, [kept_copy(word, copy[1]) for copy in copies for word in operands])
    else:
        yield from on(Kind.READ, operands)
    if not all(script.text is not None and _SAFE_SED.fullmatch(script.text) for script in scripts):
        yield from unclear("runs a sed script that may write files")
    if arguments.has("-f", "--file"):
        yield from unclear("runs a sed script from a file")


def _awk(words: Sequence[Word], _: str | None) -> Found:
    arguments = separate(words, ("-F", "-v", "-f"))
    program, operands = arguments.operands[:1], arguments.operands[1:]
    if arguments.has("-f", "-i") or not program or program[0].text is None or _RISKY_AWK.search(program[0].text):
        return unclear("runs an awk program that may write files")
    return on(Kind.READ, operands)


def _tee(words: Sequence[Word], stdin: str | None) -> Found:
    return on(Kind.EDIT, separate(words).operands, text=stdin)


def _cp(words: Sequence[Word], _: str | None) -> Found:
    arguments = separate(words, ("-t", "--target-directory", "-S", "-m", "-o", "-g"))
    sources, target = _sources_and_target(arguments)
    whole = arguments.has("-r", "-R", "-a", "--recursive", "--archive")
    reach: Reach = "below" if whole else "exact"
    return [*on(Kind.READ, sources, reach=reach), *_written(target, sources, whole=whole)]


def _install(words: Sequence[Word], _: str | None) -> Found:
    arguments = separate(words, ("-t", "--target-directory", "-S", "-m", "-o", "-g"))
    return on(Kind.EDIT, arguments.operands) if arguments.has("-d", "--directory") else _cp(words, _)


def _mv(words: Sequence[Word], _: str | None) -> Found:
    """Moving is an edit of both places; a file that it replaces is also deleted."""
    arguments = separate(words, ("-t", "--target-directory", "-S"))
    sources, target = _sources_and_target(arguments)
    if target.text == "/dev/null":
        return on(Kind.DELETE, sources)
    keeps = arguments.has("-n", "--no-clobber")
    whole = not any("." in (word.text or "").rpartition("/")[2] for word in sources)  # it may be a folder
    written = [replace(effect, replaces=not keeps) for effect in _written(target, sources, whole=whole)]
    return [*on(Kind.EDIT, sources, reach="below"), *written]


def _sources_and_target(arguments: Arguments) -> tuple[tuple[Word, ...], Word]:
    folder = arguments.value("-t", "--target-directory")
    if folder is not None:
        return arguments.operands, Word(None if folder.text is None else f"{folder.text.rstrip('/')}/")
    if [word.text for word in arguments.operands] == [None]:  # such as `a{,.bak}`
        return arguments.operands, Word(None)
    return arguments.operands[:-1], (arguments.operands[-1:] or (Word(None),))[0]


def _written(target: Word, sources: Sequence[Word], *, whole: bool) -> list[Effect]:
    """The files that a copy or move may write: the target itself, and those of the sources' names in it. What else it
    writes into a folder if it moves a `whole` one is unknown."""
    if target.text is None:
        return on(Kind.EDIT, (target,))
    folder = target.text.rstrip("/")
    targets = [Word((word.text or "").rstrip("/").rpartition("/")[2], word.glob) for word in sources]
    inside = [Word(f"{folder}/{word.text}", word.glob) for word in targets if word.text]
    is_folder = target.text.endswith("/") or target.text in {".", ".."} or len(sources) > 1
    reach: Reach = "below" if whole else "exact"
    if is_folder:
        return on(Kind.EDIT, inside or [target], reach=reach)
    if "." in target.text.rpartition("/")[2]:
        return on(Kind.EDIT, [target], reach=reach)
    below = [Word(f"{folder}/*", glob=True)] if whole else []
    return [*on(Kind.EDIT, [target]), *on(Kind.EDIT, inside, reach=reach), *on(Kind.EDIT, below)]


def _ln(words: Sequence[Word], _: str | None) -> Found:
    return on(Kind.EDIT, _sources_and_target(separate(words, ("-t", "--target-directory", "-S")))[1:])


def _dd(words: Sequence[Word], _: str | None) -> Found:
    for word in words:
        name, _equals, value = (word.text or "").partition("=")
        if name in {"if", "of"}:
            yield from on(Kind.READ if name == "if" else Kind.EDIT, (Word(value),))


def _sort(words: Sequence[Word], _: str | None) -> Found:
    arguments = separate(words, ("-k", "-t", "-o", "-S", "-T", "--output", "--key"))
    yield from on(Kind.READ, arguments.operands)
    if (output := arguments.value("-o", "--output")) is not None:
        yield from on(Kind.EDIT, (output,))


def _in_and_out(with_value: str) -> Program:
    """A program that reads its first file and writes its second."""

    def effects(words: Sequence[Word], _: str | None) -> Found:
        arguments = separate(words, with_value.split())
        named = arguments.value("-o", "--output")
        written = arguments.operands[1:2] if named is None else (named,)
        return [*on(Kind.READ, arguments.operands[:1]), *on(Kind.EDIT, written)]

    return effects


def _change_mode(words: Sequence[Word], _: str | None) -> Found:
    """chmod and its like: the mode, which may begin with a dash, and files."""
    options = [word.text for word in words if _MODE_OPTION.fullmatch(word.text or "")]
    rest = [word for word in words if not _MODE_OPTION.fullmatch(word.text or "")]
    files = rest if any((text or "").startswith("--reference") for text in options) else rest[1:]
    whole = any("R" in (text or "") or text == "--recursive" for text in options)
    return on(Kind.EDIT, files, reach="below" if whole else "exact", text="")


def _jq(words: Sequence[Word], _: str | None) -> Found:
    rest = list(words)
    for index in reversed(range(len(rest))):
        if rest[index].text in {"--arg", "--argjson", "--slurpfile", "--rawfile"}:
            del rest[index : index + 3]
    arguments = separate(rest, ("-f", "--from-file", "--indent"))
    operands = arguments.operands if arguments.has("-f", "--from-file") else arguments.operands[1:]
    return on(Kind.EDIT if arguments.has("-i", "--inplace", "--in-place") else Kind.READ, operands)


def _patch(words: Sequence[Word], stdin: str | None) -> Found:
    arguments = separate(words, ("-p", "-i", "-d", "-o", "--input", "--directory"))
    if arguments.has("--dry-run"):
        return ()
    effects = list(patch_effects(stdin)) if stdin is not None else []
    return effects or on(Kind.EDIT, arguments.operands[:1] or (Word(None),))


def _apply_patch(words: Sequence[Word], stdin: str | None) -> Found:
    text = words[0].text if words else stdin
    return (list(patch_effects(text)) if text is not None else []) or on(Kind.EDIT, (Word(None),))


def _source(words: Sequence[Word], _: str | None) -> Iterator[Effect | Unclear]:
    path = words[0].text if words else None
    if path is None or not path.endswith("bin/activate"):
        yield from unclear("runs a shell script")


_PROGRAMS: Mapping[str, Program] = {
    **TRANSFERS, **DEVELOPER_TOOLS,
    "rm": _rm, "unlink": _rm, "rmdir": _rm, "trash": _rm, "trash-put": _rm, "rimraf": _rimraf, "shred": _shred,
    "sed": _sed, "gsed": _sed,
    "awk": _awk, "gawk": _awk, "mawk": _awk, "tee": _tee, "sponge": _tee, "cp": _cp, "install": _install, "mv": _mv,
    "ln": _ln, "dd": _dd, "sort": _sort, "uniq": _in_and_out("-f -s -w"), "xxd": _in_and_out("-s -l -c -g"),
    "iconv": _in_and_out("-f -t -o"), "json.tool": _in_and_out("--indent"),
    **dict.fromkeys(("chmod", "chown", "chgrp", "chattr"), _change_mode),
    "jq": _jq, "yq": _jq, "patch": _patch,
    "apply_patch": _apply_patch,
    "applypatch": _apply_patch, "source": _source, ".": _source, "git": git,
}  # fmt: skip
