"""Assembles the agent: its program with the prompt and the tools in it, in dist/agent.py."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).parent


def system():
    """The prompt without its comment, a line per paragraph, the name filled in."""
    text = re.sub(r"<!--.*?-->", "", (ROOT / "prompts" / "system.md").read_text(), flags=re.S)
    paragraphs = (" ".join(part.split()) for part in text.split("\n\n"))
    return "\n\n".join(part for part in paragraphs if part).replace("{{NAME}}", "Toy")


def tools():
    """The tools as sent to the model."""
    return [
        {"type": "function", "function": {"name": name, "description": tool["description"], "parameters": {
            "type": "object",
            "properties": {key: {"type": "string", "description": text} for key, text in tool["arguments"].items()},
            "required": list(tool["arguments"]),
        }}}
        for name, tool in json.loads((ROOT / "tools" / "tools.json").read_text()).items()
    ]  # fmt: skip


program = (ROOT / "agent" / "main.py").read_text()
built = program.replace("BUILT = {}", f"BUILT = { ({'system': system(), 'tools': tools()})!r}")
(ROOT / "dist").mkdir(exist_ok=True)
(ROOT / "dist" / "agent.py").write_text(built)
