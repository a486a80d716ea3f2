"""Literal results and both argument orders: what the recorded programs cannot say, because
TensorFlow 2 no longer has it. Names begin with the row of the specification."""

from __future__ import annotations

import operator
import re
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flowc as tf
from flowc.api import exports
from flowc.api.namespaces import INSTEAD, tensorflow_names

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as found:
        yield found


def run(fetches: Any, feed: Any = None) -> Any:
    with tf.Session() as session:
        return session.run(fetches, feed)


def lists(fetches: Any) -> Any:
    return [v.tolist() for v in run(fetches)]


def test_row_4_print() -> None:
    joined = tf.string_join(["a", "b"])
    assert str(joined) == 'Tensor("StringJoin:0", shape=(), dtype=string)'
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    assert str(x) == 'Tensor("x:0", shape=(?, 2), dtype=float32)'
    assert repr(x) == "<tf.Tensor 'x:0' shape=(?, 2) dtype=float32>"
    assert (x == x) is True
    assert (x == 1.0) is False  # identity, as in TensorFlow 1


def test_row_13_control_dependencies_and_groups(graph: tf.Graph) -> None:
    a, b = tf.constant(1.0, name="a"), tf.constant(2.0, name="b")
    init = tf.group(a, [b.op], name="init")
    assert init.type == "NoOp"
    assert [c.name for c in init.control_inputs] == ["a", "b"]
    assert tf.group(name="nothing").type == "NoOp"
    with pytest.raises(TypeError, match="should be zero or more"):
        tf.group(3)
    with pytest.raises(ValueError, match="at least one Tensor"):
        tf.tuple([])


def test_row_52_casts() -> None:
    x = tf.constant([1.8, 2.2])
    assert lists([tf.to_int32(x), tf.to_int64(x), tf.cast(x, tf.int32)]) == [[1, 2]] * 3
    assert run(tf.to_bfloat16(x)).dtype == tf.bfloat16.numpy
    assert tf.cast(x, tf.float32) is x
    with pytest.raises(TypeError, match="string"):
        tf.cast(tf.constant("a"), tf.float32)


def test_row_53_shape_size_rank() -> None:
    t = tf.constant([[[1, 1, 1], [2, 2, 2]], [[3, 3, 3], [4, 4, 4]]])
    assert lists([tf.shape(t), tf.size(t), tf.rank(t)]) == [[2, 2, 3], 12, 3]


def test_row_54_reshape() -> None:
    t = tf.constant([[[1, 1], [2, 2]], [[3, 3], [4, 4]]])
    assert run(tf.reshape(t, [2, 4])).tolist() == [[1, 1, 2, 2], [3, 3, 4, 4]]
    assert tf.reshape(t, [-1, 4]).shape.as_list() == [2, 4]
    x = tf.placeholder(tf.float32, [None, 6])
    assert tf.reshape(x, [-1, 2, 3]).shape.as_list() == [None, 2, 3]
    assert tf.reshape(x, [tf.shape(x)[0], 3, 2]).shape.as_list() == [None, 3, 2]


def test_row_55_squeeze() -> None:
    t = tf.ones([1, 2, 1, 3, 1, 1])
    assert tf.squeeze(t).shape.as_list() == [2, 3]
    assert tf.squeeze(t, [2, 4]).shape.as_list() == [1, 2, 3, 1]
    assert tf.squeeze(t, squeeze_dims=[2, 4]).shape.as_list() == [1, 2, 3, 1]
    with pytest.raises(ValueError, match=r"Can not squeeze dim\[1\], expected a dimension of 1"):
        tf.squeeze(t, [1])
    with pytest.raises(ValueError, match="Cannot specify both"):
        tf.squeeze(t, [0], squeeze_dims=[0])


def test_row_56_expand_dims() -> None:
    t = tf.constant([1, 2])
    assert tf.expand_dims(t, dim=-1).shape.as_list() == [2, 1]
    with pytest.raises(ValueError, match=r"dim 5 not in the interval \[-2, 1\]") as caught:
        tf.expand_dims(t, 5, name="wide")
    assert "{{node wide}} = ExpandDims[T=DT_INT32, Tdim=DT_INT32]" in str(caught.value)


def test_row_57_slices() -> None:
    t = tf.constant([[[1, 1, 1], [2, 2, 2]], [[3, 3, 3], [4, 4, 4]], [[5, 5, 5], [6, 6, 6]]])
    assert run(tf.slice(t, [1, 0, 0], [1, 2, 3])).tolist() == [[[3, 3, 3], [4, 4, 4]]]
    assert run(t[1:, 0, tf.newaxis, ::2]).tolist() == [[[3, 3]], [[5, 5]]]
    with pytest.raises(ValueError, match="Expected size"):
        tf.slice(t, [2, 0, 0], [2, 1, 1])


def test_row_58_split_in_both_orders() -> None:
    value = tf.constant(np.arange(30).reshape(5, 6))
    for parts in (
        tf.split(1, 3, value),
        tf.split(value, 3, 1),
        tf.split(split_dim=1, num_split=3, value=value),
    ):
        assert [p.shape.as_list() for p in parts] == [[5, 2]] * 3
        assert run(parts[1]).tolist() == run(value)[:, 2:4].tolist()
    with pytest.raises(ValueError, match="evenly divide"):
        tf.split(0, 2, value)


def test_row_59_tile_and_pad() -> None:
    t = tf.constant([[1, 2, 3], [4, 5, 6]])
    assert run(tf.tile(t, [1, 2])).tolist() == [[1, 2, 3, 1, 2, 3], [4, 5, 6, 4, 5, 6]]
    assert tf.pad(t, [[1, 1], [2, 1]]).shape.as_list() == [4, 6]
    with pytest.raises(ValueError, match="Paddings must be non-negative"):
        tf.pad(t, [[-1, 0], [0, 0]])


def test_row_60_concat_in_both_orders() -> None:
    a, b = tf.constant([[1, 2, 3], [4, 5, 6]]), tf.constant([[7, 8, 9], [10, 11, 12]])
    rows = [[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]]
    for joined in (
        tf.concat(0, [a, b]),
        tf.concat([a, b], 0),
        tf.concat(concat_dim=0, values=[a, b]),
    ):
        assert run(joined).tolist() == rows
    assert tf.concat(tf.constant(1), [a, b]).shape.as_list() == [2, 6]
    with pytest.raises(ValueError, match="should match"):
        tf.concat(0, [a, tf.constant([1])])


def test_row_61_pack_and_unpack() -> None:
    x, y = tf.constant([1, 4]), tf.constant([2, 5])
    assert run(tf.pack([x, y])).tolist() == [[1, 4], [2, 5]]
    assert lists(tf.unpack(tf.pack([x, y]))) == [[1, 4], [2, 5]]
    with pytest.raises(ValueError, match="Cannot infer argument `num`"):
        tf.unpack(tf.placeholder(tf.float32))
    with pytest.raises(ValueError, match="2 and 3"):
        tf.pack([x, tf.constant([1, 2, 3])])


def test_row_62_reverse_sequence_of_2016() -> None:
    t = tf.constant([[1, 2, 3], [4, 5, 6]])
    assert run(tf.reverse_sequence(t, [2, 3], 1)).tolist() == [[2, 1, 3], [6, 5, 4]]
    lengths = tf.placeholder(tf.int32, [None])
    with tf.Session() as session:
        for given, told in (([3, 4], r"\[1\] = 4"), ([-1, 0], r"\[0\] = -1")):
            with pytest.raises(tf.errors.InvalidArgumentError, match=rf"{told} is not in \[0, 4\)"):
                session.run(tf.reverse_sequence(t, lengths, 1), {lengths: given})


def test_row_63_reverse_by_bools_and_by_axes(graph: tf.Graph) -> None:
    t = tf.constant(np.arange(24).reshape(1, 2, 3, 4))
    by_bools = tf.reverse(t, [False, False, False, True])
    assert by_bools.op.type == "Reverse"
    assert run(by_bools).tolist() == np.arange(24).reshape(1, 2, 3, 4)[..., ::-1].tolist()
    assert tf.reverse(t, [1]).op.type == "ReverseV2"
    assert tf.reverse(t, dims=tf.constant([True, False, False, False])).op.type == "Reverse"
    with pytest.raises(ValueError, match="more than 8 dimensions"):
        tf.reverse(tf.ones([1] * 9), [True] * 9)
    with pytest.raises(ValueError):
        tf.reverse(t, [True])


def test_row_64_transpose() -> None:
    x = tf.constant([[1, 2, 3], [4, 5, 6]])
    assert run(tf.transpose(x)).tolist() == [[1, 4], [2, 5], [3, 6]]
    with pytest.raises(ValueError, match=r"0 is missing from \{1,1\}"):
        tf.transpose(x, [1, 1])


def test_row_66_dynamic_partition() -> None:
    found = lists(tf.dynamic_partition(tf.constant([10, 20]), 1, 2))
    assert found == [[], [[10, 20]]]
    assert run(tf.dynamic_partition(tf.constant([10, 20]), 1, 2))[0].shape == (0, 2)
    assert lists(tf.dynamic_partition([10, 20, 30, 40, 50], [0, 0, 1, 1, 0], 2)) == [
        [10, 20, 50],
        [30, 40],
    ]
    with pytest.raises(ValueError, match="less than minimum 1"):
        tf.dynamic_partition([1], [0], 0)


def test_row_67_dynamic_stitch() -> None:
    merged = tf.dynamic_stitch([[0, 1], [1, 3]], [[1, 2], [3, 4]])
    found = run(merged)
    assert found[[0, 1, 3]].tolist() == [1, 3, 4]
    assert found.shape == (4,)


def test_row_68_python_numbers_take_the_tensors_dtype() -> None:
    x = tf.constant([1.0, 2.0])
    assert lists([1 - x, 2 / x, x // 2, tf.multiply(x, 2), tf.add(x, 1)]) == [
        [0.0, -1.0], [2.0, 1.0], [0.0, 1.0], [2.0, 4.0], [2.0, 3.0],
    ]  # fmt: skip
    assert (tf.constant([7]) / 2).dtype is tf.float64
    with pytest.raises(TypeError, match="Input 'y' of 'Mul' Op has type float32 that does not"):
        tf.multiply(2, x)
    with pytest.raises(ValueError, match=r"\{\{node bad\}\} = AddV2\[T=DT_FLOAT\]"):
        tf.add(tf.ones([2]), tf.ones([3]), name="bad")


def test_shapes_of_unknown_ranks() -> None:
    x = tf.placeholder(tf.float32)
    assert tf.nn.relu(x).shape.ndims is None
    assert tf.reshape(x, [2, -1]).shape.as_list() == [2, None]
    assert tf.shape(x).shape.as_list() == [None]
    assert tf.matmul(x, x).shape.ndims is None
    assert tf.nn.conv2d(x, tf.ones([3, 3, 1, 5]), 1, "SAME").shape.ndims == 4
    assert tf.reduce_sum(x).shape.ndims in (0, None)
    y = tf.placeholder(tf.float32, [None, 3])
    assert (x + y).shape.ndims is None
    assert (y + tf.ones([3])).shape.as_list() == [None, 3]


def test_every_public_name_is_there_and_others_say_so() -> None:
    for name in dir(tf):
        assert getattr(tf, name, None) is not None or name == "newaxis"
    for space in exports.NAMESPACES.values():
        for name in dir(space):
            assert getattr(space, name) is not None
    assert tf.compat.v1.Session is tf.Session and dir(tf.compat.v1) == dir(tf)
    assert tf.compat.as_bytes("a") == b"a" and tf.compat.as_str(b"a") == "a"
    for name in ("contribs", "nn.conv4d_like", "nn.relus", "reduce_sums", "nn.depth_to_spaces"):
        with pytest.raises(AttributeError, match=rf"^flowc\.{name} is not provided(: |$)"):
            operator.attrgetter(name)(tf)
    with pytest.raises(AttributeError, match="did you mean 'reduce_sum'"):
        _ = tf.reduce_sums
    with pytest.raises(AttributeError, match=r"flowc\.nn\.relus is .*did you mean 'relu"):
        _ = tf.nn.relus
    with pytest.raises(AttributeError, match=r"flowc\.mixed_precision is not provided$"):
        _ = tf.mixed_precision  # TensorFlow has it: its name is no slip


def test_names_that_are_not_there_say_what_to_write_instead() -> None:
    for text in INSTEAD.values():
        for name in re.findall(r"`(?:tf|flowc)\.([\w.]+)", text):
            assert operator.attrgetter(name)(tf) is not None
    for path in ("estimator", "contrib.rnn", "contrib.layers", "contrib.nothing"):
        with pytest.raises(AttributeError, match=f"{path} is not provided") as caught:
            operator.attrgetter(path)(tf)
        assert caught.value.__notes__ == [f"instead: {INSTEAD.get(path, INSTEAD['contrib'])}"]


def test_what_tensorflow_has_is_there_or_not_provided() -> None:
    for path, names in tensorflow_names().items():
        try:
            space = operator.attrgetter(path.partition(".")[2])(tf) if path != "tf" else tf
        except AttributeError as error:
            assert "is not provided" in str(error)
            continue
        if isinstance(space, types.ModuleType) and space is not tf:
            continue
        for name in set(names) - set(dir(space)):
            try:
                found = getattr(space, name)
            except AttributeError as error:
                assert str(error) == f"{space.__name__}.{name} is not provided"
            else:
                assert isinstance(found, types.ModuleType), name  # flowc's own, as `version`


def test_flowc_by_other_names() -> None:
    import flowc.compat.v1 as first
    from flowc import compat
    from flowc.compat import v1 as second

    assert compat.v1 is first is second
    assert first.nn is tf.nn and first.placeholder is tf.placeholder
    with pytest.raises(AttributeError, match=r"(?m)flowc\.keras is not provided$") as caught:
        _ = first.keras
    assert caught.value.__notes__ == ["instead: `tf.layers`; models of Keras run as SavedModels"]
    with pytest.raises(AttributeError, match=r"flowc\.compat\.as_byte is .*'as_bytes'"):
        _ = compat.as_byte
    listed = [getattr(tf.errors, name) for name in dir(tf.errors)]
    assert all(issubclass(kind, Exception) for kind in listed)
    assert tf.errors.OUT_OF_RANGE == 11


def test_import_is_light() -> None:
    program = (
        "import sys, flowc as tf\n"
        "heavy = {m.partition('.')[0] for m in sys.modules} & {'numba', 'llvmlite', 'numpy'}\n"
        "assert not heavy, heavy\n"
        "tf.Graph, tf.float32, tf.Session, tf.ConfigProto\n"
        "heavy = ('numba', 'llvmlite', 'google.protobuf', 'flowc.ops')\n"
        "assert not [m for m in sys.modules if m.startswith(heavy)]\n"
    )
    subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'runtime'}"},
    )


def test_write_graph_and_import_it_back(tmp_path: Path) -> None:
    y = tf.identity(tf.constant([1.0, 2.0]) * 2.0, name="y")
    for as_text in (True, False):
        path = tf.train.write_graph(tf.get_default_graph(), tmp_path, "g.pb", as_text)
        with tf.Graph().as_default():
            (found,) = tf.import_graph_def(path, return_elements=["y:0"], name="m") or ()
            assert found.name == "m/y:0"
            assert found.shape.as_list() == [2]
            assert run(found).tolist() == [2.0, 4.0]
    assert y.name == "y:0"


def test_shapes_of_a_deep_imported_graph_do_not_recurse(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.float32, [None, 2])
    for _ in range(3000):
        x = graph.add_operation("Neg", [x], {"T": tf.float32}).outputs[0]
    assert x.shape.as_list() == [None, 2]
