"""Softmax and LogSoftmax over the last axis.

In: logits [..., classes]. Out: records that decompose into a maximum, elementwise ops and a sum, so
that fusion makes one kernel a row of them. Invariant: rows are shifted by their maximum first, so
that exp cannot overflow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder
from flowc.ops.math.elementwise import map_op, primitive, widened
from flowc.ops.reductions.folds import reduce_array

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node, Value

LAST = np.array([-1], np.int32)


def _infer(c: Inference) -> Dims:
    if c.rank(0) < 1:
        raise c.fail("Shape must be at least rank 1 but is rank 0")
    return c.dims(0)


def shift_rows(b: Builder, logits: Value) -> Value:
    """Each row less its largest element."""
    return b.sub(logits, b.max(logits, LAST, keep_dims=True))


def sum_rows(x: np.ndarray) -> np.ndarray:
    """The sum of each row, kept as size 1; halves are summed in f32."""
    return reduce_array(np.add, widened(x), (-1,), True).astype(x.dtype)


def shifted_rows(x: np.ndarray) -> np.ndarray:
    """Each row less its largest element; a row of no elements stays as it is."""
    return x - reduce_array(np.maximum, widened(x), (-1,), True, -np.inf).astype(x.dtype)


def shares(b: Builder, exponentials: Value, total: Value) -> Value:
    """Elements over the sum of their row: times its reciprocal, as in TensorFlow's kernels. Halves
    are divided, since the reciprocal would be rounded to one."""
    if total.type.dtype.size == 2:
        return b.real_div(exponentials, total)
    return b.mul(exponentials, b.reciprocal(total))


def _build_softmax(b: Builder, node: Node) -> Value:
    exponentials = b.exp(shift_rows(b, node.inputs[0]))
    return shares(b, exponentials, b.sum(exponentials, LAST, keep_dims=True))


def _build_log_softmax(b: Builder, node: Node) -> Value:
    shifted = shift_rows(b, node.inputs[0])
    return b.sub(shifted, b.log(b.sum(b.exp(shifted), LAST, keep_dims=True)))


def softmax_rows(logits: np.ndarray) -> np.ndarray:
    """The NumPy reference of Softmax."""
    with np.errstate(all="ignore"):
        exponentials = np.exp(shifted_rows(logits))
        return exponentials / sum_rows(exponentials)


def _log_softmax(logits: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        shifted = shifted_rows(logits)
        return shifted - np.log(sum_rows(np.exp(shifted)))


def _softmax_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    y = node.output
    return b.mul(b.sub(dy, b.sum(b.mul(dy, y), LAST, keep_dims=True)), y)


def _log_softmax_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    total = b.sum(dy, LAST, keep_dims=True)
    return b.sub(dy, b.mul(b.exp(node.output), total))


_EXAMPLES = ("T[2,3]", "T[7]", "T[2,1,17]", "T[2,0]", "T[0,3]")

# What simplifying makes of exp(x - max(x)): nothing that it is given is above 0.
exp_of_negative = map_op(
    "exp_of_negative",
    "_ExpOfNegative(x: T; T: FLOAT) -> y: T",
    primitive("exp_negative"),
    np.exp,
    examples=("T[2,3]~negative", "T[17]~negative", "T[0]"),
)

softmax = define(
    "softmax",
    "Softmax(logits: T; T: FLOAT) -> softmax: T",
    infer=_infer,
    lowering=Decompose(_build_softmax),
    reference=softmax_rows,
    gradient=_softmax_gradient,
    examples=_EXAMPLES,
)
log_softmax = define(
    "log_softmax",
    "LogSoftmax(logits: T; T: FLOAT) -> logsoftmax: T",
    infer=_infer,
    lowering=Decompose(_build_log_softmax),
    reference=_log_softmax,
    gradient=_log_softmax_gradient,
    examples=_EXAMPLES,
)
