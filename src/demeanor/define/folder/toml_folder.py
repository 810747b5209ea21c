"""Scenario folders of our own: `<id>/scenario.toml` and, if there are many starting files, `template/`.

Everything that `@eval_test` knows and every check of core/checks.py can be written here, so that a useful eval needs no
Python. docs/scenario-toml.md lists the keys.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, cast

from demeanor.config.config import read_toml
from demeanor.config.table import Table, path_problem
from demeanor.core.eval import Eval, Source
from demeanor.core.fault import parse_faults
from demeanor.core.policy import Policy
from demeanor.core.sandbox_spec import NETWORKS, Network
from demeanor.core.scenario import Answer, Answers, Approval, PriorMessage, Scenario
from demeanor.define.arguments import name_problem
from demeanor.define.folder.check_table import read_check
from demeanor.define.folder.cline_folder import folder_name, starting_folder
from demeanor.define.folder.scripted_behaviour import Act, ActedCall
from demeanor.define.template import checked_files

SCENARIO = "scenario.toml"


def read_toml_folder(folder: Path) -> Eval:
    """The eval that `folder` describes; its name is the folder's unless it gives another."""
    where = folder / SCENARIO
    table = Table(read_toml(where), where=where)
    found = Eval(
        name=_name(table, folder),
        policy=Policy(_required_choice(table, "policy", [policy.value for policy in Policy])),
        scenario=_scenario(table, folder),
        checks=tuple(read_check(entry) for entry in table.tables("checks")),
        source=Source(path=folder),
        description=table.text("description"),
        trials=table.whole("trials", least=1),
        subjects=table.texts("subjects"),
        models=table.texts("models"),
        tags=table.texts("tags"),
        suite=table.maybe_text("suite"),
        owner=table.maybe_text("owner"),
        issue=table.maybe_text("issue"),
        log=table.flag("log"),
        passes_on=_acts(table, "passes_on"),
        fails_on=_acts(table, "fails_on"),
        does_nothing_passes=table.flag("does_nothing_passes"),
    )
    table.finish()
    if not found.checks:
        table.fail("checks", "there is no check, so that nothing could fail", "add a [[checks]] table")
    return found


def _name(table: Table, folder: Path) -> str:
    name = table.maybe_text("name")
    if name is None:
        return folder_name(folder, folder / SCENARIO)
    problem = name_problem(name)
    if problem:
        table.fail("name", f"{name!r} can't be an eval's name", problem)
    return name


def _required_choice(table: Table, key: str, choices: list[str]) -> str:
    table.text(key, required=True)
    return table.choice(key, choices) or ""


def _scenario(table: Table, folder: Path) -> Scenario:
    inline = table.mapping("files")
    for path, content in inline.items():
        if not isinstance(content, str):
            table.fail(f"files.{path}", "expected the file's text", 'quote the path: "src/app.py" = "…"')
    return Scenario(
        prompts=_prompts(table),
        files=checked_files(inline, where=table.where),
        template=starting_folder(folder),
        params=table.mapping("params"),
        approval=_approval(table),
        messages=tuple(_message(entry) for entry in table.tables("messages")),
        timeout=table.number("timeout", least=0.001),
        requires_env=table.texts("requires_env"),
        network=cast("Network | None", table.choice("network", NETWORKS)),
        faults=parse_faults(table.texts("faults"), where=table.where, key="faults"),
    )


def _prompts(table: Table) -> tuple[str, ...]:
    if "prompt" in table and "prompts" in table:
        table.fail("prompts", "both prompt and prompts are given", "put all turns into prompts")
    several = table.texts("prompts")
    prompts = several if "prompts" in table else (table.text("prompt", required=True),)
    key = "prompts" if "prompts" in table else "prompt"
    if not prompts or not all(prompt.strip() for prompt in prompts):
        table.fail(key, "is empty", "write what the agent is asked")
    table.maybe_text("prompt")
    return prompts


def _approval(table: Table) -> Approval:
    """`approval = "deny"`, a list of answers in order, or a table of these by tool or kind, with `default`."""
    given = table.anything("approval")
    if given is None:
        return Approval()
    if isinstance(given, str | list):
        return Approval(default=_answers(table, "approval", given))
    rules = {name: _answers(table, f"approval.{name}", answer) for name, answer in table.mapping("approval").items()}
    return Approval(default=rules.pop("default", "allow"), rules=rules)


def _answers(table: Table, key: str, given: object) -> Answers:
    if isinstance(given, list) and given:
        return tuple(_answer(table, f"{key}[{place}]", answer) for place, answer in enumerate(given))
    return _answer(table, key, given)


def _answer(table: Table, key: str, value: object) -> Answer:
    if value not in ("allow", "deny"):
        table.fail(key, f"unknown value {value!r}", "expected one of: allow, deny")
    return value


def _message(table: Table) -> PriorMessage:
    role = _required_choice(table, "role", ["user", "assistant"])
    message = PriorMessage(role=cast('Literal["user", "assistant"]', role), text=table.text("text", required=True))
    table.finish()
    return message


def _acts(table: Table, key: str) -> tuple[Act, ...]:
    """`[passes_on]` for one behaviour, `[[passes_on]]` for several."""
    given = table.anything(key)
    if isinstance(given, list):
        return tuple(_act(entry, f"{key}[{index}]") for index, entry in enumerate(table.tables(key)))
    entry = table.table(key)
    return () if entry is None else (_act(entry, key),)


def _act(table: Table, title: str) -> Act:
    files = checked_files(table.strings("files"), where=table.where, key=f"{table.prefix}files")
    delete = table.texts("delete")
    for path in delete:
        problem = path_problem(path)
        if problem:
            table.fail("delete", problem)
    act = Act(
        title=table.text("title", title),
        files=files,
        delete=delete,
        calls=tuple(_call(entry) for entry in table.tables("calls")),
        final_text=table.maybe_text("final_text"),
        exit_code=table.whole("exit_code", least=0, most=255) or 0,
        tokens=table.whole("tokens", least=0) or 0,
        cost_usd=table.number("cost_usd", least=0) or 0.0,
        seconds=table.number("seconds", least=0) or 0.0,
    )
    table.finish()
    return act


def _call(table: Table) -> ActedCall:
    call = ActedCall(
        tool=table.text("tool", required=True),
        arguments=table.mapping("arguments"),
        result=table.text("result"),
        succeeded=table.flag("succeeded", default=True),
    )
    table.finish()
    return call
