"""Operands that kernels of matrices, sets, counts and quantized numbers must not believe.

Advisories of TensorFlow are about ops like these: empty and negative shapes, indices outside, ends
that do not meet. Each is an error of a class that TensorFlow has, or has an answer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flowc as tf
from flowc.errors import InternalError, InvalidArgumentError

ERROR, FINE = True, False
F, I64 = np.float32, np.int64
NONE = np.zeros(0, F)


def _indices(*rows: tuple[int, ...]) -> np.ndarray:
    return np.array(rows, I64)


def _sizes(*sizes: int) -> np.ndarray:
    return np.array(sizes, I64)


CASES: tuple[tuple[bool, str, dict[str, Any]], ...] = (
    (FINE, "MatrixTriangularSolve", {"matrix": np.zeros((0, 0), F), "rhs": np.zeros((0, 0), F)}),
    (ERROR, "MatrixTriangularSolve", {"matrix": np.ones((2, 3), F), "rhs": np.ones((2, 1), F)}),
    (ERROR, "MatrixTriangularSolve", {"matrix": np.ones((2, 2, 2)), "rhs": np.ones((3, 2, 1))}),
    (ERROR, "MatrixSolve", {"matrix": np.ones((2, 2), F), "rhs": np.ones((3, 1), F)}),
    (ERROR, "MatrixSolve", {"matrix": np.zeros((2, 2), F), "rhs": np.ones((2, 1), F)}),
    (ERROR, "Eig", {"input": np.full((2, 2), np.nan, F), "Tout": tf.complex64}),
    (ERROR, "Eig", {"input": np.ones(2, F), "Tout": tf.complex64}),
    (FINE, "Eig", {"input": np.zeros((0, 0), F), "Tout": tf.complex64}),
    (ERROR, "TridiagonalSolve", {"diagonals": np.ones((2, 3), F), "rhs": np.ones((3, 1), F)}),
    (FINE, "TridiagonalSolve", {"diagonals": np.zeros((3, 0), F), "rhs": np.zeros((0, 0), F)}),
    (ERROR, "DataFormatVecPermute", {"x": [1]}),
    (ERROR, "DataFormatVecPermute", {"x": [1, 2, 3, 4], "dst_format": "HHHH"}),
    (ERROR, "DataFormatVecPermute", {"x": [1, 2], "src_format": "1234", "dst_format": "N"}),
    (ERROR, "DataFormatDimMap", {"x": [-(2**31)]}),
    (
        ERROR,
        "QuantizeAndDequantizeV2",
        {"input": [1.0], "input_min": 0.0, "input_max": 1.0, "axis": -2},
    ),
    (
        ERROR,
        "QuantizeAndDequantizeV2",
        {"input": [1.0], "input_min": 0.0, "input_max": 1.0, "num_bits": 0},
    ),
    (ERROR, "RaggedBincount", {"splits": _sizes(), "values": [1], "size": 2, "weights": NONE}),
    (ERROR, "RaggedBincount", {"splits": _sizes(0), "values": [1, 1], "size": 2, "weights": NONE}),
    (ERROR, "RaggedBincount", {"splits": _sizes(7, 8), "values": [5], "size": 59, "weights": NONE}),
    (
        ERROR,
        "SparseBincount",
        {
            "indices": _indices((7, 0)),
            "values": [1],
            "dense_shape": _sizes(2, 2),
            "size": 3,
            "weights": NONE,
        },
    ),
    (
        ERROR,
        "RaggedCountSparseOutput",
        {"splits": _sizes(8), "values": [1], "weights": NONE, "binary_output": False},
    ),
    (
        ERROR,
        "SparseCountSparseOutput",
        {
            "indices": np.zeros((0, 0), I64),
            "values": np.zeros(0, I64),
            "dense_shape": _sizes(),
            "weights": NONE,
            "binary_output": False,
        },
    ),
    (
        ERROR,
        "SparseCountSparseOutput",
        {
            "indices": _indices((2**40, 0)),
            "values": [1],
            "dense_shape": _sizes(2, 2),
            "weights": NONE,
            "binary_output": False,
        },
    ),
    (
        ERROR,
        "SparseDenseCwiseMul",
        {
            "sp_indices": _indices((9,)),
            "sp_values": [1.0],
            "sp_shape": _sizes(2),
            "dense": [1.0, 2.0],
        },
    ),
    (
        ERROR,
        "SparseReduceMax",
        {
            "input_indices": _indices((0, 0)),
            "input_values": [1.0],
            "input_shape": _sizes(2, 2),
            "reduction_axes": [7],
        },
    ),
    (
        ERROR,
        "SetSize",
        {"set_indices": _indices((2**40, 0)), "set_values": [1], "set_shape": _sizes(1, 2**40)},
    ),
    (
        ERROR,
        "SetSize",
        {
            "set_indices": np.zeros((0, 2), I64),
            "set_values": np.zeros(0, I64),
            "set_shape": _sizes(-1, 2),
        },
    ),
    (
        ERROR,
        "SparseSliceGrad",
        {
            "backprop_val_grad": [1.0],
            "input_indices": _indices((0, 0)),
            "input_start": _sizes(),
            "output_indices": _indices((0, 0)),
        },
    ),
    (
        ERROR,
        "SparseSoftmax",
        {"sp_indices": np.zeros((0, 1), I64), "sp_values": NONE, "sp_shape": _sizes(1)},
    ),
    (ERROR, "UnravelIndex", {"indices": [5], "dims": [0, 1]}),
    (ERROR, "UnravelIndex", {"indices": [7], "dims": [2, 2]}),
    *(
        (
            ERROR,
            op,
            {
                "input_indices": _indices(place),
                "input_values": [1.0],
                "input_shape": _sizes(2, 2),
                "reduction_axes": [1],
            },
        )
        for op in ("SparseReduceSum", "SparseReduceMax")
        for place in ((5, 0), (-(2**63), 0))
    ),
    (
        ERROR,
        "RaggedBincount",
        {"splits": _sizes(0, 3, 2), "values": [1, 1], "size": 3, "weights": NONE},
    ),
    (
        ERROR,
        "RaggedCountSparseOutput",
        {"splits": _sizes(0, 3, 2), "values": [1, 1], "weights": NONE, "binary_output": False},
    ),
    (
        ERROR,
        "SparseBincount",
        {
            "indices": _indices((0,)),
            "values": [1],
            "dense_shape": _sizes(1),
            "size": [3],
            "weights": NONE,
        },
    ),
    (
        ERROR,
        "SparseBincount",
        {
            "indices": _indices((-1, 0)),
            "values": [1],
            "size": 3,
            "dense_shape": _sizes(2, 2),
            "weights": NONE,
        },
    ),
    (
        ERROR,
        "SetSize",
        {"set_indices": _indices((0, 0)), "set_values": [1], "set_shape": np.array(2, I64)},
    ),
    (
        ERROR,
        "SparseSliceGrad",
        {
            "backprop_val_grad": [[1.0]],
            "input_indices": _indices((0, 0)),
            "input_start": _sizes(0, 0),
            "output_indices": _indices((0, 0)),
        },
    ),
    (
        ERROR,
        "SparseAddGrad",
        {
            "backprop_val_grad": [1.0],
            "a_indices": np.zeros((2, 2, 1), I64),
            "b_indices": _indices((0, 0)),
            "sum_indices": _indices((0, 0)),
        },
    ),
    (
        ERROR,
        "SparseCountSparseOutput",
        {
            "indices": _indices((0, 0)),
            "values": [1],
            "dense_shape": _indices((2, 2)),
            "weights": NONE,
            "binary_output": False,
        },
    ),
    (ERROR, "Mfcc", {"spectrogram": np.ones((1, 2, 65), F), "sample_rate": np.int32(0)}),
    (
        ERROR,
        "Mfcc",
        {
            "spectrogram": np.ones((1, 2, 65), F),
            "sample_rate": np.int32(8000),
            "upper_frequency_limit": float("inf"),
        },
    ),
    (
        ERROR,
        "XlaGather",
        {
            "operand": np.ones((5, 3), F),
            "start_indices": np.array([1, 3, 6], np.int32),
            "slice_sizes": np.array([0, 2], np.int32),
            "dimension_numbers": b"\n\x01\x01\x12\x01\x00\x1a\x01\x00 \x01",
            "indices_are_sorted": False,
        },
    ),
    (
        ERROR,
        "XlaConv",
        {
            "lhs": np.ones((1, 5, 3), F),
            "rhs": np.ones((3, 3, 4), F),
            "window_strides": np.array([1], np.int32),
            "padding": np.array([[2, -(2**31)]], np.int32),
            "lhs_dilation": np.array([1], np.int32),
            "rhs_dilation": np.array([1], np.int32),
            "feature_group_count": np.int32(1),
            "dimension_numbers": b"8\x00@\x02Z\x01\x01H\x00P\x02b\x01\x01\x18\x01 \x022\x01\x00",
            "precision_config": "",
        },
    ),
    (
        ERROR,
        "EditDistance",
        {
            "hypothesis_indices": _indices((0, -(2**63))),
            "hypothesis_values": [1.0],
            "hypothesis_shape": _sizes(3, 2),
            "truth_indices": _indices((-(2**63), 0)),
            "truth_values": [1.0],
            "truth_shape": _sizes(4, 3),
        },
    ),
    (ERROR, "AudioSummaryV2", {"tag": "a", "tensor": [[0.5]], "sample_rate": float("inf")}),
)


@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda n: f"{CASES[n][1]}-{n}")
def test_an_operand_is_refused_or_has_an_answer(number: int) -> None:
    fails, op, arguments = CASES[number]

    def run() -> None:
        with tf.Graph().as_default(), tf.Session() as session:
            session.run(getattr(tf.raw_ops, op)(**arguments))

    if fails:
        with pytest.raises(InvalidArgumentError) as caught:
            run()
        assert not isinstance(caught.value, InternalError)
    else:
        run()


def test_a_file_may_hold_operands_of_ranks_that_no_program_can_build() -> None:
    """Ops that are written in terms of values keep to their type rule, too."""
    attrs = {"T": tf.float32, "pooling_ratio": [1.0, 2.0, 2.0, 1.0], "pseudo_random": False}
    attrs |= {"overlapping": False, "deterministic": False, "seed": 0, "seed2": 0}
    graph = tf.Graph()
    with graph.as_default():
        image = tf.placeholder(tf.float32, None)
        pooled = graph.add_operation("FractionalAvgPool", [image], attrs=attrs).outputs[0]
    with tf.Session(graph=graph) as session:
        assert session.run(pooled, {image: np.ones((1, 4, 4, 1), F)}).shape == (1, 2, 2, 1)
        with pytest.raises(InvalidArgumentError, match="must be rank 4 but is rank 3") as caught:
            session.run(pooled, {image: np.ones((1, 4, 4), F)})
        assert not isinstance(caught.value, InternalError)
