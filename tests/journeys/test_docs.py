"""The examples in the docs work when they are pasted."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from demeanor.agents.registry import make_agent
from demeanor.commands.fix.artifacts import FIXES
from demeanor.config.config import read_config
from demeanor.core.values import errors
from demeanor.gateway.script import load_script
from demeanor.plugins.lab.fork.workflow import FORKS
from demeanor.reports.prompt_coverage.report import FOLDER as COVER
from demeanor.results.ci_runs import DOWNLOADS
from demeanor.runner.selection import collect_evals
from demeanor.store.runs.judge_answers import FILE as ANSWERS
from demeanor.store.runs.run_dirs import REJUDGED
from tests.helpers.project import Project

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def paste(project: Project, page: str, *, before: str = "") -> str:
    """Run all bash blocks of a page, in order, in one shell; return what it prints."""
    script = "\n".join([before, *re.findall(r"```bash\n(.*?)```", (ROOT / "docs" / page).read_text(), re.S)])
    (project.folder / "bin").mkdir()
    (project.folder / "bin/demeanor").write_text(f'#!/bin/sh\nexec {sys.executable} -m demeanor "$@"\n')
    (project.folder / "bin/demeanor").chmod(0o755)
    env = {**project.env, "PATH": f"{project.folder}/bin:{project.env['PATH']}"}
    ran = subprocess.run(
        ["bash", "-euc", script], cwd=project.folder, env=env, capture_output=True, text=True, timeout=600, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_the_tutorial_works_when_pasted(project: Project):
    """All of its commands, in order."""
    printed = paste(project, "tutorial.md")
    assert "0 faulty" in printed
    assert "there is no 'notes.txt'" in printed
    assert "exit code 1" in printed
    assert "*  1  It changed no file." in printed
    assert printed.index("what_it_should_do is not written yet") < printed.index("ok     does_what_it_says")


PASTED = {
    "judges.md": "ok     asks_politely",
    "test-your-agent.md": "there is no 'notes.txt'",
    "users.md": "asks_for_the_colour",
}
"""Page → what is seen."""


@pytest.mark.parametrize("page", PASTED)
def test_the_examples_of_a_page_work_when_pasted(project: Project, page: str):
    """Into a project that `demeanor init` made, as the page says."""
    printed = paste(project, page, before="git init --quiet\ndemeanor init --ci none\n")
    assert PASTED[page] in printed
    assert "FAULT" not in printed


def test_every_page_with_bash_is_pasted():
    """test_docs_commands.py tests the commands of `console` blocks."""
    pages = {path.name for path in (ROOT / "docs").glob("*.md") if "```bash\n" in path.read_text()}
    assert pages == {*PASTED, "tutorial.md"}


SENTENCE = "A change is gated by its `ALWAYS_PASSES` evals, and by every eval that it adds or edits."
OTHERWISE = re.compile(r"[Oo]nly `?ALWAYS_PASSES`?[^.|]*block|`ALWAYS_PASSES`[^.|]*blocks? merge")


def test_what_gates_a_change_is_said_in_one_sentence():
    """On the page about it and the two first ones; no page says something else. test_gate.py shows that it is true."""
    pages = [path for path in PAGES if path.parent.name != "decisions"]
    texts = {path.name: re.sub(r"\[(\w+)\](?![(:])", r"\1", " ".join(path.read_text().split())) for path in pages}
    said = {name for name, text in texts.items() if SENTENCE in text}
    assert said == {"README.md", "index.md", "decide.md"}
    assert [name for name, text in texts.items() if name != "CHANGELOG.md" and OTHERWISE.search(text)] == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_whole_evals_in_the_docs_can_be_collected(tmp_path: Path, page: Path):
    """Python blocks that import `eval_test` are complete files; those of scripts are tested where they are pasted."""
    found = re.findall(r"^```python\n(from demeanor import [^\n]*eval_test\n.*?)^```", page.read_text(), re.S | re.M)
    blocks = [block for block in found if "@eval_test" in block]
    (tmp_path / "evals").mkdir()
    for number, block in enumerate(blocks):
        (tmp_path / f"evals/eval_{number}.py").write_text(block)
    assert len(collect_evals(read_config(tmp_path))) >= len(blocks)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_files_are_valid(page: Path):
    """Every link to a file of the repository."""
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_every_error_has_a_section():
    """The slug of an error is an anchor of the errors page."""
    page = (ROOT / "docs/errors.md").read_text()
    for name in vars(errors).values():
        if isinstance(name, type) and issubclass(name, errors.DemeanorError) and name is not errors.DemeanorError:
            assert f"\n## {name.slug}\n" in page, name


@pytest.mark.parametrize(
    "name",
    [
        *(
            "agents.md",
            "compare.md",
            "configuration.md",
            "decide.md",
            "extend.md",
            "fix.md",
            "from-cline.md",
            "from-gemini-cli.md",
        ),
        *("gateway.md", "models.md", "nightly.md", "sandboxes.md", "scale.md", "store.md", "test-your-agent.md"),
    ],
)
def test_configurations_in_the_docs_are_valid(tmp_path: Path, name: str):
    """Every TOML block is a valid configuration."""
    blocks = re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / name).read_text(), re.S)
    assert blocks
    (tmp_path / "prompts").mkdir()  # named by `reads`, which must exist
    for block in blocks:
        if block.startswith("# pyproject.toml"):  # another file, with our keys in [tool.demeanor]
            continue
        (tmp_path / "demeanor.toml").write_text(block)
        config = read_config(tmp_path)
        for agent, table in config.tables("agents").items():
            make_agent(agent, table.text("adapter", required=True), table)


def test_scripts_in_the_docs_can_be_loaded(tmp_path: Path):
    """The rules in YAML and the function in Python."""
    page = (ROOT / "docs/models.md").read_text()
    for kind, ending in (("yaml", "yaml"), ("python", "py")):
        (block,) = re.findall(rf"```{kind}\n(.*?)```", page, re.S)
        (tmp_path / f"script.{ending}").write_text(block)
        assert load_script(tmp_path / f"script.{ending}").notes


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_every_page_starts_with_its_purpose_and_a_command(page: Path):
    """A title, a sentence, and a command before the first section. The tutorial has them in its steps."""
    start = re.split(r"^## ", page.read_text(), maxsplit=1, flags=re.M)[0]
    title, _, rest = start.partition("\n\n")
    assert title.startswith("# "), page.name
    assert re.match(r"([A-Z*[]|`[^`])", rest), f"{page.name}: the first line is not a sentence"
    if page.name != "tutorial.md":
        assert re.search(r"^```(bash|console|python)$", start, re.M), f"{page.name}: no command at the start"


LISTED_ELSEWHERE = {DOWNLOADS, FIXES, FORKS, COVER, REJUDGED, ANSWERS, "trajectory.jsonl"}
"""What other commands than a run and a gate write, or only a run of an agent that tells what it does."""


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A folder of scenarios for an agent that does nothing, with a build command, after a gate and a run."""
    project = Project(tmp_path_factory.mktemp("smoke") / "project")
    scenario = '{"prompt": "Write hello.txt.", "expectedFiles": ["hello.txt"]}'
    names = ("01-create-file", "02-edit-file")
    project.write(**{f"evals__{name}__config_json": scenario for name in names})
    project.write(evals__eval_easy_py=EASY)
    project.write(demeanor_toml=IDLE)
    for words in (("gate", "--policy", "all"), ("run",)):
        done = project.demeanor(*words)
        assert done.returncode == 1, done.stderr
    return project


IDLE = """\
subjects = ["idle"]
sandbox = "none"
build = ["true"]
[agents.idle]
adapter = "command"
command = ["sh", "-c", "printf done; test ! -f a.txt || echo b >> a.txt", "{prompt}"]
"""
EASY = """\
from demeanor import USUALLY_PASSES, eval_test

@eval_test(USUALLY_PASSES, prompt="Say something.", files={"a.txt": "a"})
def fails_with_a_file(rig, result):
    assert rig.workspace["a.txt"].text == "b"
"""


def test_the_files_that_the_docs_list_exist(smoke: Project):
    """Neither is a file listed that no command writes, nor is one left out."""
    tree = re.search(r"```text\nresults/\n(.*?)```", (ROOT / "docs/store.md").read_text(), re.S)
    assert tree
    listed: set[str] = set()
    for line in tree[1].splitlines():
        names, _, about = line.lstrip("├└│─ ").partition("  ")
        listed |= {name.rstrip("/") for name in names.partition(" →")[0].split(", ")}
        listed |= set(re.findall(r"gate\.json|trajectory\.jsonl|workspace\.diff|EMPTY", about))
    results = smoke.folder / "results"
    written = {_shown(path.relative_to(results).parts) for path in results.rglob("*")}
    assert {name for name in listed if not name.startswith("2")} - LISTED_ELSEWHERE == written - {"", "a.txt"}
    assert listed >= LISTED_ELSEWHERE


def _shown(parts: tuple[str, ...]) -> str:
    """How the docs show a file or folder; empty if they have one line for all of its kind."""
    if len(parts) == 1:
        return "" if parts[0].startswith("2") else parts[0]
    if "." in parts[1] or parts[1] == "starts":
        return parts[1]
    return "<eval>/<subject>" if len(parts) <= 3 else re.sub(r"trial-\d", "trial-1", parts[-1])
