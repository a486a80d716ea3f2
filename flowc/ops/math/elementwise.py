"""What the records of elementwise ops share: inference, and references in NumPy.

In: a NumPy function, or a function on scalars. Out: the parts of a record. Invariants of a
reference made here: the result has the dtype and shape that the signature promises, f16 and bf16
are computed in f32 and rounded once, integers wrap, and no NumPy warning escapes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from flowc.ir.inference import Inference
from flowc.ir.lowering import Elementwise
from flowc.ir.op import Op, define
from flowc.ir.types import Dims

Array = np.ndarray
HALVES = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))


def same_dims(c: Inference) -> Dims:
    """The output has the dims of input 0."""
    return c.dims(0)


def broadcast_dims(c: Inference) -> Dims:
    """The inputs broadcast against each other."""
    return c.broadcast()


def equal_dims(c: Inference) -> Dims:
    """All inputs have the same dims."""
    first = c.dims(0)
    for i in range(1, len(c.inputs)):
        if c.rank(i) != len(first):
            raise c.fail(f"input {i} has rank {c.rank(i)}, expected the rank of input 0")
        first = tuple(c.equal(x, y) for x, y in zip(first, c.dims(i)))
    return first


def wide_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype that numbers of a dtype are computed in."""
    return np.dtype(np.float32) if dtype in HALVES else dtype


def widened(x: Array) -> Array:
    """f16 and bf16 as f32, others as they are."""
    return x.astype(np.float32) if x.dtype in HALVES else x


def numpy_reference(
    function: Callable[..., Any], rounds_each_step: bool = False
) -> Callable[..., Array]:
    """A reference whose output has the dtype of its first input, or bool if the function says so.

    Halves are computed in f32 and rounded once, unless the function `rounds_each_step`. Object
    arrays (sizes) pass through as they are.
    """

    def reference(*arrays: Array, **attrs: Any) -> Array:
        dtype = np.asarray(arrays[0]).dtype
        given = [np.asarray(a) for a in arrays]
        wide = given if rounds_each_step else [widened(a) for a in given]
        with np.errstate(all="ignore"):
            found = np.asarray(function(*wide, **attrs))
            if dtype.kind == "O" or found.dtype == np.bool_:
                return found
            return found.astype(dtype)

    return functools.update_wrapper(reference, function)  # whose parameters name attrs


def real_or_complex(real: Callable[..., Any], imaginary: Callable[..., Any]) -> Callable[..., Any]:
    """The expression for real dtypes, or the one for complex dtypes."""
    return lambda k, *x: (imaginary if x[0].dtype.is_complex else real)(k, *x)


def primitive(name: str) -> Callable[..., Any]:
    """The expression that is one primitive of the builder."""
    return lambda k, *x: getattr(k, name)(*x)


def map_op(
    name: str,
    tf: str,
    expr: Callable[..., Any],
    reference: Callable[..., Any],
    *,
    infer: Callable[[Inference], Dims | list[Dims]] = same_dims,
    gradient: Callable[..., Any] | None = None,
    traits: tuple[str, ...] = (),
    examples: tuple[str, ...] = (),
    content: bool | Callable[..., Any] = False,
    aliases: tuple[str, ...] = (),
    rounds_each_step: bool = False,
) -> Op:
    """Defines an elementwise op; `reference` is wrapped by `numpy_reference`."""
    return define(
        name,
        tf,
        infer=infer,
        lowering=Elementwise(expr),
        reference=numpy_reference(reference, rounds_each_step),
        gradient=gradient,
        traits=frozenset(traits),
        examples=examples,
        content=content,
        aliases=aliases,
    )
