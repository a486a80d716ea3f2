"""The type of a value: dtype and dims. Prints as `f32[batch,784]`, scalars as `f32[]`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.ir.dims import Dim, Expr, product

MAX_RANK = 64  # of the tensors that NumPy can hold
Dims = tuple[Dim, ...]

# Of a size, and of the bytes of a value: what is larger fits in no address space, and what is not
# can be multiplied by any element size, and added up, in 64 bits.
MOST_BYTES = 1 << 47


@dataclass(frozen=True, slots=True)
class TensorType:
    """Element dtype and one size a dimension; the rank is always known."""

    dtype: DType
    dims: Dims

    @property
    def rank(self) -> int:
        return len(self.dims)

    @property
    def size(self) -> Dim:
        """The number of elements."""
        return product(self.dims)

    @property
    def is_static(self) -> bool:
        return not any(isinstance(d, Expr) for d in self.dims)

    @property
    def static_dims(self) -> tuple[int, ...]:
        """The dims as ints. Raises `ValueError` when one is symbolic."""
        if not self.is_static:
            raise ValueError(f"{self} has a size that is not known")
        return tuple(int(d) for d in self.dims)

    def with_dims(self, dims: Iterable[Dim]) -> TensorType:
        return TensorType(self.dtype, tuple(dims))

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(str(d).replace(' ', '') for d in self.dims)}]"


def split_dims(text: str) -> list[str]:
    """`a,max(b, c)` -> the texts between the commas outside parentheses."""
    parts: list[str] = []
    depth = start = 0
    for position, character in enumerate(text):
        if character == "(":
            depth += 1
        elif character == ")":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[start:position].strip())
            start = position + 1
    last = text[start:].strip()
    return [*parts, last] if last or parts else []


def parse_type(text: str) -> TensorType:
    """Reads `f32[batch,784]`. Raises `ValueError` with the text that could not be read."""
    name, bracket, rest = text.strip().partition("[")
    if not bracket or not rest.endswith("]"):
        raise ValueError(f"not a type: {text!r} (expected for example f32[batch,784])")
    try:
        dtype = dtypes.as_dtype(name)
    except TypeError as error:
        raise ValueError(f"not a dtype: {name!r}") from error
    from flowc.ir.text.dim_parsing import parse_dim  # late: who builds a graph reads no text

    return TensorType(dtype, tuple(parse_dim(d) for d in split_dims(rest[:-1])))


def is_repeated(array: np.ndarray[Any, Any]) -> bool:
    """Whether an array holds some element at several places: it takes less memory than its dims
    say."""
    return any(step == 0 and size > 1 for step, size in zip(array.strides, array.shape))
