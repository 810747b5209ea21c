"""Models from the configuration: each mistake is one clear error, before anything costs money."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from demeanor.config.table import Table
from demeanor.core.values.errors import UsageError
from demeanor.gateway.models.live_model import LiveModel
from demeanor.gateway.models.prices import Price
from demeanor.gateway.models.registry import ModelRegistry
from demeanor.gateway.script import ScriptedModel

ACME = {"base_url": "http://127.0.0.1:9/v1", "dialect": "openai-chat"}
KEYS = {"OPENAI_API_KEY": "sk-1"}


def registry(
    root: Path, models: Mapping[str, Any], providers: Mapping[str, Any] | None = None, environ: Mapping[str, str] = KEYS
) -> ModelRegistry:
    """The models of a configuration."""
    tables = [
        {name: Table(data, where="demeanor.toml", prefix=f"{kind}.{name}.") for name, data in found.items()}
        for kind, found in (("models", models), ("providers", providers or {}))
    ]
    return ModelRegistry(tables[0], tables[1], root=root, environ=environ)


def test_scripted_always_exists(tmp_path: Path) -> None:
    """It needs no configuration."""
    models = registry(tmp_path, {})
    assert models.names() == ("scripted",)
    assert models.model("scripted").notes == ("scripted: rules stand in for a model; it is not a language model",)


def test_a_script_is_a_model(tmp_path: Path) -> None:
    """The path is relative to the configuration; a script can have a price."""
    (tmp_path / "hi.yaml").write_text("rules: [{say: Hi.}]")
    model = registry(tmp_path, {"hi": {"script": "hi.yaml", "price": {"input": 1, "output": 2}}}).model("hi")
    assert isinstance(model, ScriptedModel)
    assert model.price == Price(input=1.0, output=2.0)


def test_a_well_known_provider_has_defaults(tmp_path: Path) -> None:
    """Its name is enough."""
    model = registry(tmp_path, {"gpt": {"provider": "openai", "model": "gpt-x"}}).model("gpt")
    assert isinstance(model, LiveModel)
    assert (model.model, model.price, model.provider.key) == ("gpt-x", None, "sk-1")
    assert [dialect.name for dialect in model.provider.dialects] == ["openai-chat", "openai-responses"]
    assert str(model.provider.url("/v1/chat/completions")) == "https://api.openai.com/v1/chat/completions"


def test_a_price_is_configured_or_listed(tmp_path: Path) -> None:
    """The configuration overrides the price list; the registry tells whether the list was used."""
    own = {"input": 1, "output": 2}
    models = registry(
        tmp_path,
        {"own": {"provider": "openai", "model": "gpt-5", "price": own}, "openai/gpt-4o": {"price": own}},
    )
    assert models.model("own").price == models.model("openai/gpt-4o").price == Price(input=1.0, output=2.0)
    assert models.price_list == ""
    listed = models.model("openai/gpt-5").price
    assert listed is not None
    assert listed.output > listed.input > 0
    assert models.price_list.startswith("genai-prices ")


def test_a_price_alone_makes_a_table_of_a_provider_model_complete(tmp_path: Path) -> None:
    """The name says the provider and the model; a name without a provider does not."""
    table = {"price": {"input": 1, "output": 2}}
    model = registry(tmp_path, {"openai/gpt-x": table}).model("openai/gpt-x")
    assert isinstance(model, LiveModel)
    assert (model.provider.name, model.model) == ("openai", "gpt-x")
    with pytest.raises(UsageError, match=r"models\.gpt\.provider: set either a provider or a script"):
        registry(tmp_path, {"gpt": table}).model("gpt")


def test_models_of_one_provider_share_it(tmp_path: Path) -> None:
    """They share its rate limits; a self-hosted provider may need no key."""
    models = registry(
        tmp_path, {"a": {"provider": "acme"}, "b": {"provider": "acme"}}, {"acme": {**ACME, "concurrency": 2}}
    )
    one, two = models.model("a"), models.model("b")
    assert isinstance(one, LiveModel)
    assert isinstance(two, LiveModel)
    assert one.provider is two.provider
    assert (one.model, two.model) == ("a", "b")
    assert models.model("a") is one


def test_the_key_of_an_unused_provider_may_be_missing(tmp_path: Path) -> None:
    """Models are created on first use."""
    models = registry(tmp_path, {"gpt": {"provider": "openai"}}, environ={})
    assert models.names() == ("scripted", "gpt")
    with pytest.raises(UsageError, match="the variable OPENAI_API_KEY is not set"):
        models.model("gpt")


@pytest.mark.parametrize(
    ("model", "provider", "problem"),
    [
        ({}, ACME, "models.m.provider: set either a provider or a script"),
        ({"provider": "acme", "script": "x.yaml"}, ACME, "set either a provider or a script"),
        ({"provider": "acmee"}, ACME, "unknown provider 'acmee'\n  → did you mean 'acme'?"),
        ({"provider": "acme", "modle": "x"}, ACME, "models.m.modle: unknown key\n  → did you mean 'model'?"),
        ({"provider": "acme", "price": {"input": 1}}, ACME, "models.m.price.output: is required"),
        ({"script": "gone.yaml"}, ACME, "gone.yaml: there is no such file"),
        ({"provider": "acme"}, {}, "providers.acme.base_url: is required"),
        ({"provider": "acme"}, {**ACME, "base_url": "acme.example"}, "'acme.example' is not a URL"),
        ({"provider": "acme"}, {**ACME, "dialect": "openai-chatt"}, "did you mean 'openai-chat'?"),
        ({"provider": "acme"}, {**ACME, "dialects": ["gemni"]}, "did you mean 'gemini'?"),
        ({"provider": "acme"}, {"base_url": ACME["base_url"]}, "providers.acme.dialect: is required"),
        ({"provider": "acme"}, {**ACME, "key_env": "ACME_KEY"}, "the variable ACME_KEY is not set"),
        ({"provider": "acme"}, {**ACME, "concurency": 1}, "providers.acme.concurency: unknown key"),
        ({"provider": "acme"}, {**ACME, "concurrency": 0}, "expected a whole number of at least 1"),
    ],
)
def test_a_mistake_is_one_clear_error(
    tmp_path: Path, model: Mapping[str, Any], provider: Mapping[str, Any], problem: str
) -> None:
    """The error has the file, the key, the problem and the nearest valid name."""
    with pytest.raises(UsageError) as caught:
        registry(tmp_path, {"m": model}, {"acme": provider}).model("m")
    assert problem in str(caught.value)


def test_an_unknown_model_is_named_with_the_nearest(tmp_path: Path) -> None:
    """The error suggests the nearest name."""
    with pytest.raises(UsageError, match="unknown model 'scriptde'\n  → did you mean 'scripted'"):
        registry(tmp_path, {}).model("scriptde")


def test_the_hash_of_a_model_changes_with_whatever_answers(tmp_path: Path) -> None:
    """Keys, prices and rate limits change nothing in its answers, so they are left out."""
    (tmp_path / "hi.yaml").write_text("rules: [{say: Hi.}]")
    (tmp_path / "hi.py").write_text("def play(turn):\n    return 'Hi.'\n\ndef other(turn):\n    return 'Ho.'\n")

    def hashed(
        model: Mapping[str, Any], environ: Mapping[str, str] = KEYS, provider: Mapping[str, Any] | None = None
    ) -> str:
        return registry(tmp_path, {"m": model}, {"acme": {**ACME, **(provider or {})}}, environ).hash_of("m")

    live = hashed({"provider": "acme"})
    different = [
        live,
        hashed({"provider": "acme", "model": "large"}),
        hashed({"provider": "openai"}),
        hashed({"provider": "acme"}, provider={"base_url": "http://127.0.0.1:10/v1"}),
        hashed({"provider": "acme"}, provider={"dialect": "anthropic"}),
        hashed({"provider": "acme"}, provider={"headers": {"X-Beta": "1"}}),
        hashed({"script": "hi.yaml"}),
        hashed({"script": "hi.py"}),
        hashed({"script": "hi.py:other"}),
    ]
    (tmp_path / "hi.yaml").write_text("rules: [{say: Hello.}]")
    different.append(hashed({"script": "hi.yaml"}))
    assert len(set(different)) == len(different)
    same = [
        hashed({"provider": "acme", "price": {"input": 1, "output": 2}}),
        hashed({"provider": "acme"}, provider={"key": "secret", "concurrency": 2, "stall_after": 9}),
        hashed({"provider": "acme"}, provider={"headers": {"Authorization": "Bearer secret"}}),
    ]
    assert set(same) == {live}
    rotated = [hashed({"provider": "openai"}, {"OPENAI_API_KEY": key}) for key in ("sk-1", "sk-2")]
    assert rotated[0] == rotated[1]


def test_a_bare_name_is_a_subject_of_people_and_no_model_that_an_agent_may_ask_for(tmp_path: Path) -> None:
    """Agents ask for side models under such names; these are answered by the trial's own model, not refused."""
    models = registry(tmp_path, {}, environ={"GEMINI_API_KEY": "sk-0123456789"})
    assert isinstance(models.model("gemini-2.5-flash"), LiveModel)
    assert [models.is_configured(name) for name in ("gemini-2.5-flash", "gemini/gemini-2.5-flash")] == [False, True]
