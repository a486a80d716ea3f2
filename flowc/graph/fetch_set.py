"""What is asked of a graph: tensors to compute from tensors that are fed.

In: tensors, types, and what callers call them. Out: records that extraction and the compiler take.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dataclass import dataclass
from flowc.graph.operation import Operation
from flowc.graph.tensor import Tensor
from flowc.ir.types import TensorType

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Feed:
    """One input: `name` is what callers know it by. `open`: the axes whose sizes nobody named.
    `value`: the elements that it has in every run; it is a constant then, and no input."""

    name: str
    tensor: Tensor
    type: TensorType
    open: tuple[int, ...] = ()
    value: Array | None = None


@dataclass(frozen=True, slots=True)
class Fetch:
    """One output: `name` is what callers know it by."""

    name: str
    tensor: Tensor


@dataclass(frozen=True, slots=True)
class FetchSet:
    """`targets`: operations that run and give nothing. `done`: those that ran before, for which
    nothing waits."""

    feeds: tuple[Feed, ...]
    fetches: tuple[Fetch, ...]
    targets: tuple[Operation, ...] = ()
    done: frozenset[Operation] = frozenset()

    @classmethod
    def of(
        cls,
        fetches: Iterable[Tensor],
        feeds: Mapping[Tensor, TensorType],
        targets: Iterable[Operation] = (),
        done: frozenset[Operation] = frozenset(),
        values: Mapping[Tensor, Array] | None = None,
    ) -> FetchSet:
        """Tensors by their own names. `values`: feeds that are the same in every run."""
        ins = [Feed(t.name, t, type_) for t, type_ in feeds.items()]
        for t, value in (values or {}).items():
            type_ = TensorType(dtypes.as_dtype(value.dtype), value.shape)
            ins.append(Feed(t.name, t, type_, value=value))
        return cls(tuple(ins), tuple(Fetch(t.name, t) for t in fetches), tuple(targets), done)
