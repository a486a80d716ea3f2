"""Advisories of TensorFlow's about single ops, each with what its trigger looks like in a model.

A case is named by its advisory. Where no class is given, the answer is an InvalidArgumentError that
names the node; elsewhere another class, or the result that TensorFlow 2.21 gives.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from op_models import run_op

from flowc import dtypes
from flowc.errors import (
    InternalError,
    InvalidArgumentError,
    InvalidModelError,
    OutOfRangeError,
    UnimplementedError,
    UnsupportedError,
)


def f(*dims: int) -> np.ndarray:
    return np.ones(dims, np.float32)


def i32(*values: Any) -> np.ndarray:
    return np.array(values[0] if len(values) == 1 else values, np.int32)


def i64(*values: Any) -> np.ndarray:
    return np.array(values[0] if len(values) == 1 else values, np.int64)


def f32(value: float) -> np.float32:
    return np.float32(value)


IMAGE, VOLUME, MATRIX, ROWS = f(1, 5, 5, 1), f(1, 3, 3, 3, 1), f(2, 3), f(3, 2)
ONE = {"strides": [1, 1, 1, 1], "padding": "VALID"}
ONE_3D = {"strides": [1] * 5, "padding": "VALID"}
POOL = {"ksize": [1, 2, 2, 1], **ONE}
TWO_BY_TWO = i32([[0, 0], [0, 0]])


def with_(attrs: dict[str, Any], **changed: Any) -> dict[str, Any]:
    return {**attrs, **changed}


# advisory, what is wrong, op, inputs, attrs, and the class of the answer where it is another one
Row = tuple[Any, ...]
ROWS_OF_TABLE: list[Row] = [
    ("CVE-2021-29568", "a shape of no dims", "ParameterizedTruncatedNormal",
     (np.zeros(0, np.int32), *map(f32, (0, 1, -1, 1)))),
    ("CVE-2021-29568", "means for other rows", "ParameterizedTruncatedNormal",
     (i32(3, 2), f(2), *map(f32, (1, -1, 1)))),
    ("TFSA-2021-198", "sizes pass int64", "Reshape", (MATRIX, i64(2**32, 2**32))),
    ("TFSA-2021-198", "a size of -2", "Reshape", (MATRIX, i64(-2, 3))),
    ("TFSA-2021-198", "two open sizes", "Reshape", (MATRIX, i64(-1, -1))),
    ("TFSA-2022-085", "255 dims", "Reshape", (f(1), np.ones(255, np.int32))),
    ("TFSA-2022-085", "255 dims of 0", "Reshape", (f(0), np.zeros(255, np.int32))),
    ("TFSA-2022-085", "65 dims", "Reshape", (f(1), np.ones(65, np.int32))),
    ("TFSA-2022-085", "a matrix of sizes", "Reshape", (MATRIX, i32([[6]]))),
    ("TFSA-2021-198", "a negative size", "Fill", (i32([-1]), f32(1))),
    ("TFSA-2021-198", "a matrix of sizes", "Fill", (i32([[1]]), f32(1))),
    ("TFSA-2021-198", "255 dims", "Fill", (np.ones(255, np.int32), f32(1))),
    ("TFSA-2021-198", "values of rank 1", "Fill", (i32([1]), f(1))),
    ("TFSA-2021-198", "255 dims", "Empty", (np.ones(255, np.int32),), {"dtype": dtypes.f32}),
    ("TFSA-2021-198", "a negative size", "Empty", (i32([-4]),), {"dtype": dtypes.f32}),
    ("TFSA-2021-198", "fewer dims", "BroadcastTo", (MATRIX, i32([3]))),
    ("TFSA-2021-198", "a negative size", "BroadcastTo", (MATRIX, i32(-2, 3))),
    ("TFSA-2021-198", "255 dims", "BroadcastTo", (f(1), np.ones(255, np.int32))),
    ("TFSA-2021-198", "a matrix of sizes", "BroadcastTo", (MATRIX, i32([[2, 3]]))),
    ("TFSA-2021-194", "-1e38 to 1", "Range", tuple(map(f32, (-1e38, 1, 1)))),
    ("TFSA-2021-194", "steps of 1e-38", "Range", tuple(map(f32, (0, 1, 1e-38)))),
    ("TFSA-2021-194", "steps of 0", "Range", tuple(map(f32, (0, 1, 0)))),
    ("TFSA-2021-194", "steps of the wrong sign", "Range", tuple(map(f32, (0, 1, -1)))),
    ("TFSA-2021-194", "to infinity", "Range", tuple(map(f32, (0, np.inf, 1)))),
    ("TFSA-2021-194", "to NaN", "Range", tuple(map(f32, (0, np.nan, 1)))),
    ("TFSA-2021-194", "from NaN", "Range", tuple(map(f32, (np.nan, 1, 1)))),
    ("TFSA-2022-028", "all of int64", "Range", tuple(map(i64, (-(2**63), 2**63 - 1, 1)))),
    ("TFSA-2022-028", "steps of 0", "Range", tuple(map(i64, (0, 5, 0)))),
    ("TFSA-2022-028", "steps of the wrong sign", "Range", tuple(map(i64, (0, 5, -(2**63))))),
    ("TFSA-2022-028", "a vector", "Range", (i32(1, 2), i32(3), i32(1))),
    ("TFSA-2021-196", "a negative multiple", "Tile", (MATRIX, i32(-1, 1))),
    ("TFSA-2021-196", "too few multiples", "Tile", (MATRIX, i32([100_000_000]))),
    ("TFSA-2021-196", "too many multiples", "Tile", (MATRIX, i32([10**8] * 3))),
    ("TFSA-2021-195", "no height", "ResizeBilinear", (IMAGE, i32(0, 1))),
    ("TFSA-2021-195", "a negative width", "ResizeNearestNeighbor", (IMAGE, i32(1, -1))),
    ("TFSA-2021-195", "three sizes", "ResizeBicubic", (IMAGE, i32(1, 1, 1))),
    ("TFSA-2021-195", "an image of rank 3", "ResizeArea", (f(1, 5, 5), i32(1, 1))),
    ("TFSA-2021-195", "crops of no size", "CropAndResize",
     (IMAGE, f(1, 4), i32([0]), i32(0, 1))),
    ("TFSA-2021-195", "crops of no image", "CropAndResize",
     (IMAGE, f(1, 4), i32([7]), i32(2, 2)), {}, OutOfRangeError),
    ("TFSA-2021-195", "crops to infinity", "CropAndResize",
     (IMAGE, f(1, 4) * f32(np.inf), i32([0]), i32(2, 2))),
    ("TFSA-2021-195", "crops of image -1", "CropAndResize",
     (IMAGE, f(1, 4), i32([-1]), i32(2, 2)), {}, OutOfRangeError),
    ("TFSA-2021-015", "a window of no size", "Conv2D", (IMAGE, f(0, 0, 1, 1)), ONE),
    ("TFSA-2021-015", "no input channels", "Conv2D", (IMAGE, f(2, 2, 0, 1)), ONE),
    ("TFSA-2021-015", "no output channels", "Conv2D", (IMAGE, f(2, 2, 1, 0)), ONE),
    ("TFSA-2021-015", "strides of 0", "Conv2D", (IMAGE, f(2, 2, 1, 1)),
     with_(ONE, strides=[1, 0, 0, 1])),
    ("TFSA-2021-015", "strides below 0", "Conv2D", (IMAGE, f(2, 2, 1, 1)),
     with_(ONE, strides=[1, -1, 1, 1])),
    ("TFSA-2021-015", "three strides", "Conv2D", (IMAGE, f(2, 2, 1, 1)),
     with_(ONE, strides=[1, 1, 1])),
    ("TFSA-2021-015", "dilations of 0", "Conv2D", (IMAGE, f(2, 2, 1, 1)),
     with_(ONE, dilations=[1, 0, 1, 1])),
    ("TFSA-2021-150", "groups that do not divide", "Conv2D", (f(1, 5, 5, 4), f(2, 2, 3, 4)), ONE),
    ("TFSA-2021-150", "outputs that groups do not divide", "Conv2D",
     (f(1, 5, 5, 4), f(2, 2, 2, 3)), ONE),
    ("TFSA-2021-150", "an image of rank 3", "Conv2D", (f(5, 5, 1), f(2, 2, 1, 1)), ONE),
    ("TFSA-2021-150", "a window above the image", "Conv2D", (IMAGE, f(9, 9, 1, 1)), ONE),
    ("TFSA-2021-015", "a window of no size", "Conv3D", (VOLUME, f(0, 2, 2, 1, 1)), ONE_3D),
    ("TFSA-2021-015", "strides of 0", "Conv3D", (VOLUME, f(2, 2, 2, 1, 1)),
     with_(ONE_3D, strides=[1, 0, 1, 1, 1])),
    ("TFSA-2021-187", "a window of no size", "DepthwiseConv2dNative",
     (IMAGE, f(0, 0, 1, 1)), ONE),
    ("TFSA-2021-187", "strides of 0", "DepthwiseConv2dNative", (IMAGE, f(2, 2, 1, 1)),
     with_(ONE, strides=[1, 0, 0, 1])),
    ("TFSA-2021-187", "other channels", "DepthwiseConv2dNative", (IMAGE, f(2, 2, 2, 1)), ONE),
    ("TFSA-2022-101", "sizes of rank 2", "Conv2DBackpropInput",
     (i32([[1, 5, 5, 1]]), f(2, 2, 1, 1), f(1, 4, 4, 1)), ONE),
    ("TFSA-2022-101", "a negative size", "Conv2DBackpropInput",
     (i32(1, -5, 5, 1), f(2, 2, 1, 1), f(1, 4, 4, 1)), ONE),
    ("TFSA-2022-101", "three sizes", "Conv2DBackpropInput",
     (i32(1, 5, 5), f(2, 2, 1, 1), f(1, 4, 4, 1)), ONE),
    ("TFSA-2022-121", "another batch", "Conv2DBackpropInput",
     (i32(1, 5, 5, 1), f(2, 2, 1, 1), f(0, 4, 4, 1)), ONE),
    ("TFSA-2022-121", "another size", "Conv2DBackpropInput",
     (i32(1, 5, 5, 1), f(2, 2, 1, 1), f(1, 3, 4, 1)), ONE),
    ("TFSA-2022-101", "sizes of rank 2", "Conv2DBackpropFilter",
     (IMAGE, i32([[2, 2, 1, 1]]), f(1, 4, 4, 1)), ONE),
    ("TFSA-2022-101", "three sizes", "Conv2DBackpropFilter",
     (IMAGE, i32(2, 2, 1), f(1, 4, 4, 1)), ONE),
    ("TFSA-2022-101", "a negative size", "Conv2DBackpropFilter",
     (IMAGE, i32(-2, 2, 1, 1), f(1, 4, 4, 1)), ONE),
    ("TFSA-2023-019", "a window of no size", "AvgPoolGrad", (i32(1, 5, 5, 1), f(1, 4, 4, 1)),
     with_(POOL, ksize=[1, 0, 2, 1])),
    ("TFSA-2023-019", "strides of 0", "AvgPoolGrad", (i32(1, 5, 5, 1), f(1, 4, 4, 1)),
     with_(POOL, strides=[1, 0, 1, 1])),
    ("TFSA-2023-019", "a negative size", "AvgPoolGrad", (i32(-1, 5, 5, 1), f(1, 4, 4, 1)), POOL),
    ("TFSA-2023-019", "a gradient of another size", "AvgPoolGrad",
     (i32(1, 5, 5, 1), f(1, 4, 3, 1)), POOL),
    ("TFSA-2023-019", "a gradient of more channels", "AvgPoolGrad",
     (i32(1, 5, 5, 1), f(1, 4, 4, 9)), POOL),
    ("TFSA-2023-019", "sizes of rank 2", "AvgPoolGrad", (i32([[1, 5, 5, 1]]), f(1, 4, 4, 1)), POOL),
    ("TFSA-2022-120", "a window of no size", "MaxPool", (IMAGE,), with_(POOL, ksize=[1, 0, 0, 1])),
    ("TFSA-2022-120", "a negative window", "MaxPool", (IMAGE,), with_(POOL, ksize=[1, -1, 1, 1])),
    ("TFSA-2022-120", "strides of 0", "MaxPool", (IMAGE,), with_(POOL, strides=[1, 0, 0, 1])),
    ("TFSA-2022-120", "a window above the image", "MaxPool", (IMAGE,),
     with_(POOL, ksize=[1, 7, 7, 1])),
    ("TFSA-2022-120", "a window over the batch", "MaxPool", (IMAGE,),
     with_(POOL, ksize=[2, 1, 1, 1]), UnimplementedError),
    ("TFSA-2022-120", "two sizes", "MaxPool", (IMAGE,), with_(POOL, ksize=[1, 1]),
     InvalidModelError),
    ("TFSA-2022-120", "an image of rank 3", "MaxPool", (f(5, 5, 1),), POOL),
    ("TFSA-2022-120", "other outputs", "MaxPoolGrad", (IMAGE, f(1, 3, 4, 1), f(1, 4, 4, 1)), POOL),
    ("TFSA-2022-120", "other gradients", "MaxPoolGrad",
     (IMAGE, f(1, 4, 4, 1), f(1, 4, 4, 2)), POOL),
    ("TFSA-2022-120", "strides of 0", "AvgPool", (IMAGE,), with_(POOL, strides=[1, 0, 0, 1])),
    ("TFSA-2022-120", "strides of 0", "AvgPool3D", (VOLUME,),
     {"ksize": [1, 2, 2, 2, 1], "strides": [1, 0, 1, 1, 1], "padding": "SAME"}),
    ("TFSA-2022-120", "a window of no size", "MaxPoolV2",
     (IMAGE, i32(1, 0, 0, 1), i32(1, 1, 1, 1)), {"padding": "VALID"}),
    ("TFSA-2021-169", "a scale of another length", "FusedBatchNormGrad",
     (IMAGE, IMAGE, f(2), f(1), f(1))),
    ("TFSA-2021-169", "reserves of another length", "FusedBatchNormGradV3",
     (IMAGE, IMAGE, f(1), f(3), f(1), f(1))),
    ("TFSA-2021-169", "an empty scale", "FusedBatchNormGradV3",
     (IMAGE, IMAGE, f(0), f(1), f(1), f(1))),
    ("TFSA-2021-169", "a scale of another length", "FusedBatchNormV3",
     (IMAGE, f(2), f(1), f(1), f(1))),
    ("TFSA-2021-133", "dy empty", "SqrtGrad", (MATRIX, f(0))),
    ("TFSA-2021-133", "dy of another shape", "SqrtGrad", (MATRIX, f(2, 2))),
    ("TFSA-2021-133", "dy empty", "TanhGrad", (MATRIX, f(0))),
    ("TFSA-2021-133", "dy of another shape", "SigmoidGrad", (MATRIX, f(3, 2))),
    ("TFSA-2021-133", "dy of another shape", "ReluGrad", (MATRIX, f(3, 2))),
    ("TFSA-2021-179", "an axis of -10", "Transpose", (MATRIX, i32(-10, 0))),
    ("TFSA-2021-179", "an axis twice", "Transpose", (MATRIX, i32(0, 0))),
    ("TFSA-2021-179", "an axis twice, counted from the end", "Transpose", (MATRIX, i32(0, -2))),
    ("TFSA-2021-179", "too few axes", "Transpose", (MATRIX, i32([0]))),
    ("TFSA-2021-179", "a matrix of axes", "Transpose", (MATRIX, i32([[0, 1]]))),
    ("TFSA-2022-007", "axis 0xb500005b", "ConcatV2", (MATRIX, MATRIX, i32(-1258291109))),
    ("TFSA-2022-007", "an axis beyond the rank", "ConcatV2", (MATRIX, MATRIX, i32(2))),
    ("TFSA-2022-007", "axes as a vector", "ConcatV2", (MATRIX, MATRIX, i32([0, 1]))),
    ("TFSA-2022-007", "other sizes", "ConcatV2", (MATRIX, f(3, 4), i32(0))),
    ("TFSA-2022-007", "scalars", "ConcatV2", (f32(1), f32(1), i32(0))),
    ("TFSA-2022-007", "an axis beyond the rank", "Pack", (MATRIX, MATRIX), {"axis": 5}),
    ("TFSA-2021-173", "two open sizes", "SplitV", (MATRIX, i32(-1, -1), i32(1)), {"num_split": 2}),
    ("TFSA-2021-173", "two negative sizes", "SplitV", (MATRIX, i32(-2, 5), i32(1)),
     {"num_split": 2}),
    ("TFSA-2021-173", "sizes beyond the whole", "SplitV", (MATRIX, i32(4, -1), i32(1)),
     {"num_split": 2}),
    ("TFSA-2021-173", "an axis beyond the rank", "SplitV", (MATRIX, i32(1, 2), i32(7)),
     {"num_split": 2}),
    ("TFSA-2021-173", "parts that do not divide", "Split", (i32(1), MATRIX), {"num_split": 2}),
    ("TFSA-2021-173", "an axis as a vector", "Split", (i32([1]), MATRIX), {"num_split": 3}),
    ("TFSA-2022-145", "an index of -1", "DynamicStitch", (i32([0]), i32([-1]), f(1, 3), f(1, 3))),
    ("TFSA-2022-145", "more indices than rows", "DynamicStitch", (i32(0, 1), f(1, 3))),
    ("TFSA-2022-145", "rows of other sizes", "DynamicStitch",
     (i32([0]), i32([1]), f(1, 3), f(1, 4))),
    ("TFSA-2023-018", "an index of -2^31", "DynamicStitch",
     (i32([-(2**31)]), f(1, 3))),
    ("TFSA-2023-018", "an index of -1", "ParallelDynamicStitch", (i32([-1]), f(1, 3))),
    *[("TFSA-2019-002", f"id {i}", f"Segment{fold}", (ROWS, i64(0, 1, i)))
      for fold in ("Sum", "Mean", "Max", "Min", "Prod") for i in (2**63 - 1, -1)],
    ("TFSA-2019-002", "ids that decrease", "SegmentSum", (ROWS, i64(1, 0, 2))),
    ("TFSA-2019-002", "too few ids", "SegmentSum", (ROWS, i64(0, 1))),
    ("TFSA-2019-002", "ids of rank 2", "SegmentSum", (ROWS, i64([[0, 1, 2]]))),
    *[("TFSA-2021-200", f"id {i}", f"UnsortedSegment{fold}", (ROWS, i64(0, 1, i), i32(3)))
      for fold in ("Sum", "Max", "Min", "Prod") for i in (3, 1_700_000_000_000_000_000)],
    ("TFSA-2021-200", "-1 segments", "UnsortedSegmentSum", (ROWS, i64(0, 1, 2), i32(-1))),
    ("TFSA-2021-200", "a vector of segments", "UnsortedSegmentSum",
     (ROWS, i64(0, 1, 2), i32([3]))),
    ("TFSA-2021-200", "ids of another shape", "UnsortedSegmentSum", (ROWS, i64(0, 1), i32(3))),
    *[("TFSA-2021-200", f"ids {ids}", f"SparseSegment{fold}", (ROWS, i32(0, 1), i32(ids)))
      for fold in ("Sum", "Mean", "SqrtN") for ids in ([-1, 0], [1, 0])],
    ("TFSA-2022-068", "indices that are a vector", "SparseTensorToCSRSparseMatrix",
     (np.full(3, 53, np.int64), np.zeros(2000, np.float32), np.full(3, 53, np.int64))),
    *[("TFSA-2022-068", f"a shape of {len(shape)} dims, {count} values",
       "SparseTensorToCSRSparseMatrix",
       (np.zeros((2, 2), np.int64), np.zeros(count, np.float32), np.array(shape, np.int64)))
      for shape, count in (((3,), 2), ((3, 4, 5), 2), ((3, 4, 5, 6), 2), ((3, 4), 1))],
    ("TFSA-2021-200", "a row that is none", "SparseSegmentSum", (ROWS, i32(0, 7), i32(0, 1))),
    ("TFSA-2021-200", "an id beyond", "SparseSegmentSumWithNumSegments",
     (ROWS, i32(0, 1), i32(0, 5), i32(2))),
    ("TFSA-2021-200", "a row that is none", "SparseSegmentSumGrad",
     (ROWS, i32(0, 7), i32(0, 1), i32(3))),
    ("TFSA-2021-200", "an id that is none", "SparseSegmentMeanGrad",
     (ROWS, i32(0, 1), i32(-1, 1), i32(3))),
    ("TFSA-2022-002", "dim -10", "ReverseSequence", (MATRIX, i64(1, 1)),
     {"seq_dim": -10, "batch_dim": 0}),
    ("TFSA-2022-002", "batch dim -10", "ReverseSequence", (MATRIX, i64(1, 1)),
     {"seq_dim": 1, "batch_dim": -10}),
    ("TFSA-2022-002", "a length beyond", "ReverseSequence", (MATRIX, i64(1, 9)),
     {"seq_dim": 1, "batch_dim": 0}),
    ("TFSA-2022-002", "a negative length", "ReverseSequence", (MATRIX, i64(1, -9)),
     {"seq_dim": 1, "batch_dim": 0}),
    ("TFSA-2022-076", "a block of -1.9e9", "SpaceToBatchND",
     (f(1, 2, 2, 4), i32(-1_900_000_000, 2), TWO_BY_TWO)),
    ("TFSA-2022-076", "a block of 0", "SpaceToBatchND", (f(1, 2, 2, 4), i32(0, 2), TWO_BY_TWO)),
    ("TFSA-2022-076", "negative paddings", "SpaceToBatchND",
     (f(1, 2, 2, 4), i32(2, 2), TWO_BY_TWO - 1)),
    ("TFSA-2022-076", "blocks that do not divide", "SpaceToBatchND",
     (f(1, 2, 2, 4), i32(2**16, 2**16), TWO_BY_TWO)),
    ("TFSA-2022-076", "a block of 0", "BatchToSpaceND", (f(4, 2, 2, 4), i32(0, 2), TWO_BY_TWO)),
    ("TFSA-2022-076", "crops above the image", "BatchToSpaceND",
     (f(4, 2, 2, 4), i32(2, 2), TWO_BY_TWO + 9)),
    ("TFSA-2022-076", "a block of 0", "DepthToSpace", (f(1, 2, 2, 4),), {"block_size": 0},
     InvalidModelError),
    ("TFSA-2022-076", "a block of 1", "SpaceToDepth", (f(1, 2, 2, 4),), {"block_size": 1},
     InvalidModelError),
    ("TFSA-2022-157", "paddings of 2e9", "MirrorPadGrad", (MATRIX, TWO_BY_TWO + 2_000_000_000),
     {"mode": "REFLECT"}),
    ("TFSA-2022-157", "paddings of 2e9", "MirrorPad", (MATRIX, TWO_BY_TWO + 2_000_000_000),
     {"mode": "REFLECT"}),
    ("TFSA-2022-157", "negative paddings", "MirrorPad", (MATRIX, TWO_BY_TWO - 1),
     {"mode": "SYMMETRIC"}),
    ("TFSA-2022-157", "one row of paddings", "MirrorPadGrad", (MATRIX, i32([[1, 1]])),
     {"mode": "SYMMETRIC"}),
    ("TFSA-2022-157", "negative paddings", "Pad", (MATRIX, TWO_BY_TWO - 1)),
    ("TFSA-2022-092", "ids as a vector", "UnbatchGrad",
     (f(1), i64([[0, 0, 0]]), f(1), i64(1, 1))),
    ("TFSA-2022-092", "an index of two columns", "UnbatchGrad",
     (f(1), i64([[0, 0]]), f(1), i64(1))),
    ("TFSA-2022-134", "ids as a tensor", "Unbatch",
     (f(3, 3, 1), np.ones((3, 3, 1), np.int64), np.ones((3, 3, 1), np.int64)),
     {"timeout_micros": 47}),
    ("TFSA-2022-069", "scalar peepholes", "LSTMBlockCell",
     (f(2, 3), f(2, 4), f(2, 4), f(7, 16), f32(1), f32(1), f32(1), f(16))),
    ("TFSA-2022-069", "a bias of rank 2", "LSTMBlockCell",
     (f(2, 3), f(2, 4), f(2, 4), f(7, 16), f(4), f(4), f(4), f(16, 1))),
    ("TFSA-2022-069", "weights of other sizes", "LSTMBlockCell",
     (f(2, 3), f(2, 4), f(2, 4), f(9, 16), f(4), f(4), f(4), f(16))),
    ("TFSA-2022-069", "a scalar state", "GRUBlockCell",
     (f(2, 3), f32(1), f(7, 8), f(7, 4), f(8), f(4))),
    ("fractional pools", "windows beyond the image", "FractionalAvgPoolGrad",
     (i64([1, 4, 4, 1]), f(1, 2, 2, 1), i64([0, 2, 9]), i64([0, 2, -4]))),
    ("fractional pools", "a shape of three sizes", "FractionalAvgPoolGrad",
     (i64([1, 4, 4]), f(1, 2, 2, 1), i64([0, 2, 4]), i64([0, 2, 4]))),
    ("fractional pools", "fewer places than windows", "FractionalMaxPoolGrad",
     (f(1, 4, 4, 1), f(1, 2, 2, 1), f(1, 2, 2, 1), i64([0, 2]), i64([0, 2, 4]))),
    ("fractional pools", "a ratio below 1", "FractionalMaxPool", (f(1, 4, 4, 1),),
     {"pooling_ratio": [1.0, 0.5, 1.0, 1.0]}),
    ("quantized numbers", "a range of no numbers", "QuantizeV2", (MATRIX, f(0), f(0)),
     {"T": dtypes.qu8}),
    ("quantized numbers", "an axis that is not there", "QuantizeV2", (MATRIX, f32(0), f32(1)),
     {"T": dtypes.qu8, "axis": 7}),
    ("staging areas", "an empty key", "MapPeek", (i64(), i32(0)), {"dtypes": [dtypes.f32]}),
    ("staging areas", "a key of two numbers", "OrderedMapPeek", (i64(1, 2), i32(0)),
     {"dtypes": [dtypes.f32]}),
    ("staging areas", "no indices", "MapUnstage", (i64(1), i32()), {"dtypes": [dtypes.f32]}),
    ("TFSA-2020-013", "fill 'h'", "AsString", (MATRIX,), {"fill": "h"}),
    ("TFSA-2020-013", "two characters", "AsString", (MATRIX,), {"fill": "hh"}),
    ("TFSA-2020-013", "precision of bools", "AsString", (np.ones(2, bool),), {"precision": 3}),
]  # fmt: skip


def _id(row: Row) -> str:
    return f"{row[0]} {row[2]}: {row[1]}"


@pytest.mark.parametrize("row", ROWS_OF_TABLE, ids=_id)
def test_refused(row: Row) -> None:
    _, _, op_type, inputs, *rest = row
    attrs = rest[0] if rest else {}
    wanted = rest[1] if len(rest) > 1 else InvalidArgumentError
    with pytest.raises(wanted) as caught:
        run_op(op_type, *inputs, **attrs)
    assert not isinstance(caught.value, InternalError | UnsupportedError)
    assert caught.value.node == "y"


# advisory, op, inputs, attrs, and the dims and first element of the result
RESULTS: list[Row] = [
    ("TFSA-2022-121", "Conv2DBackpropInput",
     (i32(0, 5, 5, 1), f(2, 2, 1, 1), f(0, 4, 4, 1)), ONE, (0, 5, 5, 1), None),
    ("TFSA-2021-194", "Range", tuple(map(f32, (0, 1, np.inf))), {}, (0,), None),
    ("TFSA-2022-028", "Range", tuple(map(i64, (5, 0, -(2**63)))), {}, (1,), 5),
    ("TFSA-2022-028", "Range", tuple(map(i64, (0, 5, 2**63 - 1))), {}, (1,), 0),
    ("TFSA-2021-200", "UnsortedSegmentSum", (ROWS, i64(0, 1, -1), i32(3)), {}, (3, 2), 1),
    ("TFSA-2022-120", "MaxPool", (IMAGE,),
     {"ksize": [1, 2**31 - 1, 2**31 - 1, 1], "strides": [1] * 4, "padding": "SAME"},
     (1, 5, 5, 1), 1),
    ("TFSA-2020-013", "AsString", (MATRIX,), {"width": 9, "fill": "0"}, (2, 3), b"01.000000"),
    ("TFSA-2021-173", "SplitV", (f(2, 0), i32(0, -1), i32(1)), {"num_split": 2}, (2, 0), None),
]  # fmt: skip


@pytest.mark.parametrize("fed", [False, True], ids=["known", "fed"])
@pytest.mark.parametrize("row", RESULTS, ids=lambda row: f"{row[0]} {row[1]}")
def test_computed(row: Row, fed: bool) -> None:
    _, op_type, inputs, attrs, dims, first = row
    if fed and op_type in ("Conv2DBackpropInput", "SplitV"):
        inputs, fed = inputs, False  # needs sizes when it is compiled
    found = np.asarray(run_op(op_type, *inputs, fed=fed, **attrs))
    assert found.shape == dims
    if first is not None:
        assert found.reshape(-1)[0] == first
