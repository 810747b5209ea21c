"""Changing an eval's policy in the author's own file: the one argument, and not a blank beside it.

In Python the first argument of the eval's `eval_test` is replaced, however it is written: `USUALLY_PASSES`,
`Policy.USUALLY_PASSES`, `holdfast.USUALLY_PASSES` or a string. Where the new name is not yet imported it joins the old
one in its import, or takes its place where nothing else uses the old one. In `scenario.toml` the value of `policy` is.
What comes out is read again before it is written: everything but the policy must be as it was.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from holdfast.core.errors import BadInput
from holdfast.core.evals import Eval
from holdfast.core.policy import Policy
from holdfast.define.seed_folder import CONFIG
from holdfast.define.toml_folder import SCENARIO

if TYPE_CHECKING:
    import libcst

_BY_HAND = "change the policy by hand, and say so in the commit message"


def policy_file(one: Eval) -> Path:
    """The file that an eval's policy is written in."""
    folder = one.source.path
    return folder if folder.is_file() else folder / (SCENARIO if (folder / SCENARIO).is_file() else CONFIG)


def repolicied(one: Eval, policy: Policy) -> str:
    """The text of that file with another policy for the eval; nothing is written."""
    path = policy_file(one)
    source = path.read_bytes().decode("utf-8")
    if path.name == CONFIG:
        raise BadInput("such a folder has no policy of its own", where=path, remedy=f"turn it into a {SCENARIO} first")
    return _in_toml(source, policy, path) if path.name == SCENARIO else _in_python(source, one, policy, path)


def _in_toml(source: str, policy: Policy, path: Path) -> str:
    """Only above the first table: a key below it is another one."""
    top = re.search(r"^[ \t]*\[", source, re.M)
    head, rest = (source[: top.start()], source[top.start() :]) if top else (source, "")
    found = list(re.finditer(r"""^([ \t]*(?:policy|"policy"|'policy')[ \t]*=[ \t]*)(["'])(\w+)\2""", head, re.M))
    for match in found:
        put = f"{match[1]}{match[2]}{policy.value}{match[2]}"
        text = head[: match.start()] + put + head[match.end() :] + rest
        try:
            if tomllib.loads(text) == {**tomllib.loads(source), "policy": policy.value}:
                return text
        except tomllib.TOMLDecodeError:
            continue
    raise BadInput("the line with the policy was not found", where=path, key="policy", remedy=_BY_HAND)


def _in_python(source: str, one: Eval, policy: Policy, path: Path) -> str:
    import libcst
    from libcst.metadata import MetadataWrapper, PositionProvider

    try:
        wrapper = MetadataWrapper(libcst.parse_module(source), unsafe_skip_copy=True)
    except libcst.ParserSyntaxError as error:
        raise BadInput(f"can't be read: {error.message}", where=path) from None
    lines = wrapper.resolve(PositionProvider)
    own = None
    for node in wrapper.module.body:
        if isinstance(node, libcst.FunctionDef) and node.decorators:
            first, last = lines[node.decorators[0]].start.line, lines[node].end.line
            if first <= one.source.line <= last:
                own = node
    argument = _policy_argument(own) if own else None
    if argument is None:
        raise BadInput(
            f"the policy of {one.name!r} is not the first argument of its eval_test",
            where=f"{path}:{one.source.line}",
            remedy=_BY_HAND,
        )
    value = _renamed(argument.value, policy, where=f"{path}:{one.source.line}")
    module = _replaced(wrapper.module, argument, argument.with_changes(value=value))
    if isinstance(argument.value, libcst.Name):
        module = _imported(module, argument.value.value, value, where=str(path))
    return module.code


def _replaced(module: libcst.Module, old: libcst.CSTNode, new: libcst.CSTNode) -> libcst.Module:
    return cast("libcst.Module", module.deep_replace(old, new))


def _policy_argument(function: libcst.FunctionDef) -> libcst.Arg | None:
    import libcst

    for decorator in function.decorators:
        call = decorator.decorator
        if isinstance(call, libcst.Call) and call.args and call.args[0].star == "":
            first = call.args[0]
            if first.keyword is None or first.keyword.value == "policy":
                return first
            return next((arg for arg in call.args if arg.keyword and arg.keyword.value == "policy"), None)
    return None


def _renamed(value: libcst.BaseExpression, policy: Policy, *, where: str) -> libcst.BaseExpression:
    """The same expression for another policy, written in the same way."""
    import libcst

    known = {one.value for one in Policy}
    if isinstance(value, libcst.Name) and value.value in known:
        return value.with_changes(value=policy.value)
    if isinstance(value, libcst.Attribute) and value.attr.value in known:
        return value.with_changes(attr=value.attr.with_changes(value=policy.value))
    if isinstance(value, libcst.SimpleString) and value.evaluated_value in known:
        return value.with_changes(value=value.value.replace(str(value.evaluated_value), policy.value))
    raise BadInput("the policy is computed, so it can't be changed here", where=where, remedy=_BY_HAND)


def _imported(module: libcst.Module, old: str, value: libcst.BaseExpression, *, where: str) -> libcst.Module:
    """The module with the new name imported from where the old one was."""
    import libcst
    from libcst import matchers

    new = value.value if isinstance(value, libcst.Name) else ""
    imports = [node for node in matchers.findall(module, matchers.ImportFrom()) if isinstance(node, libcst.ImportFrom)]
    names = [(node, node.names) for node in imports if not isinstance(node.names, libcst.ImportStar)]
    if any(alias.evaluated_name == new and not alias.asname for _, aliases in names for alias in aliases):
        return module
    for node, aliases in names:
        plain = [alias for alias in aliases if alias.evaluated_name == old and not alias.asname]
        if plain and isinstance(aliases, Sequence):
            return _replaced(module, node, node.with_changes(names=_with(aliases, plain[0], new, module, old)))
    if any(isinstance(node.names, libcst.ImportStar) for node in imports):
        return module
    raise BadInput(f"{old} is not imported by that name", where=where, remedy=_BY_HAND)


def _with(
    aliases: Sequence[libcst.ImportAlias], own: libcst.ImportAlias, new: str, module: libcst.Module, old: str
) -> list[libcst.ImportAlias]:
    import libcst
    from libcst import matchers

    used = len(matchers.findall(module, matchers.Name(value=old))) > 1  # the import itself is one
    if not used:
        return [alias.with_changes(name=libcst.Name(new)) if alias is own else alias for alias in aliases]
    place = list(aliases).index(own)
    comma = next((a.comma for a in aliases if isinstance(a.comma, libcst.Comma)), None) or libcst.Comma(
        whitespace_after=libcst.SimpleWhitespace(" ")
    )
    added = libcst.ImportAlias(name=libcst.Name(new), comma=comma)
    return [*aliases[:place], added, *aliases[place:]]
