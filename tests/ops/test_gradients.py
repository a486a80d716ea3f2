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
from interpreted_sessions import sessions_by_references
from node_evaluation import evaluate_node
from op_examples import Case, cases_of
from value_gradients import ValueGradients

import flowc as tf
from flowc import dtypes
from flowc.errors import FlowcError
from flowc.graph import Graph, Operation, Tensor
from flowc.graph.building.creation import create
from flowc.graph.gradients.operation import is_trainable, op_gradient
from flowc.ir.builder import Builder
from flowc.ir.computation import Value
from flowc.ir.lowering import Elementwise
from flowc.ir.op import Op, all_ops, call_reference, input_spans, op_named
from flowc.ops import tf_op
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
# The ops whose gradients need the sizes, and those of whose examples only the first so many do not.
NEED_SIZES = ("rfft", "irfft", "qr", "svd", "banded")
SERVE_ALL_SIZES = {"tensor_strided_slice_update": 3, "matrix_diag": 1, "matrix_diag_v2": 1}
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
        if any(_flows(a) for a in case.inputs):
            chosen[case.number] = min(chosen.get(case.number, case), case, key=_place)
    return [replace(c, inputs=tuple(map(_plain, c.inputs))) for c in chosen.values()]


def _place(case: Case) -> int:
    kinds = [d.short for d in case.bound.values()]
    return min([PREFERRED.index(k) for k in kinds if k in PREFERRED], default=len(PREFERRED))


def _plain(array: np.ndarray) -> np.ndarray:
    """Without subnormal numbers, whose quotients are anything."""
    return np.where(np.abs(array) < 1e-300, array.dtype.type(0), array) if _flows(array) else array


def _flows(array: np.ndarray) -> bool:
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
    attrs = {**case.attrs, **_counts(case)}
    node = b.emit(case.op, [b.const(*x) for x in zip(case.inputs, case.dtypes)], attrs)
    values = evaluated(b)
    outputs = [values[v] for v in node.outputs]
    dys = [b.const(w) for w in weights_of(case.op, outputs)]
    gradients = input_gradients(ValueGradients(b), node, *dys)
    for gradient, value in zip(gradients, node.inputs, strict=True):
        assert gradient is None or gradient.type == value.type
    values = evaluated(b)
    return outputs, [None if g is None else values[g] for g in gradients]


def _counts(case: Case) -> dict[str, int]:
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
        if not _flows(array):
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
    found = op_gradient(operation, *dys)
    return [tf.convert_to_tensor(g) if isinstance(g, tf.IndexedSlices) else g for g in found]


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
                wide = [a.astype(np.float64) if _flows(a) else a for a in case.inputs]
                if op.name == "softmax_cross_entropy_with_logits":
                    wide[1] /= wide[1].sum(-1, keepdims=True)  # else the slope is another
                yield replace(case, inputs=tuple(wide))


def _takes_f64(case: Case) -> bool:
    signature = case.op.signature
    for arg, (start, stop) in zip(
        signature.inputs, input_spans(case.op, len(case.inputs), case.attrs)
    ):
        arrays = [a for a in case.inputs[start:stop] if _flows(a)]
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
        found = call_reference(op, op.reference, inputs, {**case.attrs, **_counts(case)}, kinds)
        return float(sum(np.sum(y * w) for y, w in zip(found, weights) if _flows(y)))

    for i, gradient in enumerate(gradients):
        if gradient is None or not _flows(gradient):
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


# -- against TensorFlow


# Of which TensorFlow gives nothing to compare with.
NOT_COMPARED = {
    "approx_top_k": "there is no kernel for processors",
    "max_pool": "an example ends the process",
    "ref_identity": "it takes a variable",
    "xla_cluster_output": "gradients are made inside of the cluster",
    **dict.fromkeys(
        ("eig", "self_adjoint_eig"), "vectors have any sign, which their gradients depend on"
    ),
    **dict.fromkeys(
        ("batch_norm_with_global_normalization", "quantize_and_dequantize_v1", "top_k_v1"),
        "new graphs may not have the op",
    ),
    **dict.fromkeys(
        (
            "guarantee_const",
            "irfft3d",
            "mod",
            "resize_bicubic_grad",
            "resize_bilinear_grad",
            "resize_nearest_neighbor_grad",
            "rfft3d",
            "snapshot",
            "truncate_mod",
            "xla_optimization_barrier",
        ),
        "the op has no gradient there",
    ),
}
OTHER_SLOPES = {
    ("bessel_i1", 0): "1 at 0, where it is 1/2",
    ("bessel_i1", 1): "1 at 0, where it is 1/2",
    ("matrix_diag_part_v2", 1): "diagonals are taken to stand at another end",
    ("rgb_to_hsv", 1): "colours are not between 0 and 1",
    ("rgb_to_hsv", 2): "colours are not between 0 and 1",
}


def their_gradients(theirs: Any, case: Case, outputs: Sequence[np.ndarray]) -> list[Any] | None:
    """TensorFlow imports the call that flowc exports and builds its gradient: an array for each
    input, or None. None where it refuses that, or has no kernel."""
    feeds: dict[Tensor, np.ndarray] = {}
    with Graph().as_default() as graph:
        operation, inputs, dys = operation_of(case, outputs, True, feeds)
        exported = theirs.GraphDef.FromString(graph.as_graph_def().SerializeToString())
    flows = [k for k, y in enumerate(operation.outputs) if is_trainable(y)]
    with theirs.Graph().as_default() as other, theirs.Session() as session:
        there = other.get_tensor_by_name
        try:
            theirs.import_graph_def(exported, name="")
            found = theirs.gradients(
                [there(operation.outputs[k].name) for k in flows],
                [there(x.name) for x in inputs],
                [there(dys[k].name) for k in flows],
            )
            tensors = {i: theirs.convert_to_tensor(g) for i, g in enumerate(found) if g is not None}
            arrays = session.run(tensors, {there(x.name): a for x, a in feeds.items()})
        except (LookupError, RuntimeError, TypeError, ValueError, theirs.errors.OpError):
            return None
    return [arrays.get(i) for i in range(len(inputs))]


@pytest.mark.oracle
@pytest.mark.parametrize("op", [o for o in OPS if o.name not in NOT_COMPARED], ids=str)
def test_gradients_are_those_of_tensorflow(op: Op) -> None:
    theirs = pytest.importorskip("tensorflow.compat.v1")
    compared = 0
    cases = examples_of(op)
    if not cases:
        pytest.skip("it takes more than arrays: programs show its gradient")
    for case in cases:
        if (op.name, case.number) in {**MISSING, **OTHER_SLOPES}:
            continue
        case = replace(case, inputs=tuple(map(_moderate, case.inputs)))
        outputs, ours = value_gradients(case)
        found = their_gradients(theirs, case, outputs) or [None] * len(ours)
        for i, (mine, other, x) in enumerate(zip(ours, found, case.inputs, strict=True)):
            if other is not None and _flows(x):
                assert mine is not None, (case.text, i)
                np.testing.assert_allclose(
                    mine.astype(np.complex128),
                    other.astype(np.complex128),
                    rtol=2e-5,
                    atol=5e-6,
                    err_msg=f"{case.text}, input {i}",
                )
                compared += 1
    assert compared


def _moderate(array: np.ndarray) -> np.ndarray:
    """With 1 for what is no number or too large to compute with."""
    if not _flows(array):
        return array
    return np.where(np.isfinite(array) & (np.abs(array) < 1e30), array, array.dtype.type(1))


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
        ys[tf.concat([x, x], 0)] = (np.ones((2, 3)), np.ones((2, 3)))
    fed = {x: [[1, 2, 3], [4, 5, 6]], row: [1, 2, 3]}
    with tf.Session() as session:
        for y, expected in ys.items():
            found = op_gradient(y.op, tf.ones_like(y))
            for want, got in zip(expected, session.run(found[: len(expected)], fed)):
                np.testing.assert_allclose(got, want, 1e-6)


def test_names_and_outputs_without_a_gradient() -> None:
    x = tf.placeholder(tf.float32, (2, 3), name="x")
    first, second = tf.split(x, 2, axis=0, name="parts")
    nothing, dx = op_gradient(first.op, None, tf.ones_like(second))
    assert nothing is None and dx is not None
    assert (dx.name, dx.op.type) == ("parts_grad/concat:0", "ConcatV2")
    with tf.Session() as session:
        found = session.run(dx, {x: np.ones((2, 3))})
    np.testing.assert_array_equal(found, [[0, 0, 0], [1, 1, 1]])
    with pytest.raises(LookupError, match=r"No gradient defined for operation 'u' \(op type: Uniq"):
        op_gradient(tf.unique([1, 2], name="u")[0].op, None, None)


def test_a_variable_that_is_read_passes_its_gradient_on() -> None:
    v = tf.get_variable("v", initializer=[1.0, 2.0], use_resource=True)
    read, dy = v.value(), tf.constant([3.0, 4.0])
    assert op_gradient(read.op, dy) == [dy]
