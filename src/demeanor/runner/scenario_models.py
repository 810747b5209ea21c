"""The models of scenarios in Cline's format: `models`, `provider`, `auth` and `requiredEnv` select a provider.

A model of the configuration with the same name is preferred. A scenario whose keys are missing is skipped with the
reason, so that it does not keep the others from running; a provider that does not exist is an error in its file.
"""

from __future__ import annotations

from collections.abc import Mapping

from demeanor.config import WELL_KNOWN, Table, maker_of
from demeanor.core.values.errors import BadInput, did_you_mean
from demeanor.core.values.eval import ProviderChoice
from demeanor.runner.catalog import Catalog

_CLINE = "cline"
_NAMES = {"openai-native": "openai", "google": "gemini", "openai-compatible": "openai"}
"""Names of Cline → ours. Its `openai` is any compatible server, with a URL in an environment variable."""


def served_model(catalog: Catalog, choice: ProviderChoice, model: str, environ: Mapping[str, str]) -> tuple[str, str]:
    """The catalog's name for a model of a scenario, and the variables that it lacks, if any."""
    if model in catalog.config.models or catalog.replaying:
        return model, ""
    free = choice.name is None and not choice.key_env
    if free and not choice.base_url_env and (maker := maker_of(model)):  # the same subject wherever it is written
        return model, "" if maker in catalog.config.providers else _missing(maker, environ)
    if free and not environ.get(WELL_KNOWN[_CLINE].key_env):
        return _by_name(catalog, model, environ)
    name = choice.name or _CLINE
    ours = _NAMES.get(name, name)
    providers = {*WELL_KNOWN, *catalog.config.providers, *_NAMES}
    if name not in providers:
        remedy = did_you_mean(name, providers, f"known providers: {', '.join(sorted(providers))}")
        raise BadInput(f"unknown provider {name!r}", where=choice.where, key="provider", remedy=remedy)
    default = WELL_KNOWN[ours].key_env if ours in WELL_KNOWN and ours not in catalog.config.providers else ""
    variables = [variable for variable in (choice.key_env or default, choice.base_url_env) if variable]
    if missing := ", ".join(variable for variable in variables if not environ.get(variable)):
        return f"{ours}/{model}", missing
    if choice.key_env or choice.base_url_env:
        ours = _add_provider(catalog, ours, choice, environ)
    return f"{ours}/{model}", ""


def _by_name(catalog: Catalog, model: str, environ: Mapping[str, str]) -> tuple[str, str]:
    """Without a key of Cline, the name of the model may tell its provider: `openai/gpt-5`, `google/gemini-3-flash`."""
    provider, slash, rest = model.partition("/")
    ours = _NAMES.get(provider, provider)
    if slash and ours in catalog.config.providers:
        return f"{ours}/{rest}", ""
    if not slash or ours not in WELL_KNOWN:
        return model, "" if catalog.models.is_configured(model) else WELL_KNOWN[_CLINE].key_env
    return f"{ours}/{rest}", _missing(ours, environ)


def _missing(provider: str, environ: Mapping[str, str]) -> str:
    """The variables of which a model of this provider needs any; empty if it has Cline's key or the provider's."""
    variables = (WELL_KNOWN[_CLINE].key_env, WELL_KNOWN[provider].key_env)
    return "" if any(environ.get(variable) for variable in variables) else " or ".join(variables)


def _add_provider(catalog: Catalog, ours: str, choice: ProviderChoice, environ: Mapping[str, str]) -> str:
    """Add the provider that the variables of `auth` describe, named after them, to the catalog; returns its name."""
    variable = choice.base_url_env or choice.key_env or ours
    name = variable.lower().removesuffix("_base_url").removesuffix("_api_key").replace("_", "-")
    data: dict[str, object] = {}
    if choice.base_url_env:
        data |= {"base_url": environ[choice.base_url_env], "dialect": "openai-chat"}
    elif ours in WELL_KNOWN:
        data |= {"base_url": WELL_KNOWN[ours].base_url, "dialects": WELL_KNOWN[ours].dialects.split()}
    if choice.key_env:
        data["key_env"] = choice.key_env
    catalog.models.add_provider(name, Table(data, where=choice.where, prefix="auth."))
    return name
