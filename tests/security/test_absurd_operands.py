"""Operands that campaigns found taken at their word: images of no size, windows that reach far
beyond an image, boxes near the largest numbers, lists of axes that are longer than any memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from op_cases import plain_cases
from open_sizes import open_axes, with_open_sizes
from partitions import PartitionedProgram
from tensor_types import tensor_type

import flowc as tf
import flowc_runtime
from flowc import dtypes
from flowc.errors import InvalidArgumentError, ResourceExhaustedError
from flowc.ir.builder import Builder
from flowc.ir.op import op_named
from flowc.options import Options

HUGE = 2**40


@pytest.mark.parametrize(
    "name",
    ["resize_bilinear", "resize_bicubic", "resize_area", "resize_bilinear_grad",
     "resize_bicubic_grad"],
)  # fmt: skip
def test_one_program_for_all_images_refuses_those_of_no_size(name: str) -> None:
    case = plain_cases(op_named(name))[0]
    program = PartitionedProgram(with_open_sizes(case, open_axes(case)), Options())
    image = 1 if name.endswith("grad") else 0
    for axis in (1, 2):
        arrays = list(case.inputs)
        arrays[image] = np.take(arrays[image], [], axis=axis)
        with pytest.raises(InvalidArgumentError, match=r"(must be positive|of non-zero size)"):
            program.run(arrays[:1] if image == 0 else arrays)


@pytest.mark.parametrize("name", ["resize_bilinear_grad", "resize_bicubic_grad"])
def test_gradients_of_images_that_were_resized_to_nothing(name: str) -> None:
    case = plain_cases(op_named(name))[0]
    program = PartitionedProgram(with_open_sizes(case, open_axes(case)), Options())
    with pytest.raises(InvalidArgumentError, match="resized dimensions must be positive"):
        program.run([case.inputs[0][:, :0], case.inputs[1]])


@pytest.mark.parametrize(
    ("name", "operand", "given", "words"),
    [
        ("crop_and_resize_grad_boxes", 2, 4, "4 columns|must be equal"),
        ("xla_gather", 0, 2, "slice of size"),
    ],
)
def test_one_program_for_all_sizes_reads_nothing_beside_its_memory(
    name: str, operand: int, given: int, words: str
) -> None:
    """Boxes without columns, and a slice of more rows than there are."""
    case = plain_cases(op_named(name))[0]
    program = PartitionedProgram(with_open_sizes(case, open_axes(case)), Options())
    arrays = list(case.inputs)
    arrays[operand] = np.take(arrays[operand], [], axis=1 if name.startswith("crop") else 0)
    with pytest.raises(InvalidArgumentError, match=words):
        program.run(arrays[:given])  # the others are constants


def evaluated(tensor: tf.Tensor) -> np.ndarray:
    with tf.Session(graph=tensor.graph) as session:
        return session.run(tensor)


def test_windows_that_reach_far_beyond_an_image() -> None:
    image, window = np.arange(25, dtype=np.float32), np.ones((2, 2, 1), np.float32)
    with tf.Graph().as_default():
        found = tf.raw_ops.Dilation2D(
            input=tf.constant(image.reshape(1, 5, 5, 1)),
            filter=tf.constant(window),
            strides=[1, 1, 1, 1],
            rates=[1, HUGE, 1, 1],
            padding="SAME",
        )
        assert evaluated(found).shape == (1, 5, 5, 1)


def test_boxes_near_the_largest_numbers_are_outside() -> None:
    with tf.Graph().as_default():
        crops = tf.raw_ops.CropAndResize(
            image=tf.ones([1, 5, 5, 1]),
            boxes=tf.constant([[3e38, 0.0, -3e38, 1.0]]),
            box_ind=tf.constant([0]),
            crop_size=[3, 3],
            extrapolation_value=7.0,
        )
        found = evaluated(crops)[0, :, :, 0]
    assert (found[0] == 7).all() and (found[2] == 7).all()


def test_a_list_of_axes_is_not_read_to_its_end() -> None:
    b = Builder()
    x = b.parameter("x", tensor_type(dtypes.f32, (2, 3)))
    axes = b.const(np.broadcast_to(np.int32(1), 2**31 - 1))
    with pytest.raises(ResourceExhaustedError, match="expected at most"):
        b.emit(op_named("max"), [x, axes], {})


def test_places_of_a_sparse_product_outside_of_it() -> None:
    with tf.Graph().as_default():
        places = tf.constant([[0, 0], [2**40, 1]], tf.int64)
        product = tf.raw_ops.SparseTensorDenseMatMul(
            a_indices=places,
            a_values=tf.constant([1.0, 2.0]),
            a_shape=tf.constant([3, 2], tf.int64),
            b=tf.ones([2, 2]),
        )
        with pytest.raises(InvalidArgumentError):
            evaluated(product)


def test_a_sparse_product_of_sizes_of_the_run() -> None:
    with tf.Graph().as_default():
        sizes = tf.placeholder(tf.int64, [2])
        product = tf.raw_ops.SparseTensorDenseMatMul(
            a_indices=tf.constant([[0, 0], [1, 1]], tf.int64),
            a_values=tf.constant([1.0, 2.0]),
            a_shape=sizes,
            b=tf.ones([2, 2]),
        )
        with tf.Session() as session:
            assert session.run(product, {sizes: [3, 2]}).tolist() == [[1, 1], [2, 2], [0, 0]]


def test_an_order_of_indices_by_an_absurd_number_of_rounds() -> None:
    with tf.Graph().as_default(), pytest.raises((InvalidArgumentError, ValueError), match="rounds"):
        order = tf.raw_ops.RandomIndexShuffle(index=0, seed=[1, 2, 3], max_index=9, rounds=2**62)
        evaluated(order)


def test_positions_of_maxima_outside_of_the_image() -> None:
    with tf.Graph().as_default():
        gradient = tf.raw_ops.MaxPoolGradWithArgmax(
            input=tf.ones([1, 2, 2, 1]),
            grad=tf.ones([1, 1, 1, 1]),
            argmax=tf.constant([[[[2**46]]]], tf.int64),
            ksize=[1, 2, 2, 1],
            strides=[1, 2, 2, 1],
            padding="VALID",
        )
        with pytest.raises(InvalidArgumentError):
            evaluated(gradient)


@pytest.mark.parametrize(
    ("width", "new", "words"),
    [
        (2**40, 2, "input sizes must be between 0 and max int32"),
        (3, 2**31 - 1, "flowc computes where"),
    ],
)
def test_quantized_images_of_rows_without_end(width: int, new: int, words: str) -> None:
    with tf.Graph().as_default(), pytest.raises((ResourceExhaustedError, ValueError), match=words):
        images = tf.placeholder(tf.quint8, [1, 3, width, 1])
        tf.raw_ops.QuantizedResizeBilinear(images=images, size=[2, new], min=0.0, max=1.0)


def test_numbers_that_no_draw_meets() -> None:
    with tf.Graph().as_default():
        found = tf.raw_ops.StatelessParameterizedTruncatedNormal(
            shape=[2], seed=[1, 2], means=np.nan, stddevs=1.0, minvals=-1.0, maxvals=3.0
        )
        with pytest.raises(InvalidArgumentError, match="failed to accept"):
            evaluated(found)


def test_elements_of_a_list_with_more_sizes_than_a_tensor_has() -> None:
    with tf.Graph().as_default():
        elements = tf.raw_ops.EmptyTensorList(
            element_shape=tf.fill([2**22], 1), max_num_elements=2, element_dtype=tf.float32
        )
        with pytest.raises(InvalidArgumentError, match="of at most 64 sizes"):
            evaluated(tf.raw_ops.TensorListLength(input_handle=elements))


def test_a_shuffle_of_known_indices_by_many_rounds() -> None:
    """Python would take a minute for what a kernel does in a tenth of a second."""
    arguments = {"index": list(range(10)), "seed": [1, 2, 3], "max_index": 9, "rounds": 300}
    with tf.Session() as session:
        found = session.run(tf.raw_ops.RandomIndexShuffle(**arguments))
    assert sorted(found) == list(range(10))


def test_images_without_channels() -> None:
    image, weights = tf.zeros([1, 4, 4, 0]), tf.zeros([2, 2, 3, 4])
    with pytest.raises(ValueError, match="Number of groups must not be 0"):
        tf.nn.conv2d(image, weights, 1, "SAME")
    with pytest.raises(ValueError, match="Number of groups must not be 0"):
        tf.nn.conv2d_transpose(tf.zeros([1, 4, 4, 4]), weights, [1, 8, 8, 0], 2, "SAME")


def test_all_of_absurdly_many_candidates() -> None:
    classes = tf.placeholder(tf.int64, [2, 1])
    arguments = {"true_classes": classes, "num_true": 1, "num_sampled": 2**62, "unique": True}
    found = tf.raw_ops.AllCandidateSampler(**arguments).sampled_candidates
    with tf.Session() as session, pytest.raises(ResourceExhaustedError):
        session.run(found, {classes: [[1], [2]]})


def compiled(folder: Path, build: Callable[..., tf.Tensor], *shapes: Sequence[int | None]) -> Any:
    """A library of what `build` makes of placeholders."""
    with tf.Graph().as_default() as graph:
        given = [tf.placeholder(tf.float32, shape, name=f"x{i}") for i, shape in enumerate(shapes)]
        tf.compile(graph, feeds=given, fetches=[build(*given)], out=folder / "model.so")
    return flowc_runtime.load(str(folder / "model.so"))


OPEN = [None, None, None, 4]


@pytest.mark.parametrize(
    ("build", "shapes", "taken", "refused", "words"),
    [
        (lambda x: tf.nn.space_to_depth(x, 2), [OPEN], [(1, 4, 2, 4)], [(1, 3, 2, 4)], "equal"),
        (
            lambda x: tf.nn.depth_to_space(x, 2),
            [[None, 2, 2, None]],
            [(1, 2, 2, 4)],
            [(1, 2, 2, 6)],
            "must be equal",
        ),
        (
            lambda x: tf.nn.max_pool(x, [1, 1, 1, 2], [1, 1, 1, 2], "VALID"),
            [[None, 2, 2, None]],
            [(1, 2, 2, 4)],
            [(1, 2, 2, 5)],
            "must be equal",
        ),
        (
            lambda x, w: tf.nn.conv2d(x, w, strides=[1, 1, 1, 1], padding="SAME"),
            [[1, 4, 4, 2], [None, None, 2, 3]],
            [(1, 4, 4, 2), (2, 2, 2, 3)],
            [(1, 4, 4, 2), (2, 0, 2, 3)],
            "must be",
        ),
        (
            lambda x, boxes: tf.image.crop_and_resize(x, boxes, [0], [2, 2]),
            [OPEN, [1, 4]],
            [(1, 2, 3, 4), (1, 4)],
            [(1, 2, 0, 4), (1, 4)],
            "must be",
        ),
        (
            lambda x: tf.raw_ops.MatrixDiagV2(
                diagonal=x, k=[-1, 0], num_rows=3, num_cols=4, padding_value=0.0
            ),
            [[2, None]],
            [(2, 3)],
            [(2, 0)],  # which read beside its memory
            "must be equal",
        ),
    ],
)  # fmt: skip
def test_a_library_looks_at_sizes_as_a_compilation_does(
    build: Any, shapes: Any, taken: Any, refused: Any, words: str, tmp_path: Path
) -> None:
    model = compiled(tmp_path, build, *shapes)
    model(*(np.ones(shape, np.float32) for shape in taken))
    with pytest.raises(flowc_runtime.ModelError, match=words):
        model(*(np.ones(shape, np.float32) for shape in refused))
