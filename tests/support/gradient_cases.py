"""Gradients of op records, called: as nodes of a Computation, and as operations of a Graph.

In: an op with a gradient, its examples. Out: outputs, and the gradients of the inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from calls.op_examples import Case, cases_of
from node_evaluation import evaluate_node
from value_gradients import ValueGradients

import flowc as tf
from flowc.graph import Operation, Tensor
from flowc.graph.building.creation import create
from flowc.graph.gradients.operation import record_gradient
from flowc.ir.builder import Builder
from flowc.ir.computation import Value
from flowc.ir.op import Op, call_reference, input_spans
from flowc.ops import all_ops, tf_op
from flowc.ops.gradients import input_gradients, no_gradient

# Cases whose gradient is refused, by op and example: TensorFlow has none of them either.
MISSING = {
    ("max_pool", 5): "windows over channels",
    ("qr", 3): "the whole Q of a tall matrix",
}
# The other outputs serve the gradient, or are statistics: what flows into them is not passed on.
FIRST_ONLY = (
    "fused_batch_norm",
    "fused_batch_norm_v1",
    "fused_batch_norm_v2",
    "ctc_loss",
    "softmax_cross_entropy_with_logits",
    "sparse_softmax_cross_entropy_with_logits",
)
# The ops whose gradients only `make oracle` runs, as these are made of ops that are run anyway.
SELDOM = frozenset("""
    avg_pool_3d_grad avg_pool_grad batch_mat_mul_mixed bessel_i1 bessel_i1e bessel_k1e bias_add_grad
    conv3d_backprop_filter conv3d_backprop_input cumulative_logsumexp
    depthwise_conv2d_backprop_filter depthwise_conv2d_backprop_input elu_grad
    fake_quant_with_min_max_vars fake_quant_with_min_max_vars_per_channel fft2d fft3d ifft ifft2d
    ifft3d irfft2d irfft3d leaky_relu_grad lrn matrix_diag matrix_diag_part matrix_diag_part_v1
    matrix_diag_part_v2 matrix_diag_v2 matrix_set_diag_v1 matrix_set_diag_v2 max_pool_v2
    reciprocal_grad relu6_grad rfft2d rfft3d rsqrt_grad segment_mean segment_min selu_grad
    sigmoid_grad softplus_grad sqrt_grad tensor_scatter_min top_k_v1 unsorted_segment_min
    unsorted_segment_prod
""".split())  # fmt: skip  # noqa: SIM905
PREFERRED = ("f64", "f32", "c128", "c64", "bf16", "f16")
assert tf_op("Add") is not None  # the records are loaded
OPS = [op for op in all_ops() if op.gradient not in (None, no_gradient)]
OPS_OF_GRAPHS = [op for op in OPS if not op.is_internal]


def examples_of(op: Op) -> list[Case]:
    """Each example once, in the widest dtype that gradients flow through."""
    chosen: dict[int, Case] = {}
    for case in cases_of(op):
        if any(flows(a) for a in case.inputs):
            chosen[case.number] = min(chosen.get(case.number, case), case, key=_place)
    return [replace(c, inputs=tuple(map(_plain, c.inputs))) for c in chosen.values()]


def _place(case: Case) -> int:
    kinds = [d.short for d in case.bound.values()]
    return min([PREFERRED.index(k) for k in kinds if k in PREFERRED], default=len(PREFERRED))


def _plain(array: np.ndarray) -> np.ndarray:
    """Without subnormal numbers, whose quotients are anything."""
    return np.where(np.abs(array) < 1e-300, array.dtype.type(0), array) if flows(array) else array


def flows(array: np.ndarray) -> bool:
    return array.dtype.kind in "fc" or array.dtype.name == "bfloat16"


def weights_of(op: Op, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """What is taken to flow into the outputs."""
    rng = np.random.default_rng(5)
    found = []
    for k, a in enumerate(arrays):
        real = rng.uniform(0.5, 1.5, a.shape) * (k == 0 or op.name not in FIRST_ONLY)
        both = real + 1j * rng.uniform(0.5, 1.5, a.shape) if a.dtype.kind == "c" else real
        found.append(both.astype(a.dtype))
    return found


def evaluated(b: Builder) -> dict[Value, np.ndarray]:
    """The elements of every value of a builder that holds constants only."""
    values: dict[Value, np.ndarray] = {}
    for node in b.nodes:
        arrays = [values[v] for v in node.inputs]
        if node.op.name == "const":
            found: list[Any] = [node.attrs["value"]]
        elif node.op.reference is not None:
            kinds = [v.dtype for v in node.inputs]
            with np.errstate(all="ignore"):
                found = call_reference(node.op, node.op.reference, arrays, node.attrs, kinds)
        else:
            found = evaluate_node(node, arrays)
        values.update(zip(node.outputs, found))
    return values


def value_gradients(case: Case) -> tuple[list[np.ndarray], list[np.ndarray | None]]:
    """The outputs of a call, and the gradients of its inputs, by nodes of a Computation."""
    b = Builder()
    attrs = {**case.attrs, **counts(case)}
    node = b.emit(case.op, [b.const(*x) for x in zip(case.inputs, case.dtypes)], attrs)
    values = evaluated(b)
    outputs = [values[v] for v in node.outputs]
    dys = [b.const(w) for w in weights_of(case.op, outputs)]
    gradients = input_gradients(ValueGradients(b), node, *dys)
    for gradient, value in zip(gradients, node.inputs, strict=True):
        assert gradient is None or gradient.type == value.type
    values = evaluated(b)
    return outputs, [None if g is None else values[g] for g in gradients]


def counts(case: Case) -> dict[str, int]:
    spans = input_spans(case.op, len(case.inputs), case.attrs)
    return {
        arg.number_attr: stop - start
        for arg, (start, stop) in zip(case.op.signature.inputs, spans)
        if arg.number_attr is not None and arg.number_attr not in case.attrs
    }


def operation_of(
    case: Case, outputs: Sequence[np.ndarray], known: bool, feeds: dict[Tensor, np.ndarray]
) -> tuple[Operation, list[Tensor], list[Tensor]]:
    """A call in the default graph, its inputs, and what flows into its outputs: placeholders where
    gradients flow."""

    def entry(array: np.ndarray) -> Tensor:
        if not flows(array):
            return tf.constant(array)
        fed = tf.placeholder(array.dtype, array.shape if known else [None] * array.ndim)
        feeds[fed] = array
        return fed

    inputs = [entry(a) for a in case.inputs]
    spans = zip(case.op.signature.inputs, input_spans(case.op, len(inputs), case.attrs))
    grouped = [
        inputs[start:stop] if arg.is_list or arg.number_attr else inputs[start]
        for arg, (start, stop) in spans
    ]
    operation = create(case.op.tf_name, grouped, case.attrs)
    return operation, inputs, [entry(w) for w in weights_of(case.op, outputs)]


def graph_gradients(
    case: Case, outputs: Sequence[np.ndarray], known: bool, feeds: dict[Tensor, np.ndarray]
) -> list[Tensor | None]:
    """The same by operations of the default graph; gradients flow to and from placeholders."""
    operation, _, dys = operation_of(case, outputs, known, feeds)
    found = record_gradient(operation, *dys)
    return [tf.convert_to_tensor(g) if isinstance(g, tf.IndexedSlices) else g for g in found]
