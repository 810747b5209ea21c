"""The models on offer: which provider or script answers for which name. Checked at the door, made when first used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.core.errors import UnknownName, UsageError
from holdfast.core.table import Table

if TYPE_CHECKING:
    from holdfast.gateway.provider import Provider
    from holdfast.gateway.upstream import Upstream

SCRIPTED = "scripted"
"""The rule-reader that ships with Holdfast."""

DIALECTS = ("openai-chat", "openai-responses", "anthropic", "gemini")

PROVIDERS: Mapping[str, Mapping[str, Any]] = {
    "openai": {"base_url": "https://api.openai.com/v1", "dialect": "openai-chat", "key_env": "OPENAI_API_KEY"},
    "openai-responses": {
        "base_url": "https://api.openai.com/v1",
        "dialect": "openai-responses",
        "key_env": "OPENAI_API_KEY",
    },
    "anthropic": {"base_url": "https://api.anthropic.com", "dialect": "anthropic", "key_env": "ANTHROPIC_API_KEY"},
    "gemini": {
        "base_url": "https://generativelanguage.googleapis.com",
        "dialect": "gemini",
        "key_env": "GEMINI_API_KEY",
    },
    "openrouter": {
        "base_url": "https://openrouter.ai/api/v1",
        "dialect": "openai-chat",
        "key_env": "OPENROUTER_API_KEY",
    },
}
"""Providers that need no table in the configuration; one of the same name there overrules single keys."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """A model on offer."""

    script: Path | None = None
    """The file that plays it, if one does."""

    provider: str = ""
    """The provider that answers for it, if one does."""

    name: str = ""
    """The provider's own name for it."""

    price: Mapping[str, Any] | None = None
    """US dollars for a million tokens."""


@dataclass(kw_only=True, slots=True)
class Catalogue:
    """Everything the configuration says of models and providers."""

    models: Mapping[str, Mapping[str, Any]]
    """The tables `[models.NAME]`."""

    providers: Mapping[str, Mapping[str, Any]]
    """The tables `[providers.NAME]`."""

    where: Path | str
    """The configuration's file, for errors."""

    root: Path
    """What paths are relative to."""

    environ: Mapping[str, str]
    """Where keys are."""

    made: dict[str, Upstream] = field(default_factory=dict)
    """Who answers, as far as it was asked for."""

    opened: dict[str, Provider] = field(default_factory=dict)
    """The providers that are in use."""

    def names(self) -> tuple[str, ...]:
        """The models that have a name here; `provider/model` works beside them."""
        return tuple(dict.fromkeys((SCRIPTED, *self.models)))

    def check(self, model: str) -> None:
        """Raise where `model` can't be used: unknown, wrongly described, or without its key."""
        entry = self._entry(model)
        if entry.provider:
            self._key(self._provider_table(entry.provider), entry.provider)
        elif entry.script is not None:
            self.upstream(model)

    def upstream(self, model: str) -> Upstream:
        """Who answers for `model`."""
        if model not in self.made:
            self.made[model] = self._make(self._entry(model))
        return self.made[model]

    def check_all(self) -> None:
        """Raise for any mistake in any table, used or not; keys may be missing."""
        for model in self.models:
            self._entry(model)
        for provider in self.providers:
            self._provider_table(provider)

    def _entry(self, model: str) -> Entry:
        if model == SCRIPTED and model not in self.models:
            return Entry()
        if model in self.models:
            return self._read_model(model)
        provider, slash, name = model.partition("/")
        if slash and name and provider in {*PROVIDERS, *self.providers}:
            return Entry(provider=provider, name=name)
        raise UnknownName("model", model, {*self.names(), *(f"{one}/MODEL" for one in PROVIDERS)}, where=self.where)

    def _read_model(self, model: str) -> Entry:
        table = Table(self.models[model], where=self.where, prefix=f"models.{model}.")
        script, provider = table.text("script"), table.text("provider")
        if bool(script) == bool(provider):
            table.fail("provider", "expected either a provider or a script", 'write provider = "…" or script = "…"')
        entry = Entry(
            script=self.root / script if script else None,
            provider=provider,
            name=table.text("name", model),
            price=table.mapping("price") or None,
        )
        table.finish()
        if provider:
            self._provider_table(provider)
        return entry

    def _provider_table(self, provider: str) -> dict[str, Any]:
        known = {*PROVIDERS, *self.providers}
        if provider not in known:
            raise UnknownName("provider", provider, known, where=self.where)
        data = {**PROVIDERS.get(provider, {}), **self.providers.get(provider, {})}
        table = Table(data, where=self.where, prefix=f"providers.{provider}.")
        found = {
            "base_url": table.text("base_url", required=True),
            "dialect": table.choice("dialect", DIALECTS, "openai-chat"),
            "key_env": table.text("key_env"),
            "headers": table.strings("headers"),
            "concurrency": table.whole("concurrency", least=1),
            "per_minute": table.whole("per_minute", least=1),
            "stall_after": table.number("stall_after", least=0.1) or 300.0,
        }
        table.finish()
        if not str(found["base_url"]).startswith(("http://", "https://")):
            table.fail(
                "base_url", f"expected an address, found {found['base_url']!r}", "such as https://example.com/v1"
            )
        return found

    def _key(self, table: Mapping[str, Any], provider: str) -> str:
        variable = table["key_env"]
        if not variable:
            return ""
        key = self.environ.get(variable, "")
        if not key:
            raise UsageError(
                f"provider {provider!r} needs a key, and the environment variable {variable} is not set\n"
                f"  → set it, or name another one in [providers.{provider}] key_env"
            )
        return key

    def _make(self, entry: Entry) -> Upstream:
        from holdfast.gateway.script import load_script, scripted

        if entry.script is not None:
            return load_script(entry.script)
        if not entry.provider:
            return scripted()
        from holdfast.gateway.live import LiveModel
        from holdfast.gateway.prices import read_price

        price = None
        if entry.price is not None:
            price = read_price(Table(entry.price, where=self.where, prefix=f"models.{entry.name}.price."))
        return LiveModel(provider=self._open(entry.provider), model=entry.name, price=price)

    def _open(self, name: str) -> Provider:
        """The provider; all of its models share its connections and limits."""
        if name not in self.opened:
            from holdfast.gateway.dialects import DIALECTS as SPOKEN
            from holdfast.gateway.provider import Provider

            table = self._provider_table(name)
            self.opened[name] = Provider(
                name,
                base_url=table["base_url"],
                dialect=SPOKEN[table["dialect"]],
                key=self._key(table, name),
                headers=table["headers"],
                concurrency=table["concurrency"],
                per_minute=table["per_minute"],
                stall_after=table["stall_after"],
            )
        return self.opened[name]
