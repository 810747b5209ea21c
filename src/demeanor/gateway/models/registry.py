"""Models from the configuration: which provider or script answers for a name.

[models.large]
provider = "acme"                # one of [providers], or a well-known one: openai, anthropic, gemini, openrouter, cline
model = "acme-large-2026-10"     # the provider's name for it, if different
price = { input = 3.0, output = 15.0, cache_read = 0.3, cache_write = 3.75 }   # instead of the price list's

[models.forgetful]
script = "scripts/forgetful.yaml"

[providers.acme]
base_url = "https://models.acme.example/v1"
dialect = "openai-chat"
key_env = "ACME_API_KEY"
concurrency = 8
requests_per_minute = 120
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from demeanor.config import WELL_KNOWN, KnownProvider, Table, maker_of, read_whole
from demeanor.core.values.errors import UnknownName
from demeanor.core.values.fingerprints import short_hash
from demeanor.gateway.dialects import DIALECTS
from demeanor.gateway.local.model import LocalModel, local_model
from demeanor.gateway.local.weights import WEIGHTS
from demeanor.gateway.models.live_model import LiveModel
from demeanor.gateway.models.price_list import listed_price, price_list_version
from demeanor.gateway.models.prices import Price, read_price
from demeanor.gateway.models.provider import Provider
from demeanor.gateway.models.upstream import Upstream
from demeanor.gateway.script import ScriptedModel, load_script, scripted

SCRIPTED = "scripted"


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelSource:
    """A table `[models.NAME]`: a script, or a provider's model."""

    script: str | None
    """The file with the script that answers."""

    provider: str | None
    """The provider, one of `[providers]` or a well-known one."""

    model: str | None
    """The provider's name for the model, if it differs from the name of the table."""

    price: Price | None
    """US dollars per million tokens: `input`, `output`, `cache_read`, `cache_write` (default: from the price list)."""


class ModelRegistry:
    """The models of a configuration, each created on first use: the key of an unused provider may be missing."""

    def __init__(
        self,
        models: Mapping[str, Table],
        providers: Mapping[str, Table],
        *,
        root: Path,
        environ: Mapping[str, str],
        where: Path | str = "configuration",
        need_keys: bool = True,
    ) -> None:
        """`models` and `providers` are the tables by name, read from `where`; their paths are relative to `root`.

        Without `need_keys`, keys may be missing: other machines call the providers.
        """
        self._need_keys = need_keys
        self._where = where
        self._models = models
        self._providers = dict(providers)
        self._root = root
        self._environ = environ
        self._upstreams: dict[str, Upstream] = {}
        self._provider_cache: dict[str, Provider] = {}
        self._listed = False
        self.added: dict[str, Mapping[str, object]] = {}
        """The tables of providers that are not in the configuration, by name."""

    @property
    def price_list(self) -> str:
        """The name and version of the price list, if a price of it is used; otherwise empty."""
        return price_list_version() if self._listed else ""

    def add_provider(self, name: str, table: Table) -> None:
        """Add a provider, unless the configuration has one of that name."""
        if name not in self._providers:
            self._providers[name] = table
            self.added[name] = table.data

    def names(self) -> tuple[str, ...]:
        """The names of all models; `scripted` always exists. (Local models work too but are not listed.)"""
        return tuple(dict.fromkeys((SCRIPTED, *self._models)))

    @property
    def providers(self) -> tuple[Provider, ...]:
        """The providers of the models that were asked for."""
        return tuple(self._provider_cache.values())

    def is_configured(self, name: str) -> bool:
        """Whether a name means a model of the configuration, of a known provider, or of this machine.

        The bare name of a provider's model does not: agents have such names of their own for side models.
        """
        return name in {*self.names(), *WEIGHTS} or self._is_provider_model(name)

    def model(self, name: str, where: Path | str | None = None) -> Upstream:
        """The upstream for a model name, or for `provider/model`; raises UsageError if there is none. `where` is the
        place where the name is written."""
        if name not in self._upstreams:
            self._upstreams[name] = self._create(name, where or self._where)
        return self._upstreams[name]

    def make_room(self, conversations: int) -> None:
        """Let the models on this machine that are used hold so many conversations at once."""
        for upstream in self._upstreams.values():
            if isinstance(upstream, LocalModel):
                upstream.engine.make_room(conversations)

    def hash_of(self, name: str, where: Path | str | None = None) -> str:
        """Twelve hex digits of what answers for a model name: a provider's model, a script or weights.

        Keys, prices, rate limits and timeouts are not included, because the answers do not depend on them.
        """
        upstream = self.model(name, where)
        if isinstance(upstream, LiveModel):
            return short_hash(upstream.provider.identity, upstream.model)
        if isinstance(upstream, LocalModel):
            return short_hash(upstream.weights.sha256, upstream.sampling)
        return short_hash(upstream.content) if isinstance(upstream, ScriptedModel) else ""

    def _create(self, name: str, where: Path | str) -> Upstream:
        if name in self._models:
            return self._from_table(name, self._models[name])
        if name == SCRIPTED:
            return scripted()
        if name in WEIGHTS:
            return local_model(name, self._environ)
        if self._is_provider_model(name):
            provider, _, model = name.partition("/")
            return self._live(self._provider(where, provider), model)
        if maker := maker_of(name):
            return self._live(self._provider(where, self._router_of(maker)), name)
        names = {*self.names(), *WEIGHTS, *(f"{provider}/MODEL" for provider in (*self._providers, *WELL_KNOWN))}
        raise UnknownName("model", name, names, where=where)

    def _router_of(self, maker: str) -> str:
        """The provider of a model that is written without one: its maker, or Cline's router if only its key is set."""
        maker_provider, router = WELL_KNOWN[maker], WELL_KNOWN["cline"]
        ready = (
            maker in self._providers
            or self._environ.get(maker_provider.key_env)
            or not self._environ.get(router.key_env)
        )
        return maker if ready else "cline"

    def _is_provider_model(self, name: str) -> bool:
        """Whether a name is `provider/model`, with a known provider."""
        provider, _, model = name.partition("/")
        return bool(model) and provider in {*self._providers, *WELL_KNOWN}

    def _from_table(self, name: str, table: Table) -> Upstream:
        source = read_model(table)
        script, provider, model, price = source.script, source.provider, source.model, source.price
        if not script and not provider and self._is_provider_model(name):
            provider, _, named = name.partition("/")
            model = model or named
        if bool(script) == bool(provider):
            table.fail("provider", "set either a provider or a script", 'write provider = "…" or script = "…"')
        if script:
            if model is not None:
                table.fail("model", "a script has no model of a provider", "leave it out")
            scripted = load_script(self._root / script)
            return scripted if price is None else replace(scripted, price=price)
        return self._live(
            self._provider(f"{table.where}: {table.prefix}provider", provider or ""), model or name, price
        )

    def _live(self, provider: Provider, model: str, price: Price | None = None) -> LiveModel:
        """A provider's model, by the provider's name for it."""
        if price is None:
            price = listed_price(provider.base_url, model)
            self._listed = self._listed or price is not None
        return LiveModel(provider=provider, model=model, price=price)

    def _provider(self, where: Path | str, name: str) -> Provider:
        if name not in self._provider_cache:
            if name not in self._providers and name not in WELL_KNOWN:
                raise UnknownName("provider", name, {*self._providers, *WELL_KNOWN}, where=where)
            table = self._providers.get(name) or Table({}, where=where, prefix=f"providers.{name}.")
            self._provider_cache[name] = read_provider(name, table, self._environ, need_key=self._need_keys)
        return self._provider_cache[name]


def read_model(table: Table) -> ModelSource:
    """Read a model's table."""
    priced = table.table("price")
    source = ModelSource(
        price=read_price(priced) if priced else None,
        script=table.maybe_text("script"),
        provider=table.maybe_text("provider"),
        model=table.maybe_text("model"),
    )
    table.finish()
    return source


def read_provider(name: str, table: Table, environ: Mapping[str, str], *, need_key: bool = True) -> Provider:
    """Read a provider's table; the well-known providers have defaults."""
    return read_whole(table, lambda own: _read_provider(name, own, environ, need_key=need_key))


def _read_provider(name: str, table: Table, environ: Mapping[str, str], *, need_key: bool) -> Provider:
    usual = WELL_KNOWN.get(name, KnownProvider(base_url="", dialects="", key_env=""))
    base_url = table.text("base_url", usual.base_url, required=not usual.base_url)
    if not base_url.startswith(("http://", "https://")):
        table.fail("base_url", f"{base_url!r} is not a URL", "start it with http:// or https://")
    names = table.texts("dialects") or (table.choice("dialect", list(DIALECTS)) or usual.dialects).split()
    if not names:
        table.fail("dialect", "is required", f"one of: {', '.join(DIALECTS)}")
    for dialect in names:
        if dialect not in DIALECTS:
            raise UnknownName("dialect", dialect, DIALECTS, where=f"{table.where}: {table.prefix}dialects")
    return Provider(
        name,
        base_url=base_url,
        dialects=[DIALECTS[dialect] for dialect in names],
        key=_key(table, usual.key_env, environ, needed=need_key),
        headers=table.strings("headers"),
        concurrency=table.whole("concurrency", least=1),
        per_minute=table.whole("requests_per_minute", least=1),
        connect_timeout=table.number("connect_timeout", least=0.1) or 15.0,
        stall_after=table.number("stall_after", least=0.1) or 300.0,
    )


def _key(table: Table, default_variable: str, environ: Mapping[str, str], *, needed: bool) -> str:
    """The key: from the configuration or an environment variable; a self-hosted provider may need none."""
    key, variable = table.text("key"), table.text("key_env", default_variable)
    if key or not variable:
        return key
    if not environ.get(variable):
        if not needed:
            return ""
        table.fail("key_env", f"the variable {variable} is not set", f"set it: export {variable}=…")
    return environ[variable]
