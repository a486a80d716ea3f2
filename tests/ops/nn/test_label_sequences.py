"""The CTC loss against the sum over all paths, edit distances with sizes of the run, and what both
say of labels that TensorFlow refuses."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from calls.native_calls import compiled, reference

from flowc.errors import FlowcError

rng = np.random.default_rng(3)


# Labels from the blank's on are none: losses, and the gradient of the third sequence.
CTC_LOSSES = [2.0918641090393066, 2.0918641090393066, 3.00815486907959, 0.8109302520751953]
CTC_GRADIENT = [[1 / 3, 1 / 3, -2 / 3]] * 3 + [[1 / 3, 1 / 3, 1 / 12]]


def _spelled(path: Sequence[int], blank: int, merge: bool) -> list[int]:
    kept = [x for i, x in enumerate(path) if not merge or i == 0 or x != path[i - 1]]
    return [x for x in kept if x != blank]


def _loss(logits: np.ndarray, labels: list[int], merge: bool) -> float:
    """Minus the logarithm of the probability of the labels, path by path."""
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    steps, classes = logits.shape
    paths = itertools.product(range(classes), repeat=steps)
    spelling = (q for q in paths if _spelled(q, classes - 1, merge) == labels)
    return -float(np.log(sum(p[np.arange(steps), list(q)].prod() for q in spelling)))


def _slopes(logits: np.ndarray, labels: list[int], merge: bool) -> np.ndarray:
    found = np.zeros_like(logits)
    for at in np.ndindex(logits.shape):
        step = np.zeros_like(logits)
        step[at] = 1e-5
        rise = _loss(logits + step, labels, merge) - _loss(logits - step, labels, merge)
        found[at] = rise / 2e-5
    return found


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("symbolic", [(), (0,), (1, 2)])
def test_ctc_loss_is_the_sum_over_all_paths(merge: bool, symbolic: tuple[int, ...]) -> None:
    logits = rng.normal(size=(5, 3, 3)) * 2
    rows = [[1, 1], [0], [0, 1, 0]]
    lengths = [5, 3, 4]
    places = np.array([(i, k) for i, row in enumerate(rows) for k in range(len(row))])
    values = np.array([x for row in rows for x in row], np.int32)
    inputs = [logits, places, values, np.array(lengths, np.int32)]
    for loss, gradient in (
        reference("ctc_loss", inputs, ctc_merge_repeated=merge),
        compiled("ctc_loss", inputs, symbolic=symbolic, ctc_merge_repeated=merge),
    ):
        for i, (row, n) in enumerate(zip(rows, lengths)):
            np.testing.assert_allclose(loss[i], _loss(logits[:n, i], row, merge), rtol=1e-9)
            wanted = _slopes(logits[:n, i], row, merge)
            np.testing.assert_allclose(gradient[:n, i], wanted, rtol=1e-5, atol=1e-8)
            assert not gradient[n:, i].any()


def test_ctc_loss_of_labels_that_are_none() -> None:
    # What TensorFlow 2.21 gives for logits of zeros, three classes and four steps.
    logits = np.zeros((4, 4, 3), np.float32)
    rows = [[1, 2], [1], [2, 7], [2]]
    places = np.array([(i, k) for i, row in enumerate(rows) for k in range(len(row))])
    labels = np.array([x for row in rows for x in row], np.int32)
    inputs = [logits, places, labels, np.array([4, 4, 4, 2], np.int32)]
    for loss, gradient in (reference("ctc_loss", inputs), compiled("ctc_loss", inputs)):
        np.testing.assert_allclose(loss, CTC_LOSSES, rtol=1e-6)
        np.testing.assert_allclose(gradient[:, 2], CTC_GRADIENT, rtol=1e-5, atol=1e-6)
    too_many = [np.zeros((4, 1, 3), np.float32), np.array([(0, k) for k in range(5)])]
    too_many += [np.array([1, 2, 2, 2, 2], np.int32), np.array([4], np.int32)]
    with pytest.raises(FlowcError, match="Not enough time"):
        compiled("ctc_loss", too_many)
    loss, gradient = compiled("ctc_loss", too_many, ignore_longer_outputs_than_inputs=True)
    assert not loss.any() and not gradient.any()


def test_ctc_loss_without_a_path_is_infinite() -> None:
    # As in TensorFlow: two equal labels need a blank between them, for which there is no step.
    logits = rng.normal(size=(4, 2, 4)).astype(np.float32)
    labels = [np.array([[0, 0], [0, 1], [1, 0]]), np.array([1, 1, 0], np.int32)]
    loss, gradient = compiled("ctc_loss", [logits, *labels, np.array([2, 4], np.int32)])
    assert loss[0] == np.inf and np.isfinite(loss[1])
    np.testing.assert_allclose(gradient[:2, 0].sum(1), [1, 1], rtol=1e-6)
    assert not gradient[2:, 0].any()


@pytest.mark.parametrize(
    "places, values, lengths, message",
    [
        ([(0, 0), (0, 1), (1, 0)], [1, 2, 0], [1, 4], r"required: 2, available: 1\) in batch 0"),
        ([(0, 0), (0, 1), (1, 0)], [3, 1, 0], [4, 4], "non-null label .* following a null label"),
        ([(0, 0), (0, 1), (1, 0)], [-1, 1, 0], [4, 4], "must be nonnegative integers, batch: 0"),
        ([(0, 0), (0, 1), (1, 0)], [1, 2, 0], [5, 4], r"sequence_length\(0\) <= 4"),
        ([(0, 0), (0, 1), (1, 0)], [1, 2, 0], [-1, 4], r"seq_len\(0\) < 0"),
        ([(0, 0), (0, 1), (2, 0)], [1, 2, 0], [4, 4], r"indices\[2\] = \[2,0\] is out of bounds"),
        ([(0, 0), (1, 0), (0, 1)], [1, 2, 0], [4, 4], r"indices\[2\] = \[0,1\] is out of order"),
        ([(1, 0), (1, 1), (1, 2)], [1, 2, 0], [4, 4], "Labels length is zero in batch 0"),
    ],
)
def test_ctc_loss_says_what_is_wrong_with_labels(
    places: object, values: object, lengths: object, message: str
) -> None:
    logits = np.zeros((4, 2, 4), np.float32)
    labels = [np.array(places, np.int64), np.array(values, np.int32)]
    inputs = [logits, *labels, np.array(lengths, np.int32)]
    with pytest.raises(FlowcError, match=message):
        compiled("ctc_loss", inputs, threads=1)
    with pytest.raises(FlowcError, match=message):  # as constants are folded
        reference("ctc_loss", inputs)


SPARSE = [
    np.array([[0, 0], [0, 1], [2, 0]]),
    np.array([1, 2, 3]),
    np.array([3, 2]),
    np.array([[0, 0], [0, 1], [1, 0]]),
    np.array([1, 3, 3]),
    np.array([4, 3]),
]


def test_edit_distance_of_sizes_of_the_run() -> None:
    # What TensorFlow gives: half of the labels, nothing found, nothing to be found, neither.
    wanted = np.array([0.5, 1, np.inf, 0], np.float32)
    np.testing.assert_array_equal(compiled("edit_distance", SPARSE)[0], wanted)
    known = compiled("edit_distance", SPARSE, constant=(2, 5), symbolic=(0, 1, 3, 4))
    np.testing.assert_array_equal(known[0], wanted)


def test_edit_distance_outside_of_its_output() -> None:
    wrong = [SPARSE[0] + [[0, 0], [0, 0], [7, 0]], *SPARSE[1:]]
    with pytest.raises(FlowcError, match=r"inner product 9 .* \(max elements 4\)"):
        compiled("edit_distance", wrong)


def test_a_wide_beam_of_constants_is_searched_by_the_kernel() -> None:
    """The reference, which folding would call, takes minutes for it."""
    inputs = np.sin(np.arange(60 * 30, dtype=np.float32)).reshape(60, 1, 30)
    settings = {"width": 1000, "count": 1000, "merge": False}
    lengths = np.array([60], np.int32)
    found = compiled("ctc_best_paths", [inputs, lengths], constant=(0, 1), **settings)
    assert found[1].max() <= 60
    assert (np.diff(found[2][0]) <= 0).all()
