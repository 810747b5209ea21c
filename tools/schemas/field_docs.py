"""What the docstrings under the fields of a class say, for the descriptions in JSON schemas."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from itertools import pairwise


def field_docs(kind: type) -> dict[str, str]:
    """The docstring under each field of a dataclass, read from its source."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    docs: dict[str, str] = {}
    lines = body.body if isinstance(body, ast.ClassDef) else []
    for line, below in pairwise(lines):
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and isinstance(below, ast.Expr):
            docs[line.target.id] = " ".join(str(ast.literal_eval(below.value)).split())
    return docs


def without_links(doc: str) -> str:
    """The documentation without links, which lead nowhere in an editor."""
    return re.sub(r";? see \[[\w ]+\]\([^)]*\)| See \[[\w ]+\]\([^)]*\)\.", "", doc)
