"""Gradients of records as nodes of a Computation, whose references and kernels tests run.

In: a builder. Out: a `GradientBuilder`. Invariant: dims are always known, if only as symbols.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.ir.builder import Builder
from flowc.ir.computation import Value
from flowc.ir.dims import Dim, Expr
from flowc.ir.op import Attrs, Op
from flowc.ops.gradients import GradientBuilder


class ValueGradients(GradientBuilder):
    """Gradients as nodes of a Computation."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder

    def apply(self, op: Op, inputs: Sequence[Any], attrs: Attrs) -> Any:
        return getattr(self._builder, op.name)(*inputs, **attrs)

    def const(self, value: Any, dtype: DType | None = None) -> Value:
        return self._builder.const(value, dtype)

    def sizes(self, dims: Sequence[Dim], dtype: DType = dtypes.i32) -> Value:
        return self._builder.sizes(dims, dtype)

    def dims_of(self, x: Value) -> tuple[Dim, ...]:
        return x.dims

    def elements_of(self, x: Value) -> np.ndarray | None:
        found = self._builder.content(x)
        has_sizes = found is not None and any(isinstance(e, Expr) for e in found.flat)
        return None if has_sizes else found
