"""Pooling, resizing, space/depth moves, selection, suppression and padding: what TensorFlow 2.21
gives in corners that generated examples do not reach, sizes known only at run time, and faults of
the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from calls.native_calls import built_node, compiled, reference

import flowc
from flowc import raw_ops
from flowc.errors import InvalidArgumentError, OutOfRangeError, ShapeError, UnimplementedError
from flowc.ir.lowering import Native, View
from flowc.ops.kernels.image.combined_suppression import heap_sort

NAN, INF = float("nan"), float("inf")
LOWEST = float(np.finfo(np.float32).min)
f32 = np.float32


def check(name: str, arrays: Sequence[Any], wanted: Sequence[Any], **options: Any) -> None:
    """Reference and machine code both give `wanted`."""
    kinds = ("constant", "symbolic", "threads")
    attrs = {n: v for n, v in options.items() if n not in kinds}
    for found in (reference(name, arrays, **attrs), compiled(name, arrays, **options)):
        for got, want in zip(found, wanted, strict=True):
            np.testing.assert_allclose(got, np.asarray(want, got.dtype), rtol=1e-6)
            assert got.shape == np.shape(want)


# -- pooling

STRANGE = np.array([[1, NAN, 3, NAN], [NAN, -INF, -INF, 2]], f32).reshape(1, 2, 4, 1)
PAIR = {"ksize": (1, 1, 2, 1), "strides": (1, 1, 1, 1), "padding": "SAME"}


def test_max_pool_ignores_nan() -> None:
    wanted = np.array([[1, 3, 3, LOWEST], [LOWEST, LOWEST, 2, 2]]).reshape(1, 2, 4, 1)
    check("max_pool", [STRANGE], [wanted], **PAIR)


def test_max_pool_with_argmax_keeps_leading_nan() -> None:
    values = np.array([[1, NAN, 3, NAN], [NAN, -INF, 2, 2]]).reshape(1, 2, 4, 1)
    places = np.array([[0, 1, 2, 3], [4, 5, 7, 7]]).reshape(1, 2, 4, 1)
    check("max_pool_with_argmax", [STRANGE], [values, places], **PAIR)


@pytest.mark.parametrize("name", ["max_pool", "avg_pool"])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_pooling_of_unknown_sizes(name: str, padding: str) -> None:
    x = np.random.default_rng(1).standard_normal((2, 7, 5, 3)).astype(f32)
    attrs: Any = {"ksize": (1, 3, 2, 1), "strides": (1, 2, 3, 1), "padding": padding}
    (wanted,) = reference(name, [x], **attrs)
    for threads in (1, 3):
        (got,) = compiled(name, [x], symbolic=[0], threads=threads, **attrs)
        np.testing.assert_allclose(got, wanted, rtol=1e-6)


def test_average_leaves_padding_out() -> None:
    x = np.ones((1, 2, 2, 1), f32)
    window: Any = {"ksize": (1, 3, 3, 1), "strides": (1, 1, 1, 1), "padding": "SAME"}
    check("avg_pool", [x], [x], **window)


def test_window_larger_than_the_image() -> None:
    with pytest.raises(ShapeError, match="Computed output size would be negative: -1 "):
        reference(
            "max_pool", [np.ones((1, 1, 1, 1), f32)], ksize=(1, 3, 3, 1), strides=(1, 1, 1, 1),
            padding="VALID",
        )  # fmt: skip


def test_windows_over_channels() -> None:
    x = np.arange(24, dtype=np.float32).reshape(1, 6, 2, 2)
    first = {"ksize": [1, 3, 1, 1], "strides": [1, 3, 1, 1], "data_format": "NCHW"}
    last = {"ksize": [1, 1, 1, 2], "strides": [1, 1, 1, 2]}
    with flowc.Session() as session:
        pooled = session.run(raw_ops.MaxPool(input=x, padding="SAME", **first))
        np.testing.assert_array_equal(pooled, x.reshape(1, 2, 3, 2, 2).max(2))
        for window in (first, last):
            with pytest.raises(UnimplementedError, match="not yet supported on the depth"):
                raw_ops.MaxPoolGrad(orig_input=x, orig_output=x, grad=x, padding="SAME", **window)
        with pytest.raises(UnimplementedError, match="exactly one of pooling across depth"):
            raw_ops.MaxPool(input=x, ksize=[1, 2, 1, 2], strides=[1, 2, 1, 2], padding="SAME")
        with pytest.raises(UnimplementedError, match="evenly divide the input depth"):
            raw_ops.MaxPool(input=x[:, :5], padding="SAME", **first)


def test_max_pool_gradient_goes_to_the_first_of_equals() -> None:
    x = np.zeros((1, 2, 2, 1), f32)
    wanted = np.array([5, 0, 0, 0]).reshape(1, 2, 2, 1)
    y, dy = np.zeros((1, 1, 1, 1), f32), np.full((1, 1, 1, 1), 5, f32)
    window: Any = {"ksize": (1, 2, 2, 1), "strides": (1, 2, 2, 1), "padding": "VALID"}
    check("max_pool_grad", [x, y, dy], [wanted], **window)


# -- resizing

SQUARE = np.array([1, 2, 3, 4], f32).reshape(1, 2, 2, 1)


def _lowering_of_nearest(new: Sequence[int], **attrs: Any) -> Any:
    shape = np.zeros((1, 4, 6, 3), f32)
    return built_node(
        "resize_nearest_neighbor", [shape, np.array(new, np.int32)], attrs, [1], ()
    ).node


def test_nearest_by_whole_ratios_is_a_view() -> None:
    assert isinstance(_lowering_of_nearest((8, 18)).lowering, View)
    assert isinstance(_lowering_of_nearest((8, 12), half_pixel_centers=True).lowering, View)
    assert isinstance(_lowering_of_nearest((7, 12)).lowering, Native)
    assert isinstance(_lowering_of_nearest((8, 12), align_corners=True).lowering, Native)


def test_bilinear_between_pixel_centres() -> None:
    wanted = np.array(
        [[1, 1.25, 1.75, 2], [1.5, 1.75, 2.25, 2.5], [2.5, 2.75, 3.25, 3.5], [3, 3.25, 3.75, 4]]
    ).reshape(1, 4, 4, 1)
    size = np.array([4, 4], np.int32)
    check("resize_bilinear", [SQUARE, size], [wanted], constant=[1], half_pixel_centers=True)


@pytest.mark.parametrize("width", [255, 256, 257, 600])
def test_colors_beyond_a_tile_of_columns(width: int) -> None:
    x = np.random.default_rng(width).integers(0, 256, (2, 7, 300, 3), np.uint8)
    size = np.array([9, width], np.int32)
    (wanted,) = reference("resize_bilinear", [x, size])
    (got,) = compiled("resize_bilinear", [x, size])
    np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-4)


def test_size_computed_by_the_run() -> None:
    x = np.random.default_rng(2).standard_normal((2, 3, 5, 2)).astype(f32)
    size = np.array([7, 4], np.int32)
    (wanted,) = reference("resize_bilinear", [x, size])
    (got,) = compiled("resize_bilinear", [x, size])
    np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-6)


def test_crop_of_an_image_that_is_not_there() -> None:
    boxes, size = np.array([[0, 0, 1, 1]], f32), np.array([2, 2], np.int32)
    with pytest.raises(OutOfRangeError, match=r"^box_index has values outside \[0, batch_size\)"):
        compiled("crop_and_resize", [SQUARE, boxes, np.array([3], np.int32), size], constant=[3])


def test_crop_by_a_box_that_is_not_finite() -> None:
    boxes, size = np.array([[0, NAN, 1, 1]], f32), np.array([2, 2], np.int32)
    with pytest.raises(InvalidArgumentError, match="not finite"):
        compiled("crop_and_resize", [SQUARE, boxes, np.array([0], np.int32), size], constant=[3])


# -- space, batch, depth


def test_space_to_batch_with_paddings_of_the_run() -> None:
    x = np.arange(2 * 3 * 5 * 2, dtype=f32).reshape(2, 3, 5, 2)
    blocks, pads = np.array([2, 3], np.int32), np.array([[1, 0], [2, 2]], np.int32)
    (wanted,) = reference("space_to_batch_nd", [x, blocks, pads])
    (got,) = compiled("space_to_batch_nd", [x, blocks, pads], constant=[1, 2], symbolic=[0])
    assert np.array_equal(got, wanted)
    (back,) = reference("batch_to_space_nd", [wanted, blocks, pads])
    assert np.array_equal(back, x)


def test_blocks_that_do_not_divide() -> None:
    with pytest.raises(ShapeError, match=r"padded_shape\[0\]=5 is not divisible by block_shape=3"):
        reference(
            "space_to_batch_nd",
            [np.zeros((1, 4, 2, 1), f32), np.array([3, 2]), np.array([[0, 1], [0, 0]])],
        )


# -- selection


def test_top_k_takes_the_lower_index_of_equals_and_nan_last() -> None:
    x = np.array([[3, NAN, 3, 7, NAN, 3, -INF]], f32)
    wanted = [[[7, 3, 3, 3, -INF, NAN, NAN]], [[3, 0, 2, 5, 6, 1, 4]]]
    check("top_k", [x, np.int32(7)], wanted, constant=[1])


def test_top_k_agrees_with_sorting() -> None:
    rng = np.random.default_rng(3)
    x = rng.integers(0, 9, (5, 64)).astype(np.int32)
    for k in (1, 5, 63):
        values, indices = compiled("top_k", [x, np.int32(k)], constant=[1])
        order = np.argsort(-x, axis=-1, kind="stable")[:, :k]
        assert np.array_equal(indices, order)
        assert np.array_equal(values, np.take_along_axis(x, order, -1))


def test_more_winners_than_columns() -> None:
    x = np.zeros((2, 3), f32)
    with pytest.raises(InvalidArgumentError, match="Had 3, needed 4"):
        compiled("top_k", [x, np.int32(4)], constant=[1], symbolic=[0])


# -- suppression

BOXES = np.array(
    [[0, 0, 1, 1], [1, 1.1, 0, 0.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [1, 11.1, 0, 10.1],
     [0, 100, 1, 101]],
    f32,
)  # fmt: skip
SCORES = np.array([0.9, 0.75, 0.6, 0.95, 0.5, 0.3], f32)


def test_suppression_takes_corners_in_any_order() -> None:
    arrays = [BOXES, SCORES, np.int32(3), f32(0.5), f32(0)]
    check("non_max_suppression_v3", arrays, [[3, 0, 5]], symbolic=[0])


def test_padded_suppression() -> None:
    arrays = [BOXES, SCORES, np.int32(5), f32(0.5), f32(0.4)]
    check(
        "non_max_suppression_v4", arrays, [[3, 0, 0, 0, 0], 2], constant=[2],
        pad_to_max_output_size=True,
    )  # fmt: skip


def test_soft_suppression_lowers_scores() -> None:
    arrays = [BOXES, SCORES, np.int32(6), f32(0.5), f32(0), f32(0.5)]
    scores = [0.95, 0.9, 0.384, 0.3, 0.256, 0.197]
    for found in (
        reference("non_max_suppression_v5", arrays),
        compiled("non_max_suppression_v5", arrays),
    ):
        assert found[0].tolist() == [3, 0, 1, 5, 4, 2]
        np.testing.assert_allclose(found[1], scores, atol=1e-2)
        assert found[2] == 6


def test_equal_scores_take_the_lower_index() -> None:
    boxes = np.array([[0, i, 1, i + 1] for i in range(0, 12, 2)], f32)
    arrays = [boxes, np.ones(6, f32), np.int32(4), f32(0.5), f32(0)]
    check("non_max_suppression_v3", arrays, [[0, 1, 2, 3]], constant=[2])


@pytest.mark.parametrize(("least", "wanted"), [(-1, [0, 1, 3]), (0, [0, 1])])
def test_overlaps_that_are_no_numbers(least: float, wanted: list[int]) -> None:
    overlaps = np.array(
        [[1, 0.2, 0.9, NAN, -INF], [0.2, 1, 0.3, NAN, 0], [0.9, 0.3, 1, 0, 0], [0, NAN, 0, 1, 0],
         [-INF, 0, 0, 0, 1]],
        f32,
    )  # fmt: skip
    arrays = [overlaps, np.array([5, 4, 3, 2, 1], f32), np.int32(5), f32(0.5), f32(least)]
    check("non_max_suppression_with_overlaps", arrays, [wanted])


def test_threshold_outside_its_range() -> None:
    with pytest.raises(InvalidArgumentError, match=r"iou_threshold must be in \[0, 1\]"):
        compiled("non_max_suppression_v3", [BOXES, SCORES, np.int32(3), f32(1.5), f32(0)])


# -- suppression in batches

CLASSES = np.stack([SCORES, SCORES[::-1], np.full(6, 0.9, f32)], axis=1)[None]


@pytest.mark.parametrize("constant", [[], [2, 3], [3]])
@pytest.mark.parametrize("symbolic", [[], [0], [1]])
def test_combined_suppression_of_sizes_that_the_run_knows(
    constant: list[int], symbolic: list[int]
) -> None:
    arrays = [BOXES[None, :, None], CLASSES, np.int32(2), np.int32(5), f32(0.5), f32(0.4)]
    best = [0, 1, 1, 1], [0, 0, 1, 0.9], [0, 0, 1, 1], [0, 1, 1, 1], [0, 0, 1, 1]
    check(
        "combined_non_max_suppression", arrays,
        [[best], [[0.95, 0.95, 0.9, 0.9, 0.9]], [[0, 1, 0, 1, 2]], [5]],
        constant=constant, symbolic=symbolic,
    )  # fmt: skip


def test_combined_suppression_with_boxes_of_too_few_classes() -> None:
    boxes = np.repeat(BOXES[None, :, None], 2, axis=2)
    arrays = [boxes, CLASSES, np.int32(2), np.int32(5), f32(0.5), f32(0.4)]
    with pytest.raises(InvalidArgumentError, match="third dimension of boxes must be either 1 or"):
        compiled("combined_non_max_suppression", arrays, constant=[2, 3], symbolic=[0])


@pytest.mark.parametrize(("i", "value"), [(2, 0), (3, 0), (4, 1.5)])
def test_combined_suppression_checks_what_the_run_gives(i: int, value: float) -> None:
    arrays = [BOXES[None, :, None], CLASSES, np.int32(2), np.int32(5), f32(0.5), f32(0.4)]
    arrays[i] = np.asarray(value, arrays[i].dtype)
    with pytest.raises(InvalidArgumentError, match=r"must be (positive|> 0|in \[0, 1\])"):
        compiled("combined_non_max_suppression", arrays)


@pytest.mark.parametrize("size", [0, 1, 2, 17, 100])
def test_heap_sort_of_a_part(size: int) -> None:
    keys = np.random.default_rng(size).integers(0, 9, size + 4).astype(f32)
    items = keys.copy()
    heap_sort(keys, items, 2, size + 2)
    assert np.array_equal(keys, items)
    assert (np.diff(keys[2 : size + 2]) >= 0).all()


# -- padding by what the run computes

IMAGE = np.arange(12, dtype=f32).reshape(3, 4)


@pytest.mark.parametrize("symbolic", [[], [0]])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_paddings_that_the_run_knows(symbolic: list[int], dtype: Any) -> None:
    arrays = [IMAGE, np.array([[1, 2], [0, 3]], dtype)]
    surrounded = np.pad(IMAGE, arrays[1], constant_values=7)
    check("pad_v2", [*arrays, f32(7)], [surrounded], symbolic=symbolic)
    check("pad", arrays, [np.pad(IMAGE, arrays[1])], symbolic=symbolic)
    mirrored = np.pad(IMAGE, arrays[1], mode="reflect")
    check("mirror_pad", arrays, [mirrored], symbolic=symbolic, mode="REFLECT")


@pytest.mark.parametrize("name", ["pad", "mirror_pad"])
def test_negative_paddings_of_the_run(name: str) -> None:
    attrs = {} if name == "pad" else {"mode": "SYMMETRIC"}
    with pytest.raises(InvalidArgumentError, match="must not be negative, found -1 at position 2"):
        compiled(name, [IMAGE, np.array([[1, 0], [-1, 2]], np.int32)], **attrs)


@pytest.mark.parametrize("pads", [[[3, 0], [0, 0]], [[0, 0], [0, 4]], [[9_000_000, 0], [0, 0]]])
@pytest.mark.parametrize("constant", [[], [1]])
def test_mirrored_paddings_that_are_too_large(pads: Any, constant: list[int]) -> None:
    """Nothing beside the input is read for them."""
    arrays = [IMAGE, np.array(pads, np.int32)]
    with pytest.raises(InvalidArgumentError, match="must be less than the dimension size"):
        compiled("mirror_pad", arrays, constant=constant, symbolic=[0], mode="REFLECT")


@pytest.mark.parametrize("symbolic", [[], [0]])
def test_gradients_of_mirrored_paddings_that_the_run_knows(symbolic: list[int]) -> None:
    dy = np.arange(42, dtype=f32).reshape(6, 7)
    for mode, pads in (("REFLECT", [[2, 1], [3, 0]]), ("SYMMETRIC", [[3, 0], [1, 2]])):
        arrays = [dy, np.array(pads, np.int32)]
        expected = reference("mirror_pad_grad", arrays, mode=mode)
        check("mirror_pad_grad", arrays, expected, symbolic=symbolic, mode=mode)
    for pads in ([[2, 3], [0, 0]], [[7, 0], [0, 0]], [[900_000, 900_000], [0, 0]]):
        with pytest.raises(InvalidArgumentError, match="no greater than the output dimension size"):
            arrays = [dy, np.array(pads, np.int32)]
            compiled("mirror_pad_grad", arrays, symbolic=symbolic, mode="SYMMETRIC")


# -- slices as a set, and slices changed, of sizes that only the run knows

ROWS = np.array([[1, 2], [0, NAN], [1, 2], [0, NAN], [-0.0, 3], [0.0, 3]], f32)


def test_unique_slices_of_sizes_of_the_run() -> None:
    expected = [ROWS[[0, 1, 3, 4]], [0, 1, 0, 2, 3, 3], [2, 1, 1, 2]]
    attrs: Any = {"constant": [1], "symbolic": [0]}
    check("unique_with_counts_v2", [ROWS, np.array([0])], expected, **attrs)
    check("unique_v2", [ROWS, np.array([-2])], expected[:2], **attrs)
    columns = np.ascontiguousarray(ROWS[[0, 2]].T[:, :, None].repeat(3, 2))
    expected = [columns[:, :1], [0, 0], [2]]
    check("unique_with_counts_v2", [columns, np.array([1])], expected, **attrs)


@pytest.mark.parametrize(
    ("axis", "fault"),
    [
        ([2], r"axis has to be between \[0, 2\)"),
        ([0, 1], "axis does not support input tensors larger than 1 elements"),
        ([], "unique expects a 1D vector."),
        (0, "axis expects a 1D vector."),
    ],
)
def test_axes_that_unique_does_not_take(axis: Any, fault: str) -> None:
    with pytest.raises(ShapeError, match=fault):
        compiled("unique_v2", [ROWS, np.array(axis, np.int64)], constant=[1])


@pytest.mark.parametrize("symbolic", [[], [0]])
def test_slices_changed_where_the_run_says(symbolic: list[int]) -> None:
    begin, end, strides = (np.array(v, np.int32) for v in ([1, 3], [3, 0], [1, -1]))
    value = np.array([[9, 8, 7], [6, 5, 4]], f32)
    expected = IMAGE.copy()
    expected[1:3, 3:0:-1] = value
    arrays = [IMAGE, begin, end, strides, value]
    check("tensor_strided_slice_update", arrays, [expected], constant=[3], symbolic=symbolic)
    if not symbolic:
        with pytest.raises(ShapeError, match=r"Cannot broadcast input shape \[3,3\] into final sh"):
            wrong = [IMAGE, begin, end, strides, np.zeros((3, 3), f32)]
            compiled("tensor_strided_slice_update", wrong, constant=[1, 2, 3])
