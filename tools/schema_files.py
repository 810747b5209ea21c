"""The JSON schemas of docs/: of the files that users write, and of every report that a command prints as JSON."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

COMMANDS = Path(__file__).resolve().parents[1] / "src" / "demeanor" / "commands"


def schema_files() -> dict[str, str]:
    """The content of each file, by its name."""
    from demeanor.define.folder.scenario_schema import scenario_schema
    from demeanor.reports.run.to_json import json_schema
    from demeanor.runner.config_schema import config_schema

    found = {name: json.dumps(schema, indent=2) for name, schema in _documents()}
    found["report"] = json.dumps(json_schema(), indent=2)
    found["scenario"] = json.dumps(scenario_schema(), indent=2, ensure_ascii=False)
    found["demeanor"] = json.dumps(config_schema(), indent=2, ensure_ascii=False)
    return {f"{name}.schema.json": f"{text}\n" for name, text in sorted(found.items())}


def _documents() -> Iterator[tuple[str, dict[str, Any]]]:
    """The name and the schema of each ReportDocument in the `report` module of a command."""
    from demeanor.render.documents import ReportDocument

    for file in sorted(COMMANDS.glob("*/report.py")):
        module = importlib.import_module(f"demeanor.commands.{file.parent.name}.report")
        for value in vars(module).values():
            if isinstance(value, ReportDocument):
                yield value.kind, value.schema()
