"""Variables in parts, and the functions that say in how many.

In: a shape, a partitioner. Out: a `PartitionedVariable` of variables `name/part_0`, ... that is
sliced along one axis. Invariant: the parts join to the whole in their order, and each says in its
`SaveSliceInfo` which one it is, so that checkpoints hold the whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from flowc import dtypes
from flowc.api.arrays.shaping import concat, slice_
from flowc.api.framework.basics import identity
from flowc.api.framework.scopes import group, name_scope
from flowc.api.variables.initializers import PartitionInfo
from flowc.api.variables.new_variable import (
    VariableRequest,
    check_may_be_new,
    get_single_variable,
    variables_by_name,
)
from flowc.api.variables.save_slices import SaveSliceInfo
from flowc.api.variables.scope_state import get_variable_scope
from flowc.api.variables.variables import Variable
from flowc.dtypes import DType
from flowc.graph import Tensor, TensorShape, get_default_graph
from flowc.graph.building.conversion import as_tensor

Partitioner = Callable[..., Sequence[int]]  # of a shape and a dtype: the parts of each axis


class PartitionedVariable:
    """Variables that hold a tensor of `shape` in parts, one after the other along one axis."""

    def __init__(
        self,
        name: str,
        shape: Any,
        dtype: Any,
        variable_list: Sequence[Variable],
        partitions: Sequence[int],
    ) -> None:
        self._name = name
        self._shape = TensorShape(shape)
        self._dtype = dtypes.as_dtype(dtype)
        self._variables = list(variable_list)
        self._partitions = list(partitions)

    @property
    def name(self) -> str:
        return self._name

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        return self._shape

    def get_shape(self) -> TensorShape:
        return self._shape

    def __iter__(self) -> Iterator[Variable]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    def _get_variable_list(self) -> list[Variable]:
        return self._variables

    def _get_partitions(self) -> list[int]:
        return self._partitions

    def as_tensor(self) -> Tensor:
        """The whole: the parts, joined."""
        graph = get_default_graph()
        whole = self._variables[0].value()
        if len(self._variables) > 1:
            axis = next(i for i, count in enumerate(self._partitions) if count > 1)
            with graph.name_scope(f"{self._name}/ConcatPartitions/"):
                whole = concat([v.value() for v in self._variables], axis)
        with graph.name_scope(None):
            return identity(whole, name=self._name)

    def _as_tensor(self) -> Tensor:
        return self.as_tensor()

    def assign(self, value: Any, use_locking: bool = False, name: str | None = None) -> list[Any]:
        """Gives every part its part of `value`."""
        return [v.assign(p, use_locking) for v, p in zip(self, self._parts_of(value), strict=True)]

    def assign_add(self, value: Any, use_locking: bool = False) -> list[Any]:
        parts = self._parts_of(value)
        return [v.assign_add(p, use_locking) for v, p in zip(self, parts, strict=True)]

    def assign_sub(self, value: Any, use_locking: bool = False) -> list[Any]:
        parts = self._parts_of(value)
        return [v.assign_sub(p, use_locking) for v, p in zip(self, parts, strict=True)]

    def _parts_of(self, value: Any) -> list[Tensor]:
        whole = as_tensor(value, self._dtype)
        infos = [variable._get_save_slice_info() for variable in self]
        return [slice_(whole, i.var_offset, i.var_shape) for i in infos if i is not None]

    @property
    def initializer(self) -> Any:
        return group(*[variable.initializer for variable in self])


def get_partitioned_variable(request: VariableRequest) -> PartitionedVariable:
    """The partitioned variable of a full name. Raises `ValueError` as `get_variable`, and where the
    partitioner gives no number of parts for each axis, or cuts more than one."""
    name, made = request.name, variables_by_name()
    if name in made:
        return _shared(made[name], request)
    check_may_be_new(request)
    initial = None
    if request.initializer is not None and not callable(request.initializer):
        initial = as_tensor(request.initializer)
        request.shape, request.dtype = initial.shape, dtypes.as_dtype(initial.dtype)
    shape = _complete(request)
    partitions = _partitions(request.partitioner, shape, request.dtype)
    parts = []
    for number, (offset, sizes) in enumerate(_slices(shape, partitions)):
        part_name = f"{name}/part_{number}"
        value = request.initializer
        if initial is not None:
            with name_scope(f"{part_name}/PartitionedInitializer/"):
                value = slice_(initial, offset, sizes)
        part = get_single_variable(
            VariableRequest(
                part_name,
                TensorShape(sizes),
                request.dtype,
                value,
                request.regularizer,
                request.reuse,
                request.trainable,
                request.collections,
                request.caching_device,
                None,
                request.validate_shape,
                request.use_resource,
                request.constraint,
                part=PartitionInfo(shape, offset),
            )
        )
        part._set_save_slice_info(SaveSliceInfo(name, shape, offset, sizes))
        parts.append(part)
    found = made[name] = PartitionedVariable(name, shape, request.dtype, parts, partitions)
    return found


def _shared(found: Any, request: VariableRequest) -> PartitionedVariable:
    if not request.reuse:
        raise ValueError(
            f"Partitioned variable with name {request.name} already exists. Did you mean to set "
            "reuse=True or reuse=tf.AUTO_REUSE in VarScope?"
        )
    if not isinstance(found, PartitionedVariable):
        raise ValueError(
            "A partitioner was provided, but an unpartitioned version of the variable was found: "
            f"{request.name}."
        )
    if request.shape is not None and not request.shape.is_compatible_with(found.shape):
        raise ValueError(
            f"Trying to reuse partitioned variable {request.name}, but specified shape "
            f"{request.shape} and found shape {found.shape}."
        )
    if request.dtype is not found.dtype:
        raise ValueError(
            f"Trying to reuse partitioned variable {request.name}, but specified dtype "
            f"{request.dtype.name} and found dtype {found.dtype.name}."
        )
    if request.shape is not None and request.shape.is_fully_defined():
        wanted = _partitions(request.partitioner, _complete(request), request.dtype)
        if wanted != found._get_partitions():
            raise ValueError(
                f"Trying to reuse partitioned variable {request.name}, but specified partitions "
                f"{wanted} and found partitions {found._get_partitions()}."
            )
    return found


def _complete(request: VariableRequest) -> list[int]:
    shape = TensorShape(request.shape)
    if not shape.is_fully_defined():
        raise ValueError(
            f"Shape of a new partitioned variable ({request.name}) must be fully defined, but "
            f"instead was {shape}."
        )
    if not shape.ndims:
        raise ValueError(f"A partitioned Variable must have rank at least 1: {shape}")
    return [int(size or 0) for size in shape.as_list()]


def _partitions(partitioner: Partitioner, shape: Sequence[int], dtype: DType) -> list[int]:
    if not callable(partitioner):
        raise ValueError(f"Partitioner must be callable, but received: {partitioner}")
    found = partitioner(shape=TensorShape(shape), dtype=dtype)
    if not isinstance(found, Sequence):
        raise ValueError(f"Partitioner must return a sequence, but saw: {found}")
    if len(found) != len(shape):
        raise ValueError(
            "Partitioner returned a partition list that does not match the Variable's rank: "
            f"{found} vs. {TensorShape(shape)}"
        )
    if any(count < 1 for count in found):
        raise ValueError(f"Partitioner returned zero partitions for some axes: {found}")
    if any(count > max(size, 1) for count, size in zip(found, shape)):
        raise ValueError(
            f"Partitioner returned more partitions than an axis is long: {found} for the shape "
            f"{shape}"
        )
    if sum(count > 1 for count in found) > 1:
        raise ValueError(
            f"Can only slice a variable along one dimension: shape: {TensorShape(shape)}, "
            f"partitioning: {found}"
        )
    return [int(count) for count in found]


def _slices(
    shape: Sequence[int], partitions: Sequence[int]
) -> Iterator[tuple[list[int], list[int]]]:
    """(offset, sizes) of each part; the first ones take one more where it does not come out."""
    axis = next((i for i, count in enumerate(partitions) if count > 1), 0)
    count = partitions[axis]
    size, longer = divmod(shape[axis], count)
    at = 0
    for number in range(count):
        length = size + (number < longer)
        offset, sizes = [0] * len(shape), list(shape)
        offset[axis], sizes[axis] = at, length
        yield offset, sizes
        at += length


def create_partitioned_variables(
    shape: Any,
    slicing: Sequence[int],
    initializer: Any,
    dtype: Any = dtypes.f32,
    trainable: bool = True,
    collections: Sequence[str] | None = None,
    name: str | None = None,
    reuse: Any = None,
) -> list[Variable]:
    """The parts of a partitioned variable, cut as `slicing` says for each axis. Raises
    `ValueError` where the two do not fit."""
    if len(shape) != len(slicing):
        raise ValueError(
            "The 'shape' and 'slicing' of a new Partitioned Variable must have the length: shape: "
            f"{shape}, slicing: {slicing}"
        )
    scope = get_variable_scope()
    local = name or "PartitionedVariable"
    request = VariableRequest(
        f"{scope.name}/{local}" if scope.name else local,
        TensorShape(shape),
        dtypes.as_dtype(dtype),
        initializer,
        reuse=scope.reuse if reuse is None else reuse,
        trainable=trainable,
        collections=collections,
        partitioner=lambda **_: slicing,
    )
    with get_default_graph().name_scope(None):
        return get_partitioned_variable(request)._get_variable_list()


# -- partitioners


def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Partitioner:
    """Cuts `axis` into `num_shards` parts, or as many as it is long. A function of a shape and a
    dtype, which gives the number of parts along each axis. Raises nothing."""

    def partitioner(shape: Any, **_: Any) -> list[int]:
        sizes = TensorShape(shape)
        return _along(axis, sizes, min(num_shards, sizes.as_list()[axis] or 0))

    return partitioner


def variable_axis_size_partitioner(
    max_shard_bytes: int,
    axis: int = 0,
    bytes_per_string_element: int = 16,
    max_shards: int | None = None,
) -> Partitioner:
    """Cuts `axis` into parts of at most `max_shard_bytes`, at most `max_shards` of them.

    Raises `ValueError` for numbers that are not positive."""
    if max_shard_bytes < 1 or bytes_per_string_element < 1:
        raise ValueError(
            "Both max_shard_bytes and bytes_per_string_element must be positive. Currently, "
            f"max_shard_bytes is {max_shard_bytes} and bytes_per_string_element is "
            f"{bytes_per_string_element}"
        )
    if max_shards is not None and max_shards < 1:
        raise ValueError("max_shards must be positive.")

    def partitioner(shape: Any, dtype: Any) -> list[int]:
        sizes, element = TensorShape(shape), _element_size(dtype, bytes_per_string_element)
        length = sizes.as_list()[axis] or 0
        row = (sizes.num_elements() or 0) // max(length, 1) * element
        count = min(length, math.ceil(length / max(1, max_shard_bytes // max(row, 1))))
        if max_shards is not None:
            count = min(max_shards, count)
        return _along(axis, sizes, count)

    return partitioner


def min_max_variable_partitioner(
    max_partitions: int = 1,
    axis: int = 0,
    min_slice_size: int = 256 << 10,
    bytes_per_string_element: int = 16,
) -> Partitioner:
    """Cuts `axis` into at most `max_partitions` parts of no less than `min_slice_size` bytes.

    Raises `ValueError` for numbers that are not positive."""
    if max_partitions < 1:
        raise ValueError(f"max_partitions must be positive, not {max_partitions}")
    if min_slice_size < 1:
        raise ValueError(f"min_slice_size must be positive, not {min_slice_size}")

    def partitioner(shape: Any, dtype: Any) -> list[int]:
        sizes, element = TensorShape(shape), _element_size(dtype, bytes_per_string_element)
        total = (sizes.num_elements() or 0) * element
        fitting = max(1, min(max_partitions, math.ceil(total / min_slice_size)))
        return _along(axis, sizes, min(fitting, sizes.as_list()[axis] or 1))

    return partitioner


def _element_size(dtype: Any, bytes_per_string: int) -> int:
    return dtypes.as_dtype(dtype).size or bytes_per_string


def _along(axis: int, shape: TensorShape, count: int) -> list[int]:
    found = [1] * len(shape.as_list())
    found[axis] = count
    return found
