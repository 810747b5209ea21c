"""The content of new files that the `scripted` model writes: one template per file type, filled from the prompt."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath

_QUOTED = re.compile(r"(?<![\w'])'([^'\n]+)'(?!\w)|\"([^\"\n]+)\"|“([^”\n]+)”|`([^`\n]+)`")
_UNQUOTED = re.compile(
    r"\b(?:with (?:the )?(?:exact )?(?:text|content|contents|line|words?)|containing|that (?:says|contains)|saying)"
    r"(?: exactly)?:?\s+(.+?)\s*[.!]?$",
    re.I | re.M,
)
_FUNCTION = re.compile(r"\b([A-Za-z_]\w*)\(([^()]*)\)(?:\s*(?::|->)\s*([\w.\[\]<>|]+))?")
_FUNCTION_NAME = re.compile(r"\bfunction (?:called |named )?[`'\"]?([A-Za-z_]\w*)", re.I)

_EXPRESSIONS: Mapping[str, tuple[str, str]] = {
    "capitalize": ("{0}.charAt(0).toUpperCase() + {0}.slice(1)", "{0}[:1].upper() + {0}[1:]"),
    "reverse": ('[...{0}].reverse().join("")', "{0}[::-1]"),
    "greet": ('"Hello, " + {0} + "!"', '"Hello, " + {0} + "!"'),
    "double": ("{0} * 2", "{0} * 2"),
    "iseven": ("{0} % 2 === 0", "{0} % 2 == 0"),
    "add": ("{0} + {1}", "{0} + {1}"),
    "sum": ("{0} + {1}", "{0} + {1}"),
    "subtract": ("{0} - {1}", "{0} - {1}"),
    "multiply": ("{0} * {1}", "{0} * {1}"),
}
"""The functions that it can write: name → expression in TypeScript and in Python."""


def new_file_content(path: str, *, sentence: str, prompt: str, paths: Sequence[str]) -> str:
    """The content of a new file; the sentence that asks for it takes precedence over the rest of the prompt."""
    template = _TEMPLATES.get(PurePosixPath(path).suffix, _text)
    return template(path, sentence, prompt, paths)


def quoted(text: str, *, but: Sequence[str] = ()) -> list[str]:
    """All quoted texts except those in `but`, usually file names."""
    strings = ["".join(groups) for groups in _QUOTED.findall(text)]
    return [words for words in strings if words not in but]


def _text(_path: str, sentence: str, prompt: str, paths: Sequence[str]) -> str:
    for place in (sentence, prompt):
        if words := quoted(place, but=paths):
            return "\n".join(words if re.search(r"\blines\b", place) else words[:1]) + "\n"
    for place in (sentence, prompt):
        if match := _UNQUOTED.search(place):
            return match[1] + "\n"
    return "Hello!\n" if "greeting" in prompt.lower() else ""


def _page(_path: str, sentence: str, prompt: str, paths: Sequence[str]) -> str:
    heading = html.escape(next(iter(quoted(sentence, but=paths) or quoted(prompt, but=paths)), "Hello"))
    head = [f"  <title>{heading}</title>"]
    head += [f'  <link rel="stylesheet" href="{path}">' for path in paths if path.endswith(".css")]
    scripts = [f'  <script src="{path}"></script>' for path in paths if path.endswith(".js")]
    lines = ["<!DOCTYPE html>", '<html lang="en">', "<head>", '  <meta charset="utf-8">', *head, "</head>"]
    lines += ["<body>", f"  <h1>{heading}</h1>", *scripts, "</body>", "</html>", ""]
    return "\n".join(lines)


def _style(_path: str, _sentence: str, prompt: str, paths: Sequence[str]) -> str:
    options = {
        "font-family": r"\bfont\b[^.\n]*?\b(?:to|is|of)\s+['\"`]?([A-Z]\w*(?: [A-Z]\w*)*)",
        "background-color": r"\bbackground\b[^.\n]*?\b(?:to|is|of)\s+['\"`]?(#\w+|[a-z]+)",
        "color": r"\btext colou?r\b[^.\n]*?\b(?:to|is|of)\s+['\"`]?(#\w+|[a-z]+)",
    }
    values = {name: match[1] for name, pattern in options.items() if (match := re.search(pattern, prompt))}
    lines = [f"  {name}: {value}{', sans-serif' if name == 'font-family' else ''};" for name, value in values.items()]
    return "\n".join(["body {", *(lines or ["  margin: 0;"]), "}", ""])


def _typescript(path: str, sentence: str, prompt: str, paths: Sequence[str]) -> str:
    name, parameters, result = _signature(sentence, prompt)
    if not name:
        return _text(path, sentence, prompt, paths)
    typed = path.endswith(("ts", "tsx"))
    shown = parameters if typed else ", ".join(_names(parameters))
    returns = f": {result}" if typed and result else ""
    body = _expression(name, parameters, 0)
    line = f"return {body};" if body else f'throw new Error("{name} is not written yet");'
    return f"export function {name}({shown}){returns} {{\n  {line}\n}}\n"


def _python(path: str, sentence: str, prompt: str, paths: Sequence[str]) -> str:
    name, parameters, result = _signature(sentence, prompt)
    if not name:
        words = quoted(sentence, but=paths) or quoted(prompt, but=paths)
        prints = "print" in prompt.lower() and words and not words[0].startswith("print")
        return f"print({words[0]!r})\n" if prints else _text(path, sentence, prompt, paths)
    body = _expression(name, parameters, 1)
    line = f"return {body}" if body else f'raise NotImplementedError("{name}")'
    return f"def {name}({parameters}){f' -> {result}' if result else ''}:\n    {line}\n"


def _signature(sentence: str, prompt: str) -> tuple[str, str, str]:
    for place in (sentence, prompt):
        if match := _FUNCTION.search(place):
            return match[1], match[2].strip(), match[3] or ""
        if named := _FUNCTION_NAME.search(place):
            return named[1], "text: string", "string"
    return "", "", ""


def _names(parameters: str) -> list[str]:
    return [part.split(":")[0].split("=")[0].strip(" ?") for part in parameters.split(",") if part.strip()]


def _expression(name: str, parameters: str, language: int) -> str | None:
    templates = _EXPRESSIONS.get(name.lower().replace("_", ""))
    try:
        return templates[language].format(*_names(parameters)) if templates else None
    except IndexError:
        return None


_TEMPLATES: Mapping[str, Callable[[str, str, str, Sequence[str]], str]] = {
    ".html": _page,
    ".css": _style,
    ".ts": _typescript,
    ".tsx": _typescript,
    ".js": _typescript,
    ".mjs": _typescript,
    ".py": _python,
}
