"""Python's operators on tensors: `x + y`, `x[a:b]`.

In: a tensor, and another operand. Out: the operation that TensorFlow makes of them, in the tensor's
graph. The op records load when an operator is first used. `==` stays identity, as in TensorFlow 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from flowc import dtypes
from flowc.dtypes import DType

if TYPE_CHECKING:
    from flowc.graph.graph import Graph
    from flowc.graph.tensor import Tensor

_SMALL_INTEGERS = frozenset({dtypes.u8, dtypes.i8, dtypes.u16, dtypes.i16})  # divided as f32


def _output(op_type: str, *inputs: Any, name: str | None = None, **attrs: Any) -> Tensor:
    from flowc.graph.building.creation import create

    return create(op_type, inputs, attrs, name, numbers_fit=True).outputs[0]


def _beside(graph: Graph) -> Graph:
    from flowc.graph.default import graph_beside

    return graph_beside(graph)


def pair(x: Any, y: Any) -> tuple[Tensor, Tensor]:
    """Two operands as tensors: a Python number takes the other's dtype."""
    from flowc.graph.building.conversion import Tensor, as_tensor

    if isinstance(y, Tensor) and not isinstance(x, Tensor):
        return as_tensor(x, name="x", preferred=y.base_dtype), y
    left = as_tensor(x, name="x")
    return left, as_tensor(y, name="y", preferred=left.base_dtype)


def pair_of_one_dtype(x: Any, y: Any) -> tuple[Tensor, Tensor]:
    left, right = pair(x, y)
    one, other = left.base_dtype, right.base_dtype
    if one is not other:
        raise TypeError(f"`x` and `y` must have the same dtype, got {one!r} != {other!r}.")
    return left, right


def quotient_dtype(dtype: DType | None) -> DType | None:
    """The dtype in which integers are divided; None for other numbers."""
    if dtype is None or not dtype.is_integer:
        return None
    return dtypes.f32 if dtype in _SMALL_INTEGERS else dtypes.f64


def true_quotient(x: Any, y: Any, name: str) -> Tensor:
    """`x / y`; integers are divided as floats. Raises `TypeError` where the dtypes differ."""
    left, right = pair_of_one_dtype(x, y)
    wide = quotient_dtype(left.base_dtype)
    if wide is not None:
        left, right = (_output("Cast", v, DstT=wide, name="Cast") for v in (left, right))
    return _output("RealDiv", left, right, name=name)


def absolute(x: Any, name: str | None = None) -> Tensor:
    """The absolute value, of complex numbers too."""
    if x.dtype is not None and x.dtype.is_complex:
        return _output("ComplexAbs", x, name=name or "Abs", Tout=x.dtype.real_dtype)
    return _output("Abs", x, name=name)


def exclusive_or(x: Any, y: Any, name: str | None) -> Tensor:
    """Exclusive or of truth values, which TensorFlow has no op for."""
    either = _output("LogicalOr", x, y)
    both = _output("LogicalNot", _output("LogicalAnd", x, y))
    return _output("LogicalAnd", either, both, name=name)


def _sum(x: Any, y: Any) -> Tensor:
    """The sum of numbers (`AddV2`), or of strings, which only the older op `Add` takes."""
    dtype = (x if isinstance(x, Operators) else y).dtype.base_dtype
    return _output("Add" if dtype is dtypes.string else "AddV2", x, y, name="add")


class OwnProduct:
    """What says itself what its product with a tensor is, on whichever side that stands."""

    def __mul__(self, other: Any) -> Any:
        raise NotImplementedError


def _times(x: Any, y: Any) -> Any:
    return y * x if isinstance(y, OwnProduct) else _output("Mul", x, y, name="mul")


def _product(x: Any, y: Any, name: str) -> Tensor:
    from flowc.graph.building.conversion import as_tensor

    left = as_tensor(x, name="a")
    right = as_tensor(y, name="b", preferred=left.base_dtype)
    ranks = (left.shape.ndims, right.shape.ndims)
    batched = any(r is None or r > 2 for r in ranks)
    return _output("BatchMatMulV2" if batched else "MatMul", left, right, name=name)


def _element(x: Any, key: Any) -> Tensor:
    from flowc.graph.building.subscripts import subscript

    return subscript(x, key)


# -- the methods

_Make = Callable[[Any, Any], Any]
Operator = Callable[["Operators", Any], "Tensor"]


def _plain(op_type: str, name: str | None = None) -> _Make:
    def make(x: Any, y: Any) -> Tensor:
        return _output(op_type, x, y, name=name)

    return make


def _scoped(name: str, function: Callable[[Any, Any, str], Tensor]) -> _Make:
    def make(x: Any, y: Any) -> Tensor:
        graph = (x if isinstance(x, Operators) else y).graph
        with _beside(graph).name_scope(name) as scope:
            return function(x, y, scope)

    return make


def _logical(name: str, logical: _Make, bitwise: str) -> _Make:
    on_bits = _scoped(name, lambda x, y, scope: _output(bitwise, x, y))

    def make(x: Any, y: Any) -> Tensor:
        dtype = (x if isinstance(x, Operators) else y).dtype.base_dtype
        return (logical if dtype is dtypes.bool_ else on_bits)(x, y)

    return make


def _method(make: _Make) -> Operator:
    def operator(self: Operators, other: Any) -> Tensor:
        if hasattr(other, "with_flat_values"):
            return NotImplemented  # a ragged tensor knows what to do with a tensor
        with _beside(self.graph).as_default():
            return make(self._operand(), other)

    return operator


def _methods(make: _Make) -> tuple[Operator, Operator]:
    """The operator, and the one for when the tensor stands on the right."""
    return _method(make), _method(lambda x, y: make(y, x))


class Operators:
    """Python's operators, of a `Tensor` and of what reads one (`_operand`), such as a variable."""

    __slots__ = ()

    if TYPE_CHECKING:
        dtype: Any
        graph: Graph

    __add__, __radd__ = _methods(_sum)
    __sub__, __rsub__ = _methods(_plain("Sub", "sub"))
    __mul__, __rmul__ = _methods(_times)
    __floordiv__, __rfloordiv__ = _methods(_plain("FloorDiv", "floordiv"))
    __mod__, __rmod__ = _methods(_plain("FloorMod", "mod"))
    __pow__, __rpow__ = _methods(_plain("Pow", "pow"))
    __truediv__, __rtruediv__ = __div__, __rdiv__ = _methods(_scoped("truediv", true_quotient))
    __matmul__, __rmatmul__ = _methods(_scoped("matmul", _product))
    __and__, __rand__ = _methods(_logical("and", _plain("LogicalAnd", "and"), "BitwiseAnd"))
    __or__, __ror__ = _methods(_logical("or", _plain("LogicalOr", "or"), "BitwiseOr"))
    __xor__, __rxor__ = _methods(_logical("xor", _scoped("xor", exclusive_or), "BitwiseXor"))
    __lt__ = _method(_plain("Less"))
    __le__ = _method(_plain("LessEqual"))
    __gt__ = _method(_plain("Greater"))
    __ge__ = _method(_plain("GreaterEqual"))
    __getitem__ = _method(_element)

    def __neg__(self) -> Tensor:
        return self._one_of("Neg")

    def __invert__(self) -> Tensor:
        return self._one_of("LogicalNot" if self.dtype.base_dtype is dtypes.bool_ else "Invert")

    def __abs__(self) -> Tensor:
        with _beside(self.graph).as_default():
            return absolute(self._operand())

    def _operand(self) -> Any:
        return self

    def _one_of(self, op_type: str) -> Tensor:
        with _beside(self.graph).as_default():
            return _output(op_type, self._operand())
