"""Cross entropies of logits: SoftmaxCrossEntropyWithLogits and its form with class indices.

In: logits [batch, classes] and labels. Out: the loss of each row, and the gradient of the loss with
respect to the logits. Invariant: a class index outside the classes makes the run fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.errors import InvalidArgumentError
from flowc.ir.dims import Dim
from flowc.ir.inference import Inference, unequal
from flowc.ir.lowering import Decompose, View
from flowc.ir.op import define
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder
from flowc.ops.nn.softmax import LAST, shares, shift_rows, shifted_rows, softmax_rows, sum_rows

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node, Value

_LABEL_RANGE = (
    "Received a label value of {value} which is outside the valid range of [0, {extent})."
)


# -- labels are distributions


def _infer_softmax_cross_entropy(c: Inference) -> list[Dims]:
    logits, labels = c.dims(0), c.dims(1)
    sizes = f"logits_size={shown_dims(logits)} labels_size={shown_dims(labels)}"
    for x, y in zip(reversed(logits), reversed(labels)):
        if isinstance(x, int) and isinstance(y, int) and x != y and 1 not in (x, y):
            fault = f"logits and labels must be broadcastable: {sizes}"
            raise c.fail(fault, built=unequal(x, y))
    dims = c.broadcast()
    if len(dims) != 2:
        raise c.fail(
            "logits and labels must be either 2-dimensional, or broadcasted to be 2-dimensional"
        )
    return [dims[:1], dims]


def _build_softmax_cross_entropy(b: Builder, node: Node) -> Sequence[Value]:
    logits, labels = node.inputs
    dims = node.outputs[1].dims
    if logits.dims != dims:
        logits = b.broadcast_to(logits, dims)
    shifted = shift_rows(b, logits)
    exponentials = b.exp(shifted)
    total = b.sum(exponentials, LAST, keep_dims=True)
    loss = b.sum(b.mul(labels, b.sub(b.log(total), shifted)), LAST)
    return loss, b.sub(shares(b, exponentials, total), labels)


def _softmax_cross_entropy(features: np.ndarray, labels: np.ndarray) -> list[np.ndarray]:
    logits, labels = np.broadcast_arrays(features, labels)
    with np.errstate(all="ignore"):
        shifted = shifted_rows(logits)
        total = sum_rows(np.exp(shifted))
        loss = sum_rows(labels * (np.log(total) - shifted))
        return [loss.reshape(-1), softmax_rows(logits) - labels]


def _features_gradient(b: GradientBuilder, node: Forward, dloss: Any, dbackprop: Any) -> Any:
    """The gradient of the logits: of the loss, whose gradient is the other output; and of that
    output, a softmax less labels, where a second derivative flows into it."""
    dlogits = b.mul(b.expand_dims(dloss, np.int32(-1)), node.outputs[1])
    if b.is_zero(dbackprop):
        return dlogits
    share = b.softmax(node.inputs[0])
    mean = b.sum(b.mul(dbackprop, share), LAST, keep_dims=True)
    return b.add(dlogits, b.mul(b.sub(dbackprop, mean), share))


def _softmax_cross_entropy_gradient(
    b: GradientBuilder, node: Forward, dloss: Any, dbackprop: Any
) -> Any:
    logits, labels = node.inputs
    scaled = b.mul(b.expand_dims(dloss, np.int32(-1)), b.neg(b.log_softmax(logits)))
    dlogits = _features_gradient(b, node, dloss, dbackprop)
    return b.sum_to_shape_of(dlogits, logits), b.sum_to_shape_of(scaled, labels)


softmax_cross_entropy_with_logits = define(
    "softmax_cross_entropy_with_logits",
    "SoftmaxCrossEntropyWithLogits(features: T, labels: T; T: FLOAT) -> (loss: T, backprop: T)",
    infer=_infer_softmax_cross_entropy,
    lowering=Decompose(_build_softmax_cross_entropy),
    reference=_softmax_cross_entropy,
    gradient=_softmax_cross_entropy_gradient,
    examples=(
        "T[2,3] T[2,3]~prob",
        "T[3,17] T[1,17]~prob",
        "T[1,4] T[3,1]~prob",
        "T[0,3] T[0,3]~prob",
        "T[2,0] T[2,0]~prob",
    ),
)


# -- labels are class indices


def _infer_sparse(c: Inference) -> list[Dims]:
    logits, labels = c.dims(0), c.dims(1)
    if len(logits) != 2:
        raise c.fail(f"logits must be 2-D, but got shape {shown_dims(logits)}")
    if len(labels) != 1:
        raise c.fail(f"labels must be 1-D, but got shape {shown_dims(labels)}")
    fault = (
        "logits and labels must have the same first dimension, got logits shape "
        f"{shown_dims(logits)} and labels shape {shown_dims(labels)}"
    )
    if not c.builds:
        shown = shown_dims(logits)
        c.at_least(logits[1], 1, f"Must have at least one class, but got logits shape {shown}")
    return [(c.equal(logits[0], labels[0], fault),), logits]


def _check_labels(labels: np.ndarray, classes: int) -> None:
    wrong = (labels < 0) | (labels >= classes)
    if wrong.any():
        raise InvalidArgumentError(_LABEL_RANGE.format(value=labels[wrong][0], extent=classes))


def _lower_take_label(node: Node) -> View:
    classes = node.inputs[0].dims[1]

    def read(k: Any, index: tuple[Dim, ...]) -> Any:
        label = k.checked_index(k.load(1, index), classes, _LABEL_RANGE)
        return k.load(0, (index[0], label))

    return View(read)


def _take_label(x: np.ndarray, labels: np.ndarray) -> np.ndarray:
    _check_labels(labels, x.shape[1])
    return x[np.arange(len(labels)), labels]


# The element of each row that its label chooses.
take_label = define(
    "take_label",
    "_TakeLabel(input: T, labels: Tlabels; T: FLOAT, Tlabels: INDEX = i64) -> output: T",
    infer=lambda c: c.dims(0)[:1],
    lowering=_lower_take_label,
    reference=_take_label,
    examples=("T[3,5] i32[3]~index5; Tlabels=i32", "T[0,5] i64[0]"),
)


def _lower_subtract_label(node: Node) -> View:
    classes = node.inputs[0].dims[1]

    def read(k: Any, index: tuple[Dim, ...]) -> Any:
        label = k.checked_index(k.load(1, index[:1]), classes, _LABEL_RANGE)
        chosen = k.eq(k.index_value(label, dtypes.i64), k.index_value(index[1], dtypes.i64))
        element = k.load(0, index)
        return k.select(chosen, k.sub(element, 1), element)

    return View(read)


def _subtract_label(x: np.ndarray, labels: np.ndarray) -> np.ndarray:
    _check_labels(labels, x.shape[1])
    result = x.copy()
    result[np.arange(len(labels)), labels] -= np.asarray(1, x.dtype)
    return result


# Each row with 1 subtracted from the element that its label chooses.
subtract_label = define(
    "subtract_label",
    "_SubtractLabel(input: T, labels: Tlabels; T: FLOAT, Tlabels: INDEX = i64) -> output: T",
    infer=lambda c: c.dims(0),
    lowering=_lower_subtract_label,
    reference=_subtract_label,
    examples=("T[3,5] i32[3]~index5; Tlabels=i32", "T[0,5] i64[0]"),
)


def _build_sparse(b: Builder, node: Node) -> Sequence[Value]:
    logits, labels = node.inputs
    shifted = shift_rows(b, logits)
    exponentials = b.exp(shifted)
    total = b.sum(exponentials, LAST, keep_dims=True)
    loss = b.sub(b.log(b.reshape(total, logits.dims[:1])), b.take_label(shifted, labels))
    return loss, b.subtract_label(shares(b, exponentials, total), labels)


def _sparse_softmax_cross_entropy(features: np.ndarray, labels: np.ndarray) -> list[np.ndarray]:
    with np.errstate(all="ignore"):
        shifted = shifted_rows(features)
        total = sum_rows(np.exp(shifted)).reshape(-1)
        loss = np.log(total) - _take_label(shifted, labels)
        return [loss, _subtract_label(softmax_rows(features), labels)]


sparse_softmax_cross_entropy_with_logits = define(
    "sparse_softmax_cross_entropy_with_logits",
    "SparseSoftmaxCrossEntropyWithLogits(features: T, labels: Tlabels; T: FLOAT,"
    " Tlabels: INDEX = i64) -> (loss: T, backprop: T)",
    infer=_infer_sparse,
    lowering=Decompose(_build_sparse),
    reference=_sparse_softmax_cross_entropy,
    gradient=_features_gradient,
    examples=(
        "T[3,5] i64[3]~index5",
        "T[1,17] i32[1]=[16]; Tlabels=i32",
        "T[0,5] i64[0]",
    ),
)
