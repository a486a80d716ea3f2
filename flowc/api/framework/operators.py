"""Python's operators on tensors: `x + y`, `x[a:b]`, `x.eval()`.

In: importing this module. Out: `Tensor` and `Operation` with these methods. Nothing heavier is
imported until one is used. `==` stays identity, as in TensorFlow 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flowc.graph import Operation, Tensor, set_method, set_operator

# method: (op type, name of the operation)
_ARITHMETIC = {
    "add": ("AddV2", "add"),
    "sub": ("Sub", "sub"),
    "mul": ("Mul", "mul"),
    "floordiv": ("FloorDiv", "floordiv"),
    "mod": ("FloorMod", "mod"),
    "pow": ("Pow", "pow"),
}
_COMPARISONS = {"lt": "Less", "le": "LessEqual", "gt": "Greater", "ge": "GreaterEqual"}
_LOGIC = {
    "and": ("LogicalAnd", "BitwiseAnd"),
    "or": ("LogicalOr", "BitwiseOr"),
    "xor": ("", "BitwiseXor"),
}


def _binary(op_type: str, name: str | None, swapped: bool = False) -> Callable[..., Any]:
    def operator(self: Tensor, other: Any) -> Any:
        from flowc.api.framework.raw_ops import output

        left, right = (other, self) if swapped else (self, other)
        with self.graph.as_default():
            return output(op_type, left, right, name=name)

    return operator


def _division(swapped: bool) -> Callable[..., Any]:
    def operator(self: Tensor, other: Any) -> Any:
        from flowc.api.math.elementwise import truediv

        left, right = (other, self) if swapped else (self, other)
        with self.graph.as_default():
            return truediv(left, right)

    return operator


def _product(swapped: bool) -> Callable[..., Any]:
    def operator(self: Tensor, other: Any) -> Any:
        from flowc.api.math.reductions import matmul

        left, right = (other, self) if swapped else (self, other)
        with self.graph.as_default():
            return matmul(left, right, name="matmul")

    return operator


def _logic(kind: str, swapped: bool) -> Callable[..., Any]:
    def operator(self: Tensor, other: Any) -> Any:
        from flowc.api.framework.raw_ops import output
        from flowc.api.math.elementwise import logical_xor

        left, right = (other, self) if swapped else (self, other)
        logical, bitwise = _LOGIC[kind]
        with self.graph.as_default():
            if self.dtype is None or self.dtype.kind != "bool":
                return output(bitwise, left, right, name=kind)
            if kind == "xor":
                with self.graph.name_scope("xor") as scope:
                    return logical_xor(left, right, name=scope)
            return output(logical, left, right, name=kind)

    return operator


def _negated(self: Tensor) -> Any:
    from flowc.api.framework.raw_ops import output

    with self.graph.as_default():
        return output("Neg", self)


def _absolute(self: Tensor) -> Any:
    from flowc.api.math.elementwise import abs as absolute

    with self.graph.as_default():
        return absolute(self)


def _inverted(self: Tensor) -> Any:
    from flowc.api.framework.raw_ops import output

    with self.graph.as_default():
        logical = self.dtype is not None and self.dtype.kind == "bool"
        return output("LogicalNot" if logical else "Invert", self)


def _item(self: Tensor, key: Any) -> Any:
    from flowc.api.arrays.subscripts import subscript

    with self.graph.as_default():
        return subscript(self, key)


def _install() -> None:
    for name, (op_type, op_name) in _ARITHMETIC.items():
        set_operator(f"__{name}__", _binary(op_type, op_name))
        set_operator(f"__r{name}__", _binary(op_type, op_name, swapped=True))
    for name, op_type in _COMPARISONS.items():
        set_operator(f"__{name}__", _binary(op_type, None))
    for name in _LOGIC:
        set_operator(f"__{name}__", _logic(name, False))
        set_operator(f"__r{name}__", _logic(name, True))
    for prefix, swapped in (("", False), ("r", True)):
        set_operator(f"__{prefix}truediv__", _division(swapped))
        set_operator(f"__{prefix}div__", _division(swapped))
        set_operator(f"__{prefix}matmul__", _product(swapped))
    set_operator("__neg__", _negated)
    set_operator("__abs__", _absolute)
    set_operator("__invert__", _inverted)
    set_operator("__getitem__", _item)
    set_operator("eval", _eval)
    set_method("run", _run)


def _eval(self: Tensor, feed_dict: Any = None, session: Any = None) -> Any:
    """The tensor's value, run in `session` or the default one. Raises `ValueError` where there is
    no session or it belongs to another graph."""
    return _session_for(
        self, session, "evaluate tensor using `eval()`", "`eval(session=sess)`"
    ).run(self, feed_dict)


def _run(self: Operation, feed_dict: Any = None, session: Any = None) -> None:
    """Runs the operation in `session` or the default one. Raises as `Tensor.eval` does."""
    chosen = _session_for(self, session, "execute operation using `run()`", "`run(session=sess)`")
    chosen.run(self, feed_dict)


def _session_for(element: Tensor | Operation, session: Any, what: str, how: str) -> Any:
    from flowc.run.session import get_default_session

    if session is not None:
        if session.graph is not element.graph:
            raise ValueError(f"Cannot use the given session to {what.replace(' using', ':')}: the "
                             "tensor's graph is different from the session's graph.")  # fmt: skip
        return session
    found = get_default_session()
    if found is None:
        raise ValueError(
            f"Cannot {what}: No default session is registered. Use `with sess.as_default()` or "
            f"pass an explicit session to {how}"
        )
    if found.graph is not element.graph:
        raise ValueError(
            f"Cannot use the default session to {what.replace(' using', ':')}: the tensor's graph "
            f"is different from the session's graph. Pass an explicit session to {how}."
        )
    return found


_install()
