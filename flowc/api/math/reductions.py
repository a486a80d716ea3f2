"""Reductions, products of matrices and scans under TensorFlow's names and argument orders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.framework.basics import cast
from flowc.api.framework.raw_ops import named, snake_case
from flowc.api.framework.scopes import name_scope
from flowc.api.math import elementwise
from flowc.dtypes import DType
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output


def one_of(newer: Any, newer_name: str, older: Any, older_name: str) -> Any:
    """The value of an argument that has two names. Raises `ValueError` where both are given."""
    if older is None:
        return newer
    if newer is not None:
        raise ValueError(f"Cannot specify both '{older_name}' and '{newer_name}'.")
    return older


def reduction_axes(tensor: Tensor, axis: Any) -> Any:
    """The axes to reduce: all of them for None."""
    if axis is not None:
        return axis
    rank = tensor.shape.ndims
    if rank:
        return as_tensor(np.arange(rank, dtype=np.int32), name="Const")
    count = output("Rank", tensor) if rank is None else as_tensor(np.int32(0), name="Rank")
    return output("Range", 0, count, 1, name="range")  # for a scalar, too, in TensorFlow


Reduce = Callable[[Any, Any, bool, str | None], Tensor]  # of an input, axes, keep_dims, name


def _reduction_by(make: Reduce) -> Callable[..., Tensor]:
    def reduce(
        input_tensor: Any,
        axis: Any = None,
        keepdims: bool | None = None,
        name: str | None = None,
        reduction_indices: Any = None,
        keep_dims: bool | None = None,
    ) -> Tensor:
        axis = one_of(axis, "axis", reduction_indices, "reduction_indices")
        keep = bool(one_of(keepdims, "keepdims", keep_dims, "keep_dims"))
        return make(input_tensor, axis, keep, name)

    return reduce


def _reduction(
    function_name: str, op_type: str, what: str, of: str, preferred: DType | None = None
) -> Callable[..., Tensor]:
    def make(input_tensor: Any, axis: Any, keep: bool, name: str | None = None) -> Tensor:
        if hasattr(input_tensor, "with_flat_values"):
            return input_tensor.reduced(op_type, make, axis, keep)
        tensor = as_tensor(input_tensor, name="input_tensor", preferred=preferred)
        return output(op_type, tensor, reduction_axes(tensor, axis), name=name, keep_dims=keep)

    doc = (
        f"{what} of the elements along `axis`, an int or a list (all axes, if None); {of}.\n\n"
        "The axes are gone from the result, or of size 1 with `keepdims`. Raises `TypeError` for "
        "other dtypes, `ValueError` for an axis out of range and one given under two names."
    )
    return named(_reduction_by(make), function_name, doc)


reduce_sum = _reduction("reduce_sum", "Sum", "The sum", "numbers, 0 of none")
reduce_mean = _reduction(
    "reduce_mean", "Mean", "The mean", "numbers; that of integers is rounded towards 0"
)
reduce_prod = _reduction("reduce_prod", "Prod", "The product", "numbers, 1 of none")
reduce_max = _reduction(
    "reduce_max", "Max", "The largest", "real numbers, the least of the dtype of none"
)
reduce_min = _reduction(
    "reduce_min", "Min", "The smallest", "real numbers, the largest of the dtype of none"
)
reduce_all = _reduction(
    "reduce_all", "All", "Whether all hold", "bools, True of none", dtypes.bool_
)
reduce_any = _reduction(
    "reduce_any", "Any", "Whether any holds", "bools, False of none", dtypes.bool_
)
reduce_euclidean_norm = _reduction(
    "reduce_euclidean_norm", "EuclideanNorm", "The Euclidean norm", "numbers"
)


def _logsumexp(input_tensor: Any, axis: Any, keep: bool, name: str | None) -> Tensor:
    with name_scope(name, "ReduceLogSumExp", [input_tensor]) as scope:
        x = as_tensor(input_tensor, name="x")
        highest = reduce_max(x, axis=axis, keepdims=True)
        shift = output("SelectV2", elementwise.is_finite(highest), highest, 0)
        shift = output("StopGradient", shift)
        sums = reduce_sum(elementwise.exp(elementwise.subtract(x, shift)), axis, keep)
        result = elementwise.log(sums)
        if not keep:
            shift = output("Reshape", shift, output("Shape", result))
        return elementwise.add(result, shift, name=scope)


reduce_logsumexp = named(
    _reduction_by(_logsumexp),
    "reduce_logsumexp",
    "log(sum(exp(x))) of floats, without overflow. Arguments as `reduce_sum`; raises as it does.",
)


def reduce_variance(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The mean of the squared distances from the mean over `axis` (all axes, if None). Raises as
    `reduce_mean`, and `TypeError` for integers."""
    with name_scope(name, "reduce_variance"):
        x = as_tensor(input_tensor)
        kind = x.base_dtype
        assert kind is not None
        if kind.is_integer:
            raise TypeError(
                f"Input must be either real or complex. Received integer type {kind!s}."
            )
        far = x - reduce_mean(x, axis, True)
        if kind.is_complex:
            far = elementwise.abs(far)
        return reduce_mean(elementwise.square(far), axis, keepdims)


def reduce_std(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The square root of `reduce_variance`. Raises as `reduce_mean`."""
    with name_scope(name, "reduce_std"):
        return elementwise.sqrt(reduce_variance(input_tensor, axis, keepdims))


def count_nonzero(
    input_tensor: Any = None,
    axis: Any = None,
    keepdims: bool | None = None,
    dtype: Any = dtypes.i64,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
    input: Any = None,
) -> Tensor:
    """How many elements along `axis` (all axes, if None) are not zero, or not empty, as `dtype`.
    Raises `ValueError` where an argument is given under two names, and for an axis out of range."""
    axis = one_of(axis, "axis", reduction_indices, "reduction_indices")
    keep = bool(one_of(keepdims, "keepdims", keep_dims, "keep_dims"))
    with name_scope(name, "count_nonzero"):
        x = as_tensor(one_of(input, "input", input_tensor, "input_tensor"), name="input")
        assert x.dtype is not None
        none = "" if x.base_dtype is dtypes.string else np.zeros((), x.dtype.numpy)
        zero = as_tensor(none, name="Const")
        return reduce_sum(cast(elementwise.not_equal(x, zero), dtypes.as_dtype(dtype)), axis, keep)


def _extreme(op_type: str, which: str) -> Callable[..., Tensor]:
    def function(
        input: Any,
        axis: Any = None,
        name: str | None = None,
        dimension: Any = None,
        output_type: Any = dtypes.i64,
    ) -> Tensor:
        axis = one_of(axis, "axis", dimension, "dimension")
        axis = 0 if axis is None else axis
        return output(op_type, input, axis, name=name, output_type=output_type)

    doc = (
        f"The index of the {which} element along `axis` (0, if None), which is gone from the "
        "result; the first of equal ones. int64, or `output_type`. Raises `TypeError` for dtypes "
        "without order, `ValueError` for an axis out of range."
    )
    return named(function, op_type.lower(), doc)


argmax, argmin = _extreme("ArgMax", "largest"), _extreme("ArgMin", "smallest")


def _cumulative(op_type: str, name: str, what: str) -> Callable[..., Tensor]:
    def function(
        x: Any,
        axis: Any = 0,
        exclusive: bool = False,
        reverse: bool = False,
        name: str | None = None,
    ) -> Tensor:
        return output(op_type, x, axis, exclusive=exclusive, reverse=reverse, name=name)

    doc = (
        f"{what} of the elements up to each one along `axis`, in the shape and dtype of `x`: "
        "without it if `exclusive`, from the end if `reverse`. Raises `TypeError` for other "
        "dtypes; a run raises `InvalidArgumentError` for an axis out of range."
    )
    return named(function, name, doc)


cumsum = _cumulative("Cumsum", "cumsum", "The sums (of numbers)")
cumprod = _cumulative("Cumprod", "cumprod", "The products (of numbers)")
cumulative_logsumexp = _cumulative(
    "CumulativeLogsumexp", "cumulative_logsumexp", "log(sum(exp(x))) (of floats)"
)


# -- products


def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """The product [..., m, n] of matrices [..., m, k] and [..., k, n] of one dtype: numbers; where
    a rank is above 2, the dimensions in front broadcast. Each side may be transposed or adjoint
    first. That a side is sparse is a hint for two matrices of f32 or bf16, as `sparse_matmul` takes
    them; that also takes a side of each.

    Raises `TypeError` where the dtypes differ, `ValueError` for a rank below 2, where the sizes do
    not fit, and where a matrix is to be transposed and adjoint."""
    for side, transpose, adjoint in (("a", transpose_a, adjoint_a), ("b", transpose_b, adjoint_b)):
        if transpose and adjoint:
            raise ValueError(
                f"Only one of `transpose_{side}` and `adjoint_{side}` can be True. Received "
                f"`transpose_{side}`={transpose}, `adjoint_{side}`={adjoint}."
            )
    with name_scope(name, "MatMul", [a, b]) as scope:
        left = as_tensor(a, name="a")
        right = as_tensor(b, name="b", preferred=left.dtype)
        ranks = (left.shape.ndims, right.shape.ndims)
        hinted = a_is_sparse or b_is_sparse
        if not hinted and any(r is None or r > 2 for r in ranks):
            if transpose_a:
                left, adjoint_a = _conjugate(left), True
            if transpose_b:
                right, adjoint_b = _conjugate(right), True
            return output(
                "BatchMatMulV2", left, right, name=scope, adj_x=adjoint_a, adj_y=adjoint_b
            )
        if adjoint_a:
            left, transpose_a = _conjugate(left), True
        if adjoint_b:
            right, transpose_b = _conjugate(right), True
        found = {left.base_dtype, right.base_dtype}
        if found <= {dtypes.f32, dtypes.bf16} and (hinted or len(found) == 2):
            product = sparse_matmul(
                left, right, transpose_a, transpose_b, a_is_sparse, b_is_sparse, scope
            )
            return output("Cast", product, DstT=dtypes.bf16) if found == {dtypes.bf16} else product
        return output(
            "MatMul", left, right, name=scope, transpose_a=transpose_a, transpose_b=transpose_b
        )


def sparse_matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """The product f32[m, n] of matrices [m, k] and [k, n] of f32 or bf16, each of which may be
    transposed first. That one has many zeros is a hint. Raises `TypeError` for other dtypes,
    `ValueError` for other ranks and sizes that do not fit."""
    return output(
        "SparseMatMul", a, b, name=name, transpose_a=transpose_a, transpose_b=transpose_b,
        a_is_sparse=a_is_sparse, b_is_sparse=b_is_sparse,
    )  # fmt: skip


def _conjugate(x: Tensor) -> Tensor:
    return elementwise.conj(x) if x.dtype is not None and x.dtype.is_complex else x


def matvec(
    a: Any, b: Any, transpose_a: bool = False, adjoint_a: bool = False, name: str | None = None
) -> Tensor:
    """The product [..., m] of matrices [..., m, n] and vectors [..., n] of one dtype. Raises as
    `matmul`."""
    with name_scope(name, "MatVec", [a, b]):
        column = output("ExpandDims", as_tensor(b, name="b"), -1)
        product = matmul(a, column, transpose_a=transpose_a, adjoint_a=adjoint_a)
        return output("Squeeze", product, squeeze_dims=[-1])


def einsum(
    equation: str, *inputs: Any, optimize: str | None = None, name: str | None = None
) -> Tensor:
    """Products and sums named by an equation such as `ij,jk->ik`; three or more inputs are combined
    two at a time from the left, whichever order `optimize` asks for. Raises `ValueError` for an
    equation that does not fit. Numbers of one dtype."""
    equation = equation.replace(" ", "")
    if len(inputs) == 1 and isinstance(inputs[0], list | tuple):
        inputs = tuple(inputs[0])
    left, arrow, result = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(inputs):
        raise ValueError(
            f'Got {len(inputs)} inputs for equation "{equation}", expecting {len(terms)}'
        )
    if not arrow:
        result = _implicit_result(terms)
    if any(result.count(label) > 1 for label in result if label != "."):
        raise ValueError(f"Output subscripts contain a label appearing more than once: {equation}")
    with name_scope(name, "einsum", inputs):
        tensors = [as_tensor(x) for x in inputs]
        while len(tensors) > 2:
            kept = _labels_used(terms[2:], result)
            inner = _pair_result(terms[0], terms[1], kept)
            first = output("Einsum", tensors[:2], equation=f"{terms[0]},{terms[1]}->{inner}")
            tensors, terms = [first, *tensors[2:]], [inner, *terms[2:]]
        return output("Einsum", tensors, equation=f"{','.join(terms)}->{result}")


def _implicit_result(terms: Sequence[str]) -> str:
    joined = "".join(terms)
    once = sorted(c for c in set(joined.replace("...", "")) if joined.count(c) == 1)
    return ("..." if "..." in joined else "") + "".join(once)


def _labels_used(terms: Sequence[str], result: str) -> set[str]:
    return set("".join(terms) + result) - {"."}


def _pair_result(a: str, b: str, kept: set[str]) -> str:
    labels = dict.fromkeys((a + b).replace("...", ""))
    return ("..." if "..." in a + b else "") + "".join(c for c in labels if c in kept)


# -- segments

_SEGMENTS = {
    "Sum": "The sum", "Mean": "The mean", "Max": "The maximum", "Min": "The minimum",
    "Prod": "The product",
}  # fmt: skip


def _segment(op_type: str) -> Callable[..., Tensor]:
    def segment(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
        return output(op_type, data, segment_ids, name=name)

    doc = (
        f"{_SEGMENTS[op_type.removeprefix('Segment')]} of the rows of each segment: as many rows "
        "as the last of `segment_ids` plus 1, which is a vector of one integer for each row of "
        "`data`, in order. Raises `ValueError` for other shapes; a run raises "
        "`InvalidArgumentError` for ids that decrease."
    )
    return named(segment, snake_case(op_type), doc)


def _unsorted(op_type: str) -> Callable[..., Tensor]:
    def segment(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
        return output(op_type, data, segment_ids, num_segments, name=name)

    doc = (
        f"{_SEGMENTS[op_type.removeprefix('UnsortedSegment')]} of the slices of each segment, "
        "`num_segments` rows: `segment_ids` has the first dimensions of `data`, in any order; a "
        "negative id leaves its slice out. Raises `ValueError` for other shapes; a run raises "
        "`InvalidArgumentError` for an id out of range."
    )
    return named(segment, snake_case(op_type), doc)


segment_sum, segment_mean = _segment("SegmentSum"), _segment("SegmentMean")
segment_max, segment_min = _segment("SegmentMax"), _segment("SegmentMin")
segment_prod = _segment("SegmentProd")
unsorted_segment_sum = _unsorted("UnsortedSegmentSum")
unsorted_segment_max = _unsorted("UnsortedSegmentMax")
unsorted_segment_min = _unsorted("UnsortedSegmentMin")
unsorted_segment_prod = _unsorted("UnsortedSegmentProd")


def _sparse_segment(op_type: str) -> Callable[..., Tensor]:
    def segment(
        data: Any, indices: Any, segment_ids: Any, name: str | None = None, num_segments: Any = None
    ) -> Tensor:
        given = [data, indices, segment_ids]
        if num_segments is None:
            return output(op_type, *given, name=name)
        return output(f"{op_type}WithNumSegments", *given, num_segments, name=name)

    doc = (
        f"TensorFlow's `{op_type}`: rows of `data` at `indices` [n], combined by `segment_ids` "
        "[n], in order: `num_segments` rows, or the last id plus 1. Raises `ValueError` for "
        "other shapes; a run raises `InvalidArgumentError` for ids that decrease and an index "
        "out of range."
    )
    return named(segment, snake_case(op_type), doc)


sparse_segment_sum = _sparse_segment("SparseSegmentSum")
sparse_segment_mean = _sparse_segment("SparseSegmentMean")
sparse_segment_sqrt_n = _sparse_segment("SparseSegmentSqrtN")


def _by_segment(power: float, label: str) -> Callable[..., Tensor]:
    def segment(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
        with name_scope(name, label):
            x, ids = as_tensor(data), as_tensor(segment_ids)
            one = output("OnesLike", cast(ids, x.dtype))
            counts = unsorted_segment_sum(one, ids, num_segments)
            counts = elementwise.maximum(counts, 1)
            if x.shape.ndims is not None and ids.shape.ndims is not None:
                for _ in range(x.shape.ndims - ids.shape.ndims):
                    counts = output("ExpandDims", counts, -1)
            total = unsorted_segment_sum(x, ids, num_segments)
            return total / (counts if power == 1 else elementwise.sqrt(counts))

    return segment


unsorted_segment_mean = named(
    _by_segment(1, "UnsortedSegmentMean"),
    "unsorted_segment_mean",
    "The mean of the rows of each segment. Arguments and errors as `unsorted_segment_sum`.",
)
unsorted_segment_sqrt_n = named(
    _by_segment(0.5, "UnsortedSegmentSqrtN"),
    "unsorted_segment_sqrt_n",
    "The sum of the rows of each segment, divided by the square root of their number. Arguments "
    "and errors as `unsorted_segment_sum`.",
)
