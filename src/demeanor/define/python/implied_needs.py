"""What a check certainly needs of the agent: `rig.sub_agents[0]`, or that there are some, whatever happened before."""

from __future__ import annotations

import ast
import inspect
import operator
import textwrap
from collections.abc import Iterator
from typing import Any

_SUB_AGENTS = "sub_agents"
_COMPARISONS = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
}


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
            if any(_false_without(part, rig) for part in _conjuncts(statement.test)):
                return (_SUB_AGENTS,)
        elif isinstance(statement, ast.Assign | ast.AnnAssign | ast.Expr):
            certain = statement.value
            if isinstance(statement, ast.Assign) and _unpacks(statement, rig):
                return (_SUB_AGENTS,)
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


def _false_without(test: ast.expr, rig: str) -> bool:
    """Whether a condition is false if there are no sub-agents."""
    match test:
        case ast.Compare(left=left, ops=[op, *_], comparators=[ast.Constant(value=int(number)), *_]):
            return _is_count(left, rig) and type(op) in _COMPARISONS and not _COMPARISONS[type(op)](0, number)
        case ast.Call(func=ast.Name(id="any"), args=[ast.GeneratorExp() | ast.ListComp() as each]):
            return _is_sub_agents(each.generators[0].iter, rig)
    return _is_sub_agents(test, rig) or _is_count(test, rig)


def _is_count(node: ast.expr, rig: str) -> bool:
    """Whether an expression is the number of sub-agents."""
    match node:
        case ast.Call(func=ast.Name(id="len"), args=[counted]):
            return _is_sub_agents(counted, rig)
        case ast.Call(func=ast.Attribute(value=counted, attr="count"), args=[]):
            return _is_sub_agents(counted, rig)
    return False


def _unpacks(statement: ast.Assign, rig: str) -> bool:
    """Whether an assignment gives names to sub-agents."""
    target = statement.targets[0]
    named = isinstance(target, ast.Tuple | ast.List) and any(not isinstance(name, ast.Starred) for name in target.elts)
    return named and _is_sub_agents(statement.value, rig)


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
