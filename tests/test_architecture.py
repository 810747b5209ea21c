"""The shape of the code: names, import cycles, docstrings, and docs that match the tree.

Layers are checked by import-linter (`make check`, contracts in pyproject.toml). A failing test says what to do.
"""

from __future__ import annotations

import ast
import dataclasses
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

import pytest
from tools.glossary_links import link_terms, terms

from demeanor.core.values.scenario import Scenario

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "demeanor"
FILES = sorted(path for path in PACKAGE.rglob("*.py") if "starter" not in path.parts)


@cache
def trees() -> dict[Path, ast.Module]:
    """The syntax tree of every module. Not read at import: every pytest process imports this module."""
    return {path: ast.parse(path.read_text("utf-8")) for path in FILES}


def module_name(path: Path) -> str:
    """`demeanor.core.values.eval` for `src/demeanor/core/values/eval.py`."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(tree: ast.AST, known: set[str]) -> Iterator[str]:
    """The modules of the package that a module imports when it runs, anywhere in it; not those of TYPE_CHECKING."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for other in node.orelse:
                yield from imports(other, known)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in known else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        else:
            yield from imports(node, known)


def cycle_of(graph: Mapping[str, set[str]]) -> list[str]:
    """A cycle of a graph; empty if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_every_module_says_what_it_is() -> None:
    """The first line of a module's docstring tells a reader whether this is the file they want."""
    silent = [
        str(path.relative_to(ROOT))
        for path, tree in trees().items()
        if tree.body and len((ast.get_docstring(tree) or "").split("\n")[0]) <= 12
    ]
    assert not silent, f"start these modules with a line that says what they are: {silent}"


def test_a_class_name_means_one_class() -> None:
    """A reader who searches for a class finds one definition."""
    places = defaultdict(list)
    for path, tree in trees().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path.relative_to(PACKAGE)))
    twice = {name: found for name, found in places.items() if len(found) > 1}
    assert not twice, f"rename all but one: {twice}"


_PLURAL = re.compile(
    r" (more |other |good |bad )?(agent|attempt|call|cell|check|commit|connection|day|difference|eval|exchange|failure|"
    r"file|finding|gap|group|kind|line|night|prompt|reason|request|result|row|run|scenario|step|subject|task|test|"
    r"trial|turn)s\b"
)
_WORDS = {"kind", "kinds", "name", "policy", "word"}
"""Values of these names are words, as in `nightly runs`, not numbers."""


def miscounted(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The f-strings that would say `1 evals`: a value and a plural."""
    for node in ast.walk(tree):
        for value, text in pairwise(node.values) if isinstance(node, ast.JoinedStr) else ():
            if not isinstance(value, ast.FormattedValue) or not isinstance(text, ast.Constant):
                continue
            if _PLURAL.match(str(text.value)) and _may_be_one(value.value):
                yield value.lineno, ast.unparse(value.value) + str(text.value)[:20]


def _may_be_one(value: ast.expr) -> bool:
    """Whether a value may be the number 1: functions other than `len` and `sum` format it, capitals are constants."""
    if isinstance(value, ast.Call):
        return ast.unparse(value.func) in {"len", "sum"}
    name = ast.unparse(value).rpartition(".")[2]
    return not name.lstrip("_").isupper() and name not in _WORDS


def test_a_count_agrees_with_its_noun() -> None:
    """`1 trial`, `2 trials`: demeanor.core.text.wording.count says both."""
    found = [f"{path.relative_to(ROOT)}:{line}: {text!r}" for path in FILES for line, text in miscounted(trees()[path])]
    assert not found, "write count(number, 'trial') instead:\n" + "\n".join(found)


def test_a_count_that_does_not_agree_is_found() -> None:
    """And what is not a count is not."""
    lines = ('f"{len(a)} evals"', 'f"{a.b} more trials left"', 'f"{TRIALS} trials"', 'f"{a.kind} runs"', 'f"{a} 1s"')
    assert [line for line in lines if list(miscounted(ast.parse(line)))] == list(lines[:2])


def test_percentages_are_written_in_one_way() -> None:
    """`67 %`, and `100 %` only if it is exactly that: render/numbers.py and core/text/percent.py write them."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FormattedValue) and node.format_spec and "%'" in ast.unparse(node.format_spec)
    ]
    assert not found, f"write percent(value) of demeanor.render.numbers instead of a format with %: {found}"


_SHORTENS = {
    "core/text/wording.py": "where text is shortened",
    "define/python/assert_details.py": "removes secrets itself",
    "judge/snapshot.py": "removes secrets itself",
    "runner/build.py": "removes secrets itself",
    "commands/gate/comment.py": "cuts between lines of a report, from which secrets were removed",
    "gateway/script/rule_reader.py": "reads the beginning of a prompt, and shows none of it",
    "judge/effects/arguments.py": "reads the beginning of a description, and shows none of it",
    "gateway/script/tools.py": "makes up an argument of a tool",
    "gateway/local/prompt.py": "sends descriptions of tools to a local model",
    "web/links.py": "names of pages",
    "reports/metrics/classify.py": "searches the end of a text",
    "runner/attempt.py": "searches the end of a text",
    "runner/missing_module.py": "searches the end of a text",
    "store/imports/junit.py": "searches the beginning of a file",
    "core/redaction/redactor.py": "names of secrets",
    "web/pages/site.py": "the words that a reader searches for",
}
"""Modules that may cut text themselves, and why; programs that run in the sandbox know no secrets."""
_IN_SANDBOX = ("agents/native_agent/", "agents/acp_client/", "mcp/", "sandboxes/supervisor/")
_TEXT_LIMIT = re.compile(r"(WIDTH|CHAR|MESSAGE|TEXT|LONGEST|LENGTH|AUTHOR|OUTPUT|PROMPT|DESCRIPTION|RESULT)")


def shortenings(tree: ast.AST) -> Iterator[int]:
    """The lines in which text is probably cut: a slice beside an ellipsis, or one that is limited like a text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp | ast.JoinedStr | ast.IfExp):
            inner = list(ast.walk(node))
            ellipsis = any(isinstance(one, ast.Constant) and str(one.value).startswith(("…", "...")) for one in inner)
            if ellipsis and any(_limit(one) is not None for one in inner):
                yield node.lineno
        elif (limit := _limit(node)) is not None:
            for bound in ast.walk(limit):
                if isinstance(bound, ast.Constant) and isinstance(bound.value, int) and bound.value >= 30:
                    yield node.lineno
                if isinstance(bound, ast.Name) and bound.id.isupper() and _TEXT_LIMIT.search(bound.id):
                    yield node.lineno


def _limit(node: ast.AST) -> ast.expr | None:
    """The limit of a slice that keeps the beginning or the end; not of a few digits of a hash, nor of a list."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Slice) or isinstance(node.value, ast.List):
        return None
    lower, upper = node.slice.lower, node.slice.upper
    limit = upper if lower is None else lower if upper is None else None
    few = isinstance(limit, ast.Constant) and isinstance(limit.value, int) and limit.value < 20
    return None if few or "hexdigest" in ast.unparse(node) else limit


def test_text_is_shortened_in_one_place() -> None:
    """A secret that was cut in two can't be recognised: demeanor.core.text.wording removes secrets first."""
    names = {path: str(path.relative_to(PACKAGE)) for path in FILES}
    found = [
        f"{names[path]}:{line}"
        for path, tree in trees().items()
        if names[path] not in _SHORTENS and not names[path].startswith(_IN_SANDBOX)
        for line in sorted(set(shortenings(tree)))
    ]
    assert not found, f"use shortened, one_line, opening or excerpt of demeanor.core.text.wording: {found}"
    unused = [name for name in _SHORTENS if not set(shortenings(trees()[PACKAGE / name]))]
    assert not unused, f"these modules no longer cut text: {unused}"


def test_text_that_is_cut_is_found() -> None:
    """And what is not cut, or is not text, is not."""
    lines = ("a[:39] + '…'", "f'{a[:n]}…'", "a[:_MAX_MESSAGE]", "a[-400:]", "a[:10]", "a[:_MOST_ROWS]", "f'{a}…'")
    assert [line for line in lines if list(shortenings(ast.parse(line)))] == list(lines[:4])


def test_no_pattern_repeats_a_group_possessively() -> None:
    """Python before 3.11.5 goes on at the wrong place after a group of `(…)*+` or `(?>…)` that matched in part."""
    possessive = re.compile(r"\)(?:[*+?]|\{[\d,]+\})\+|\(\?>")
    assert possessive.search(r"(?:ab?c)*+")
    assert [str(path) for path in FILES if possessive.search(path.read_text("utf-8"))] == []


OF_EVERY_ATTEMPT = {"prompts", "params", "network"}
"""What any scenario has; everything else in it belongs to a feature (runner/features/)."""


def features_named(tree: ast.AST) -> set[str]:
    """The fields of a scenario that only a feature should read."""
    fields = {field.name for field in dataclasses.fields(Scenario)} - OF_EVERY_ATTEMPT
    read = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    return fields & {node.attr for node in read if ast.unparse(node.value).endswith("scenario")}


@pytest.mark.parametrize("module", ["attempt", "assemble"])
def test_an_attempt_names_no_feature_of_a_scenario(module: str) -> None:
    """Users, steering, prefixes, fixtures and the like are in a module of runner/features/ each."""
    named = features_named(trees()[PACKAGE / "runner" / f"{module}.py"])
    assert not named, f"read these in a feature: {sorted(named)}"


def test_a_feature_that_is_named_is_found() -> None:
    """The test above can fail."""
    tree = ast.parse("def f(trial):\n    return trial.eval.scenario.steer or trial.eval.scenario.prompts\n")
    assert features_named(tree) == {"steer"}


def test_there_is_no_import_cycle() -> None:
    """Imports inside functions count too: they only hide a cycle."""
    known = {module_name(path) for path in FILES}
    graph = {
        module_name(path): set(imports(tree, known)) & known - {module_name(path)} for path, tree in trees().items()
    }
    # A package imports its own modules, and they are below it: that is not a cycle between concepts.
    graph = {name: {one for one in found if not name.startswith(f"{one}.")} for name, found in graph.items()}
    cycle = cycle_of(graph)
    assert not cycle, f"break the cycle: {' → '.join(cycle)}"


def test_a_cycle_is_found() -> None:
    """The test above can fail."""
    tree = ast.parse("def f():\n    from demeanor.a import b\n")
    assert list(imports(tree, {"demeanor.a"})) == ["demeanor.a"]
    assert set(cycle_of({"a": {"b"}, "b": {"c"}, "c": {"a"}})) == {"a", "b", "c"}
    assert cycle_of({"a": {"b"}, "b": {"c"}}) == []


MODULES_OF_DOORS = {
    *("render.markdown", "render.marks", "render.numbers", "reports.night.phrases", "reports.run.phrases"),
    *("statistics.boschloo", "statistics.change", "statistics.change_evidence", "statistics.fisher"),
    *("gateway.contract", "store.imports.demeanor_report"),
}
"""Modules that a door offers as a whole: their functions are called with the name of the module before them."""


def entered(importer: str, imported: str, doors: set[str]) -> str | None:
    """The innermost package with a door that an import passes by; None if there is none."""
    passed = [door for door in doors if imported.startswith(f"{door}.") and imported not in doors]
    is_inside = any(f"{importer}.".startswith(f"{door}.") for door in passed)
    return None if is_inside else max(passed, key=len, default=None)


def test_packages_with_a_door_are_entered_by_it() -> None:
    """What other packages use of a package stands in its `__init__`; the rest is private to it."""
    modules = {module_name(path): tree for path, tree in trees().items()}
    doors = {
        module_name(path)
        for path in FILES
        if path.name == "__init__.py" and re.search(r"^__(getattr|all)__\b", path.read_text("utf-8"), re.M)
    }
    wrong = [
        f"{importer} imports {imported}: add the name to the door of {door}, or use what is there"
        for importer, tree in modules.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
        for imported in [f"{node.module}.{alias.name}" if f"{node.module}.{alias.name}" in modules else node.module]
        if (door := entered(importer, imported, doors)) and imported.removeprefix("demeanor.") not in MODULES_OF_DOORS
    ]
    assert not wrong, "\n".join(wrong)


def test_an_import_that_passes_by_a_door_is_found() -> None:
    """Inside of a package that has a door, and through a door inside of it, there is nothing to find."""
    doors = {"demeanor.store", "demeanor.store.runs"}
    assert entered("demeanor.web.site", "demeanor.store.runs.ledger", doors) == "demeanor.store.runs"
    assert entered("demeanor.store.reader", "demeanor.store.runs.ledger", doors) is None
    assert entered("demeanor.web.site", "demeanor.store.runs", doors) is None
    assert entered("demeanor.store.runs.reader", "demeanor.store.runs.ledger", doors) is None


def test_tests_have_the_path_of_their_module() -> None:
    """`tests/<package>/test_<module>.py`; a test of several modules stands in their package."""
    folders = {path.relative_to(PACKAGE) for path in PACKAGE.rglob("*") if path.is_dir()}
    own = {Path("journeys"), Path("golden"), Path("helpers"), Path("hostile")}
    strays = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "tests").rglob("test_*.py")
        if (folder := path.parent.relative_to(ROOT / "tests")) not in folders
        and folder != Path()
        and folder.parts[:1] not in {one.parts for one in own}
    ]
    assert not strays, f"move these tests to the package they test: {strays}"


def test_the_architecture_page_names_files_that_exist() -> None:
    """Every `path/file.py` and `package/` in the walk through the code."""
    text = (ROOT / "docs/architecture.md").read_text("utf-8")
    walk = text.partition("## The path of a trial")[2]
    named = re.findall(r"`([\w/]+(?:\.py|/))`", walk)
    assert len(named) > 25
    assert [name for name in named if not (PACKAGE / name).exists()] == []


def test_contributing_names_files_that_exist() -> None:
    """Every path in code style, with NAME or <name> for any; and every linked file."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    named = [name for name in re.findall(r"`([^`\s]+)`", text) if "/" in name or name.endswith((".md", ".toml"))]
    named += re.findall(r"\]\(([^)#]+)\)", text)
    assert len(named) > 40
    assert [name for name in named if not _exists(name)] == []


def test_a_path_that_does_not_exist_is_found() -> None:
    """The test above can fail."""
    assert _exists("src/demeanor/agents/recipes/NAME.py")
    assert _exists("core/values/ports.py")
    assert not _exists("src/demeanor/agents/recipes/no_such_agent.py")
    assert not _exists("src/demeanor/no_such_package/NAME.py")


def _exists(name: str) -> bool:
    """Whether there is such a path in the repository or in the package; NAME and <name> stand for any name."""
    pattern = re.sub(r"NAME|<\w+>", "*", name).rstrip("/")
    return any(True for place in (ROOT, PACKAGE) for _ in place.glob(pattern))


def test_every_term_of_the_design_is_in_the_glossary() -> None:
    """Words that users meet in reports and messages; twenty at most, so that the page can be read at once."""
    text = (ROOT / "docs/glossary.md").read_text("utf-8")
    words = "subject cell trial attempt void rig rehearsal night news fingerprint capture cassette ledger incubation"
    missing = [word for word in [*words.split(), "key subject", "dialect", "canary"] if f"**{word}**" not in text]
    assert missing == []
    terms = re.findall(r"^\| (?:<a[^>]*></a>)?\*\*([\w ]+)\*\*", text, re.M)
    assert [term for term, times in Counter(terms).items() if times > 1] == []
    assert 17 <= len(terms) <= 20


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_the_first_use_of_a_glossary_term_is_linked(page: Path) -> None:
    """`make docs` does it; the glossary itself and the generated page of the command line are left out."""
    if page.name not in {"glossary.md", "cli.md"}:
        text = page.read_text("utf-8")
        known = terms((ROOT / "docs/glossary.md").read_text("utf-8"))
        assert len(known) > 15
        assert text == link_terms(text, known), "run make docs"


def test_terms_are_linked_in_prose_only_and_once() -> None:
    """Not in code, headings, tables and links; the longest term first; linking twice changes nothing."""
    page = "# Trial\n\n`trial`, [a trial](x.md), Trials of a key\nsubject, one trial.\n\n| trial |\n\n```\ntrial\n```\n"
    linked = link_terms(page, {"key subject": "key-subject", "subject": "subject", "trial": "trial"})
    assert "[a trial](x.md), [Trials] of a [key\nsubject], one trial." in linked
    assert linked.count("[") == 1 + 2 + 2
    assert linked.endswith("[Trials]: glossary.md#trial\n[key subject]: glossary.md#key-subject\n<!-- end -->\n")
    assert link_terms(linked, {"key subject": "key-subject", "subject": "subject", "trial": "trial"}) == linked


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_every_bracketed_term_has_an_address(page: Path) -> None:
    """A term in brackets that no definition links is shown with its brackets."""
    text = page.read_text("utf-8")
    linked = {words.lower() for words in re.findall(r"^\[([^\]]+)\]: ", text, re.M)}
    prose = re.sub(r"^```.*?^```|`[^`]*`", "", text, flags=re.S | re.M)
    used = {
        " ".join(words.split()).lower() for words in re.findall(r"(?<!!)\[([a-z][^\]\[]*)\](?![(\[:])", prose, re.I)
    }
    assert used - linked == set()


def test_a_term_is_linked_once_even_if_an_author_wrote_the_brackets() -> None:
    """`[[trial]]` would show its brackets."""
    page = "# A\n\nA [trial] ends.\n"
    once = link_terms(page, {"trial": "trial"})
    assert "A [trial] ends." in link_terms(once, {"trial": "trial"})
    for path in (ROOT / "docs").glob("*.md"):
        prose = re.sub(r"^```.*?^```|`[^`\n]+`", "", path.read_text("utf-8"), flags=re.S | re.M)
        assert not re.search(r"\[\[\w+\]\]", prose), path
