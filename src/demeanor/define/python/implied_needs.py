"""What a check certainly needs of the agent: `rig.sub_agents[0]`, read whatever happened before."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from typing import Any

_SUB_AGENTS = "sub_agents"


def implied_needs(check: Any) -> tuple[str, ...]:
    """`sub_agents` if the check can't pass without one; only its leading plain statements are certain to run."""
    function = inspect.unwrap(check)
    if _SUB_AGENTS not in function.__code__.co_names:
        return ()
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, SyntaxError, IndexError):
        return ()
    rig = function.__code__.co_varnames[0]
    for statement in getattr(tree, "body", ()):
        if isinstance(statement, ast.Assert):
            certain: ast.expr | None = statement.test
            if any(_is_sub_agents(part, rig) for part in _conjuncts(statement.test)):
                return (_SUB_AGENTS,)
        elif isinstance(statement, ast.Assign | ast.AnnAssign | ast.Expr):
            certain = statement.value
        else:
            break
        if certain is not None and _indexed(certain, rig):
            return (_SUB_AGENTS,)
    return ()


def _is_sub_agents(node: ast.AST, rig: str) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr == _SUB_AGENTS
        and isinstance(node.value, ast.Name)
        and node.value.id == rig
    )


def _conjuncts(test: ast.expr) -> list[ast.expr]:
    return test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]


def _indexed(node: ast.AST, rig: str) -> bool:
    """Whether evaluating the expression evaluates `rig.sub_agents[number]` in any case."""
    if isinstance(node, ast.Subscript) and _is_sub_agents(node.value, rig) and not isinstance(node.slice, ast.Slice):
        return True
    return any(_indexed(part, rig) for part in _evaluated(node))


def _evaluated(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of an expression that are evaluated in any case."""
    match node:
        case ast.Lambda() | ast.GeneratorExp():
            return
        case ast.ListComp() | ast.SetComp() | ast.DictComp():
            yield node.generators[0].iter
        case ast.IfExp():
            yield node.test
        case ast.BoolOp():
            yield node.values[0]
        case ast.Compare():
            yield from (node.left, node.comparators[0])
        case _:
            yield from ast.iter_child_nodes(node)
