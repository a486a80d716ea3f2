"""Functions of the API under arguments that few programs give: what is expected was seen in
TensorFlow 2.21."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flowc as tf


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        yield


def value(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        return session.run(fetches, feeds)


def test_lines_between_tensors_complex_numbers_and_of_no_points() -> None:
    ends = [0.0, 1.0], [2.0, 3.0]
    lines = [tf.linspace(*ends, 3), tf.linspace(*ends, 3, axis=-1), tf.linspace(0j, 1j, 3)]
    lines += [tf.linspace(0.0, 1.0, 0), tf.linspace([5], 7, 1)]
    assert [one.shape.as_list() for one in lines] == [[3, 2], [2, 3], [3], [0], [1, 1]]
    across, along, imaginary, none, one = value(lines)
    np.testing.assert_array_equal(across, [[0, 1], [1, 2], [2, 3]])
    np.testing.assert_array_equal(along, [[0, 1, 2], [1, 2, 3]])
    np.testing.assert_array_equal(imaginary, [0, 0.5j, 1j])
    assert (none.shape, one.tolist()) == ((0,), [[5.0]])
    with pytest.raises(ValueError, match="must be non-negative"):
        tf.linspace(0.0, 1.0, -1)


def test_static_shapes_of_what_is_repeated() -> None:
    found = tf.repeat([[1, 2], [3, 4]], 2, axis=1)
    assert found.shape.as_list() == [2, 4]
    assert value(found).tolist() == [[1, 1, 2, 2], [3, 3, 4, 4]]


def test_values_of_one_hot_vectors_become_their_dtype() -> None:
    assert value(tf.one_hot([0, 2], 3, on_value=1, dtype=tf.float32)).tolist()[1] == [0, 0, 1]


def test_diagonals_of_strings_scalars_and_bands_too_wide() -> None:
    words = [["a", "b"], ["c", "d"]]
    with pytest.raises(TypeError, match="string"):
        tf.matrix_diag(["a", "b"])
    with pytest.raises(tf.errors.InvalidArgumentError, match="No OpKernel"):
        tf.matrix_band_part(words, 0, 0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="No OpKernel"):
        tf.raw_ops.MatrixDiag(diagonal=["a"])
    with pytest.raises(ValueError, match="at least rank 1"):
        tf.diag(1)
    with pytest.raises(ValueError, match="align"):
        tf.linalg.diag([1, 2], align="x")
    with pytest.raises(tf.errors.InvalidArgumentError, match="num_lower must be"):
        value(tf.matrix_band_part([[1, 2], [3, 4]], 5, 0))
    boxes = tf.image.non_max_suppression([[0.0, 0.0, 1.0, 1.0]], [0.5], 2, iou_threshold=2.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="iou_threshold"):
        value(boxes)


def test_images_of_unknown_rank() -> None:
    pixels = np.arange(12, dtype=np.float32).reshape(2, 2, 3)
    image = tf.placeholder_with_default(pixels, None)
    flipped, padded = tf.image.flip_up_down(image), tf.image.pad_to_bounding_box(image, 1, 0, 3, 2)
    cropped = tf.image.resize_image_with_crop_or_pad(image, 1, 4)
    turned = tf.image.random_flip_left_right(image, seed=1)
    assert [t.shape.ndims for t in (flipped, padded, cropped, turned)] == [None, 3, 3, None]
    found = value([flipped, padded, cropped, turned])
    np.testing.assert_array_equal(found[0], pixels[::-1])
    np.testing.assert_array_equal(found[1], np.concatenate([np.zeros((1, 2, 3)), pixels]))
    np.testing.assert_array_equal(found[2], np.pad(pixels[:1], [(0, 0), (1, 1), (0, 0)]))
    assert found[3].tolist() in (pixels.tolist(), pixels[:, ::-1].tolist())


def test_sizes_in_proportion_are_known() -> None:
    images = tf.zeros([1, 4, 2, 3])
    resized = tf.image.resize_images(images, [6, 8], preserve_aspect_ratio=True)
    assert resized.shape.as_list() == [1, 6, 3, 3]


def test_pieces_of_a_scalar_and_runs_of_a_matrix() -> None:
    pieces = tf.strings.split("a,b,,c", sep=",", maxsplit=2, result_type="RaggedTensor")
    runs = tf.strings.ngrams([["a", "b", "c"]], [1, 3])
    assert runs.shape.as_list() == [1, None]
    found = value([pieces, runs])
    assert found[0].to_list() == [[b"a", b"b", b",c"]]
    assert found[1].tolist() == [[b"a", b"b", b"c", b"a b c"]]


def test_steps_of_frames_and_orders_of_products() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="frame_step"):
        tf.signal.frame(tf.range(10), 4, 0)
    a, b = tf.ones([1, 2]), tf.ones([2, 1])
    assert value(tf.einsum("ij,jk->ik", a, b, optimize="optimal")).tolist() == [[2]]


def test_names_of_what_functions_return() -> None:
    image = tf.zeros([4, 4, 3])
    names = [
        tf.signal.fftshift(tf.range(5)).op.name,
        tf.random_crop(image, [2, 2, 3]).op.name,
        tf.linalg.matvec([[1.0]], [1.0]).op.name,
        tf.image.transpose_image(image).op.name,
        tf.matrix_solve_ls(tf.eye(2), tf.eye(2), fast=False).op.name,
        tf.linalg.normalize([3.0, 4.0])[1].op.name,
    ]
    assert names == [
        "fftshift", "random_crop", "MatVec/Squeeze", "transpose/transpose", "MatrixSolveLs",
        "normalize/norm/Sqrt",
    ]  # fmt: skip
    assert tf.matrix_diag([1.0]).op.type == "MatrixDiagV3"


def test_beams_that_keep_what_repeats() -> None:
    logits = tf.constant([[[1.0, 2.0, 0.0]], [[0.0, 0.0, 5.0]]])
    (labels,), scores = tf.nn.ctc_beam_search_decoder_v2(logits, [2])
    found, score = value([labels, scores])
    assert found.values.tolist() == [1]
    np.testing.assert_allclose(score, [[-0.41337]], rtol=1e-4)
