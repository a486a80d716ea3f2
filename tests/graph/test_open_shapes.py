"""Static shapes of every op's examples where a program knows less of the inputs' shapes than a run:
what TensorFlow's shape functions leave to the run is no fault when a graph is built, and what is
known then is true."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from calls.op_examples import Case
from op_cases import TESTED, plain_cases

import flowc as tf
from flowc.errors import UnimplementedError
from flowc.graph.shape_inference import infer_shapes
from flowc.ir.op import Op, bind_types

Shape = tuple[int | None, ...] | None
# Whose outputs' sizes an attr states; TensorFlow, too, wants all inputs' shapes.
NEEDS_SHAPES = {"parallel_concat"}
BUILT = [
    op for op in TESTED if not op.is_internal and not any(a.is_ref for a in op.signature.inputs)
]


def known_in_part(case: Case) -> Iterator[list[Shape]]:
    """The shapes of a case's inputs: none of them, no size, and no size of one input."""
    full: list[Shape] = [a.shape for a in case.inputs]
    open_sizes: list[Shape] = [(None,) * a.ndim for a in case.inputs]
    yield [None] * len(full)
    yield open_sizes
    for i in range(len(full)):
        yield [*full[:i], open_sizes[i], *full[i + 1 :]]
        yield [*full[:i], None, *full[i + 1 :]]


def shapes_of(case: Case, shapes: list[Shape]) -> list[Shape]:
    attrs = bind_types(case.op, case.dtypes, case.attrs)
    with tf.Graph().as_default():
        inputs = [tf.placeholder(kind, shape) for kind, shape in zip(case.dtypes, shapes)]
        return list(infer_shapes(case.op, inputs, attrs) or ())


def agrees(one: Shape, other: Shape) -> bool:
    if one is None or other is None:
        return True
    return len(one) == len(other) and all(None in (x, y) or x == y for x, y in zip(one, other))


@pytest.mark.parametrize("op", [op for op in BUILT if op.name not in NEEDS_SHAPES], ids=str)
def test_an_op_is_built_of_inputs_whose_shapes_the_run_tells(op: Op) -> None:
    for case in plain_cases(op)[:4]:
        full = shapes_of(case, [a.shape for a in case.inputs])
        for shapes in known_in_part(case):
            found = shapes_of(case, shapes)
            assert all(agrees(x, y) for x, y in zip(found, full)), (case, shapes, found, full)


def test_sizes_that_an_op_needs_to_be_equal_are_known() -> None:
    with tf.Graph().as_default():
        x, bias = tf.placeholder(tf.float32, [None, None]), tf.ones([3])
        assert tf.nn.bias_add(x, bias).shape.as_list() == [None, 3]
        logits = tf.placeholder(tf.float32, [None, None])
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[1, 2], logits=logits)
        assert loss.shape.as_list() == [2]
        system = tf.linalg.solve(tf.placeholder(tf.float32, [None, None]), tf.ones([4, 2]))
        assert system.shape.as_list() == [4, 2]


def test_indices_of_any_depth() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, at = tf.placeholder(tf.float32, [None, None]), tf.placeholder(tf.int32, [None, None])
        values = tf.placeholder(tf.float32, None)
        gathered, scattered = tf.gather_nd(x, at), tf.scatter_nd(at, values, [2, 3])
        assert gathered.shape.ndims is None and scattered.shape.as_list() == [2, 3]
        rows = np.arange(6, dtype=np.float32).reshape(2, 3)
        assert session.run(gathered, {x: rows, at: [[1], [0]]}).tolist() == [[3, 4, 5], [0, 1, 2]]
        assert session.run(gathered, {x: rows, at: [[1, 2]]}).tolist() == [5]
        found = session.run(scattered, {at: [[1, 2]], values: [7]})
        assert found.tolist() == [[0, 0, 0], [0, 0, 7]]


def test_a_sparse_placeholder_is_made_dense() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        sparse = tf.sparse_placeholder(tf.float32)
        dense = tf.sparse.to_dense(sparse)
        for shape in ([2, 2], [2, 3], [3, 2]):
            given = tf.SparseTensorValue([[0, 1]], np.float32([5]), shape)
            found = session.run(dense, {sparse: given})
            assert found.shape == tuple(shape) and found[0, 1] == 5


def test_weights_may_be_none_or_as_many_as_the_numbers() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        numbers, weights = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.float32, [None])
        counts = tf.raw_ops.Bincount(arr=numbers, size=3, weights=weights)
        assert counts.shape.as_list() == [3]
        fed = {numbers: [1, 1, 2]}
        assert session.run(counts, fed | {weights: []}).tolist() == [0, 2, 1]
        assert session.run(counts, fed | {weights: [1, 2, 3]}).tolist() == [0, 3, 3]
        with pytest.raises(tf.errors.InvalidArgumentError, match="same size"):
            session.run(counts, fed | {weights: [1]})


def test_a_library_says_which_size_it_needs(tmp_path: object) -> None:
    with tf.Graph().as_default() as graph:
        x, at = tf.placeholder(tf.float32, [None, None]), tf.placeholder(tf.int32, [None, None])
        y = tf.gather_nd(x, at)
        with pytest.raises(UnimplementedError, match="the last dimension of indices"):
            tf.compile(graph, feeds=[x, at], fetches=[y], out=f"{tmp_path}/gathered.so")


def test_a_program_for_all_sizes_looks_at_sizes_that_must_be_certain_numbers() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        seed = tf.placeholder(tf.int32, [None])
        drawn = tf.random.stateless_uniform([2], seed)
        assert session.run(drawn, {seed: [1, 2]}).tolist() == pytest.approx(
            [0.84406042, 0.19204533]
        )
        with pytest.raises(tf.errors.InvalidArgumentError, match="seed must have shape"):
            session.run(drawn, {seed: [1, 2, 3]})


def test_sizes_that_an_unknown_op_computes_are_unknown(tmp_path: Path) -> None:
    """Its outputs have a rank that an attr states, and no dtype."""
    found = tf.GraphDef()
    node = found.node.add(name="unknown", op="OpOfNobody")
    node.attr["_output_shapes"].list.shape.add().dim.add(size=3)
    with tf.Graph().as_default() as graph:
        for name, value in (("start", 0), ("delta", 1), ("axes", [0])):
            tf.constant(value, tf.int64, name=name)
    found.node.extend(graph.as_graph_def().node)
    largest = found.node.add(name="largest", op="Max", input=["unknown", "axes"])
    range_ = found.node.add(name="range", op="Range", input=["start", "largest", "delta"])
    for node, attrs in ((largest, ("T", "Tidx")), (range_, ("Tidx",))):
        for attr in attrs:
            node.attr[attr].type = tf.int64.as_datatype_enum
    (tmp_path / "graph.pb").write_bytes(found.SerializeToString())
    loaded = tf.load_graph(tmp_path / "graph.pb")
    assert loaded.get_tensor_by_name("range:0").shape.as_list() == [None]
