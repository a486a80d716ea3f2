"""Reads sizes and indices back from the text that `str` of a `Dim` prints.

In: text. Out: a `Dim`. Symbols are those of an environment, others are made. Only arithmetic is
read: no name is looked up elsewhere, and nothing is called but `floordiv`, `max` and `min`.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from flowc.ir.dims import Dim, floordiv, maximum, minimum, symbol


def parse_dim(text: str, env: Mapping[str, Dim] | None = None) -> Dim:
    """Reads back what `str` of a `Dim` printed. Raises `ValueError` on anything else."""
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"not a size: {text!r}") from error
    return _from_ast(tree, env or {})


def _from_ast(node: ast.expr, env: Mapping[str, Dim]) -> Dim:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name(id=name):
            return env[name] if name in env else symbol(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _from_ast(operand, env) * -1
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _from_ast(left, env), _from_ast(right, env)
            match op:
                case ast.Add():
                    return a + b
                case ast.Sub():
                    return a - b
                case ast.Mult():
                    return a * b
                case ast.FloorDiv():
                    return floordiv(a, b)
                case _:
                    raise ValueError(f"not a size operator: {ast.dump(op)}")
        case ast.Call(func=ast.Name(id=name), args=[left, right]):
            table = {"floordiv": floordiv, "max": maximum, "min": minimum}
            if name in table:
                return table[name](_from_ast(left, env), _from_ast(right, env))
        case _:
            pass
    raise ValueError(f"not a size: {ast.dump(node)}")
