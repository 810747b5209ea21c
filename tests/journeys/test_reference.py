"""The docs name what the code has, and nothing else: options, keys, variables, rig names and error slugs."""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from demeanor.cli.registry import NOTHING_ALONE, all_commands, command_of, parser_of
from demeanor.core.entry_points import installed
from demeanor.core.values.errors import DemeanorError
from demeanor.core.values.verdict import VoidCause
from demeanor.judge.agents_view import MainAgent, SubAgents
from demeanor.judge.calls_view import Calls
from demeanor.judge.git_view import GitView
from demeanor.judge.rig import Rig
from demeanor.judge.simulation import Stage
from demeanor.judge.workspace_view import FileView, WorkspaceView

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src/demeanor"
PAGES = {path.stem: path.read_text("utf-8") for path in sorted((ROOT / "docs").glob("*.md"))}
PAGES["README"] = (ROOT / "README.md").read_text("utf-8")
GETTERS = {"take", "anything", "text", "maybe_text", "flag", "number", "whole", "texts", "mapping", "strings", "table"}
GETTERS |= {"tables", "section", "choice", "relative_path", "_folder", "_size", "read_command", "_read_texts"}
KEYS: Mapping[str, tuple[str, ...]] = {
    "configuration": ("config/config.py", "config/tables.py"),
    "fix": ("config/fix.py",),
    "harbor": ("plugins/harbor/rules.py",),
    "scale": ("config/executor.py",),
    "agents": tuple(f"agents/{name}.py" for name in (
        "acp", "command", "mcp_servers", "native", "overrides", "program", "python", "recipe",
    )),
    "models": ("gateway/models/registry.py", "gateway/models/prices.py", "gateway/script/rules.py",
                "gateway/script/loading.py"),
    "nightly": ("reports/metrics/pattern_file.py",),
    "eval-keys": ("define/folder/check_table.py",),
}  # fmt: skip
"""The pages that document keys, and the modules that read them."""
VIEWS = {"rig": Rig, "workspace": WorkspaceView, "calls": Calls, "git": GitView, "main": MainAgent}
VIEWS |= {"sub_agents": SubAgents}
"""What an author's check can ask, by the name that docs/checks.md uses for it."""


@cache
def words_in_code(page: str) -> set[str]:
    """Every word in inline code and in code blocks."""
    blocks = re.findall(r"^```.*?^```", page, re.S | re.M)
    inline = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", page, flags=re.S | re.M))
    return {word for code in (*blocks, *inline) for word in re.findall(r"[\w-]+", code)}


@cache
def keys_read_by(module: str) -> set[str]:
    """The keys that a module asks a `Table` for: constants, and variables of a loop over constants."""
    tree = ast.parse((SOURCE / module).read_text("utf-8"))
    loops: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.comprehension | ast.For) and isinstance(node.target, ast.Name):
            loops.setdefault(node.target.id, set()).update(_constants(getattr(node.iter, "elts", ())))
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _called(node) in GETTERS:
            found |= set(_constants(node.args[:2]))
            found |= {key for arg in node.args[:2] if isinstance(arg, ast.Name) for key in loops.get(arg.id, ())}
    return found


def _constants(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            yield node.value


def _called(node: ast.Call) -> str:
    return getattr(node.func, "attr", None) or getattr(node.func, "id", "")


def rows(page: str, first: str) -> Iterator[str]:
    """The first cell of each row of the tables whose first column is headed `first…`."""
    head = ""
    for line in page.splitlines():
        if not line.startswith("|"):
            head = ""
        elif not head:
            head = line.split("|")[1].strip()
        elif head.startswith(first) and not line.startswith(("|---", "| ---")):
            yield re.split(r"(?<!\\)\|", line)[1]


@pytest.mark.parametrize("page", KEYS)
def test_every_key_is_documented(page: str) -> None:
    """Each key that a file of the user may contain is named on the page about that file."""
    known = {key for module in KEYS[page] for key in keys_read_by(module)}
    assert known, page
    assert sorted(known - words_in_code(PAGES[page])) == [], f"write these keys into docs/{page}.md"


@pytest.mark.parametrize("page", KEYS)
def test_every_documented_key_is_read(page: str) -> None:
    """The first column of a table of keys has no key that the code does not know."""
    from demeanor.define.eval_fields import EVAL_FIELDS
    from demeanor.define.folder.scripted_behaviour import BEHAVIOUR_FIELDS

    known = {key for modules in KEYS.values() for module in modules for key in keys_read_by(module)}
    known |= {key for module in ("runner/catalog.py", "runner/plan.py") for key in keys_read_by(module)}
    known |= {one.name for one in (*EVAL_FIELDS, *BEHAVIOUR_FIELDS)} | {"models", "providers", "agents"}
    known |= {point.name for point in installed("demeanor.engines")}  # each has a table of its own
    named = {key for cell in rows(PAGES[page], "key") for code in re.findall(r"`([^`]+)`", cell) for key in [code]}
    parts = {part for key in named for part in re.split(r"[^\w]+", key) if part and part.islower()}
    assert sorted(parts - known) == [], f"docs/{page}.md documents keys that nothing reads"


@cache
def options(command: str) -> set[str]:
    """The options of a command or sub-command."""
    return set(parser_of(command)._option_string_actions)


@cache
def actions(command: str) -> set[str]:
    """The words of which the first argument of a command is one, such as `install`; empty if it may be anything."""
    first = next((action for action in parser_of(command)._actions if not action.option_strings), None)
    return set(first.choices or ()) if first is not None else set()


_COMMAND_LINE = re.compile(r"(?<!from )(?<!import )(?<!/)\bdemeanor ((?:-[\w-]+|[a-z]+)(?: [^`\n#|;&<\"]*)?)")
_DYNAMIC = "{}"
"""Stands for a value in an f-string."""


def mistakes(text: str) -> Iterator[str]:
    """The command lines in a text that the command line would refuse: unknown commands, actions and options."""
    for found in _COMMAND_LINE.findall(text):
        line = re.split(r"  |[,.] ", found)[0]
        words = line.split()
        command, rest = command_of([word.rstrip(",.:)") for word in words])
        if not command and words[0] not in NOT_COMMANDS:
            yield f"demeanor {line}: no such command"
        if command in NOTHING_ALONE and any(re.match(r"[a-z]", word) for word in rest):
            yield f"demeanor {line}: no such sub-command"
        if not command or command in NOTHING_ALONE:
            continue
        if rest and re.fullmatch(r"[a-z]+", rest[0]) and actions(command) and rest[0] not in actions(command):
            yield f"demeanor {line}: no such action"
        for option in (word.partition("=")[0].strip("[]") for word in rest if re.match(r"\[?--?[a-z]", word)):
            if option not in options(command):
                yield f"demeanor {line}: no {option}"


@pytest.mark.parametrize("page", [name for name in PAGES if name != "cli"])
def test_commands_in_the_docs_exist(page: str) -> None:
    """`demeanor COMMAND ACTION --option`, in a block or in a line. cli.md is generated."""
    assert list(mistakes(code_of(PAGES[page]))) == []


@pytest.mark.parametrize("package", sorted({path.relative_to(SOURCE).parts[0] for path in SOURCE.rglob("*.*")}))
def test_commands_in_messages_and_templates_exist(package: str) -> None:
    """A remedy must work: commands in strings and f-strings of the code, in lists of arguments, and in other files."""
    path = SOURCE / package
    files = sorted(path.rglob("*.*")) if path.is_dir() else [path]
    wrong = []
    for file in files:
        if file.suffix == ".py":
            texts = list(texts_of(ast.parse(file.read_text("utf-8"))))
        elif file.suffix in {".html", ".md", ".toml", ".yml"} and "cases" not in file.parts:
            texts = [file.read_text("utf-8")]
        else:
            continue
        wrong += [f"{file.relative_to(SOURCE)}: {mistake}" for text in texts for mistake in mistakes(text)]
    assert wrong == []


def test_commands_in_other_files_exist() -> None:
    """Those of the repository that people and CI services read."""
    files = [ROOT / name for name in ("action.yml", "AGENTS.md", "CHANGELOG.md", "CONTRIBUTING.md")]
    files += [*(ROOT / "tools").glob("*.sh"), *(ROOT / "docs/decisions").glob("*.md")]
    files += [path for path in (ROOT / "examples").rglob("*") if path.suffix in {".md", ".py", ".sh", ".toml", ".yml"}]
    assert [f"{file.name}: {mistake}" for file in files for mistake in mistakes(file.read_text("utf-8"))] == []


def texts_of(tree: ast.AST) -> Iterator[str]:
    """The strings of a module; f-strings with `{}` for each value, and lists of words from "demeanor" on."""
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(map(_literal, node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.value
        elif isinstance(node, ast.List | ast.Tuple):
            words = list(map(_literal, node.elts))
            if "-m demeanor " in " ".join(words) or (words[:1] == ["demeanor"] and isinstance(node, ast.List)):
                yield " ".join(words[words.index("demeanor") :])


def _literal(node: ast.expr) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else _DYNAMIC


def test_a_command_that_does_not_exist_is_found() -> None:
    """And what is not a command, or is only partly known, is not reported."""
    code = (
        'a = f"→ demeanor runn {x} --trials"; b = "`demeanor agents instal x`"\n'
        'c = ["demeanor", "run", "--trails", n]\n'
        'd = "demeanor store improt x"; e = f"demeanor {x} --help"; f = "demeanor run -k x [--trials N]"\n'
        'g = f"demeanor store import {x}"; h = "from demeanor import x"; i = "demeanor store, demeanor --help"\n'
        'j = "demeanor gateway contract --modell x"\n'
    )
    found = [mistake.partition(": ")[2] for text in texts_of(ast.parse(code)) for mistake in mistakes(text)]
    expected = ["no such command", "no such action", "no --trails", "no such sub-command", "no --modell"]
    assert sorted(found) == sorted(expected)


@pytest.mark.parametrize("page", [name for name in PAGES if name != "cli"])
def test_options_named_alone_exist(page: str) -> None:
    """A code that begins with an option of ours; options of other programs are listed here."""
    known = {option for command in all_commands() for option in options(command)} | set(pytest_options())
    for option in re.findall(r"`(--[a-z][\w-]*)", PAGES[page]):
        assert option in known | FOREIGN, f"docs/{page}.md: no command has {option}"


def code_of(page: str) -> str:
    """Inline code and code blocks, one per line; commands that end in a backslash are joined."""
    blocks = re.findall(r"^```(?:bash|console|sh|yaml)\n(.*?)^```", page, re.S | re.M)
    rest = re.sub(r"^```.*?^```", "", page, flags=re.S | re.M)
    return "\n".join([*re.findall(r"`([^`\n]+)`", rest), *blocks]).replace("\\\n", " ")


def pytest_options() -> Iterator[str]:
    """The options that our pytest plugin adds."""
    yield from re.findall(r'"(--[\w-]+)"', (SOURCE / "pytest_plugin/__init__.py").read_text("utf-8"))


def test_pytest_options_are_documented() -> None:
    """In both directions."""
    named = {option for cell in rows(PAGES["define"], "pytest option") for option in re.findall(r"--[\w-]+", cell)}
    assert named == set(pytest_options())


def variables() -> set[str]:
    """The environment variables that Demeanor's own code reads on the user's machine."""
    found: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        if NOT_OURS & {*path.relative_to(SOURCE).parts} or "starter" in path.parts:
            continue
        text = path.read_text("utf-8")
        found |= set(re.findall(r'environ(?:\.get\(|\[)"([A-Z_]+)"', text))
        found |= set(re.findall(r'"(DEMEANOR_[A-Z_]+)"', text))
    return found - SET_BY_US


def test_environment_variables_are_documented() -> None:
    """Each has a row in docs/configuration.md, and each row is read somewhere."""
    named = {name for cell in rows(PAGES["configuration"], "variable") for name in re.findall(r"[A-Z][A-Z_]+", cell)}
    assert sorted(variables() - named) == [], "write these variables into docs/configuration.md"
    source = "\n".join(path.read_text("utf-8") for path in SOURCE.rglob("*.py"))
    assert sorted(name for name in named if f'"{name}"' not in source) == []


def test_rig_names_are_documented() -> None:
    """Every public name of the rig and its views is on docs/checks.md."""
    page = words_in_code(PAGES["checks"])
    for name, view in {**VIEWS, "file": FileView}.items():
        assert sorted(public(view) - page) == [], f"{name}: write these into docs/checks.md"


def test_stage_names_are_documented() -> None:
    """Every public name of the stage that rehearsals get is on docs/define.md; `evidence` is for Demeanor itself."""
    names = set(re.findall(r"`stage\.(\w+)", PAGES["define"]))
    assert sorted(public(Stage) - {"evidence"} - names) == [], "write these into docs/define.md"


@cache
def public(view: type) -> set[str]:
    """The public attributes of a class, those that its constructor sets included."""
    sources = [inspect.getsource(one) for one in view.__mro__ if one.__module__.startswith("demeanor.")]
    set_by_init = re.findall(r"self\.([a-z]\w*) = ", "\n".join(sources))
    return {name for name in (*dir(view), *set_by_init) if not name.startswith("_")}


@pytest.mark.parametrize("page", PAGES)
def test_rig_names_in_the_docs_exist(page: str) -> None:
    """`rig.calls.of_kind` and the like, in any code."""
    for name, attribute in re.findall(r"\b(rig|workspace|calls|git)\.([a-z_]+)\b", code_with_python(PAGES[page])):
        if (name, attribute) not in NOT_THE_RIG:
            assert attribute in public(VIEWS[name]), f"docs/{page}.md: {name}.{attribute}"


def code_with_python(page: str) -> str:
    """Inline code and Python blocks."""
    rest = re.sub(r"^```.*?^```", "", page, flags=re.S | re.M)
    return "\n".join([*re.findall(r"`([^`\n]+)`", rest), *re.findall(r"^```python\n(.*?)^```", page, re.S | re.M)])


def test_error_slugs_are_sections() -> None:
    """Every error has a section in docs/errors.md, and every such section is an error."""
    for path in SOURCE.rglob("*.py"):
        if re.search(r"^    slug\b.* = ", path.read_text("utf-8"), re.M):
            import_module(".".join(path.relative_to(SOURCE.parent).with_suffix("").parts))
    slugs = {kind.slug for kind in _subclasses(DemeanorError)}
    sections = set(re.findall(r"^## ([a-z-]+)$", PAGES["errors"], re.M))
    assert sections == slugs


def _subclasses(kind: type[DemeanorError]) -> Iterator[type[DemeanorError]]:
    for sub in kind.__subclasses__():
        yield sub
        yield from _subclasses(sub)


def test_every_void_cause_has_a_remedy() -> None:
    """`demeanor help CAUSE` says what to do about it."""
    from demeanor.commands.help.explanations import explanations

    found = explanations()
    assert [cause.value for cause in VoidCause if "what to do:" not in found[cause.value]] == []


FOREIGN = {"--ak", "--cap-drop", "--chmod", "--chown", "--cpus", "--debug-file", "--ek", "--exclude", "--from"}
FOREIGN |= {
    "--junitxml",
    "--lf",
    "--maxfail",
    "--mount",
    "--network",
    "--parents",
    "--platform",
    "--print-logs",
    "--prompt",
    "--read-only",
}
FOREIGN |= {"--limit", "--seconds", "--security", "--security-opt"}
"""Options of other programs that the docs name."""

NOT_OURS = {"native", "acp", "sandboxes", "inside"}
"""Packages whose code also runs beside or inside a sandbox, where Demeanor itself sets the variables."""

NOT_COMMANDS = {"--help", "--version", "-V", "session"}
"""Words after `demeanor` that are no command: its own options, and the beginning of what a cookie is made of."""

SET_BY_US = {"OMP_WAIT_POLICY", "DEMEANOR_TOKEN", "BASE_URL", "TOKEN", "OPENAI_BASE_URL", "OPENAI_MODEL"}
"""Variables that Demeanor sets for programs that it starts."""

NOT_THE_RIG = {("rig", "py")}
"""Names that look like those of the rig."""


def test_modules_and_functions_in_the_docs_exist() -> None:
    """`demeanor.statistics.intervals.wilson`, and modules such as `core/values/exit_code.py`."""
    for name, page in PAGES.items():
        for dotted in re.findall(r"\bdemeanor(?:\.[a-z_]+){2,}", code_of(page)):
            parts = dotted.split(".")
            if (SOURCE / parts[1]).is_dir():
                assert _resolves(parts), f"docs/{name}.md names {dotted}, which does not exist"
        for module in re.findall(r"`([a-z_]+/[a-z_/]+\.py)`", page):
            if (SOURCE / module.split("/")[0]).is_dir():
                assert (SOURCE / module).exists(), f"docs/{name}.md names {module}, which does not exist"


def _resolves(parts: list[str]) -> bool:
    """Whether a dotted name is a module, or something in one."""
    path = SOURCE
    for index, part in enumerate(parts[1:], 1):
        path = path / part
        if path.is_dir() or not path.with_suffix(".py").exists():
            continue
        module: object = import_module(".".join(parts[: index + 1]))
        return all((module := getattr(module, name, None)) is not None for name in parts[index + 1 :])
    return path.is_dir()


def test_extras_are_documented() -> None:
    """Every extra that users install, on the page about the installation; those for developers are not."""
    extras = set(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"])
    documented = {name for cell in rows(PAGES["install"], "extra") for name in re.findall(r"`([a-z0-9]+)`", cell)}
    assert documented == extras - {"docs", "tests"}
