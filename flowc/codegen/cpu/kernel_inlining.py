"""Native kernels as one function: the functions that they call are inlined, in their source.

In: a kernel of an op record. Out: the source of one function that calls no other. Inlined is a
module-level function that a kernel, or another such function, calls as a statement of its own or as
the whole right side of an assignment. Its only `return` is its last statement; a tuple that it
returns is unpacked by its caller. Invariants: the source is a pure function of the sources that it
is made of, and a kernel that calls none stays as it is written.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import FunctionType
from typing import Any, NoReturn

from flowc.errors import InternalError


@cache
def kernel_source(kernel: Callable[..., None]) -> str:
    """Raises `InternalError` for a call that cannot be inlined."""
    source = inspect.getsource(kernel)
    inliner = _Inliner(kernel.__name__)
    (definition,) = ast.parse(source).body
    assert isinstance(definition, ast.FunctionDef)
    definition.body = inliner.block(definition.body, kernel.__globals__)
    decorated, definition.decorator_list = bool(definition.decorator_list), []
    return ast.unparse(definition) + "\n" if inliner.calls or decorated else source


@cache
def _definition(function: FunctionType) -> ast.FunctionDef:
    (found,) = ast.parse(inspect.getsource(function)).body
    assert isinstance(found, ast.FunctionDef)
    return found


class _Inliner:
    """Inlines the calls of one kernel; variables of the n-th call are named `x__n`."""

    def __init__(self, kernel: str) -> None:
        self.kernel = kernel
        self.calls = 0

    def block(self, statements: Sequence[ast.stmt], names: Mapping[str, Any]) -> list[ast.stmt]:
        """Statements whose names mean what `names` says, with the calls of functions inlined."""
        found: list[ast.stmt] = []
        for statement in statements:
            value: Any = getattr(statement, "value", None)
            function = names.get(_called(value))
            if isinstance(function, FunctionType):
                found += self._inlined(statement, function, value)
                continue
            for nested in ("body", "orelse"):
                inner = getattr(statement, nested, None)
                if inner:
                    setattr(statement, nested, self.block(inner, names))
            self._check(statement, names)
            found.append(statement)
        return found

    def _check(self, statement: ast.stmt, names: Mapping[str, Any]) -> None:
        """Calls inside expressions are not inlined."""
        bodies = [*getattr(statement, "body", ()), *getattr(statement, "orelse", ())]
        for child in ast.iter_child_nodes(statement):
            for node in () if child in bodies else ast.walk(child):
                name = _called(node)
                if isinstance(names.get(name), FunctionType):
                    self._refuse(name, "must be a statement or an assignment's right side")

    def _refuse(self, called: str, what: str) -> NoReturn:
        raise InternalError(f"native kernel {self.kernel}: the call of {called} {what}")

    def _inlined(
        self, statement: ast.stmt, function: FunctionType, call: ast.Call
    ) -> list[ast.stmt]:
        self.calls += 1
        definition = _definition(function)
        renaming = _Renaming(definition, self.calls)
        found: list[ast.stmt] = []
        parameters = [a.arg for a in definition.args.args]
        if len(parameters) != len(call.args) or call.keywords:
            self._refuse(
                function.__name__, f"does not give its {len(parameters)} arguments by place"
            )
        for name, argument in zip(parameters, call.args):
            if isinstance(argument, (ast.Name, ast.Constant)) and name not in renaming.assigned:
                renaming.known[name] = argument
            else:
                found.append(ast.Assign([renaming.fresh(name, ast.Store())], argument, lineno=0))
        body = [renaming.visit(_copy(s)) for s in definition.body if not _is_text(s)]
        result = body.pop().value if body and isinstance(body[-1], ast.Return) else None
        if any(isinstance(node, ast.Return) for s in body for node in ast.walk(s)):
            self._refuse(function.__name__, "needs a function that returns at its end only")
        found += self.block(body, function.__globals__)
        if not isinstance(statement, ast.Expr):
            if result is None:
                self._refuse(function.__name__, "takes a result, which there is not")
            found += _assigned(statement, result, renaming)
        return found


class _Renaming(ast.NodeTransformer):
    """Gives the variables of a function names that only one call of it has."""

    def __init__(self, function: ast.FunctionDef, number: int) -> None:
        self.number = number
        nodes = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
        self.assigned = {node.id for node in nodes if isinstance(node.ctx, ast.Store)}
        self.own = self.assigned | {a.arg for a in function.args.args}
        self.known: dict[str, ast.expr] = {}  # parameters that stand for a name or a constant
        self.names: set[str] = set()

    def fresh(self, name: str, context: ast.expr_context) -> ast.Name:
        found = ast.Name(f"{name}__{self.number}", context)
        self.names.add(found.id)
        return found

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.known:
            return self.known[node.id]
        return self.fresh(node.id, node.ctx) if node.id in self.own else node


def _assigned(statement: ast.stmt, result: ast.expr, renaming: _Renaming) -> list[ast.stmt]:
    """The assignment with a function's result in the place of its call."""
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not isinstance(target, ast.Tuple) or not isinstance(result, ast.Tuple):
        statement.value = result  # pyright: ignore[reportAttributeAccessIssue]
        return [statement]
    before: list[ast.stmt] = []
    after: list[ast.stmt] = []
    for i, (place, value) in enumerate(zip(target.elts, result.elts, strict=True)):
        if not (isinstance(value, ast.Name) and value.id in renaming.names):
            # The caller's variables may change before it is read.
            before.append(ast.Assign([renaming.fresh(f"result{i}", ast.Store())], value, lineno=0))
            value = renaming.fresh(f"result{i}", ast.Load())
        after.append(ast.Assign([place], value, lineno=0))
    return [*before, *after]


def _called(node: ast.AST | None) -> str:
    """The name of the function that a call calls; else an empty text."""
    name = node.func if isinstance(node, ast.Call) else None
    return name.id if isinstance(name, ast.Name) else ""


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _copy(statement: ast.stmt) -> ast.stmt:
    (found,) = ast.parse(ast.unparse(statement)).body
    return found
