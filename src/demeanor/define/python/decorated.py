"""Find the functions in a module's source that are decorated with `@eval_test(…)`, without running it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeAlias, TypeGuard

_DECORATOR = "eval_test"

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


def decorated_functions(tree: ast.Module) -> Iterator[tuple[Function, ast.Call]]:
    """The decorated functions of a module and of its classes, each with the call of the decorator."""
    for node in tree.body:
        for inner in node.body if isinstance(node, ast.ClassDef) else (node,):
            if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                yield from ((inner, call) for call in inner.decorator_list if is_eval_test(call))


def is_eval_test(node: ast.AST) -> TypeGuard[ast.Call]:
    """Whether a node is a call of `eval_test`, under this name or as an attribute of a module."""
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    return (isinstance(function, ast.Name) and function.id == _DECORATOR) or (
        isinstance(function, ast.Attribute) and function.attr == _DECORATOR
    )
