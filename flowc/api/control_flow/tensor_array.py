"""`TensorArray`: a list of tensors that loops read and write one element at a time.

In: indices and values. Out: tensors, and new `TensorArray` objects. Invariant: an object stands for
the array as it is after its `flow` was computed: every write gives a new object, and what is read
from it waits for that write.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.arrays.filling import range as range_
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.framework import nest
from flowc.api.framework.basics import cast, identity
from flowc.api.framework.scopes import name_scope
from flowc.api.framework.typed_nodes import Argument, add_node
from flowc.dtypes import DType
from flowc.errors import ShapeError
from flowc.graph import Operation, Tensor, TensorShape, get_default_graph
from flowc.graph.building.conversion import as_tensor
from flowc.graph.shape import UNKNOWN_SHAPE
from flowc.graph.shape_inference import constant_elements


class TensorArray:
    """A list of `size` tensors of one dtype; with `dynamic_size` it grows when it is written past
    its end.

    `clear_after_read`: an element is read once, which frees its memory. `element_shape`: that of
    every element; where it is not complete, `infer_shape` takes it from the first write. A `handle`
    with a `flow` stands for an array that exists. Raises `ValueError` and `TypeError` for arguments
    that contradict each other.
    """

    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Tensor | None = None,
        flow: Tensor | None = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        self._check_handle(
            handle, size, tensor_array_name, element_shape, dynamic_size, clear_after_read
        )
        self._dtype = dtypes.as_dtype(dtype)
        self._size = size
        self._dynamic_size = bool(dynamic_size)
        self._infer_shape = infer_shape
        self._element_shape = [TensorShape(element_shape)]  # one list for all that share the array
        self._beside: list[Tensor] | None = [] if colocate_with_first_write_call else None
        with name_scope(name, "TensorArray", [handle, size, flow]) as scope:
            if handle is not None:
                if flow is None:
                    raise ValueError("flow must not be None if handle is not None.")
                self._handle, self._flow = handle, flow
                return
            graph = get_default_graph()
            free = colocate_with_first_write_call
            with (
                graph.device(None) if free else nullcontext(),
                graph.colocate_with(None, ignore_existing=True) if free else nullcontext(),
            ):
                op = self._create(clear_after_read is not False, tensor_array_name or "", scope)
            self._handle, self._flow = op.outputs

    def _create(self, clear_after_read: bool, array_name: str, scope: str) -> Operation:
        rank = self._size.shape.ndims if isinstance(self._size, Tensor) else np.ndim(self._size)
        if rank:
            node = scope.removesuffix("/")
            raise ShapeError(
                f"Shape must be rank 0 but is rank {rank} for the `size` of '{node}': {self._size}",
                node=node,
                hint="the size is one number: for the elements of a tensor, use unstack",
            )
        attrs = {
            "clear_after_read": clear_after_read,
            "dtype": self._dtype,
            "dynamic_size": self._dynamic_size,
            "element_shape": self.element_shape.sizes,
            "identical_element_shapes": self._infer_shape,
            "tensor_array_name": array_name.encode(),
        }
        outputs = [(dtypes.resource, (2,)), (dtypes.f32, ())]
        return add_node("TensorArrayV3", [("size", self._size, dtypes.i32)], attrs, outputs, scope)

    @staticmethod
    def _check_handle(
        handle: Any, size: Any, array_name: str | None, element_shape: Any, dynamic: Any, clear: Any
    ) -> None:
        if handle is None:
            if size is None:
                raise ValueError("Argument `size` must be provided if handle is not provided.")
            return
        if array_name:
            raise ValueError(
                "Cannot provide both `handle` and `tensor_array_name` arguments at the same time."
            )
        if not isinstance(handle, Tensor):
            raise TypeError(
                f"Expected `handle` to be a Tensor, but got `{handle}` of type `{type(handle)}` "
                "instead."
            )
        given = {"size": size, "element_shape": element_shape, "dynamic_size": dynamic}
        for argument, value in (given | {"clear_after_read": clear}).items():
            if value is not None:
                raise ValueError(
                    f"Cannot provide both `handle` and `{argument}` arguments at the same time."
                )

    @property
    def flow(self) -> Tensor:
        return self._flow

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def handle(self) -> Tensor:
        return self._handle

    @property
    def element_shape(self) -> TensorShape:
        return self._element_shape[0]

    @property
    def dynamic_size(self) -> bool:
        return self._dynamic_size

    def with_flow(self, flow: Tensor) -> TensorArray:
        """The same array as it is after `flow`."""
        new = self._with_handle(self._handle, flow)
        new._dynamic_size = self._dynamic_size
        new._size = self._size
        new._beside = self._beside
        return new

    def _with_handle(self, handle: Tensor, flow: Tensor) -> TensorArray:
        """An array of the same elements' dtype and shape."""
        new = TensorArray(
            self._dtype,
            handle=handle,
            flow=flow,
            infer_shape=self._infer_shape,
            colocate_with_first_write_call=False,
        )
        new._element_shape = self._element_shape
        return new

    def identity(self) -> TensorArray:
        return self.with_flow(identity(self._flow))

    def grad(self, source: str, flow: Tensor | None = None, name: str | None = None) -> TensorArray:
        """The array that gradients of this one are summed in, for one run of `source`."""
        flow = self._flow if flow is None else flow
        graph = get_default_graph()
        with (
            name_scope(name, "TensorArrayGrad", [self._handle]),
            graph.colocate_with(self._handle),
        ):
            op = add_node(
                "TensorArrayGradV3",
                [("handle", self._handle, dtypes.resource), ("flow_in", flow, dtypes.f32)],
                {"source": source.encode()},
                [(dtypes.resource, (2,)), (dtypes.f32, ())],
                name,
            )
            with graph.control_dependencies([op.outputs[0]]):
                flow = identity(flow, name="gradient_flow")
            return self._with_handle(op.outputs[0], flow)

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """Element `index`."""
        return self._add(
            "TensorArrayReadV3",
            [("index", index, dtypes.i32)],
            {"dtype": self._dtype},
            [(self._dtype, self.element_shape)],
            name,
        ).outputs[0]

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """The array with `value` as element `index`, which must not have been written before."""
        with name_scope(name, "TensorArrayWrite", [self._handle, index, value]):
            tensor = self._converted(value)
            self._check_element_shape(tensor.shape)
            with self._beside_first(tensor):
                inputs: list[Argument] = [("index", index, dtypes.i32), ("value", tensor, None)]
                return self._changed("TensorArrayWriteV3", inputs, name)

    def stack(self, name: str | None = None) -> Tensor:
        """All elements, stacked."""
        with (
            get_default_graph().colocate_with(self._handle),
            name_scope(name, "TensorArrayStack", [self._handle]),
        ):
            value = self.gather(range_(0, self.size()), name=name)
            element = self.element_shape.sizes
            if element is not None and not self._dynamic_size and self._size is not None:
                value.set_shape([self._static_size(), *element])
            return value

    def _static_size(self) -> int | None:
        if not isinstance(self._size, Tensor):
            return int(self._size)
        known = constant_elements(self._size)
        return None if known is None else int(known)

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """The elements at `indices`, stacked."""
        op = self._add(
            "TensorArrayGatherV3",
            [("indices", indices, dtypes.i32)],
            {"dtype": self._dtype, "element_shape": self.element_shape.sizes},
            [(self._dtype, UNKNOWN_SHAPE)],
            name,
        )
        element = self.element_shape.sizes
        if element is not None:
            count = op.inputs[1].shape.with_rank(1)[0].value
            op.outputs[0].set_shape([count, *element])
        return op.outputs[0]

    def concat(self, name: str | None = None) -> Tensor:
        """All elements, joined along their first axis."""
        rest = self.element_shape[1:]
        op = self._add(
            "TensorArrayConcatV3",
            [],
            {"dtype": self._dtype, "element_shape_except0": rest.sizes},
            [(self._dtype, UNKNOWN_SHAPE), (dtypes.i64, (None,))],
            name,
        )
        if self.element_shape.sizes is not None:
            op.outputs[0].set_shape(TensorShape([None]).concatenate(rest))
            if self._infer_shape:
                size, width = constant_elements(self.size()), self.element_shape[0].value
                known = None if size is None or width is None else int(size) * width
                op.outputs[0].set_shape(TensorShape([known]).concatenate(rest))
        return op.outputs[0]

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """The array with the rows of `value` as its elements."""
        with name_scope(name, "TensorArrayUnstack", [self._handle, value]):
            count = shape_of(value)[0]
            return self.scatter(range_(0, count), value, name=name)

    unpack = unstack  # the names of 2016
    pack = stack

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """The array with the rows of `value` as the elements at `indices`."""
        with name_scope(name, "TensorArrayScatter", [self._handle, value, indices]):
            tensor = self._converted(value)
            self._check_element_shape(tensor.shape[1:])
            with self._beside_first(tensor):
                inputs: list[Argument] = [
                    ("indices", indices, dtypes.i32),
                    ("value", tensor, None),
                ]
                return self._changed("TensorArrayScatterV3", inputs, name)

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """The array with consecutive pieces of `value` as its elements, `lengths` rows each."""
        with name_scope(name, "TensorArraySplit", [self._handle, value, lengths]):
            tensor = self._converted(value)
            with self._beside_first(tensor):
                counts = cast(lengths, dtypes.i64)
                known = constant_elements(counts)
                sizes = [] if known is None or known.ndim != 1 else known.tolist()
                if len(set(sizes)) == 1 and tensor.shape.ndims is not None:
                    row = TensorShape([sizes[0]]).concatenate(tensor.shape[1:])
                    self._check_element_shape(row)
                inputs: list[Argument] = [("value", tensor, None), ("lengths", counts, dtypes.i64)]
                return self._changed("TensorArraySplitV3", inputs, name)

    def size(self, name: str | None = None) -> Tensor:
        """The number of elements."""
        if not self._dynamic_size and self._size is not None:
            return as_tensor(self._size, dtypes.i32)
        op = self._add("TensorArraySizeV3", [], {}, [(dtypes.i32, ())], name)
        return op.outputs[0]

    def close(self, name: str | None = None) -> Operation:
        """Frees the array."""
        inputs: list[Argument] = [("handle", self._handle, dtypes.resource)]
        return add_node("TensorArrayCloseV3", inputs, {}, [], name)

    def _add(
        self,
        op_type: str,
        inputs: list[Argument],
        attrs: dict[str, Any],
        outputs: list[tuple[DType, Any]],
        name: str | None,
    ) -> Operation:
        """An operation of this array: its inputs stand between the handle and the flow."""
        handle: Argument = ("handle", self._handle, dtypes.resource)
        flow: Argument = ("flow_in", self._flow, dtypes.f32)
        return add_node(op_type, [handle, *inputs, flow], attrs, outputs, name)

    def _changed(self, op_type: str, inputs: list[Argument], name: str | None) -> TensorArray:
        op = self._add(op_type, inputs, {"T": self._dtype}, [(dtypes.f32, ())], name)
        return self.with_flow(op.outputs[0])

    def _converted(self, value: Any) -> Tensor:
        tensor = as_tensor(value, name="value", preferred=self._dtype)
        if tensor.base_dtype is not self._dtype:
            found = dtypes.name_of(tensor.dtype)
            raise TypeError(
                f"A TensorArray of {self._dtype.name} cannot hold {tensor.name}, which is {found}: "
                "cast it, or give the array (or map_fn, whose results arrays hold) its dtype"
            )
        return tensor

    def _check_element_shape(self, shape: TensorShape) -> None:
        if not shape.is_compatible_with(self.element_shape):
            raise ValueError(f"Inconsistent shapes: saw {shape} but expected {self.element_shape} ")
        if self._infer_shape:
            self._element_shape[0] = self.element_shape.merge_with(shape)

    @contextmanager
    def _beside_first(self, value: Tensor) -> Iterator[None]:
        """Operations that write stand where the first value written does."""
        if self._beside is None:
            yield
            return
        if not self._beside:
            self._beside.append(value)
        with get_default_graph().colocate_with(self._beside[0]):
            yield


# -- what loops and branches carry: the flow of a TensorArray, a tensor for all else


def flow_or_tensor(value: Any) -> Tensor:
    """What stands for a leaf: the flow of a TensorArray, else the value as a tensor."""
    return value.flow if isinstance(value, TensorArray) else as_tensor(value)


def with_flow_or_tensor(leaf: Any, tensor: Tensor) -> Any:
    """A leaf of another tensor: of a TensorArray, the tensor is its flow."""
    return leaf.with_flow(tensor) if isinstance(leaf, TensorArray) else tensor


def with_flows(structure: Any, tensors: Sequence[Tensor]) -> Any:
    """`structure` of other tensors; where it has TensorArrays, the tensors are their flows."""
    leaves = nest.flatten(structure, expand=True)
    values = [with_flow_or_tensor(leaf, t) for leaf, t in zip(leaves, tensors, strict=True)]
    return nest.pack_sequence_as(structure, values, expand=True)
