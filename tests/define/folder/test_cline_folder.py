"""`config.json` of a scenario folder: read unchanged, and strictly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from demeanor.core.values.checks import FileContains, FileExists
from demeanor.core.values.errors import BadInput
from demeanor.core.values.eval import ProviderChoice
from demeanor.core.values.policy import USUALLY_PASSES
from demeanor.define.folder.cline_folder import read_cline_folder

FULL = {
    "name": "Edit a file",
    "description": "Changes one setting.",
    "prompt": "In config.txt set debug to true.",
    "expectedFiles": ["config.txt", "log/out.txt"],
    "expectedContent": [{"file": "config.txt", "contains": "debug = true"}],
    "timeout": 180,
    "models": ["small", "large"],
    "provider": "openai",
    "requiredEnv": ["SOME_KEY"],
    "auth": {"apiKeyEnv": "SOME_KEY", "baseUrlEnv": "SOME_URL", "modelId": "large"},
}


def write(folder: Path, config: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    text = config if isinstance(config, str) else json.dumps(config)
    (folder / "config.json").write_text(text)
    return folder


def refused(folder: Path, config: object) -> BadInput:
    with pytest.raises(BadInput) as caught:
        read_cline_folder(write(folder, config))
    assert str(folder / "config.json") in str(caught.value)
    return caught.value


def test_every_field_is_read(tmp_path):
    """All fields of the format arrive in the eval."""
    found = read_cline_folder(write(tmp_path / "06-edit", FULL))
    assert (found.name, found.policy, found.description) == (
        "06-edit",
        USUALLY_PASSES,
        "Edit a file: Changes one setting.",
    )
    assert found.scenario.prompts == ("In config.txt set debug to true.",)
    assert found.checks == (
        FileExists(path="config.txt"),
        FileExists(path="log/out.txt"),
        FileContains(path="config.txt", text="debug = true"),
    )
    assert (found.scenario.timeout, found.models, found.scenario.requires_env) == (
        180,
        ("small", "large"),
        ("SOME_KEY",),
    )
    assert found.scenario.params == {}
    assert found.provider == ProviderChoice(
        where=tmp_path / "06-edit" / "config.json", name="openai", key_env="SOME_KEY", base_url_env="SOME_URL"
    )


def test_a_provider_without_models_has_the_model_of_auth_or_the_usual_one(tmp_path):
    """As Cline's runner does it."""
    own = read_cline_folder(write(tmp_path / "a", {"prompt": "Do it.", "auth": {"modelId": "large"}}))
    assert own.models == ("large",)
    usual = read_cline_folder(write(tmp_path / "b", {"prompt": "Do it.", "provider": "cline"}))
    assert usual.models == ("anthropic/claude-sonnet-4.5",)


def test_prompt_alone_is_enough(tmp_path):
    """Everything else is optional."""
    found = read_cline_folder(write(tmp_path / "a", {"prompt": "Do it."}))
    assert (found.checks, found.scenario.params, found.scenario.timeout) == ((), {}, None)


def test_template_beside_it_is_the_start(tmp_path):
    """`template/` is the starting workspace."""
    folder = write(tmp_path / "a", {"prompt": "Do it."})
    (folder / "template").mkdir()
    assert read_cline_folder(folder).scenario.template == (folder / "template").resolve()


def test_template_link_out_is_refused(tmp_path):
    """A template may not bring in what lies outside."""
    folder = write(tmp_path / "a", {"prompt": "Do it."})
    (folder / "template").mkdir()
    (folder / "template" / "link").symlink_to("/etc/passwd")
    with pytest.raises(BadInput, match="points outside the template"):
        read_cline_folder(folder)


def test_byte_order_mark_does_no_harm(tmp_path):
    """Editors on Windows write one."""
    folder = write(tmp_path / "a", {})
    (folder / "config.json").write_bytes(b'\xef\xbb\xbf{"prompt": "Do it."}')
    assert read_cline_folder(folder).name == "a"


@pytest.mark.parametrize(
    ("change", "key", "message"),
    [
        ({"promt": "x"}, "promt", "did you mean 'prompt'"),
        ({"expected_files": []}, "expected_files", "did you mean 'expectedFiles'"),
        ({"prompt": ""}, "prompt", "is empty"),
        ({"prompt": 3}, "prompt", "expected a string, found a whole number (3)"),
        ({"prompt": None}, "prompt", "found nothing"),
        ({"name": ["x"]}, "name", "found a list"),
        ({"timeout": "120"}, "timeout", "expected a number"),
        ({"timeout": 0}, "timeout", "of at least 0.001"),
        ({"timeout": True}, "timeout", "expected a number"),
        ({"models": "small"}, "models", "expected a list"),
        ({"models": [1]}, "models[0]", "expected a string"),
        ({"expectedFiles": ["../x"]}, "expectedFiles[0]", "leads out of the workspace"),
        ({"expectedFiles": ["a", "/etc/passwd"]}, "expectedFiles[1]", "is absolute"),
        ({"expectedContent": {"file": "a"}}, "expectedContent", "expected a list"),
        ({"expectedContent": [{"file": "a"}]}, "expectedContent[0].contains", "is required"),
        ({"expectedContent": [{"file": "a", "contain": "x"}]}, "expectedContent[0].contains", "instead of 'contain'"),
        ({"expectedContent": [{"file": "../a", "contains": "x"}]}, "expectedContent[0].file", "leads out"),
        ({"expectedContent": [{"file": "a", "contains": ""}]}, "expectedContent[0].contains", "is empty"),
        ({"expectedContent": [{"file": "a", "contains": "x", "not": True}]}, "expectedContent[0].not", "unknown key"),
        ({"auth": {"apiKey": "x"}}, "auth.apiKey", "did you mean 'apiKeyEnv'"),
        ({"auth": "x"}, "auth", "expected a table"),
    ],
)
def test_mistake_is_refused_with_file_key_and_remedy(tmp_path, change, key, message):
    """Each wrong value is one clear error."""
    error = refused(tmp_path / "a", {**FULL, **change})
    assert error.key == key
    assert message in str(error)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{\n  "prompt": x,\n}', "config.json:2:13: is not valid JSON"),
        ("", "config.json:1:1: is not valid JSON"),
        ("[" * 100_000, "can't be read"),
        ("[]", "expected a table, found a list"),
        ('{"prompt": "a", "prompt": "b"}', "prompt: the key is duplicated"),
    ],
)
def test_malformed_json_is_refused_with_its_place(tmp_path, text, message):
    """A syntax error names line and column."""
    assert message in str(refused(tmp_path / "a", text))


def test_file_that_is_no_text_is_refused(tmp_path):
    """Bytes that are no UTF-8 are a clear error too."""
    folder = write(tmp_path / "a", {})
    (folder / "config.json").write_bytes(b'{"prompt": "\xff"}')
    with pytest.raises(BadInput, match="is not UTF-8 text"):
        read_cline_folder(folder)


def test_missing_prompt_points_to_the_misspelt_one(tmp_path):
    """A key that is required and nearly there is named."""
    assert "instead of 'promt'" in str(refused(tmp_path / "a", {"promt": "x"}))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(config=st.dictionaries(st.sampled_from([*FULL, "other"]), JSON) | JSON)
def test_any_json_is_an_eval_or_a_clear_error(tmp_path_factory, config):
    """Whatever stands in a config.json, nothing but BadInput comes out besides an eval."""
    folder = write(tmp_path_factory.getbasetemp() / "any", config)
    try:
        found = read_cline_folder(folder)
    except BadInput:
        return
    assert found.scenario.prompts[0].strip()
