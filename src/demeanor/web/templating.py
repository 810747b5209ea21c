"""Renders the templates. Every value is escaped, and control characters of agents become visible escapes."""

from __future__ import annotations

import re
import shlex
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from demeanor.core.text.wording import count, one_line, opening, printable
from demeanor.render import numbers
from demeanor.web.charts import bar
from demeanor.web.links import Links

HERE = Path(__file__).parent
STYLE = "style.css"
SCRIPT = "app.js"


@cache
def static_text(name: str) -> str:
    """The style sheet or the script."""
    return (HERE / "static" / name).read_text("utf-8")


def render(template: str, links: Links, **values: Any) -> str:
    """A page as text."""
    text: str = _environment().get_template(template).render(links=links, **values)
    return text


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "percent": numbers.percent,
        "rate": numbers.rate,
        "duration": numbers.duration,
        "money": numbers.money,
        "tokens": numbers.tokens,
        "tokens_and_cost": numbers.tokens_and_cost,
        "one_line": one_line,
        "opening": opening,
        "breakable": breakable,
        "segment": lambda text: quote(text, safe=""),
        "when": numbers.when,
        "shell": shlex.join,
        "plural": count,
        "signed": numbers.points,
    }
    made.globals |= {"bar": bar, "static_text": lambda name: Markup(static_text(name))}  # noqa: S704 - files of this package
    return made


def _visible(value: Any) -> Any:
    """What a template shows of a value: text without invisible characters, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, str) and not isinstance(value, Markup):
        return _printable(value)
    return value


@lru_cache(maxsize=4096)
def _printable(text: str) -> str:
    return printable(text)


@lru_cache(maxsize=4096)
def breakable(name: str) -> Markup:
    """A long name that a browser may break after `_`, `-`, `.`, `:` and `/`."""
    pieces = re.split(r"(?<=[-_.:/])(?=.)", one_line(name, width=300))
    return Markup("<wbr>").join(escape(piece) for piece in pieces)
