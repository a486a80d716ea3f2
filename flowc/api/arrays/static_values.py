"""What is known of tensors while the graph is built, and tensors as messages.

In: tensors, shapes, NumPy arrays. Out: arrays, shapes, `TensorProto` messages.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.framework.scopes import name_scope
from flowc.encoding.tensor_proto import decode_tensor
from flowc.graph import Dimension, Tensor, TensorShape
from flowc.graph.building.conversion import as_tensor, constant_array
from flowc.graph.building.creation import output
from flowc.graph.encode import tensor_proto
from flowc.graph.shape_inference import constant_elements


def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """The value of a tensor as a NumPy array where it is known while the graph is built, else None;
    what is no tensor is its own value. Raises nothing."""
    if not isinstance(tensor, Tensor):
        return tensor
    found = constant_elements(tensor)
    if found is None:
        return None
    dtype = tensor.dtype
    assert dtype is not None
    return np.asarray(found, object if dtype is dtypes.string else dtype.numpy)


def make_tensor_proto(
    values: Any,
    dtype: Any = None,
    shape: Any = None,
    verify_shape: bool = False,
    allow_broadcast: bool = False,
) -> Any:
    """A `TensorProto` of Python or NumPy values. `verify_shape`: the values must have `shape`
    already; else the last of fewer values stands for the rest, with or without `allow_broadcast`.

    Raises `TypeError` where values do not fit the dtype or a shape that is verified, `ValueError`
    for more values than elements and for both flags."""
    if allow_broadcast and verify_shape:
        raise ValueError("allow_broadcast and verify_shape are not both allowed.")
    if hasattr(values, "tensor_shape"):  # one already
        return values
    wanted = None if dtype is None else dtypes.as_dtype(dtype)
    array = constant_array(values, wanted)
    if shape is not None:
        sizes = tuple(int(size) for size in shape)
        count = int(np.prod(sizes, dtype=np.int64))
        if verify_shape and array.shape != sizes:
            raise TypeError(f"Expected Tensor's shape: {sizes}, but got {array.shape}.")
        if array.size > count:
            raise ValueError(
                f"Too many elements provided. Takes at most {count}, but got {array.size}."
            )
        if array.size < count:
            array = constant_array(array, wanted, sizes)  # the last one stands for the rest
        array = array.reshape(sizes)
    return tensor_proto(array, wanted)


def make_ndarray(tensor: Any) -> np.ndarray:
    """The NumPy array of a `TensorProto`. Raises `TypeError` for a dtype that flowc has not."""
    dtypes.as_dtype(tensor.dtype)
    return decode_tensor(tensor, "make_ndarray").copy()


def is_symbolic_tensor(tensor: Any) -> bool:
    """Whether it is a tensor of a graph, whose value a run decides. Raises nothing."""
    return isinstance(tensor, Tensor)


def dimension_value(dimension: Any) -> int | None:
    """The int of a `Dimension`; an int or None stays. Raises nothing."""
    return dimension.value if isinstance(dimension, Dimension) else dimension


def dimension_at_index(shape: Any, index: int) -> Dimension:
    """The `Dimension` of a `TensorShape` at an index: an unknown one where the rank is. Raises
    `IndexError` for an index beyond a known rank."""
    return Dimension(None) if TensorShape(shape).ndims is None else TensorShape(shape)[index]


def broadcast_static_shape(shape_x: TensorShape, shape_y: TensorShape) -> TensorShape:
    """The shape of an elementwise result of two shapes. Raises `ValueError` where sizes differ and
    none of them is 1."""
    left, right = TensorShape(shape_x).sizes, TensorShape(shape_y).sizes
    if left is None or right is None:
        return TensorShape(None)
    rank = max(len(left), len(right))
    pairs = zip((1,) * (rank - len(left)) + left, (1,) * (rank - len(right)) + right)
    found: list[int | None] = []
    for one, other in pairs:
        if None in (one, other):
            known = other if one is None else one
            found.append(known if known is not None and known > 1 else None)
        elif 1 not in (one, other) and one != other:
            raise ValueError(
                f"Incompatible shapes for broadcasting: {TensorShape(shape_x)} and "
                f"{TensorShape(shape_y)}"
            )
        else:
            found.append(other if one == 1 else one)
    return TensorShape(found)


def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Tensor:
    """The sizes, as a tensor, of an elementwise result of two shapes that are tensors. Vectors of
    int32 or int64. Raises `TypeError` for others; a run raises `InvalidArgumentError` where they do
    not broadcast."""
    return output("BroadcastArgs", as_tensor(shape_x), as_tensor(shape_y))


def guarantee_const(input: Any, name: str | None = None) -> Tensor:
    """`input` again: flowc finds out by itself what does not change. Of any dtype and shape. Raises
    nothing."""
    with name_scope(name, "GuaranteeConst", [input]) as scope:
        return output("Identity", input, name=scope)


def required_space_to_batch_paddings(
    input_shape: Any, block_shape: Any, base_paddings: Any = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The paddings, at least `base_paddings`, with which the sizes are multiples of `block_shape`,
    and the crops [n, 2] that undo what they add. `input_shape`, `block_shape`: int32[n],
    `base_paddings`: int32[n, 2]. Raises `ValueError` for shapes that do not fit."""
    with name_scope(name, "required_space_to_batch_paddings", [input_shape, block_shape]):
        sizes = as_tensor(input_shape, dtypes.i32, "input_shape")
        blocks = as_tensor(block_shape, dtypes.i32, "block_shape")
        for given in (sizes, blocks):
            given.shape.assert_has_rank(1)
        sizes.shape.assert_is_compatible_with(blocks.shape)
        if base_paddings is None:
            base = output("Pack", [sizes - sizes, sizes - sizes], axis=1)
        else:
            base = as_tensor(base_paddings, dtypes.i32, "base_paddings")
        before, after = base[:, 0], base[:, 1]
        total = sizes + before + after
        more = (blocks - total % blocks) % blocks
        paddings = output("Pack", [before, after + more], axis=1, name="paddings")
        return paddings, output("Pack", [more - more, more], axis=1, name="crops")
