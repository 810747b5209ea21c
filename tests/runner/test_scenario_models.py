"""Scenario folders of Cline run unchanged: their keys select a provider, and one that can't run is skipped."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from demeanor.config.config import read_config
from demeanor.core.values.errors import BadInput
from demeanor.core.values.run_request import RunRequest
from demeanor.core.values.trial import Plan
from demeanor.gateway.models.live_model import LiveModel
from demeanor.runner.catalog import Catalog
from demeanor.runner.plan import plan_run
from tests.helpers.project import Project

COMPATIBLE = {
    "models": ["gpt-oss-120b"],
    "provider": "openai",
    "requiredEnv": ["OPENAI_COMPAT_API_KEY", "OPENAI_COMPAT_BASE_URL"],
    "auth": {"apiKeyEnv": "OPENAI_COMPAT_API_KEY", "baseUrlEnv": "OPENAI_COMPAT_BASE_URL"},
}
SCENARIOS: dict[str, dict[str, Any]] = {
    "01-create-file": {},
    "06-apply-patch": {"models": ["openai/gpt-5"]},
    "07-edit-gemini": {"models": ["google/gemini-2.5-flash"]},
    "08-openai-compat": COMPATIBLE,
}
CLINE = {"CLINE_API_KEY": "c-0123456789"}
OTHER = {"OPENAI_COMPAT_API_KEY": "o-0123456789", "OPENAI_COMPAT_BASE_URL": "http://127.0.0.1:9/v1"}


def write(folder: Path, scenarios: Mapping[str, Mapping[str, Any]] = SCENARIOS, config: str = "") -> Path:
    """A project with scenarios and the native agent."""
    for name, more in scenarios.items():
        (folder / "scenarios" / name).mkdir(parents=True)
        whole = {"name": name, "prompt": "Create hello.txt.", "expectedFiles": ["hello.txt"], **more}
        (folder / "scenarios" / name / "config.json").write_text(json.dumps(whole))
    (folder / "demeanor.toml").write_text(f'subjects = ["native:scripted"]\npaths = ["scenarios"]\n{config}')
    return folder


def planned(folder: Path, environ: Mapping[str, str], **request: Any) -> tuple[Catalog, Plan]:
    """The plan of all scenarios."""
    catalog = Catalog(config=read_config(folder), environ=environ)
    return catalog, plan_run(catalog, RunRequest(policy="all", **request), environ)


def shown(plan: Plan) -> dict[str, tuple[str, str | None]]:
    """Scenario → its subject, and why it is skipped."""
    return {cell.eval.name: (str(cell.subject), cell.skipped) for cell in plan.cells}


def test_a_scenario_whose_key_is_missing_is_skipped_and_blocks_no_other(tmp_path: Path):
    """Without any key, only the scenario that names no model runs, with the subject of the run."""
    assert shown(planned(write(tmp_path), {})[1]) == {
        "01-create-file": ("native:scripted", None),
        "06-apply-patch": (
            "native:openai/gpt-5",
            "needs the environment variable CLINE_API_KEY or OPENAI_API_KEY",
        ),
        "07-edit-gemini": (
            "native:gemini/gemini-2.5-flash",
            "needs the environment variable CLINE_API_KEY or GEMINI_API_KEY",
        ),
        "08-openai-compat": (
            "native:openai/gpt-oss-120b",
            "needs the environment variable OPENAI_COMPAT_API_KEY, OPENAI_COMPAT_BASE_URL",
        ),
    }


def test_the_keys_of_the_environment_select_a_provider(tmp_path: Path):
    """Cline's router serves models without a provider; `auth` names the key and the URL of another server."""
    catalog, plan = planned(write(tmp_path), {**CLINE, **OTHER})
    assert shown(plan) == {
        "01-create-file": ("native:scripted", None),
        "06-apply-patch": ("native:cline/openai/gpt-5", None),
        "07-edit-gemini": ("native:cline/google/gemini-2.5-flash", None),
        "08-openai-compat": ("native:openai-compat/gpt-oss-120b", None),
    }
    router, server = (catalog.models.model(cell.subject.model) for cell in plan.cells[1::2])
    assert isinstance(router, LiveModel)
    assert isinstance(server, LiveModel)
    assert (router.model, router.provider.base_url, router.provider.key) == (
        "openai/gpt-5",
        "https://api.cline.bot/api/v1",
        CLINE["CLINE_API_KEY"],
    )
    assert (server.model, server.provider.base_url, server.provider.key) == (
        "gpt-oss-120b",
        OTHER["OPENAI_COMPAT_BASE_URL"],
        OTHER["OPENAI_COMPAT_API_KEY"],
    )


def test_without_a_key_of_cline_the_name_tells_the_provider(tmp_path: Path):
    """`openai/…` and `google/…` are served by these providers if their keys are set."""
    found = shown(planned(write(tmp_path), {"OPENAI_API_KEY": "sk-1", "GEMINI_API_KEY": "g-1"})[1])
    assert found["06-apply-patch"] == ("native:openai/gpt-5", None)
    assert found["07-edit-gemini"] == ("native:gemini/gemini-2.5-flash", None)


def test_a_bare_name_is_the_same_subject_wherever_it_is_written(tmp_path: Path):
    """In `models`, in `subjects` or after `--model`, whatever keys there are; else one model has two columns."""
    model = "claude-sonnet-4-20250514"
    write(tmp_path, {"01-a": {"models": [model]}, "02-b": {}})
    for environ in (CLINE, {"ANTHROPIC_API_KEY": "a"}, {**CLINE, "ANTHROPIC_API_KEY": "a"}):
        assert {*shown(planned(tmp_path, environ, subjects=("native",), model=model)[1]).values()} == {
            (f"native:{model}", None)
        }
        assert shown(planned(tmp_path, environ)[1])["01-a"] == (f"native:{model}", None)


def test_a_model_of_the_configuration_is_preferred_and_a_subject_overrides_all(tmp_path: Path):
    """A project can serve the models of its scenarios itself."""
    (tmp_path / "hi.yaml").write_text("rules: [{say: Hi.}]")
    write(tmp_path, config='[models."openai/gpt-5"]\nscript = "hi.yaml"\n')
    assert shown(planned(tmp_path, CLINE)[1])["06-apply-patch"] == ("native:openai/gpt-5", None)
    named = shown(planned(tmp_path, {}, subjects=("native:scripted",))[1])
    assert named["06-apply-patch"] == ("native:scripted", None)


@pytest.mark.parametrize(
    ("scenario", "environ", "told"),
    [
        ({"provider": "opnai"}, {}, "config.json: provider: unknown provider 'opnai'\n  → did you mean 'openai'?"),
        (COMPATIBLE, {**OTHER, "OPENAI_COMPAT_BASE_URL": "nowhere"}, "config.json: auth.base_url: 'nowhere' is not"),
    ],
)
def test_an_error_names_the_file_that_contains_the_value(
    tmp_path: Path, scenario: dict[str, Any], environ: Mapping[str, str], told: str
):
    """Not the configuration of the project."""
    with pytest.raises(BadInput) as caught:
        planned(write(tmp_path, {"01-bad": scenario}), environ)
    assert f"01-bad/{told}" in str(caught.value)


def test_an_agent_that_asks_no_provider_needs_none_for_the_models_of_a_scenario(tmp_path: Path):
    """They are a choice of models: it gets their names as they are written."""
    agent = '[agents.mycline]\nadapter = "command"\ncommand = ["mycline", "--model", "{model}", "{prompt}"]\n'
    models = {"01-a": {"models": ["claude-sonnet-4-20250514"]}, "02-b": COMPATIBLE | {"requiredEnv": []}}
    write(tmp_path, models)
    config = tmp_path / "demeanor.toml"
    other = '[agents.other]\nadapter = "command"\ncommand = ["other", "{prompt}"]\n'
    config.write_text(config.read_text().replace("native:scripted", "mycline") + agent + other)
    for request in ({}, {"subjects": ("mycline",)}):
        assert shown(planned(tmp_path, {}, **request)[1]) == {
            "01-a": ("mycline:claude-sonnet-4-20250514", None),
            "02-b": ("mycline:gpt-oss-120b", None),
        }
    assert {*shown(planned(tmp_path, {}, subjects=("other",))[1]).values()} == {("other", None)}, "it gets no name"
    assert shown(planned(tmp_path, {}, subjects=("mycline", "native"), names=("01-a",))[1])["01-a"] == (
        "native:claude-sonnet-4-20250514",
        "needs the environment variable CLINE_API_KEY or ANTHROPIC_API_KEY",
    )


def test_scenarios_run_with_a_provider_of_their_own(project: Project):
    """The others run although two of them are skipped."""
    write(project.folder)
    ran = project.demeanor("run", "--policy", "all", "--trials", "1", "--sandbox", "none", **OTHER)
    assert "needs the environment variable CLINE_API_KEY or OPENAI_API_KEY" in ran.stdout, ran.stderr
    found = json.loads(next((project.folder / "results").glob("2*/report.json")).read_text())
    tallies = {cell["tally"]["subject"]: cell["tally"] for cell in found["cells"]}
    assert tallies["native:scripted"]["passed"] == 1
    assert tallies["native:openai-compat/gpt-oss-120b"]["voided"] == 1, "nothing listens at its URL"
