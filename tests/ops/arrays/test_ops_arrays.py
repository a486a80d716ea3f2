"""Shape arithmetic through array ops, and views whose bounds are sizes or computed by the run.

The generated op tests cover every record with known shapes; these cover what only symbolic sizes
and run-time bounds can get wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from node_evaluation import apply_op, evaluate_node
from op_tolerances import NO_KERNEL
from tensor_types import tensor_type

import flowc
from flowc.errors import FlowcError, InvalidArgumentError, ShapeError, UnsupportedError
from flowc.ir.builder import Builder
from flowc.ir.computation import Value
from flowc.ir.dims import Symbol, evaluate, expression, lone_symbol, symbol
from flowc.ir.op import op_named
from flowc.ir.verifier import verify
from flowc.ops.arrays.shapes import known_elements

BATCH = symbol("batch")


class Symbolic:
    """A builder with one parameter x : f32[batch,4,5]."""

    def __init__(self, *dims: Any) -> None:
        self.b = Builder()
        self.x = self.b.parameter("x", tensor_type("f32", dims or (BATCH, 4, 5)))
        self.shape = self.b.shape(self.x)

    def ints(self, *values: int) -> Value:
        return self.b.const(np.array(values, np.int32))

    def scalar(self, value: int) -> Value:
        return self.b.const(np.int32(value))

    def element(self, i: int) -> Value:
        """tf.shape(x)[i]"""
        return self.strided(self.shape, [i], [i + 1], shrink_axis_mask=1)

    def strided(self, x: Value, begin: Any, end: Any, step: int = 1, **masks: int) -> Value:
        bounds = [v if isinstance(v, Value) else self.ints(*v) for v in (begin, end)]
        count = int(bounds[0].dims[0])
        return self.b.strided_slice(x, *bounds, self.ints(*[step] * count), **masks)


def test_shape_elements_flow_through_slices_and_packs() -> None:
    s = Symbolic()
    assert list(known_elements(s.shape)) == [BATCH, 4, 5]
    assert s.b.content(s.element(0))[()] == BATCH
    assert s.b.content(s.element(-2))[()] == 4
    flat = s.b.pack(s.element(0), s.scalar(-1))
    assert s.b.reshape(s.x, flat).dims == (BATCH, 20)
    front = s.strided(s.shape, [0], [-1], begin_mask=1)
    wide = s.b.concat(front, s.ints(8), s.scalar(0))
    assert s.b.fill(wide, s.b.const(np.float32(0))).dims == (BATCH, 4, 8)


def test_keras_flatten_and_reshape() -> None:
    s = Symbolic()
    assert s.b.reshape(s.x, s.ints(-1, 20)).dims == (BATCH, 20)
    rest = s.strided(s.shape, [1], [0], end_mask=1)
    dense = s.b.prod(rest, s.ints(0), keep_dims=False)
    assert s.b.reshape(s.x, s.b.pack(s.scalar(-1), dense)).dims == (BATCH, 20)
    assert s.b.reshape(s.x, s.b.concat(s.ints(-1), rest, s.scalar(0))).dims == (BATCH, 4, 5)
    merged = s.b.reshape(s.x, s.b.pack(s.b.mul(s.element(0), s.element(1)), s.element(2)))
    assert merged.dims == (BATCH * 4, 5)
    assert s.b.reshape(merged, s.shape).dims == (BATCH, 4, 5)


def test_sizes_reach_range_tile_broadcast_and_gather() -> None:
    s = Symbolic()
    zero, one = s.scalar(0), s.scalar(1)
    assert s.b.range(zero, s.element(0), one).dims == (BATCH,)
    assert s.b.range(one, s.b.add(s.element(0), one), one).dims == (BATCH,)
    row = s.b.const(np.zeros((1, 3), np.float32))
    assert s.b.tile(row, s.b.pack(s.element(0), s.scalar(2))).dims == (BATCH, 6)
    assert s.b.broadcast_to(row, s.b.pack(s.element(0), s.scalar(3))).dims == (BATCH, 3)
    picked = s.b.gather(s.shape, s.ints(2, 0), zero)
    assert list(s.b.content(picked)) == [5, BATCH]
    widths = s.b.pack(s.b.pack(s.element(1), s.element(0)), s.ints(0, 1))
    assert s.b.pad(s.b.const(np.zeros((2, 2), np.float32)), widths).dims == (BATCH + 6, 3)


def test_sizes_as_indices_are_not_known() -> None:
    s = Symbolic()
    picked = s.b.gather(s.shape, s.element(0), s.scalar(0))
    assert s.b.content(picked) is None


def test_gradient_axes_with_sizes() -> None:
    s = Symbolic()
    left, right = s.b.broadcast_gradient_args(s.shape, s.ints(4, 1))
    assert list(s.b.content(left)) == []
    assert list(s.b.content(right)) == [0, 2]


@pytest.mark.parametrize("begin", [None, -6, -3, -1, 0, 1, 4, 9])
@pytest.mark.parametrize("end", [None, -6, -2, -1, 0, 2, 4, 9])
@pytest.mark.parametrize("step", [1, 2, -1, -3])
def test_slices_of_a_symbolic_dim(begin: int | None, end: int | None, step: int) -> None:
    s = Symbolic(BATCH, 2)
    masks = {"begin_mask": int(begin is None), "end_mask": int(end is None)}
    y = s.strided(s.x, [begin or 0], [end or 0], step, **masks)
    for n in range(6):
        x = np.arange(2.0 * n, dtype=np.float32).reshape(n, 2)
        wanted = x[begin:end:step]
        assert evaluate(y.dims[0], {Symbol("batch"): n}) == len(wanted)
        (found,) = evaluate_node(y.node, [x, *(v.constant for v in y.node.inputs[1:])])
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("less", [1, 2, 4])
def test_slices_that_end_before_a_size(less: int) -> None:
    s = Symbolic(BATCH)
    end = s.b.pack(s.b.sub(s.element(0), s.scalar(less)))
    y = s.strided(s.x, [0], end)
    for n in range(8):
        wanted = np.arange(n)[0 : n - less]
        assert evaluate(y.dims[0], {Symbol("batch"): n}) == len(wanted), n


def test_plain_sizes_stay_plain() -> None:
    s = Symbolic(BATCH)
    assert s.strided(s.x, [1], [0], end_mask=1).dims == s.strided(s.x, [0], [-1]).dims
    assert str(s.strided(s.x, [1], [0], end_mask=1).dims[0]) == "max(0, batch - 1)"
    assert str(s.strided(s.x, [-3], [0], end_mask=1).dims[0]) == "min(3, batch)"
    assert s.strided(s.x, [0], [0], -1, begin_mask=1, end_mask=1).dims == (BATCH,)


def strided(x: np.ndarray, begin: Any, end: Any, step: Any, **masks: int) -> np.ndarray:
    """strided_slice with begin computed by the run."""
    full = {f"{m}_mask": 0 for m in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")}
    bounds = [np.array(v, np.int32) for v in (begin, end, step)]
    op = op_named("strided_slice")
    (found,) = apply_op(op, [x, *bounds], full | masks, constant=[2, 3])
    return found


def test_run_time_index() -> None:
    x = np.arange(12.0).reshape(4, 3)
    for i in (0, 3, -1, -4):
        np.testing.assert_array_equal(strided(x, [i], [0], [1], shrink_axis_mask=1), x[i])
    with pytest.raises(InvalidArgumentError, match="slice index 4 of dimension 0 out of bounds"):
        strided(x, [4], [0], [1], shrink_axis_mask=1)


def test_run_time_begin() -> None:
    x = np.arange(12.0).reshape(4, 3)
    for i in (0, 2, 4, 7):
        found = strided(x, [i], [0], [1], end_mask=1)
        np.testing.assert_array_equal(found, x[i:])
    np.testing.assert_array_equal(strided(x, [3, 0], [0, 2], [-1, 1], end_mask=1), x[3::-1, :2])


def test_slice_with_run_time_begin() -> None:
    x = np.arange(12.0).reshape(4, 3)
    size = np.array([2, 3], np.int32)
    op = op_named("slice")
    (found,) = apply_op(op, [x, np.array([1, 0], np.int32), size], constant=[2])
    np.testing.assert_array_equal(found, x[1:3])
    with pytest.raises(InvalidArgumentError, match="Expected size"):
        apply_op(op, [x, np.array([3, 0], np.int32), size], constant=[2])


def test_pad_with_run_time_value_and_roll_with_run_time_shift() -> None:
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    pads = np.array([[1, 0], [0, 2]], np.int32)
    (found,) = apply_op(op_named("pad_v2"), [x, pads, np.float32(7)], constant=[1])
    np.testing.assert_array_equal(found, np.pad(x, pads, constant_values=7))
    axis = np.array([1], np.int32)
    (found,) = apply_op(op_named("roll"), [x, np.array([-4], np.int32), axis], constant=[2])
    np.testing.assert_array_equal(found, np.roll(x, -4, 1))


def test_run_time_sizes_beside_constants_and_sizes() -> None:
    s = Symbolic()
    n = s.b.parameter("n", tensor_type("i32", ()))
    y = s.b.reshape(s.x, s.b.pack(s.scalar(-1), n, s.element(0)))
    (read,) = [node for node in s.b.nodes if node.op.name == "read_sizes"]
    ((size, _),) = read.sizes
    assert read.inputs == (n,)
    assert y.dims[1:] == (expression(size), BATCH)
    verify(s.b.build([y]), "test")


@pytest.mark.parametrize(
    ("source", "target"),
    [((4, 6), (2, 12)), ((2, 3, 4), (4, 3, 2)), ((1, 6, 1), (3, 1, 2, 1)), ((5,), (1, 5, 1))],
)
def test_reshape_reads_row_major(source: tuple[int, ...], target: tuple[int, ...]) -> None:
    x = np.arange(np.prod(source)).reshape(source)
    (found,) = apply_op(op_named("reshape"), [x, np.array(target, np.int32)])
    np.testing.assert_array_equal(found, x.reshape(target))


def test_reshape_of_symbolic_dims_divides_only_within_a_group() -> None:
    t = symbol("t")
    s = Symbolic(BATCH, t, 6)
    y = s.b.reshape(s.x, (BATCH * t, 2, 3))
    x = np.arange(2 * 5 * 6, dtype=np.float32).reshape(2, 5, 6)
    (found,) = evaluate_node(y.node, [x, np.array([10, 2, 3])], {"batch": 2, "t": 5})
    np.testing.assert_array_equal(found, x.reshape(10, 2, 3))


@pytest.mark.parametrize(
    ("op", "arrays", "attrs", "message"),
    [
        ("gather", [np.zeros(4), np.array([1, 4]), np.int32(0)], {}, r"= 4 is not in \[0, 4\)"),
        ("gather", [np.zeros(4), np.array([-1]), np.int32(0)], {}, r"= -1 is not in \[0, 4\)"),
        (
            "gather_nd",
            [np.zeros((2, 2)), np.array([[0, 5]])],
            {},
            "does not index into param shape",
        ),
        ("invert_permutation", [np.array([0, 3, 1])], {}, "3 is not between 0 and 3"),
        ("invert_permutation", [np.array([0, 1, 1])], {}, "1 is duplicated in the input."),
    ],
)
def test_bad_indices(op: str, arrays: list[Any], attrs: dict[str, Any], message: str) -> None:
    record = op_named(op)
    with pytest.raises(InvalidArgumentError, match=message):
        apply_op(record, arrays, attrs, constant=[2])
    with pytest.raises(InvalidArgumentError, match=message):
        assert record.reference is not None
        record.reference(*arrays, **({"batch_dims": 0} if op == "gather" else {}))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.b.reshape(s.b.const(np.zeros(6)), s.ints(4)), "tensor with 6 values"),
        (lambda s: s.b.reshape(s.b.const(np.zeros(6)), s.ints(-1, 4)), "a multiple of 4"),
        (lambda s: s.b.reshape(s.x, s.ints(-1, -1)), "Only one input size may be -1"),
        (lambda s: s.b.squeeze(s.x, squeeze_dims=(1,)), r"Can not squeeze dim\[1\]"),
        (lambda s: s.b.transpose(s.x, s.ints(0, 1)), "vector of size 3"),
        (lambda s: s.b.transpose(s.x, s.ints(0, 1, 1)), "2 is missing from {0,1,1}"),
        (
            lambda s: s.strided(s.x, [0, 4], [0, 0], shrink_axis_mask=2),
            "slice index 4 of dimension 1",
        ),
        (lambda s: s.b.concat(s.x, s.b.const(np.zeros((2, 3), np.float32)), s.scalar(0)), "Ranks"),
        (lambda s: s.b.range(s.scalar(3), s.scalar(1), s.scalar(1)), "Requires start <= limit"),
    ],
)
def test_bad_shapes(call: Any, message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        call(Symbolic())


@pytest.mark.parametrize(("name", "_", "short"), sorted(NO_KERNEL))
def test_dtypes_without_a_kernel_are_refused(name: str, _: str, short: str) -> None:
    """TensorFlow lets such nodes be built, and has no kernel for them either."""
    op, b = op_named(name), Builder(("layer/op",))
    held = b.parameter("x", tensor_type(short, (3, 3)))
    if name == "mirror_pad_grad":
        rest, attrs = [b.const(np.zeros((2, 2), np.int32))], {"mode": "REFLECT"}
    else:
        updates = b.parameter("updates", tensor_type(short, (1, 3)))
        places = (1,) if name.startswith("in_place") else (1, 1)
        rest, attrs = [b.const(np.zeros(places, np.int32)), updates], {}
    with pytest.raises(UnsupportedError) as caught:
        b.emit(op, [held, *rest], attrs)
    assert f"{op.tf_name} at node 'layer/op': there is no kernel for {short}" in str(caught.value)


def test_where_has_a_size_of_its_own() -> None:
    s = Symbolic()
    y = s.b.where(s.b.parameter("m", tensor_type("bool", (BATCH, 3))))
    assert y.dims[1] == 2
    assert y.node.sizes == ((lone_symbol(y.dims[0]), BATCH * 3),)


def test_placeholder_needs_a_shape() -> None:
    with pytest.raises(FlowcError, match="no complete shape"):
        Builder().placeholder(dtype=tensor_type("f32").dtype, shape=(None, 3))


@pytest.mark.parametrize(
    ("shape", "wanted", "found"),
    [
        ((2, 0), (-1, 0), (2, 0)),
        ((2, 0), (0, -1), (0, 2)),
        ((0, 0), (-1, 0), (1, 0)),
        ((0,), (3, -1, 0), (3, 0, 0)),
        ((4, 0, 3), (-1, 0, 6), (2, 0, 6)),
    ],
)
def test_an_open_size_beside_0_is_that_of_tensorflow(
    shape: tuple[int, ...], wanted: tuple[int, ...], found: tuple[int, ...]
) -> None:
    with flowc.Graph().as_default(), flowc.Session() as session:
        known = flowc.reshape(flowc.zeros(shape), wanted)
        sizes = flowc.placeholder(flowc.int32, [len(wanted)])
        fed = flowc.reshape(flowc.zeros(shape), sizes)
        assert session.run(known).shape == session.run(fed, {sizes: wanted}).shape == found


def test_a_permutation_whose_parts_have_lengths_of_the_run() -> None:
    with flowc.Graph().as_default(), flowc.Session() as session:
        x, first = flowc.placeholder(flowc.float32), flowc.placeholder(flowc.int32, [])
        rank = flowc.rank(x)
        turned = flowc.transpose(x, flowc.concat([flowc.range(first, rank), flowc.range(first)], 0))
        for shape in ((1,), (2, 1), (3, 2, 1)):
            for k in range(len(shape)):
                found = session.run(turned, {x: np.ones(shape), first: k})
                assert found.shape == (*shape[k:], *shape[:k])


def test_strings_that_end_in_zeros_keep_them_where_python_computes() -> None:
    with flowc.Graph().as_default(), flowc.Session() as session:
        texts = flowc.io.decode_base64(flowc.constant(["YQAA", "AAA"]))
        one = flowc.serialize_sparse(flowc.SparseTensor([[0]], [1], [1]))
        assert session.run([texts[0], flowc.unstack(one)[2]]) == [b"a\0\0", session.run(one)[2]]
        assert session.run(one[2])[-7:] == bytes(7)
        assert session.run(flowc.stack([one[2]]))[0] == session.run(one)[2]
