"""Shapes, joins and slices under TensorFlow's names; both argument orders where 2016's
differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.framework.basics import constant, identity
from flowc.api.framework.raw_ops import call
from flowc.api.framework.scopes import name_scope
from flowc.api.math.reductions import one_of
from flowc.graph import Dimension, Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output, shape_tensor
from flowc.graph.building.subscripts import MASKS

newaxis = None


def shape(input: Any, name: str | None = None, out_type: Any = None) -> Tensor:
    """The sizes as a vector of int32 or `out_type`: a constant where they are known. Of any dtype,
    sparse tensors too. Raises `TypeError` for ragged ones."""
    dtype = dtypes.i32 if out_type is None else dtypes.as_dtype(out_type)
    with name_scope(name, "Shape", [input]) as scope:
        if hasattr(input, "with_flat_values"):
            raise TypeError("a RaggedTensor has no one shape: bounding_shape() holds all its rows")
        if hasattr(input, "with_values"):
            return _sizes_of_sparse(input, dtype, scope)
        return shape_tensor(as_tensor(input), dtype, scope)


def _sizes_of_sparse(value: Any, dtype: Any, scope: str | None = None) -> Tensor:
    """The sizes of a `SparseTensor`, which a run knows."""
    sizes = value.dense_shape
    return sizes if sizes.base_dtype is dtype else output("Cast", sizes, DstT=dtype, name=scope)


def shape_n(input: Sequence[Any], out_type: Any = dtypes.i32, name: str | None = None) -> Any:
    """The shapes of tensors of one dtype: a list of vectors of int32 or `out_type`. Raises
    `TypeError` where the dtypes differ, `ValueError` for an empty list."""
    return call("ShapeN", list(input), name=name, out_type=out_type)


def size(input: Any, name: str | None = None, out_type: Any = dtypes.i32) -> Tensor:
    """The number of elements, a scalar of int32 or `out_type`: a constant where it is known. Of any
    dtype, sparse tensors too. Raises nothing."""
    dtype = dtypes.as_dtype(out_type)
    with name_scope(name, "Size", [input]) as scope:
        if hasattr(input, "with_flat_values"):
            return size(input.flat_values, name=scope, out_type=dtype)
        if hasattr(input, "with_values"):
            return output("Prod", _sizes_of_sparse(input, dtype), 0, name=scope)
        tensor = as_tensor(input)
        count = tensor.shape.num_elements()
        if count is not None:
            return constant(count, dtype, name=scope)
        return output("Size", tensor, name=scope, out_type=dtype)


def rank(input: Any, name: str | None = None) -> Tensor:
    """The number of dimensions, an int32 scalar: a constant where it is known. Of any dtype, sparse
    tensors too. Raises nothing."""
    with name_scope(name, "Rank", [input]) as scope:
        if hasattr(input, "with_flat_values"):
            return rank(input.flat_values) + input.ragged_rank
        if hasattr(input, "with_values"):
            return size(input.dense_shape, name=scope)
        tensor = as_tensor(input)
        if tensor.shape.ndims is not None:
            return constant(tensor.shape.ndims, dtypes.i32, name=scope)
        return output("Rank", tensor, name=scope)


def reshape(tensor: Any, shape: Any, name: str | None = None) -> Tensor:
    """The elements, row by row, in another shape (a vector of integers); one size may be -1, which
    follows from the others. Raises `ValueError` where the numbers of elements differ."""
    return output("Reshape", tensor, shape, name=name)


def squeeze(
    input: Any, axis: Any = None, name: str | None = None, squeeze_dims: Any = None
) -> Tensor:
    """Without dimensions of size 1: all of them, or those of `axis` (an int or a list). Raises
    `ValueError` where one of those has another size."""
    axis = one_of(axis, "axis", squeeze_dims, "squeeze_dims")
    if hasattr(input, "with_flat_values"):
        return input.squeezed(axis)
    if axis is None:
        axis = []
    elif np.ndim(axis) == 0:
        axis = [axis]
    try:
        dims = [int(a) for a in axis]
    except ValueError:
        raise TypeError(f"Expected int for argument 'axis' not {axis[0]!r}.") from None
    return output("Squeeze", input, name=name, squeeze_dims=dims)


def expand_dims(input: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
    """With a dimension of size 1 at `axis`, from `-rank - 1` to `rank`. Raises `ValueError` for no
    axis and for one out of range."""
    axis = one_of(axis, "axis", dim, "dim")
    if axis is None:
        raise ValueError("Must specify an axis argument to tf.expand_dims()")
    if hasattr(input, "with_flat_values"):
        return input.with_axis(axis)
    return output("ExpandDims", input, axis, name=name)


def slice_(input_: Any, begin: Any, size: Any, name: str | None = None) -> Tensor:
    """The part that starts at `begin` and has `size` (-1: all that is left); both are vectors of
    integers with one element for each dimension. Raises `ValueError` where it does not fit."""
    return output("Slice", input_, begin, size, name=name)


def strided_slice(
    input_: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: str | None = None,
) -> Tensor:
    """`input_[begin:end:strides]`, of vectors of integers for the first dimensions; `strides` are
    1, if None. Bit i of a mask is about element i: no begin, no end, `...`, a new axis of size 1,
    and one index in place of a range. Raises `ValueError` for a stride of 0, more elements than
    dimensions and an index out of range."""
    masks = {argument: value for argument, value in locals().items() if argument in MASKS}
    if strides is None:
        strides = output("OnesLike", as_tensor(begin))
    return output("StridedSlice", input_, begin, end, strides, name=name, **masks)


def _is_axis(value: Any) -> bool:
    """Whether an argument can only be an axis: an int, or an integer scalar."""
    if isinstance(value, int | np.integer):
        return True
    if isinstance(value, np.ndarray):
        return value.ndim == 0 and value.dtype.kind in "iu"
    if not isinstance(value, Tensor) or value.dtype is None:
        return False
    return value.shape.ndims == 0 and value.dtype.is_integer


def split(
    value: Any = None,
    num_or_size_splits: Any = None,
    axis: Any = None,
    num: int | None = None,
    name: str = "split",
    *,
    split_dim: Any = None,
    num_split: Any = None,
) -> list[Tensor]:
    """Pieces along an axis: `split(value, num_or_sizes, axis=0)`, or in the order of 2016
    `split(split_dim, num_split, value)`. A number gives that many equal pieces, a vector one piece
    of each size (one may be -1); `num` tells how many, where the vector's length is not known.

    Raises `ValueError` where the pieces do not come out even."""
    if split_dim is not None or num_split is not None:
        pieces = num_split if num_split is not None else num_or_size_splits
        return split(value, pieces, 0 if split_dim is None else split_dim, name=name)
    if axis is not None and _is_axis(value) and not _is_axis(axis):
        value, axis = axis, value
    axis = 0 if axis is None else axis
    if isinstance(num_or_size_splits, int | np.integer | Dimension):
        return call("Split", axis, value, name=name, num_split=int(num_or_size_splits))
    sizes = as_tensor(num_or_size_splits)
    if sizes.shape.ndims == 0:
        raise ValueError("Rank-0 tensors are not supported as the num_or_size_splits argument to "
                         "split. Argument provided: "
                         f"{num_or_size_splits}")  # fmt: skip
    count = num if num is not None else sizes.shape[0].value
    if count is None:
        raise ValueError(f"Cannot infer argument `num` from shape {num_or_size_splits}")
    return call("SplitV", value, sizes, axis, name=name, num_split=count)


def concat(
    values: Any = None, axis: Any = None, name: str = "concat", *, concat_dim: Any = None
) -> Tensor:
    """Tensors of one dtype, whose shapes differ at most in `axis`, joined along it: `concat(values,
    axis)`, or in the order of 2016 `concat(concat_dim, values)`. Raises `TypeError` where the
    dtypes differ, `ValueError` where the shapes do, and for an axis out of range."""
    if concat_dim is not None:
        axis = concat_dim
    elif isinstance(axis, list | tuple) and not isinstance(values, list | tuple):
        values, axis = axis, values
    if axis is None:
        raise TypeError("concat() missing 1 required positional argument: 'axis'")
    if not isinstance(values, list | tuple):
        values = [values]
    if len(values) == 1:
        with name_scope(name, None):
            as_tensor(axis, dtypes.i32, "concat_dim").shape.assert_has_rank(0)
            return identity(values[0], name=name)
    ragged = next((x for x in values if hasattr(x, "with_flat_values")), None)
    if ragged is not None:
        return ragged.joined(values, axis)
    return output("ConcatV2", list(values), axis, name=name)


def stack(values: Any, axis: int = 0, name: str = "stack") -> Tensor:
    """n tensors of one dtype and shape as one with a new axis of size n. Raises `TypeError` for
    other dtypes, `ValueError` for other shapes and an axis outside the result."""
    if isinstance(values, list | tuple):
        ragged = next((x for x in values if hasattr(x, "with_flat_values")), None)
        if ragged is not None:
            return ragged.stacked(values, axis)
    elif axis == 0:
        return as_tensor(values, name=name)
    values = list(values)
    arrays = bool(values) and isinstance(values[0], np.ndarray) and values[0].ndim > 0
    if axis == 0 and not arrays:  # arrays keep their dtypes, which must agree
        return as_tensor(values, name=name)
    known = as_tensor(values[0], name=name).shape.ndims if values else None
    if known is not None:
        _check_axis(axis, known + 1)
    return output("Pack", values, axis=axis, name=name)


def _check_axis(axis: int, count: int) -> None:
    if not -count <= axis < count:
        raise ValueError(f"Argument `axis` = {axis} not in range [{-count}, {count})")


def pack(values: Any, name: str = "pack", axis: int = 0) -> Tensor:
    """`stack` under its name of 2016. Raises as it does."""
    return stack(values, axis, name)


def parallel_stack(values: Sequence[Any], name: str = "parallel_stack") -> Tensor:
    """`stack` along the first axis. Raises `ValueError` where the shapes differ."""
    return stack(values, 0, name)


def unstack(value: Any, num: int | None = None, axis: int = 0, name: str = "unstack") -> Any:
    """The slices along an axis, as a list of `num` tensors without it. Raises `ValueError` where
    their number is neither given nor known, and for an axis out of range."""
    if num is None:
        value = as_tensor(value)
        sizes = value.shape
        if sizes.ndims is not None:
            _check_axis(axis, sizes.ndims)
            num = sizes[axis].value
        if num is None:
            shown = "<unknown>" if sizes.ndims is None else tuple(sizes.as_list())
            raise ValueError(f"Cannot infer argument `num` from shape {shown}")
    return call("Unpack", value, num=num, axis=axis, name=name)


def unpack(value: Any, num: int | None = None, name: str = "unpack", axis: int = 0) -> Any:
    """`unstack` under its name of 2016. Raises as it does."""
    return unstack(value, num, axis, name)


def reverse(tensor: Any, axis: Any = None, name: str | None = None, *, dims: Any = None) -> Tensor:
    """Elements in reverse order along the axes of a list of ints, or (2016) along each dimension
    whose bool is true. Raises `ValueError` for more than 8 dimensions and an axis out of range."""
    axis = one_of(axis, "axis", dims, "dims")
    if hasattr(tensor, "with_flat_values"):
        return tensor.reversed_along(axis)
    value = as_tensor(tensor, name="tensor")
    _check_reversed(value)
    if isinstance(axis, Tensor):
        by_bool = axis.base_dtype is dtypes.bool_
    else:
        by_bool = np.asarray(axis).dtype == np.bool_
    return output("Reverse" if by_bool else "ReverseV2", value, axis, name=name)


def _check_reversed(tensor: Tensor) -> None:
    if tensor.shape.ndims is not None and tensor.shape.ndims > 8:
        raise ValueError(
            f"reverse does not work on tensors with more than 8 dimensions, found {tensor.shape}"
        )


def reverse_sequence(
    input: Any,
    seq_lengths: Any,
    seq_axis: int | None = None,
    batch_axis: int | None = None,
    name: str | None = None,
    seq_dim: int | None = None,
    batch_dim: int | None = None,
) -> Tensor:
    """Each slice along the batch axis (0, if None) with its first `seq_lengths[i]` elements along
    `seq_axis` reversed. `seq_lengths`: int32 or int64 [batch]. Raises `ValueError` where an axis is
    given under both of its names or the shapes do not fit."""
    seq = one_of(seq_axis, "seq_axis", seq_dim, "seq_dim")
    batch = one_of(batch_axis, "batch_axis", batch_dim, "batch_dim")
    return output(
        "ReverseSequence",
        input,
        seq_lengths,
        name=name,
        seq_dim=seq,
        batch_dim=0 if batch is None else batch,
    )


def transpose(
    a: Any, perm: Any = None, name: str | None = "transpose", conjugate: bool = False
) -> Tensor:
    """The axes in the order of `perm`, a vector of integers: reversed, if None. With `conjugate`,
    complex numbers are conjugated too. Raises `ValueError` where `perm` is no permutation of the
    axes."""
    with name_scope(name, "transpose", [a]) as scope:
        tensor = as_tensor(a, name="a")
        op_type = "ConjugateTranspose" if conjugate else "Transpose"
        if perm is None and tensor.shape.ndims is not None:
            perm = np.arange(tensor.shape.ndims - 1, -1, -1, dtype=np.int32)
        elif perm is None:
            count = output("Rank", tensor)
            perm = (count - 1) - output("Range", 0, count, 1)
        return output(op_type, tensor, perm, name=scope)


def matrix_transpose(a: Any, name: str = "matrix_transpose", conjugate: bool = False) -> Tensor:
    """The last two axes exchanged. Raises `ValueError` for an unknown or too small rank."""
    with name_scope(name, None, [a]):
        tensor = as_tensor(a, name="a")
        count = tensor.shape.ndims
        if count is None or count < 2:
            raise ValueError("Argument `a` should be a (batch) matrix with rank >= 2. Received `a` "
                             f"= {a} with shape: {tensor.shape}")  # fmt: skip
        perm = [*range_list(count - 2), count - 1, count - 2]
        return transpose(tensor, perm, conjugate=conjugate)


def range_list(count: int) -> list[int]:
    return [int(i) for i in np.arange(count)]


def tile(input: Any, multiples: Any, name: str | None = None) -> Tensor:
    """`input` repeated `multiples[i]` times along dimension i. Raises `ValueError` where there is
    not one multiple for each dimension, or one is negative."""
    if hasattr(input, "with_flat_values"):
        return input.tiled(multiples)
    return output("Tile", input, multiples, name=name)


def pad(
    tensor: Any,
    paddings: Any,
    mode: str = "CONSTANT",
    name: str | None = None,
    constant_values: Any = 0,
) -> Tensor:
    """With elements before and after each axis, as many as `paddings` [rank, 2] says: constants, or
    mirrored (`REFLECT` without the edge, `SYMMETRIC` with it). Raises `ValueError` for another
    `mode` and for paddings of another shape."""
    kind = mode.upper()
    if kind == "CONSTANT":
        if (
            not isinstance(constant_values, Tensor)
            and np.ndim(constant_values) == 0
            and (constant_values == 0)
        ):
            return output("Pad", tensor, paddings, name=name)
        return output("PadV2", tensor, paddings, constant_values, name=name)
    if kind in ("REFLECT", "SYMMETRIC"):
        return output("MirrorPad", tensor, paddings, mode=kind, name=name)
    raise ValueError(
        'Value of argument `mode` expected to be one of "CONSTANT", "REFLECT", or "SYMMETRIC". '
        f"Received `mode` = {mode}"
    )


def broadcast_to(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """`input` repeated along its dimensions of size 1, and new ones in front, until it has the
    `shape`, a vector of integers. Raises `ValueError` where that cannot be."""
    return output("BroadcastTo", input, shape, name=name)


def roll(input: Any, shift: Any, axis: Any, name: str | None = None) -> Tensor:
    """The elements moved on by `shift` along `axis`, those beyond the end to the beginning: integer
    scalars, or vectors of one length. Raises `ValueError` for a scalar `input`;
    a run raises `InvalidArgumentError` for an axis out of range."""
    return output("Roll", input, shift, axis, name=name)
