"""The agents and models of a configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from demeanor.config.config import Config, read_config
from demeanor.core.values.errors import UnknownName, UsageError
from demeanor.core.values.subject import Subject
from demeanor.runner.catalog import NATIVE, Catalog

AGENTS = """\
[agents.tool]
adapter = "command"
command = ["true", "{prompt}"]
"""


def catalog(folder: Path, text: str = "", *, replaying: bool = False) -> Catalog:
    """The catalog of a project with this configuration."""
    (folder / "demeanor.toml").write_text(text)
    return Catalog(config=read_config(folder), environ={"HOME": str(folder)}, replaying=replaying)


def test_it_has_the_native_agent_and_those_of_the_configuration(tmp_path: Path):
    """Each is created once."""
    found = catalog(tmp_path, AGENTS)
    assert list(found.agents()) == [NATIVE, "tool"]
    assert found.agent("tool") is found.of(Subject(agent="tool", model=""))


def test_an_unknown_agent_is_an_error_with_a_suggestion(tmp_path: Path):
    """Before anything runs."""
    with pytest.raises(UnknownName, match="did you mean 'tool'"):
        catalog(tmp_path, AGENTS).agent("tol")


def test_a_subject_needs_a_model_only_if_its_agent_does(tmp_path: Path):
    """An agent that does not use the gateway has none."""
    found = catalog(tmp_path, AGENTS)
    assert str(found.subject("native:scripted")) == "native:scripted"
    assert found.subject("tool").model == ""
    with pytest.raises(UsageError, match="subject 'native' has no model\n  → write native:MODEL"):
        found.subject("native")


def test_an_unknown_model_is_an_error_unless_cassettes_answer(tmp_path: Path):
    """A replay needs no model."""
    with pytest.raises(UsageError, match="no-such-model"):
        catalog(tmp_path).subject("native:no-such-model")
    assert catalog(tmp_path, replaying=True).subject("native:no-such-model").model == "no-such-model"


def test_the_model_of_a_request_replaces_that_of_the_subject(tmp_path: Path):
    """`--model` applies to every subject."""
    found = catalog(tmp_path).subject("native:other", "scripted")
    assert (found.agent, found.model) == ("native", "scripted")


def test_without_subjects_the_native_agent_is_tested(tmp_path: Path):
    """With `scripted`, because there is no local model in an empty home."""
    assert catalog(tmp_path, 'subjects = ["native:x"]').subjects == ("native:x",)
    found = catalog(tmp_path)
    assert found.no_local_model is not None
    assert found.subjects == ("native:scripted",)


def test_agents_that_only_an_engine_can_start_are_known_but_not_listed(tmp_path: Path):
    """Unless the configuration has an agent of the same name."""
    found = Catalog(config=Config(root=tmp_path), environ={})
    assert "oracle" not in found.agents()
    assert found.agent("oracle").dialect is None
    assert found.only_for_tasks == {"oracle"}
    own = catalog(tmp_path, '[agents.oracle]\nadapter = "command"\ncommand = ["true", "{prompt}"]\n')
    assert own.agent("oracle").name == "oracle"
    assert own.only_for_tasks == set()


def test_models_listed_as_also_must_exist(tmp_path: Path):
    """A side model is checked before anything runs, and is part of the subject's settings."""
    table = "[agents.native]\nadapter = 'native'\nalso = ['{}']\n[models.small]\nscript = 'small.yaml'\n"
    (tmp_path / "small.yaml").write_text("rules:\n- say: Hi.\n")
    found = catalog(tmp_path, table.format("small")).subject("native:scripted")
    assert found.settings["also"] == ["small"]
    with pytest.raises(UsageError, match="unknown model 'smal'"):
        catalog(tmp_path, table.format("smal")).subject("native:scripted")
