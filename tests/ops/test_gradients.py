"""Gradients of op records: written once, the same numbers for Computations and for Graphs.

Every op that has a gradient, for its examples: differences of the reference against the gradient
as nodes of a Computation; that against the gradient as operations of a Graph, which a Session runs,
with shapes that are known and with placeholders whose sizes are not. The references of ops compute
them; one in three is compiled as well, in `make oracle` all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from calls.op_examples import Case
from gradient_cases import (
    MISSING,
    OPS,
    OPS_OF_GRAPHS,
    SELDOM,
    counts,
    examples_of,
    flows,
    graph_gradients,
    value_gradients,
    weights_of,
)
from interpreted_sessions import sessions_by_references

import flowc as tf
from flowc import dtypes
from flowc.errors import FlowcError
from flowc.graph import Graph, Tensor
from flowc.ir.lowering import Elementwise
from flowc.ir.op import Op, call_reference, input_spans, op_named
from flowc.ops import tf_op

# The ops whose gradients need the sizes, and those of whose examples only the first so many do not.
NEED_SIZES = ("rfft", "irfft", "qr", "svd", "banded")
SERVE_ALL_SIZES = {"tensor_strided_slice_update": 3, "matrix_diag": 1, "matrix_diag_v2": 1}


def run_both(cases: Sequence[Case], known: bool) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """(example, by a Computation, by a Graph) for each gradient."""
    wanted: list[tuple[str, np.ndarray]] = []
    tensors: list[Tensor] = []
    feeds: dict[Tensor, np.ndarray] = {}
    with Graph().as_default() as graph:
        for case in cases:
            outputs, expected = value_gradients(case)
            found = graph_gradients(case, outputs, known, feeds)
            for i, (want, tensor) in enumerate(zip(expected, found, strict=True)):
                assert (want is None) == (tensor is None), case.text
                if want is not None and tensor is not None:
                    assert tensor.shape.is_compatible_with(want.shape), case.text
                    wanted.append((f"{case.text}, input {i}", want))
                    tensors.append(tensor)
        records = [tf_op(operation.type) for operation in graph.get_operations()]
        assert not [r for r in records if r is None or r.is_internal]
        with tf.Session() as session:
            results = session.run(tensors, feeds) if tensors else []
    for (text, want), array in zip(wanted, results):
        yield text, want, array


def _op_param(op: Op, often: Sequence[Op]) -> Any:
    is_often = op in often and op.name not in SELDOM
    return pytest.param(op, marks=() if is_often else pytest.mark.oracle)


def _case_param(case: Case) -> Any:
    name = f"{case.op.name}-{case.number}"
    return pytest.param(case, marks=pytest.mark.oracle if case.op.name in SELDOM else (), id=name)


def _covered(op: Op) -> tuple[list[Case], list[Case]]:
    """The examples whose gradients serve all sizes, and those whose gradients need them."""
    cases = [c for c in examples_of(op) if (op.name, c.number) not in MISSING]
    serving = 0 if op.name.startswith(NEED_SIZES) else SERVE_ALL_SIZES.get(op.name, len(cases))
    return cases[:serving], cases[serving:]


def check_graphs(cases: Sequence[Case], known: bool) -> None:
    for text, want, found in run_both(cases, known):
        assert (found.dtype, found.shape) == (want.dtype, want.shape), text
        np.testing.assert_allclose(
            found.astype(np.complex128), want.astype(np.complex128), 2e-5, 1e-6, err_msg=text
        )


@pytest.mark.parametrize("op", [_op_param(op, OPS) for op in OPS_OF_GRAPHS], ids=str)
@pytest.mark.parametrize("known", [False, True], ids=["unknown", "known"])
def test_operations_of_a_graph_give_the_same(op: Op, known: bool) -> None:
    serving, sized = _covered(op)
    with sessions_by_references():
        check_graphs([*serving, *sized] if known else serving, known)


@pytest.mark.parametrize("op", [_op_param(op, OPS[::3]) for op in OPS_OF_GRAPHS], ids=str)
def test_operations_of_a_graph_are_compiled(op: Op) -> None:
    serving, sized = _covered(op)
    check_graphs(serving, False)
    check_graphs(sized, True)


@pytest.mark.oracle
@pytest.mark.parametrize("op", OPS_OF_GRAPHS, ids=str)
def test_operations_with_known_sizes_are_compiled(op: Op) -> None:
    check_graphs(_covered(op)[0], True)


@pytest.mark.parametrize(("name", "number"), MISSING)
def test_missing_gradients_are_errors(name: str, number: int) -> None:
    (case,) = (c for c in examples_of(op_named(name)) if c.number == number)
    with pytest.raises(FlowcError):
        list(run_both([case], True))


# -- against differences


NO_SLOPE = {
    ("batch_mat_mul_mixed", 0): "the product is f32",
    ("cholesky", 0): "the gradient is that of symmetric changes",
    ("cholesky", 2): "the gradient is that of symmetric changes",
    ("ctc_loss", 3): "the loss is infinite",
    ("cumulative_logsumexp", 1): "the first is infinite",
    ("cumulative_logsumexp", 3): "the last is infinite",
    **{("eig", i): "the outputs are complex" for i in (0, 1)},
    ("dynamic_stitch", 1): "a row is written twice",
    **{
        (f"stateless_random_gamma_{version}", i): "other numbers are refused for other parameters"
        for version, count in (("v2", 3), ("v3", 1))
        for i in range(count)
    },
    **{
        ("stateless_parameterized_truncated_normal", i): "other numbers are refused, too"
        for i in range(3)
    },
    **{
        (name, i): "the statistics are not those of the images"
        for name in (
            "fused_batch_norm_grad",
            "fused_batch_norm_grad_v1",
            "fused_batch_norm_grad_v2",
        )
        for i in (0, 2)
    },
    **{
        (name, i): "the maxima are not those of the images"
        for name in ("max_pool_grad", "max_pool_grad_grad", "max_pool_3d_grad_grad")
        for i in range(3)
    },
    ("max_pool_grad_v2", 0): "the maxima are not those of the images",
    ("max_pool_with_argmax", 1): "equal elements",
    **{
        (f"quantize_and_dequantize_v{version}", i): "the gradient passes the steps by"
        for version in range(1, 5)
        for i in range(6)
    },
    ("softmax_cross_entropy_with_logits", 2): "the labels do not add up to 1",
    ("top_k", 1): "equal elements",
    ("top_k", 2): "equal elements",
    ("top_k_v1", 1): "equal elements",
    ("unsorted_segment_max", 0): "an empty segment",
    ("unsorted_segment_min", 0): "an empty segment",
}


def _wide_cases() -> Iterator[Case]:
    """Examples of ops that are not elementwise, in f64; another file has the elementwise ones."""
    for op in OPS:
        for case in [] if isinstance(op.lowering, Elementwise) else examples_of(op):
            covered = (op.name, case.number) not in {**MISSING, **NO_SLOPE}
            if covered and op.name != "cast" and _takes_f64(case):
                wide = [a.astype(np.float64) if flows(a) else a for a in case.inputs]
                if op.name == "softmax_cross_entropy_with_logits":
                    wide[1] /= wide[1].sum(-1, keepdims=True)  # else the slope is another
                yield replace(case, inputs=tuple(wide))


def _takes_f64(case: Case) -> bool:
    signature = case.op.signature
    for arg, (start, stop) in zip(
        signature.inputs, input_spans(case.op, len(case.inputs), case.attrs)
    ):
        arrays = [a for a in case.inputs[start:stop] if flows(a)]
        allowed = None if arg.type_attr is None else signature.attrs[arg.type_attr].allowed
        if arrays and (arg.dtype is not None or dtypes.f64 not in (allowed or [dtypes.f64])):
            return False
    narrow = any(
        arg.dtype is dtypes.f32 or arg.type_attr == "Tcomplex" for arg in signature.outputs
    )
    return not narrow and not any(a.dtype.kind == "c" for a in case.inputs)


@pytest.mark.parametrize("case", [_case_param(c) for c in _wide_cases()])
def test_gradients_agree_with_differences(case: Case) -> None:
    outputs, gradients = value_gradients(case)
    weights = weights_of(case.op, outputs)

    def loss(inputs: Sequence[np.ndarray]) -> float:
        op = case.op
        assert op.reference is not None
        kinds = [dtypes.as_dtype(a.dtype) for a in inputs]
        found = call_reference(op, op.reference, inputs, {**case.attrs, **counts(case)}, kinds)
        return float(sum(np.sum(y * w) for y, w in zip(found, weights) if flows(y)))

    for i, gradient in enumerate(gradients):
        if gradient is None or not flows(gradient):
            continue
        x = case.inputs[i].copy()
        arrays = [*case.inputs[:i], x, *case.inputs[i + 1 :]]
        expected = np.empty(x.shape)
        for at in np.ndindex(*x.shape):
            kept, step = x[at], 1e-6
            x[at] = kept + step
            above = loss(arrays)
            x[at] = kept - step
            expected[at] = (above - loss(arrays)) / (2 * step)
            x[at] = kept
        np.testing.assert_allclose(gradient, expected, 1e-4, 1e-6, err_msg=f"input {i}")


# -- of operations that no example can make


@pytest.mark.parametrize("shape", [(2, 3), (None, 3), None], ids=str)
def test_shapes_that_only_the_run_knows(shape: Any) -> None:
    """Broadcasts, folds and views of tensors of one shape, of unknown sizes and of unknown rank."""
    x, row = tf.placeholder(tf.float32, shape), tf.placeholder(tf.float32, shape and shape[1:])
    ys = {
        x * row: ([[1, 2, 3], [1, 2, 3]], [5, 7, 9]),
        tf.reduce_sum(x, axis=1): (np.ones((2, 3)),),
        tf.reduce_mean(x, axis=[0], keepdims=True): (np.full((2, 3), 0.5),),
        tf.reduce_mean(x): (np.full((2, 3), 1 / 6),),
        tf.reshape(x, [-1]): (np.ones((2, 3)),),
    }
    if shape:
        ys[tf.concat([x, x], 0)] = (np.full((2, 3), 2.0), np.full((2, 3), 2.0))
    fed = {x: [[1, 2, 3], [4, 5, 6]], row: [1, 2, 3]}
    with tf.Session() as session:
        for y, expected in ys.items():
            found = tf.gradients(y, y.op.inputs[: len(expected)])
            for want, got in zip(expected, session.run(found, fed)):
                np.testing.assert_allclose(got, want, 1e-6)


def test_names_and_outputs_without_a_gradient() -> None:
    tf.reset_default_graph()
    x = tf.placeholder(tf.float32, (2, 3), name="x")
    _, second = tf.split(x, 2, axis=0, name="parts")
    (dx,) = tf.gradients(second, x)
    assert (dx.name, dx.op.type) == ("gradients/parts_grad/concat:0", "ConcatV2")
    with tf.Session() as session:
        found = session.run(dx, {x: np.ones((2, 3))})
    np.testing.assert_array_equal(found, [[0, 0, 0], [1, 1, 1]])
    with pytest.raises(LookupError, match=r"No gradient defined for operation 'u' \(op type: Uniq"):
        tf.gradients(tf.unique(x[0], name="u")[0], x)


def test_a_variable_that_is_read_passes_its_gradient_on() -> None:
    v = tf.get_variable("v", initializer=[1.0, 2.0], use_resource=True)
    assert tf.gradients(v.value(), v, tf.constant([3.0, 4.0]), name="g")[0].name == "g/grad_ys_0:0"
