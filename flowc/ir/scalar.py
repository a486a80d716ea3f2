"""The closed table of scalar primitives that lowerings are written in.

A lowering receives a `ScalarBuilder` (`k` by custom) and builds one element's value from those of
its inputs. What a primitive becomes (Python source for a kernel, a number in a test) is the
builder's affair; the table below is all there is. Both operands of a binary primitive have one
dtype; nothing is promoted. f16 and bf16 values are computed in f32 and rounded after every
primitive, as TensorFlow does on a CPU.
"""

from __future__ import annotations

from typing import Any, Protocol

from flowc.dtypes import DType
from flowc.ir.dims import Dim

# name: (number of operands, dtype kinds it takes, result: "same", "bool" or "real")
PRIMITIVES: dict[str, tuple[int, str, str]] = {
    "add": (2, "iufc", "same"),
    "sub": (2, "iufc", "same"),
    "mul": (2, "iufc", "same"),
    "div": (2, "fc", "same"),  # true division
    "neg": (1, "ifcu", "same"),
    "abs": (1, "iufc", "real"),
    "sign": (1, "iufc", "same"),
    # Integer division: the divisor must not be 0 (ops check it); INT_MIN / -1 is INT_MIN.
    "floordiv": (2, "iuf", "same"),  # rounds to minus infinity
    "floormod": (2, "iuf", "same"),  # sign of the divisor
    "truncdiv": (2, "iu", "same"),  # rounds to zero
    "truncmod": (2, "iuf", "same"),  # sign of the dividend
    "max": (2, "iuf", "same"),  # NaN if either operand is NaN
    "min": (2, "iuf", "same"),
    # (a > b ? a : b): Eigen's and C++'s way, where a NaN on the left gives b
    "max_select": (2, "iuf", "same"),
    "min_select": (2, "iuf", "same"),
    "eq": (2, "iufcb", "bool"),
    "ne": (2, "iufcb", "bool"),
    "lt": (2, "iuf", "bool"),
    "le": (2, "iuf", "bool"),
    "gt": (2, "iuf", "bool"),
    "ge": (2, "iuf", "bool"),
    "logical_and": (2, "b", "bool"),
    "logical_or": (2, "b", "bool"),
    "logical_not": (1, "b", "bool"),
    "bitwise_and": (2, "iu", "same"),
    "bitwise_or": (2, "iu", "same"),
    "bitwise_xor": (2, "iu", "same"),
    "bitwise_not": (1, "iu", "same"),
    "shift_left": (2, "iu", "same"),
    "shift_right": (2, "iu", "same"),
    "popcount": (1, "iu", "same"),
    "is_nan": (1, "f", "bool"),
    "is_inf": (1, "f", "bool"),
    "is_finite": (1, "f", "bool"),
    "floor": (1, "f", "same"),
    "ceil": (1, "f", "same"),
    "trunc": (1, "f", "same"),
    "rint": (1, "f", "same"),  # halves to even
    "sqrt": (1, "f", "same"),
    "rsqrt": (1, "f", "same"),
    "exp": (1, "f", "same"),
    "expm1": (1, "f", "same"),
    "log": (1, "f", "same"),
    "log1p": (1, "f", "same"),
    "sin": (1, "f", "same"),
    "cos": (1, "f", "same"),
    "tan": (1, "f", "same"),
    "asin": (1, "f", "same"),
    "acos": (1, "f", "same"),
    "atan": (1, "f", "same"),
    "sinh": (1, "f", "same"),
    "cosh": (1, "f", "same"),
    "tanh": (1, "f", "same"),
    "asinh": (1, "f", "same"),
    "acosh": (1, "f", "same"),
    "atanh": (1, "f", "same"),
    "sigmoid": (1, "f", "same"),
    "erf": (1, "f", "same"),
    "erfc": (1, "f", "same"),
    "erfinv": (1, "f", "same"),
    "ndtri": (1, "f", "same"),
    "lgamma": (1, "f", "same"),
    "digamma": (1, "f", "same"),
    "igamma": (2, "f", "same"),
    "igammac": (2, "f", "same"),
    "zeta": (2, "f", "same"),
    "polygamma": (2, "f", "same"),
    "betainc": (3, "f", "same"),
    "atan2": (2, "f", "same"),
    "pow": (2, "iuf", "same"),
    "nextafter": (2, "f", "same"),
    "fma": (3, "f", "same"),  # x*y + z, fused where the target can
    "real": (1, "c", "real"),
    "imag": (1, "c", "real"),
    "bessel_i0": (1, "f", "same"),
    "bessel_i0e": (1, "f", "same"),
    "bessel_i1": (1, "f", "same"),
    "bessel_i1e": (1, "f", "same"),
    "bessel_j0": (1, "f", "same"),
    "bessel_j1": (1, "f", "same"),
    "bessel_k0": (1, "f", "same"),
    "bessel_k0e": (1, "f", "same"),
    "bessel_k1": (1, "f", "same"),
    "bessel_k1e": (1, "f", "same"),
    "bessel_y0": (1, "f", "same"),
    "bessel_y1": (1, "f", "same"),
    "dawsn": (1, "f", "same"),
    "expint": (1, "f", "same"),
    "fresnel_cos": (1, "f", "same"),
    "fresnel_sin": (1, "f", "same"),
    "spence": (1, "f", "same"),
}


class Scalar(Protocol):
    """One element's value inside a kernel."""

    @property
    def dtype(self) -> DType: ...


class ScalarBuilder(Protocol):
    """What a lowering may call. Every name of `PRIMITIVES` is a method that takes Scalars; an
    operand may also be a Python number, which takes the dtype of the other operand."""

    def __getattr__(self, primitive: str) -> Any: ...

    def const(self, value: Any, dtype: DType) -> Any:
        """A literal: int, float (NaN and infinities too), bool or complex."""
        ...

    def cast(self, x: Any, dtype: DType) -> Any:
        """TensorFlow's Cast: floats truncate to ints, out of range as on its CPU; to bool, != 0."""
        ...

    def bitcast(self, x: Any, dtype: DType) -> Any:
        """The same bits as another dtype of the same size."""
        ...

    def select(self, condition: Any, x: Any, y: Any) -> Any:
        """x where the bool scalar holds, else y; both are evaluated."""
        ...

    def complex(self, real: Any, imag: Any) -> Any:
        """A complex number from two floats."""
        ...

    # What follows is for views, which see the index of the element they build.

    def load(self, operand: int, index: tuple[Dim, ...]) -> Any:
        """The element of input number `operand` at `index`, which must lie inside it."""
        ...

    def load_if(self, condition: Any, operand: int, index: tuple[Dim, ...], otherwise: Any) -> Any:
        """`load` where the condition holds, else `otherwise`; memory is not touched elsewhere."""
        ...

    def in_range(self, value: Dim, low: Dim, high: Dim) -> Any:
        """The bool scalar low <= value < high; True as a literal where that can be proved."""
        ...

    def index_value(self, value: Dim, dtype: DType) -> Any:
        """A size or index as a scalar of an integer dtype."""
        ...

    def as_index(self, x: Any, extent: Dim) -> Dim:
        """An integer scalar as an index symbol below `extent`, which the caller vouches for."""
        ...

    def checked_index(self, x: Any, extent: Dim, message: str) -> Dim:
        """`as_index` that makes the run fail with InvalidArgumentError where x is outside
        [0, extent). `message` may use {value} and {extent}."""
        ...

    def check(self, condition: Any, message: str) -> None:
        """Makes the run fail with InvalidArgumentError where the bool scalar is false."""
        ...
