"""The closed table of scalar primitives that lowerings are written in.

A lowering receives a `ScalarBuilder` (`k` by custom) and builds one element's value from those of
its inputs. What a primitive becomes (Python source for a kernel, a number in a test) is the
builder's affair; the table below is all there is. Both operands of a binary primitive have one
dtype; nothing is promoted. f16 and bf16 values are computed in f32 and rounded after every
primitive, as TensorFlow does on a CPU.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from flowc import dtypes
from flowc.dtypes import DType
from flowc.ir.dims import Dim

SIMPLE, DIVIDED, SERIES = 0.06, 0.3, 0.5  # an instruction; one that takes longer; a polynomial


class Primitive(NamedTuple):
    """`kinds`: of the dtypes that it takes. `result`: `same`, `bool` or `real`. `cost`: rough
    nanoseconds for an element in a loop over f32, on one core with AVX-512."""

    operands: int
    kinds: str
    result: str
    cost: float = SIMPLE


PRIMITIVES: dict[str, Primitive] = {
    "add": Primitive(2, "iufc", "same"),
    "sub": Primitive(2, "iufc", "same"),
    "mul": Primitive(2, "iufc", "same"),
    "div": Primitive(2, "fc", "same", DIVIDED),  # true division
    "neg": Primitive(1, "ifcu", "same"),
    "abs": Primitive(1, "iufc", "real"),
    "sign": Primitive(1, "iufc", "same"),
    # Integer division: the divisor must not be 0 (ops check it); INT_MIN / -1 is INT_MIN.
    "floordiv": Primitive(2, "iuf", "same", 5.0),  # rounds to minus infinity
    "floormod": Primitive(2, "iuf", "same", 5.0),  # sign of the divisor
    "truncdiv": Primitive(2, "iu", "same", 5.0),  # rounds to zero
    "truncmod": Primitive(2, "iuf", "same", 5.0),  # sign of the dividend
    "max": Primitive(2, "iuf", "same"),  # NaN if either operand is NaN
    "min": Primitive(2, "iuf", "same"),
    # (a > b ? a : b): Eigen's and C++'s way, where a NaN on the left gives b
    "max_select": Primitive(2, "iuf", "same"),
    "min_select": Primitive(2, "iuf", "same"),
    "eq": Primitive(2, "iufcb", "bool"),
    "ne": Primitive(2, "iufcb", "bool"),
    "lt": Primitive(2, "iuf", "bool"),
    "le": Primitive(2, "iuf", "bool"),
    "gt": Primitive(2, "iuf", "bool"),
    "ge": Primitive(2, "iuf", "bool"),
    "logical_and": Primitive(2, "b", "bool"),
    "logical_or": Primitive(2, "b", "bool"),
    "logical_not": Primitive(1, "b", "bool"),
    "bitwise_and": Primitive(2, "iu", "same"),
    "bitwise_or": Primitive(2, "iu", "same"),
    "bitwise_xor": Primitive(2, "iu", "same"),
    "bitwise_not": Primitive(1, "iu", "same"),
    "shift_left": Primitive(2, "iu", "same"),
    "shift_right": Primitive(2, "iu", "same"),
    "popcount": Primitive(1, "iu", "same"),
    "is_nan": Primitive(1, "f", "bool"),
    "is_inf": Primitive(1, "f", "bool"),
    "is_finite": Primitive(1, "f", "bool"),
    "floor": Primitive(1, "f", "same"),
    "ceil": Primitive(1, "f", "same"),
    "trunc": Primitive(1, "f", "same"),
    "rint": Primitive(1, "f", "same"),  # halves to even
    "sqrt": Primitive(1, "f", "same", DIVIDED),
    "rsqrt": Primitive(1, "f", "same", DIVIDED),
    "exp": Primitive(1, "f", "same", SERIES),
    "exp_negative": Primitive(1, "f", "same", SERIES),  # exp(x) of x <= 0
    "expm1": Primitive(1, "f", "same", SERIES),
    "log": Primitive(1, "f", "same", SERIES),
    "log1p": Primitive(1, "f", "same", SERIES),
    "sin": Primitive(1, "f", "same", 8.0),
    "cos": Primitive(1, "f", "same", 8.0),
    "tan": Primitive(1, "f", "same", 8.0),
    "asin": Primitive(1, "f", "same", SERIES),
    "acos": Primitive(1, "f", "same", SERIES),
    "atan": Primitive(1, "f", "same", 4.0),
    "sinh": Primitive(1, "f", "same", SERIES),
    "cosh": Primitive(1, "f", "same", SERIES),
    "tanh": Primitive(1, "f", "same", SERIES),
    "asinh": Primitive(1, "f", "same", SERIES),
    "acosh": Primitive(1, "f", "same", SERIES),
    "atanh": Primitive(1, "f", "same", SERIES),
    "sigmoid": Primitive(1, "f", "same", SERIES),
    "erf": Primitive(1, "f", "same", SERIES),
    "erfc": Primitive(1, "f", "same", 4.0),
    "erfinv": Primitive(1, "f", "same", 15.0),
    "ndtri": Primitive(1, "f", "same", 15.0),
    "lgamma": Primitive(1, "f", "same", 15.0),
    "digamma": Primitive(1, "f", "same", 15.0),
    "igamma": Primitive(2, "f", "same", 300.0),
    "igammac": Primitive(2, "f", "same", 300.0),
    "zeta": Primitive(2, "f", "same", 2000.0),
    "polygamma": Primitive(2, "f", "same", 2000.0),
    "betainc": Primitive(3, "f", "same", 300.0),
    "atan2": Primitive(2, "f", "same", 4.0),
    "pow": Primitive(2, "iuf", "same", 10.0),
    "nextafter": Primitive(2, "f", "same"),
    "fma": Primitive(3, "f", "same"),  # x*y + z, fused where the target can
    "real": Primitive(1, "c", "real"),
    "imag": Primitive(1, "c", "real"),
    "bessel_i0": Primitive(1, "f", "same", 15.0),
    "bessel_i0e": Primitive(1, "f", "same", 15.0),
    "bessel_i1": Primitive(1, "f", "same", 15.0),
    "bessel_i1e": Primitive(1, "f", "same", 15.0),
    "bessel_j0": Primitive(1, "f", "same", 100.0),
    "bessel_j1": Primitive(1, "f", "same", 100.0),
    "bessel_k0": Primitive(1, "f", "same", 15.0),
    "bessel_k0e": Primitive(1, "f", "same", 15.0),
    "bessel_k1": Primitive(1, "f", "same", 15.0),
    "bessel_k1e": Primitive(1, "f", "same", 15.0),
    "bessel_y0": Primitive(1, "f", "same", 100.0),
    "bessel_y1": Primitive(1, "f", "same", 100.0),
    "dawsn": Primitive(1, "f", "same", 15.0),
    "expint": Primitive(1, "f", "same", 15.0),
    "fresnel_cos": Primitive(1, "f", "same", 15.0),
    "fresnel_sin": Primitive(1, "f", "same", 15.0),
    "spence": Primitive(1, "f", "same", 15.0),
}


def compute_dtype(dtype: DType) -> DType:
    """The dtype that a scalar is computed in, and adds up in; of strings there are the numbers, of
    quantised elements the integers."""
    if dtype is dtypes.f16 or dtype is dtypes.bf16:
        return dtypes.f32
    return dtypes.i64 if dtype is dtypes.string else dtype.carrier


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
        """The bits of x as a number of another dtype of the same size."""
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

    def checked_index(self, x: Any, extent: Dim, message: str, place: tuple[Dim, ...] = ()) -> Dim:
        """`as_index` that makes the run fail with InvalidArgumentError where x is outside
        [0, extent). `message` may use {value} and {extent}, and {place}: the numbers of `place`, or
        `..` where a message has no room for them."""
        ...

    def check(self, condition: Any, message: str) -> None:
        """Makes the run fail with InvalidArgumentError where the bool scalar is false."""
        ...
