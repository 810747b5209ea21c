"""Write the generated parts of the docs, or check that they are fresh (`--check`).

The first use of each glossary term on a page is linked (glossary_links.py). A generated part stands between
`<!-- generated: NAME -->` and `<!-- end -->`. The README shows the output of a run: its durations and dates differ from
run to run, so they are compared as if they were all the same. The JSON schemas are generated as well (schemas/).
"""

from __future__ import annotations

import argparse
import ast
import itertools
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from glossary_links import link_terms, terms
from schemas import schema_files
from schemas.scenario import documentation

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "demeanor"
BLOCK = re.compile(r"(<!-- generated: (?!terms)([\w-]+) -->\n)(.*?)(<!-- end -->)", re.S)
FIGURES = re.compile(r"(\d+ min )?\d+(\.\d+)? (s|min)\b|\d\d\d\d-\d\d-\d\dT\d\d-\d\d-\d\d-\w{5}|  +")


def main() -> int:
    """Go through all pages; the exit code tells whether all were fresh."""
    check = "--check" in sys.argv
    stale = [str(page.relative_to(ROOT)) for page in _pages() if not _renew(page, check=check)]
    stale += _renew_schemas(check=check)
    if check and stale:
        sys.stderr.write(f"stale: {', '.join(stale)}\n  → make docs\n")
        return 1
    return 0


def _pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "docs/decisions/README.md"]


def _renew(page: Path, *, check: bool) -> bool:
    """Whether the page was fresh; it is written anew where it was not, unless only checking."""
    old = page.read_text("utf-8")
    new = BLOCK.sub(lambda match: f"{match[1]}{PARTS[match[2]](old)}{match[4]}", old)
    if page.parent == ROOT / "docs" and page.name not in {"glossary.md", "cli.md"}:
        new = link_terms(new, terms((ROOT / "docs/glossary.md").read_text("utf-8")))
    fresh = FIGURES.sub(" ", old) == FIGURES.sub(" ", new) if page.name == "README.md" else old == new
    if not fresh and not check:
        page.write_text(new, "utf-8")
    return fresh


def _renew_schemas(*, check: bool) -> list[str]:
    """The schemas that were not fresh; they are written, or removed if nothing makes them, unless only checking."""
    made = schema_files()
    stale = []
    for path in sorted({ROOT / "docs" / name for name in made} | set((ROOT / "docs").glob("*.schema.json"))):
        if path.is_file() and path.read_text("utf-8") == made.get(path.name):
            continue
        stale.append(str(path.relative_to(ROOT)))
        if not check:
            if path.name in made:
                path.write_text(made[path.name], "utf-8")
            else:
                path.unlink()
    return stale


COMMON = 2
"""An option that as many commands have, with the same help, is listed once."""


IN_EVERY_EVENT = {"type", "turn", "at"}


def parsers() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Each command and sub-command that does something by itself, with its parser."""
    from demeanor.cli.registry import NOTHING_ALONE, all_commands, parser_of

    yield from ((name, parser_of(name)) for name in all_commands() if name not in NOTHING_ALONE)


def command_help(_page: str) -> str:
    """Every command with its own options; those that several commands share are listed at the end."""
    lines = {name: list(_option_lines(parser)) for name, parser in parsers()}
    uses = Counter(line for own in lines.values() for line in own)
    parts = []
    for name, parser in parsers():
        own = [f"- {line}\n" for line in lines[name] if uses[line] < COMMON]
        shared = [_label(line) for line in lines[name] if uses[line] >= COMMON]
        also = f"- also: {', '.join(shared)}\n" if shared else ""
        parts.append(f"## demeanor {name}\n\n{parser.description}\n\n{''.join(own)}{also}")
    common = sorted((line for line, times in uses.items() if times >= COMMON), key=lambda line: line.lstrip("`-"))
    parts.append("## Common options\n\n" + "".join(f"- {line}\n" for line in common))
    return "\n" + "\n".join(part.rstrip() + "\n" for part in parts)


def _option_lines(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Each argument with its value and its help, except `--help` and those that no help shows."""
    for action in parser._actions:
        hidden = action.help == argparse.SUPPRESS
        if hidden or action.dest == "help" or isinstance(action, argparse._SubParsersAction):
            continue
        value = action.metavar or "|".join(map(str, action.choices or ())) or action.dest.upper()
        if isinstance(value, tuple):
            value = " ".join(value)
        names = ", ".join(action.option_strings)
        if action.nargs == "?":
            value = f"[{value}]"
        shown = " ".join(word for word in (names, value if action.nargs != 0 else "") if word)
        help_text = (action.help or "") % {"default": action.default}
        help_text = help_text.replace("*", "\\*")
        help_text = re.sub(r"(\[\w+\])", r"`\1`", help_text)  # a table of the configuration, not a link
        yield f"`{shown}`: {help_text}"


def _label(line: str) -> str:
    """The option alone, without its value."""
    return f"`{line[1:].split('`', maxsplit=1)[0].split(' ', maxsplit=1)[0].rstrip(',')}`"


def schemas(_page: str) -> str:
    """Links to all JSON schemas."""
    links = (f"[{name.removesuffix('.schema.json')}]({name})" for name in schema_files())
    return f"{', '.join(links)}\n"


def readme_output(page: str) -> str:
    """What the first eval of the page prints, really run."""
    code = re.search(r"```python\n(.*?)```", page, re.S)
    command = re.search(r"```console\n\$ demeanor (.*?)\n", page)
    if code is None or command is None:
        raise SystemExit("README.md: no eval and command to run")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "eval_greeting.py").write_text(code[1], "utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "demeanor", *command[1].split()],
            cwd=folder,
            env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "DEMEANOR_CACHE": folder},
            capture_output=True,
            text=True,
            check=False,
        )
    return f"```console\n$ demeanor {command[1]}\n{done.stdout}```\n"


def fields(module: str, name: str) -> Iterator[tuple[str, str, str]]:
    """Name, default and docstring of each field of a class, read from its source."""
    tree = ast.parse((SOURCE / module).read_text("utf-8"))
    body = next(node.body for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == name)
    for field, doc in itertools.pairwise(body):
        text = doc.value.value if isinstance(doc, ast.Expr) and isinstance(doc.value, ast.Constant) else None
        if isinstance(field, ast.AnnAssign | ast.Assign) and isinstance(text, str):
            target = field.target if isinstance(field, ast.AnnAssign) else field.targets[0]
            yield ast.unparse(target), ast.unparse(field.value) if field.value else "", " ".join(text.split())


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]]) + "\n"


def configuration(_page: str) -> str:
    """The keys of the configuration."""
    rows = [
        (f"`{key}`", doc)
        for key, _, doc in fields("config/config.py", "Config")
        if key not in {"root", "file", "gateway_limits", "engines", "executors"}
    ]
    rows.append(("`harbor`", "How Harbor runs whole tasks; see [Harbor](harbor.md#configuration)."))
    return _table(("key", "meaning"), iter(rows))


def fix_rules(_page: str) -> str:
    """The keys of `[fix]`."""
    return _table(("key", "meaning"), ((f"`{key}`", doc) for key, _, doc in fields("config/fix.py", "FixRules")))


def coding_agents(_page: str) -> str:
    """The agents that have a recipe, and what evals may need that they can't do."""
    from demeanor.agents.registry import CODING_AGENTS, adapter
    from demeanor.core.values.agent import Ability

    needs = {
        Ability.TURNS: "several prompts",
        Ability.MESSAGES: "prior messages",
        Ability.DENY: "deny tools",
        Ability.SUB_AGENTS: "sub-agents",
        Ability.MCP: "MCP servers",
    }
    recipes = [adapter(name).RECIPE for name in CODING_AGENTS]
    rows = (
        (
            recipe.name,
            recipe.package.version,
            ", ".join(name.removeprefix("openai-") for name in recipe.dialects),
            ", ".join(f"`{mode}`" for mode in recipe.approval_modes),
            ", ".join(words for ability, words in needs.items() if ability in recipe.cannot),
        )
        for recipe in recipes
    )
    return _table(("agent", "version", "dialects (`chat`, `responses`: of OpenAI)", "`approval_mode`", "can't"), rows)


def exit_codes(_page: str) -> str:
    """What exit codes mean."""
    return _table(
        ("code", "name", "meaning"), ((v, n.lower(), d) for n, v, d in fields("core/values/exit_code.py", "ExitCode"))
    )


def void_causes(_page: str) -> str:
    """Why a trial can be void."""
    from demeanor.core.values.verdict import VoidCause

    rows = (
        (f"`{one.value}`", doc, one.remedy, "yes" if one.retryable else "no")
        for name, _, doc in fields("core/values/verdict.py", "VoidCause")
        for one in [VoidCause[name]]
    )
    return _table(("cause", "meaning", "what to do", "tried again?"), rows)


def packages(_page: str) -> str:
    """Every package with the first line of its docstring, and each plug-in."""
    folders = sorted(path.parent for path in [*SOURCE.glob("*/__init__.py"), *SOURCE.glob("plugins/*/__init__.py")])
    rows = ((f"`{folder.relative_to(SOURCE)}/`", first_line(folder / "__init__.py")) for folder in folders)
    return _table(("package", "contents"), rows)


def layers(_page: str) -> str:
    """The layers, from the top, as import-linter checks them."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    lines = next(contract["layers"] for contract in contracts if contract["id"] == "layers")
    return "```text\n" + "\n".join(line for line in lines if not line.startswith("_")) + "\n```\n"


def first_line(file: Path) -> str:
    """The first line of a module's docstring."""
    text = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
    return text.split("\n\n")[0].replace("\n", " ")


def rules(_page: str) -> str:
    """What every rule costs and how often it errs, as the code calculates it: a row per rule."""
    from demeanor.core.text.percent import rate, share
    from demeanor.decide.gate.rules import error_rates
    from demeanor.decide.promotion.rules import DEMOTE, PROMOTE

    every = list(error_rates())
    every += [rule.error_rates() for named in (PROMOTE, DEMOTE) for rule in named.values()]
    head = ("answer", *(rate(row.rate) for row in every[0].rows))
    rows = []
    for errors in every:
        cells = (share(row.chance) + (f" ({row.trials:.1f})" if row.trials is not None else "") for row in errors.rows)
        rows.append((f"{errors.action} by `{errors.rule}`", *cells))
    about = (f"- **{errors.action} by `{errors.rule}`**: {errors.about}. For {errors.setting}.\n" for errors in every)
    return _table(head, iter(rows)) + "\n" + "".join(about)


def eval_keys(_page: str) -> str:
    """The arguments of `@eval_test` and the keys of scenario.toml."""
    from demeanor.define.eval_fields import EVAL_FIELDS

    where = {(True, True): "", (True, False): "Python", (False, True): "TOML"}
    rows = (
        (
            f"`{field.name}`",
            documentation(field),
            "required" if field.required else field.default,
            where[bool(field.python), bool(field.toml)],
        )
        for field in EVAL_FIELDS
    )
    return _table(("key", "meaning", "default", "only in"), rows)


def behaviour_keys(_page: str) -> str:
    """The keys of `[passes_on]` and `[fails_on]`."""
    from demeanor.define.folder.scripted_behaviour import BEHAVIOUR_FIELDS

    return _table(("key", "meaning"), ((f"`{key.name}`", documentation(key)) for key in BEHAVIOUR_FIELDS))


def run_file(_page: str) -> str:
    """The fields of `run` in run.json."""
    return _table(
        ("field", "meaning"), ((f"`{name}`", doc) for name, _, doc in fields("core/values/record.py", "RunInfo"))
    )


def ledger(_page: str) -> str:
    """The fields of a line of the ledger."""
    return _table(
        ("field", "meaning"), ((f"`{name}`", doc) for name, _, doc in fields("core/values/record.py", "Record"))
    )


def events(_page: str) -> str:
    """The events of a trajectory with their fields, except for those that all have; calls in full."""
    from typing import get_args

    from demeanor.core.values.trajectory import Event

    rows = []
    for kind in get_args(Event):
        names = [
            name for name, _, _ in fields("core/values/trajectory.py", kind.__name__) if name not in IN_EVERY_EVENT
        ]
        name = kind.__dataclass_fields__["type"].default
        rows.append((f"`{name}`", str(kind.__doc__), ", ".join(f"`{field}`" for field in names)))
    called = (
        (f"`{name}`", doc)
        for name, _, doc in fields("core/values/trajectory.py", "Called")
        if name not in IN_EVERY_EVENT
    )
    return _table(("event", "meaning", "fields"), iter(rows)) + "\n" + _table(("field of `called`", "meaning"), called)


def decisions(_page: str) -> str:
    """All decisions with their dates, the newest first."""
    notes = sorted((ROOT / "docs/decisions").glob("2*.md"), key=lambda path: (path.name[:10], path.name), reverse=True)
    titles = (
        (path, re.sub(r"^# (\d{4}-\d\d-\d\d: )?", "", path.read_text("utf-8").partition("\n")[0])) for path in notes
    )
    return _table(("date", "decision"), ((path.name[:10], f"[{title}]({path.name})") for path, title in titles))


PARTS: dict[str, Callable[[str], str]] = {
    "command-help": command_help,
    "coding-agents": coding_agents,
    "schemas": schemas,
    "readme-output": readme_output,
    "configuration": configuration,
    "fix-rules": fix_rules,
    "exit-codes": exit_codes,
    "void-causes": void_causes,
    "rules": rules,
    "eval-keys": eval_keys,
    "behaviour-keys": behaviour_keys,
    "run-file": run_file,
    "ledger": ledger,
    "events": events,
    "packages": packages,
    "layers": layers,
    "decisions": decisions,
}

if __name__ == "__main__":
    sys.exit(main())
