"""The JSON schemas of docs/: of the files that users write, and of every report that a command prints as JSON."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parents[2] / "src"


def schema_files() -> dict[str, str]:
    """The content of each file, by its name."""
    from .configuration import config_schema
    from .reports import report_schema
    from .scenario import scenario_schema

    texts = {name: json.dumps(schema, indent=2) for name, schema in report_schemas()}
    texts["report"] = json.dumps(report_schema(), indent=2)
    texts["scenario"] = json.dumps(scenario_schema(), indent=2, ensure_ascii=False)
    texts["demeanor"] = json.dumps(config_schema(), indent=2, ensure_ascii=False)
    return {f"{name}.schema.json": f"{text}\n" for name, text in sorted(texts.items())}


def report_schemas() -> Iterator[tuple[str, dict[str, Any]]]:
    """The name and the schema of each ReportDocument of the package."""
    from demeanor.render.documents import ReportDocument

    from .reports import document_schema

    for file in sorted(SOURCE.rglob("*.py")):
        if " = ReportDocument(" in file.read_text("utf-8"):
            module = importlib.import_module(".".join(file.relative_to(SOURCE).with_suffix("").parts))
            for value in vars(module).values():
                if isinstance(value, ReportDocument):
                    yield value.kind, document_schema(value)
