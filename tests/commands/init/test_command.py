"""`demeanor init`: what it writes for an agent, a model and a CI service."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import jsonschema
import pytest
import yaml

from tests.helpers.installed import COMMIT, FROM_GIT, installed_in
from tests.helpers.project import Project

SCHEMAS = {
    "github": ("vendor.github-workflows", ".github/workflows/evals-*.yml"),
    "gitlab": ("vendor.gitlab-ci", ".gitlab/evals.yml"),
    "buildkite": ("vendor.buildkite", ".buildkite/evals.yml"),
}


@pytest.mark.parametrize("options", [(), ("--agent", "claude-code", "--model", "anthropic/claude-sonnet-4-5")])
@pytest.mark.parametrize("service", SCHEMAS)
def test_workflows_are_valid(project: Project, service: str, options: tuple[str, ...]) -> None:
    """Each is checked with the schema that its service publishes."""
    assert project.demeanor("init", "--ci", service, *options).returncode == 0
    schema, pattern = SCHEMAS[service]
    files = [str(path) for path in sorted(project.folder.glob(pattern))]
    checker = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *files]
    checked = subprocess.run(checker, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    text = "".join(Path(file).read_text() for file in files)
    assert not re.search(r"^\s*(- |# )?@\w+$", text, re.M)
    assert ("demeanor agents install claude-code" in text) == bool(options)
    assert ("demeanor models fetch" in text) == (not options)
    assert ("ANTHROPIC_API_KEY" in text) == bool(options)


def test_the_action_is_valid() -> None:
    action = Path(__file__).resolve().parents[3] / "action.yml"
    checker = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-actions", str(action)]
    checked = subprocess.run(checker, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_gitlab_jobs_have_node_for_agents_and_share_the_history(project: Project) -> None:
    """The image has no Node.js; its user is root, and agents run as another one; protected branches have own caches."""
    for folder, options, node in (("a", (), False), ("b", ("--agent", "codex", "--model", "openai/gpt-5-mini"), True)):
        project.demeanor("init", folder, "--ci", "gitlab", *options)
        jobs = yaml.safe_load((project.folder / folder / ".gitlab/evals.yml").read_text())
        assert any("nodejs npm" in line for line in jobs[".evals"]["before_script"]) == node
        assert jobs[".evals"]["variables"]["DEMEANOR_AGENTS"] == "/opt/demeanor/agents"
        assert jobs[".evals"]["cache"]["unprotect"] is jobs["evals-gate"]["cache"]["unprotect"] is True


def test_keys_are_passed_by_name_to_the_steps_that_run_agents(project: Project) -> None:
    """Not to pip, nor to anything else that the job runs."""
    project.demeanor("init", "--agent", "codex", "--model", "openai/gpt-5-mini")
    for path in (project.folder / ".github/workflows").iterdir():
        jobs = yaml.safe_load(path.read_text())["jobs"]
        with_key = [name for name, job in jobs.items() if "OPENAI_API_KEY" in str(job)]
        assert with_key == [name for name in ("shards", "evals") if name in jobs]
        for name in with_key:
            (step,) = (step for step in jobs[name]["steps"] if "secrets." in str(step))
            assert step["env"]["OPENAI_API_KEY"] == "${{ secrets.OPENAI_API_KEY }}"
            assert {*step["env"]} <= {"OPENAI_API_KEY", "SHARD", "EVALS_SHARDS"}
            assert "demeanor gate" in step["run"] or "demeanor nightly" in step["run"]


def test_the_configuration_names_the_subject(project: Project) -> None:
    project.demeanor("init", "--agent", "codex", "--model", "openai/gpt-5-mini", "--ci", "none")
    assert tomllib.loads((project.folder / "demeanor.toml").read_text())["subjects"] == ["codex:openai/gpt-5-mini"]
    assert not (project.folder / ".github").exists()
    planned = project.demeanor("run", "--policy", "all", "--dry-run", OPENAI_API_KEY="sk-test-0123456789")
    assert "codex:openai/gpt-5-mini" in planned.stdout, planned.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--agent", "claude"),
            "unknown agent 'claude'\n  → did you mean 'claude-code'?\n  → or the command that starts your own",
        ),
        (("--model", "mistral-5"), "--model: 'mistral-5' is not PROVIDER/MODEL"),
        (("--model", "anthropc/x"), "unknown provider 'anthropc'\n  → did you mean 'anthropic'?"),
    ],
)
def test_wrong_options_write_nothing(project: Project, options: tuple[str, ...], message: str) -> None:
    made = project.demeanor("init", *options)
    assert (made.returncode, message in made.stderr) == (2, True), made.stderr
    assert list(project.folder.iterdir()) == []


def test_files_name_a_schema_that_is_there_and_fits(project: Project) -> None:
    """By a path relative to the file, as editors resolve it."""
    project.demeanor("init", "--ci", "none")
    for path in (project.folder / "demeanor.toml", project.folder / "evals/create-file/scenario.toml"):
        text = path.read_text()
        directive, _, target = text.splitlines()[0].partition(" ")
        assert directive == "#:schema"
        schema = json.loads((path.parent / target).read_text())
        assert schema["title"] == path.name
        jsonschema.Draft202012Validator(schema).validate(tomllib.loads(text))


def test_schemas_of_another_version_are_renewed(project: Project) -> None:
    """Everything else stays as it is."""
    project.demeanor("init", "--ci", "none")
    schema, config = project.folder / ".demeanor/scenario.schema.json", project.folder / "demeanor.toml"
    fresh = schema.read_text()
    schema.write_text("{}")
    config.write_text("trials = 5\n")
    printed = project.demeanor("init", "--ci", "none").stdout
    assert f"updated  {schema.relative_to(project.folder)}" in printed
    assert "kept     .demeanor/demeanor.schema.json" in printed
    assert (schema.read_text(), config.read_text()) == (fresh, "trials = 5\n")


def test_results_are_ignored_by_git(project: Project) -> None:
    (project.folder / ".gitignore").write_text("node_modules")
    assert "updated  .gitignore" in project.demeanor("init").stdout
    assert (project.folder / ".gitignore").read_text() == "node_modules\nresults/\nevals/**/logs/\n"
    assert ".gitignore" not in project.demeanor("init").stdout
    assert (project.folder / ".gitignore").read_text() == "node_modules\nresults/\nevals/**/logs/\n"


def test_a_folder_that_can_not_be_written_is_named_and_stays_empty(project: Project) -> None:
    (project.folder / "evals").write_text("a file where a folder is needed")
    made = project.demeanor("init")
    assert made.returncode == 2
    assert "evals/eval_notes.py: can't be written" in made.stderr
    assert "Traceback" not in made.stderr
    assert [path.name for path in project.folder.iterdir()] == ["evals"]


def answered(project: Project, answers: bytes) -> str:
    """What `demeanor init` prints in a terminal to a person who gives these answers."""
    master, slave = pty.openpty()
    os.write(master, answers)
    with subprocess.Popen(
        project.command("init"), cwd=project.folder, env=project.env, stdin=slave, stdout=slave, stderr=slave
    ) as process:
        assert process.wait(timeout=120) == 0
    os.close(slave)
    printed = os.read(master, 100_000).decode().replace("\r\n", "\n")
    os.close(master)
    return printed


def test_a_person_is_asked(project: Project) -> None:
    """In a terminal: one question each, with a default."""
    printed = answered(project, b"claude-code\nanthropic/claude-sonnet-4-5\nnone\n")
    for question in ("Which agent do you test? [native]", "Which model", "Which CI service: github,"):
        assert question in printed
    assert 'subjects = ["claude-code:anthropic/claude-sonnet-4-5"]' in (project.folder / "demeanor.toml").read_text()
    assert not (project.folder / ".github").exists()


def test_a_wrong_answer_is_explained_and_the_question_asked_again(project: Project) -> None:
    """The names to choose from are shown, and nothing has to be typed twice because of one slip."""
    printed = answered(project, b"claude\nclaude-code\nmistral-5\nopenai/gpt-5-mini\nsvn\ngitlab\n")
    assert "aider, claude-code, " in printed
    assert "unknown agent 'claude'\n  → did you mean 'claude-code'?\n" in printed
    assert "'mistral-5' is not PROVIDER/MODEL\n  → such as openai/gpt-5-mini" in printed
    assert "unknown CI service 'svn'" in printed
    assert [printed.count(f"Which {what}") for what in ("agent", "model", "CI")] == [2, 2, 2]
    assert 'subjects = ["claude-code:openai/gpt-5-mini"]' in (project.folder / "demeanor.toml").read_text()
    assert (project.folder / ".gitlab/evals.yml").exists()


def test_the_end_of_input_takes_the_defaults(project: Project) -> None:
    """Ctrl-D after a wrong answer does not ask for ever."""
    assert "created  .github/workflows/evals-nightly.yml" in answered(project, b"claude\n\x04\x04\x04")


@pytest.mark.parametrize(
    ("options", "steps"),
    [
        (["--ci", "none"], ["demeanor validate", "demeanor run"]),
        (
            ["--agent", "codex", "--model", "openai/gpt-5-mini", "--ci", "none"],
            ["demeanor agents install codex", "export OPENAI_API_KEY=…", "demeanor validate",
             "demeanor run"],
        ),
        (
            ["sub", "--agent", "goose", "--ci", "none"],
            ["cd sub", "pip install 'xllamacpp>=2026.10'", "demeanor models fetch", "demeanor agents install goose",
             "demeanor validate", "demeanor run"],
        ),
    ],
)  # fmt: skip
def test_next_steps_are_those_of_the_choice(project: Project, options: list[str], steps: list[str]) -> None:
    """Whatever has to be installed or set before the first run, in order, in lines of at most 80 columns."""
    path = f"{Path(sys.executable).parent}:{project.env['PATH']}"
    lines = project.demeanor("init", *options, PATH=path).stdout.partition("\nnext:\n")[2].splitlines()
    assert [line[2:].partition("   ")[0] for line in lines] == steps
    assert max(map(len, lines)) <= 80


def test_a_key_that_is_set_is_not_asked_for(project: Project) -> None:
    printed = project.demeanor("init", "--model", "openai/gpt-5-mini", OPENAI_API_KEY="sk-test-0123456789").stdout
    assert "export" not in printed


@pytest.mark.parametrize(
    ("service", "told"),
    [
        ("github", "In CI: add the secret OPENAI_API_KEY to the repository, and commit the workflows."),
        ("gitlab", "In CI: add the variable OPENAI_API_KEY, and include .gitlab/evals.yml in .gitlab-ci.yml."),
        ("buildkite", "In CI: make OPENAI_API_KEY available, and upload .buildkite/evals.yml in your pipeline."),
    ],
)
def test_what_is_left_to_do_in_ci_is_told(project: Project, service: str, told: str) -> None:
    printed = project.demeanor("init", "--model", "openai/gpt-5-mini", "--ci", service).stdout
    assert f"\n{told}\n" in printed
    assert "demeanor help ci" in printed


PINNED = f"demeanor @ git+https://git.example/acme/demeanor.git@{COMMIT}"


@pytest.mark.parametrize("service", SCHEMAS)
def test_the_source_of_demeanor_is_pinned_in_ci(project: Project, service: str) -> None:
    """In one line of each file, from which every job installs."""
    python_path = str(installed_in(project.folder.parent / "notes", FROM_GIT))
    printed = project.demeanor("init", "--ci", service, "--model", "openai/gpt-5-mini", PYTHONPATH=python_path).stdout
    assert "DEMEANOR_PACKAGE" not in printed
    for path in project.folder.glob(SCHEMAS[service][1]):
        assert path.read_text().count(PINNED) == 1
        installs = [line for line in path.read_text().splitlines() if "pip install " in line]
        assert installs
        assert all('pip install "$' in line and "{DEMEANOR_PACKAGE:?" in line for line in installs)


def test_a_source_that_other_machines_lack_is_filled_in_by_a_person(project: Project) -> None:
    """One marked line, which `init` and `doctor` name until it is filled in."""
    wheel = {"url": "file:///home/ann/demeanor.whl", "archive_info": {}}
    env = {"PYTHONPATH": str(installed_in(project.folder.parent / "notes", wheel))}
    printed = project.demeanor("init", "--ci", "gitlab", **env).stdout
    assert (
        "because other machines can't install Demeanor from /home/ann/demeanor.whl:\n  .gitlab/evals.yml:7\n" in printed
    )
    path = project.folder / ".gitlab/evals.yml"
    (line,) = (line for line in path.read_text().splitlines() if "FILL IN" in line)
    assert line.startswith(
        '    DEMEANOR_PACKAGE: "" # FILL IN what pip installs, such as demeanor[local] @ git+https://'
    )
    (item,) = ci_items(project, **env)
    assert item["state"] == "warning"
    assert item["detail"] == ".gitlab/evals.yml:7: DEMEANOR_PACKAGE is empty, so its jobs fail"
    assert item["remedy"] == "write what pip installs, such as demeanor[local] @ git+https://HOST/OWNER/demeanor@COMMIT"
    path.write_text(path.read_text().replace('DEMEANOR_PACKAGE: ""', f'DEMEANOR_PACKAGE: "{PINNED}"'))
    assert ci_items(project, **env) == []


def ci_items(project: Project, **env: str) -> list[dict[str, str]]:
    """What `doctor` says about the project's CI files."""
    items = json.loads(project.demeanor("doctor", "--sandbox", "none", "--json", **env).stdout)
    return [item for item in items if item["name"] == "ci"]


def test_a_smoke_workflow_runs_all_evals_once_after_a_merge(project: Project) -> None:
    """With Cline's three models, one key, and only if what it is built from has changed."""
    made = project.demeanor("init", "--agent", "cline", "--smoke")
    assert "export CLINE_API_KEY=…" in made.stdout
    config = (project.folder / "demeanor.toml").read_text()
    assert (
        'subjects = ["cline:claude-sonnet-4-20250514", "cline:gpt-4o", "cline:gemini-2.5-pro-preview-06-05"]' in config
    )
    flow = yaml.safe_load((project.folder / ".github/workflows/evals-smoke.yml").read_text())
    assert "src/core/**" in flow[True]["push"]["paths"]
    steps = {step["run"].strip(): step for step in flow["jobs"]["evals"]["steps"] if "run" in step}
    env = steps["demeanor run --trials 1 --junit results/junit.xml --results results"]["env"]
    assert env == {"RUN_EVALS": "1", "CLINE_API_KEY": "${{ secrets.CLINE_API_KEY }}"}
    assert "--smoke: the workflow is one of GitHub" in project.demeanor("init", "--smoke", "--ci", "gitlab").stderr


def test_smoke_scenarios_that_are_there_are_run_where_they_are(project: Project) -> None:
    """Without other evals, and with results where their document looks for them; CI keeps its own folder."""
    scenario = '{"prompt": "Create a.txt.", "expectedFiles": ["a.txt"]}'
    project.write(**{"evals__smoke-tests__scenarios__01-create__config_json": scenario})
    made = project.demeanor("init", "--agent", "cline", "--smoke")
    assert (made.returncode, "eval_notes.py" in made.stdout) == (0, False), made.stderr
    config = tomllib.loads((project.folder / "demeanor.toml").read_text())
    assert config["paths"] == ["evals/smoke-tests/scenarios"]
    assert config["results"] == "evals/smoke-tests/results"
    assert "3 cells, 3 trials" in project.demeanor("run", "--trials", "1", "--dry-run", CLINE_API_KEY="c").stdout
    for name in ("smoke", "nightly", "pull-request"):
        workflow = (project.folder / f".github/workflows/evals-{name}.yml").read_text()
        assert "--junit results/junit.xml --results results" in workflow


TALKS = """\
import json, os, sys, urllib.request
url = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1") + "/chat/completions"
tools = [{"type": "function", "function": {"name": "write_file", "parameters": {"type": "object"}}}]
asked = {"model": "any", "messages": [{"role": "user", "content": sys.argv[1]}], "tools": tools}
key = {"content-type": "application/json", "authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
answer = json.load(urllib.request.urlopen(urllib.request.Request(url, json.dumps(asked).encode(), key)))
print(answer["choices"][0]["message"]["content"])
"""


def test_the_evals_of_an_agent_of_ones_own_work_with_a_plain_command(project: Project) -> None:
    """It calls no model, so they ask about files alone, and nothing has to be filled in."""
    project.write(saves_sh="echo 'buy milk' > notes.txt\n")
    made = project.demeanor("init", "--agent", "sh saves.sh", "--ci", "none")
    assert "it called no model" in made.stdout, made.stderr
    config = tomllib.loads((project.folder / "demeanor.toml").read_text())
    assert config["subjects"] == ["saves"]
    assert config["agents"]["saves"] == {"adapter": "command", "command": ["sh", "./saves.sh", "{prompt}"]}
    ran = project.demeanor("run", "evals/eval_notes.py", "--trials", "1")
    assert ran.returncode == 0, ran.stdout
    again = project.demeanor("init", "--agent", "sh saves.sh", "--ci", "none").stdout
    assert "add your agent to demeanor.toml:\n\n[agents.saves]\n" in again
    refused = project.demeanor("init", "other", "--agent", "sh -c :", "--model", "openai/gpt-5-mini")
    assert "--model: mine was not seen to call a model" in refused.stderr


def test_the_api_of_an_agent_is_found_by_starting_it(project: Project) -> None:
    """Then its evals ask about calls, too, and the next step shows what else it can do."""
    project.write(talker_py=TALKS)
    made = project.demeanor("init", "--agent", f"{sys.executable} talker.py {{prompt}}", "--smoke")
    config = tomllib.loads((project.folder / "demeanor.toml").read_text())["agents"]["talker"]
    assert (config["dialect"], config["token_env"]) == ("openai-chat", ["OPENAI_API_KEY"]), made.stdout
    assert "OPENAI_BASE_URL" in config["base_url_env"]
    assert "demeanor agents check talker" in made.stdout
    assert 'rig.calls.of_kind("edit")' in (project.folder / "evals/eval_notes.py").read_text()
    assert '- "talker.py"' in (project.folder / ".github/workflows/evals-smoke.yml").read_text()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("./absent.sh {prompt}", "/absent.sh does not exist"),
        ("absent-program run", "--agent: 'absent-program' is not on PATH"),
        ("sh 'open", "--agent: \"sh 'open\" can't be split into words"),
    ],
)
def test_a_command_that_can_not_start_writes_nothing(project: Project, command: str, message: str) -> None:
    made = project.demeanor("init", "--agent", command)
    assert (made.returncode, message in made.stderr) == (2, True), made.stderr
    assert list(project.folder.iterdir()) == []


def test_an_agent_that_breaks_is_told_so(project: Project) -> None:
    """Not that it called no model."""
    shown = project.demeanor("init", "--agent", "sh absent.sh", "--ci", "none").stdout
    assert "When it was tried, the agent made no model request: it ended with exit code" in shown


@pytest.mark.parametrize(
    "script",
    [
        "echo 'could not resolve api.anthropic.com' >&2; exit 1\n",
        "getent hosts api.anthropic.com\n",
    ],
    ids=["named", "silent"],
)
def test_an_agent_that_ignores_its_base_url_is_told_which_variable_to_read(project: Project, script: str) -> None:
    """By the host that it names when it finds no network, or that it looks up in the sandbox."""
    project.write(stubborn_sh=script)
    project.demeanor("init", "--agent", "sh stubborn.sh", "--ci", "none")
    written = (project.folder / "demeanor.toml").read_text()
    assert "# It asked for api.anthropic.com itself: let it read its base URL from ANTHROPIC_BASE_URL." in written
