"""Batches across runs, of which flowc's have one run: Batch, Unbatch and UnbatchGrad.

In: tensors with as many rows each. Out: the batch, which run has which of its rows, and the rows
again. Invariant: a run never waits for another one's rows, so that it gets what TensorFlow gives to
a run that is alone until the time is over.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import DeadlineExceededError, InvalidArgumentError
from flowc.ir.computation import Value
from flowc.ir.extraction import Bound, Extractor
from flowc.ir.inference import Inference
from flowc.ir.lowering import Extracted
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.host_ops import host_op

Array = np.ndarray[Any, Any]
_NAMES = 'container: string = "", shared_name: string = ""'
_LATE = "Batched data did not arrive within timeout window."
_ALONE = "a batch has the rows of one run, and no other run brings these"


def check_batched(x: Extractor, tensors: Sequence[Bound], most: int | None) -> list[Value]:
    """The tensors of a batch: of the same number of rows, at most so many."""
    values = [bound for bound in tensors if isinstance(bound, Value)]
    if len(values) != len(tensors) or any(not v.type.rank for v in values):
        raise InvalidArgumentError("Batching input tensors must have at least one dimension")
    first = values[0].dims[0] if values else 0
    fault = "Batching input tensors supplied in a given op invocation must have equal 0th-dimension"
    for value in values:
        if isinstance(first, int) and isinstance(value.dims[0], int) and value.dims[0] != first:
            raise InvalidArgumentError(f"{fault} size")
        x.b.require_equal(first, value.dims[0])
    if most is not None and values:
        rows = x.b.scalar_size(first, dtypes.i64)
        text = f"Task size is larger than maximum input batch size {most}"
        x.b.check(x.b.less_equal(rows, np.int64(most)), message=text)
        x.effect(x.b.nodes[-1])
    return values


def _emit_batch(x: Extractor, inputs: Sequence[Bound], attrs: Mapping[str, Any]) -> Sequence[Bound]:
    b, most, allowed = x.b, attrs["max_batch_size"], attrs["allowed_batch_sizes"]
    if any(one >= other for one, other in itertools.pairwise(allowed)):
        raise InvalidArgumentError("allowed_batch_sizes entries must be monotonically increasing")
    if allowed and allowed[-1] != most:
        raise InvalidArgumentError("final entry in allowed_batch_sizes must equal max_batch_size")
    values = check_batched(x, inputs, most)
    rows = b.scalar_size(values[0].dims[0], dtypes.i64)
    if allowed:  # a batch is filled up with its first row
        sizes = np.array(allowed, np.int64)
        fitting = b.select_v2(b.less_equal(rows, sizes), sizes, np.int64(most))
        none = b.equal(rows, np.int64(0))
        whole = b.select_v2(none, np.int64(0), b.min(fitting, np.int32(0)))
        places = b.range(np.int64(0), whole, np.int64(1))
        places = b.select_v2(b.less(places, rows), places, np.int64(0))
        values = [b.gather(v, places, np.int32(0)) for v in values]
    number = b.const(np.int64(zlib.crc32(x.name.encode())))
    index = b.reshape(b.pack(number, np.int64(0), rows, axis=0), (1, 3))
    return [*values, index, number]


def _infer_batch(c: Inference) -> list[Dims]:
    if any(not t.rank for t in c.inputs):
        raise c.fail("Batching input tensors must have at least one dimension")
    return [*((c.fresh("batch"), *t.dims[1:]) for t in c.inputs), (1, 3), ()]


define(
    "batch",
    "Batch(in_tensors: T; num_batch_threads: int, max_batch_size: int, max_enqueued_batches: int ="
    " 10, batch_timeout_micros: int, allowed_batch_sizes: list(int) = [], grad_timeout_micros: int,"
    f' {_NAMES}, batching_queue: string = "", T: list(type) >= 1)'
    " -> batched_tensors: T, batch_index: i64, id: i64",
    infer=_infer_batch,
    lowering=Extracted(_emit_batch),
)


def _unbatched(inputs: Sequence[Any], _: Sequence[DType]) -> list[Array]:
    """Who is first in the index has the first rows of the batch."""
    batch, index, key = inputs
    sizes = index[:, 2] - index[:, 1]
    if np.any(sizes < 0):
        raise InvalidArgumentError(f"Split sizes must not be negative, found {int(sizes.min())}")
    if sizes.sum() > len(batch):
        raise InvalidArgumentError("Sum of split sizes must not exceed dim0-size of input tensor")
    mine = np.flatnonzero(index[:, 0] == key)
    if not len(mine):
        raise DeadlineExceededError(_LATE, hint=_ALONE)
    start = int(sizes[: mine[0]].sum())
    return [batch[start : start + int(sizes[mine[0]])]]


def _infer_unbatch(c: Inference) -> Dims:
    _check_index(c, 2)
    if not c.rank(0):
        raise c.fail("a scalar is no batch")
    return (c.fresh("rows"), *c.dims(0)[1:])


def _check_index(c: Inference, key: int) -> None:
    if c.rank(1) != 2:
        raise c.fail(f"batch_index must be a matrix, found {c.inputs[1]}")
    c.equal(
        c.dims(1)[1],
        3,
        f"Wrong shape for index tensor. Expected 1st dimension size to be 3 ; Got: {c.dims(1)[1]}.",
    )
    if c.rank(key):
        raise c.fail(f"Input id should be scalar; Got: {c.inputs[key]}.")


host_op(
    "unbatch",
    "Unbatch(batched_tensor: T, batch_index: i64, id: i64; timeout_micros: int,"
    f" {_NAMES}, T: type) -> unbatched_tensor: T",
    _unbatched,
    infer=_infer_unbatch,
)


def _gradients_batched(inputs: Sequence[Any], _: Sequence[DType]) -> list[Array]:
    """The gradients of all who have rows of the batch: of a run alone, its own."""
    batch, index, grad, key = inputs
    if not len(batch):
        return [batch]
    if np.any(index[:, 0] != key):
        raise DeadlineExceededError(_LATE, hint=_ALONE)
    return [grad if len(index) else grad[:0]]


def _infer_unbatch_grad(c: Inference) -> Dims:
    _check_index(c, 3)
    if not c.rank(0) or not c.rank(2):
        raise c.fail("a scalar is no batch, and no gradient of one")
    return (c.fresh("rows"), *c.dims(2)[1:])


host_op(
    "unbatch_grad",
    "UnbatchGrad(original_input: T, batch_index: i64, grad: T, id: i64;"
    f" {_NAMES}, T: type) -> batched_grad: T",
    _gradients_batched,
    infer=_infer_unbatch_grad,
)
