"""`demeanor help`: what is installed with Demeanor."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

import demeanor.agents.packages.installer
import demeanor.gateway.local.download  # noqa: F401 - both define errors
from demeanor.cli.docs_location import docs_folder, schemas
from demeanor.cli.registry import SUB_COMMANDS, all_commands, parser_of
from demeanor.commands.help.explanations import explanations
from demeanor.commands.help.pages import pages
from demeanor.core.values.errors import DemeanorError
from demeanor.core.values.exit_code import ExitCode
from demeanor.core.values.verdict import VoidCause
from tests.helpers.project import Project

DOCS = Path(__file__).resolve().parents[3] / "docs"


def errors(above: type[DemeanorError] = DemeanorError) -> set[type[DemeanorError]]:
    return {above}.union(*(errors(one) for one in above.__subclasses__()))


def test_every_error_void_cause_and_exit_code_is_explained() -> None:
    known = explanations()
    names = {one.slug for one in errors() if one is not DemeanorError}
    names |= {cause.value for cause in VoidCause} | {str(int(code)) for code in ExitCode}
    assert names == set(known)
    assert all(text.strip() for text in known.values())


@pytest.mark.parametrize("name", all_commands())
def test_help_texts_name_pages_that_can_be_read(name: str) -> None:
    """`demeanor help PAGE` works everywhere; a path such as docs/gateway.md exists in the repository only."""
    text = " ".join(parser_of(name).format_help().partition("examples:")[0].split())
    assert "docs/" not in text
    assert set(re.findall(r"demeanor help ([a-z-]+)", text)) <= {*pages(), *SUB_COMMANDS["help"]}


def test_every_page_can_be_read_and_has_no_marks_of_the_generator() -> None:
    assert set(pages()) == {path.stem for path in DOCS.glob("*.md")}
    for page in pages().values():
        assert "<!--" not in page.text
        assert "glossary.md#" not in page.text or page.name == "glossary"
        assert page.title


@pytest.mark.parametrize("name", schemas())
def test_every_schema_is_printed_and_valid(project: Project, name: str) -> None:
    printed = project.demeanor("help", "schema", name)
    jsonschema.Draft202012Validator.check_schema(json.loads(printed.stdout))


def test_pages_commands_and_searches(project: Project) -> None:
    assert project.demeanor("help", "ci").stdout.startswith("# CI\n")
    assert project.demeanor("help", "gate").stdout.startswith("usage: demeanor gate")
    assert "ci " in project.demeanor("help").stdout
    found = project.demeanor("help", "--search", "USER NAMESPACES")
    assert (found.returncode, "ci: " in found.stdout) == (0, True)
    assert project.demeanor("help", "--search", "no such words anywhere").returncode == 1
    assert "tried again: yes" in project.demeanor("help", "rate_limit").stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("help", "sandboxs"), "did you mean 'sandboxes'?"),
        (("help", "bad_input"), "did you mean 'bad-input'?"),
        (("help", "store exprot"), "did you mean 'store export'?"),
        (("help", "expalin"), "there is no help about 'expalin'\n  → list the pages: demeanor help\n"),
        (("help", "schema", "scenaro"), "did you mean 'scenario'?"),
    ],
)
def test_unknown_names_suggest_the_nearest(project: Project, words: tuple[str, ...], message: str) -> None:
    asked = project.demeanor(*words)
    assert (asked.returncode, message in asked.stderr) == (2, True), asked.stderr


def test_an_error_says_where_to_read_on(project: Project) -> None:
    project.write(demeanor_toml="trails = 3\n")
    failed = project.demeanor("validate", "--list")
    assert failed.stderr.endswith("\n  → more about this: demeanor help bad-input\n")
    assert project.demeanor("help", "bad-input").returncode == 0


def test_code_on_pages_is_left_alone() -> None:
    """Links to the glossary lose their brackets; lists and tables in examples keep them."""
    folder = docs_folder()
    for name, page in pages().items():
        written = (folder / f"{name}.md").read_text("utf-8")
        for block in re.findall(r"^```toml\n.*?^```", written, re.S | re.M):
            assert block in page.text, name
        assert "]: glossary.md" not in page.text
    assert 'subjects = ["native:scripted", "mine"]' in pages()["configuration"].text
    assert "(default `[0]`)" in pages()["agents"].text
    assert "`RUN_EVALS=1 pytest evals/`" in pages()["define"].text
