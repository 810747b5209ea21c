"""The JSON schemas of docs/: of the files that users write, and of every report that a command prints as JSON."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parents[1] / "src"


def schema_files() -> dict[str, str]:
    """The content of each file, by its name."""
    from demeanor.define.folder.scenario_schema import scenario_schema
    from demeanor.reports.run.to_json import json_schema
    from demeanor.runner.config_schema import config_schema

    found = {name: json.dumps(schema, indent=2) for name, schema in report_schemas()}
    found["report"] = json.dumps(json_schema(), indent=2)
    found["scenario"] = json.dumps(scenario_schema(), indent=2, ensure_ascii=False)
    found["demeanor"] = json.dumps(config_schema(), indent=2, ensure_ascii=False)
    return {f"{name}.schema.json": f"{text}\n" for name, text in sorted(found.items())}


def report_schemas() -> Iterator[tuple[str, dict[str, Any]]]:
    """The name and the schema of each ReportDocument of the package."""
    from demeanor.render.documents import ReportDocument

    for file in sorted(SOURCE.rglob("*.py")):
        if " = ReportDocument(" in file.read_text("utf-8"):
            module = importlib.import_module(".".join(file.relative_to(SOURCE).with_suffix("").parts))
            for value in vars(module).values():
                if isinstance(value, ReportDocument):
                    yield value.kind, value.schema()
