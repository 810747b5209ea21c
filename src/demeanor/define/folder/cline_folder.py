"""Scenario folders in the format of Cline's smoke tests: `<id>/config.json` and, for starting files, `template/`.

They are read unchanged, but strictly. The expectations become checks, and a behaviour that meets them is derived for
the self-test.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from demeanor.config import Table, path_problem
from demeanor.core.values.checks import Check, FileContains, FileExists
from demeanor.core.values.errors import BadInput
from demeanor.core.values.eval import Eval, ProviderChoice, Source, name_problem
from demeanor.core.values.policy import USUALLY_PASSES
from demeanor.core.values.scenario import Scenario
from demeanor.define.folder.scripted_behaviour import ScriptedBehaviour
from demeanor.define.repository import refuse_outside
from demeanor.define.template import checked_template

CONFIG = "config.json"
TEMPLATE = "template"
_DEFAULT_MODEL = "anthropic/claude-sonnet-4.5"
"""The model of Cline's smoke tests, for a scenario that names a provider and no model."""

_KEYS = re.compile(rb'"(prompt|expectedFiles|expectedContent|requiredEnv)"\s*:')


def looks_like_cline(folder: Path) -> bool:
    """Whether a folder is a scenario; other programs use the name config.json, too."""
    config = folder / CONFIG
    return config.is_file() and ((folder / TEMPLATE).is_dir() or is_cline_config(config.read_bytes()))


def is_cline_config(content: bytes) -> bool:
    """Whether the content of a config.json is that of a scenario."""
    return bool(_KEYS.search(content))


def read_cline_folder(folder: Path) -> Eval:
    """The eval that `folder` describes; it has the folder's name."""
    where = folder / CONFIG
    refuse_outside(where, where=where)
    table = Table(_json(where), where=where)
    title, description = table.text("name"), table.text("description")
    prompt = table.text("prompt", required=True)
    if not prompt.strip():
        table.fail("prompt", "is empty", "write what the agent is asked")
    files = _expected_files(table)
    contents = _expected_contents(table)
    timeout = table.number("timeout", least=0.001)
    models, env = table.texts("models"), table.texts("requiredEnv")
    provider, model = _provider(table, where)
    if not models and (provider.name or provider.key_env or provider.base_url_env or model):
        models = (model or _DEFAULT_MODEL,)
    table.finish()
    checks: tuple[Check, ...] = (*(FileExists(path=path) for path in files), *contents)
    return Eval(
        name=folder_name(folder, where),
        policy=USUALLY_PASSES,
        scenario=Scenario(
            prompts=(prompt,),
            template=starting_folder(folder),
            timeout=timeout,
            requires_env=env,
        ),
        checks=checks,
        source=Source(path=folder),
        description=": ".join(part for part in (title, description) if part),
        models=models,
        provider=provider if models else None,
        passes_on=(_expected_behaviour(files, contents),),
    )


def folder_name(folder: Path, where: Path) -> str:
    """The name of the eval in `folder`."""
    name = folder.resolve().name
    problem = name_problem(name)
    if problem:
        raise BadInput(f"the folder's name {name!r} can't be an eval's name: {problem}", where=where)
    return name


def starting_folder(folder: Path) -> Path | None:
    """The folder `template/`, checked; None if there is none."""
    template = folder / TEMPLATE
    return checked_template(template, where=folder, key=TEMPLATE) if template.exists() else None


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=_reject_duplicates)
    except json.JSONDecodeError as error:
        where = f"{path}:{error.lineno}:{error.colno}"
        raise BadInput(f"is not valid JSON: {error.msg}", where=where) from None
    except UnicodeDecodeError:
        raise BadInput("is not UTF-8 text", where=path) from None
    except (OSError, RecursionError) as error:
        raise BadInput(f"can't be read: {error}", where=path) from None
    except _DuplicateKey as error:
        raise BadInput("the key is duplicated", where=path, key=str(error)) from None


class _DuplicateKey(Exception):
    """A duplicate key, of which the JSON parser would silently drop the first."""


def _reject_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    duplicates: dict[str, Any] = {}
    for key, value in pairs:
        if key in duplicates:
            raise _DuplicateKey(key)
        duplicates[key] = value
    return duplicates


def _expected_files(table: Table) -> tuple[str, ...]:
    paths = table.texts("expectedFiles")
    for index, path in enumerate(paths):
        problem = path_problem(path)
        if problem:
            table.fail(f"expectedFiles[{index}]", problem, "write a path relative to the workspace")
    return tuple(dict.fromkeys(paths))


def _expected_contents(table: Table) -> tuple[FileContains, ...]:
    contents = []
    for entry in table.tables("expectedContent"):
        path, text = entry.relative_path("file"), entry.text("contains", required=True)
        if not text:
            entry.fail("contains", "is empty, so every file would match")
        entry.finish()
        contents.append(FileContains(path=path, text=text))
    return tuple(contents)


def _provider(table: Table, where: Path) -> tuple[ProviderChoice, str | None]:
    """Read `provider` and `auth`: who serves the models, and the model that is set up if `models` names none."""
    name, auth = table.maybe_text("provider"), table.table("auth")
    if auth is None:
        return ProviderChoice(where=where, name=name), None
    key_env, base_url_env, model = (auth.maybe_text(key) for key in ("apiKeyEnv", "baseUrlEnv", "modelId"))
    auth.finish()
    return ProviderChoice(where=where, name=name, key_env=key_env, base_url_env=base_url_env), model


def _expected_behaviour(files: tuple[str, ...], contents: tuple[FileContains, ...]) -> ScriptedBehaviour:
    """A behaviour that meets all expectations: it appends the expected content to the files."""
    appended = dict.fromkeys(files, b"")
    for check in contents:
        appended[check.path] = appended.get(check.path, b"") + f"{check.text}\n".encode()
    return ScriptedBehaviour(title="the expected behaviour", append=appended)
