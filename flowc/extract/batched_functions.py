"""Functions of the graph that compute many elements at once.

In: what a function computes, the ranks of its arguments, which of them differ between elements.
Out: a graph of what it computes for elements along a first axis, and what is left to be computed
one by one from that. Invariant: an element's values are those that the function gives it alone;
what might give others, or has an effect, is left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc.dataclass import dataclass
from flowc.graph import Graph, Operation, Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.control_types import MERGE, SWITCH
from flowc.graph.shape_inference import constant_elements
from flowc.ir.lowering import Elementwise
from flowc.ir.traversal import inputs_first

if TYPE_CHECKING:
    from flowc.ir.op import Op

_EFFECTS = frozenset({"random", "stateful", "may_block", "variable"})


@dataclass(frozen=True, slots=True)
class BatchedBody:
    """`args`: the arguments `given` in `graph`, those that differ between elements with an axis.
    `found`: what the graph computes, as tensors of the function and of the graph."""

    graph: Graph
    given: Sequence[Tensor]
    args: list[Tensor]
    found: dict[Tensor, Tensor]
    ranks: Sequence[int | None]


def batched_body(
    args: Sequence[Tensor], results: Sequence[Tensor], ranks: Sequence[int | None]
) -> BatchedBody | None:
    """What of a function's results is computed for many elements at once; None where nothing is
    gained. `ranks`: of an element's arguments; None for those that all elements share."""
    batching = _ManyElements(args, ranks)
    given = set(args)

    def before(op: Operation) -> list[Operation]:
        return [*(t.op for t in op.inputs if t not in given), *op.control_inputs]

    order = inputs_first([t.op for t in results if t not in given], before)
    with batching.graph.as_default():
        for op in order:
            batching.add(op)
    left = [op for op in order if not batching.has(op)]
    if any(_has_effect(op) for op in left):
        return None
    wanted = [*results, *(t for op in left for t in op.inputs)]
    found = {t: batching.batched[t] for t in wanted if t in batching.batched}
    if not any(t.op.inputs for t in found):
        return None
    return BatchedBody(batching.graph, args, batching.args, found, ranks)


def _has_effect(op: Operation) -> bool:
    """Whether an operation touches what the elements' source may touch, too."""
    record = _record(op)
    if record is None:
        return op.type not in SWITCH | MERGE
    return bool(record.traits & {"may_block", "variable"})


def _record(op: Operation) -> Op | None:
    from flowc.ops import tf_op  # late: not needed to run a graph without datasets

    return tf_op(op.type)


class _ManyElements:
    """`batched`: tensors of the function that differ between elements, in `graph`; `shared`: those
    that do not."""

    def __init__(self, args: Sequence[Tensor], ranks: Sequence[int | None]) -> None:
        self.graph = Graph()
        self.graph.functions = args[0].graph.functions
        self.graph.allowed = args[0].graph.allowed
        self.batched: dict[Tensor, Tensor] = {}
        self.shared: dict[Tensor, Tensor] = {}
        self.args: list[Tensor] = []
        self._given = {arg.op for arg in args}
        for arg, rank in zip(args, ranks, strict=True):
            assert arg.dtype is not None
            shape = arg.shape.sizes if rank is None else (None,) * (1 + rank)
            attrs = {"dtype": arg.dtype, "shape": shape}
            made = self.graph.add_operation(
                "Placeholder", (), attrs, arg.op.name, output_types=[(arg.dtype, shape)]
            )
            self.args.append(made.outputs[0])
            (self.shared if rank is None else self.batched)[arg] = made.outputs[0]

    def has(self, op: Operation) -> bool:
        return all(t in self.batched or t in self.shared for t in op.outputs)

    def add(self, op: Operation) -> None:
        """Computes an operation for all elements, if that can be."""
        record = _record(op)
        if record is None or op.control_inputs or not op.outputs:
            return
        if record.traits & _EFFECTS:
            return
        if op in self._given:
            return
        if all(t in self.shared for t in op.inputs):
            made = self._copy(op, [self.shared[t] for t in op.inputs])
            self.shared |= dict(zip(op.outputs, made))
        elif self._are_known(op):
            made = self._many(op, record)
            self.batched |= dict(zip(op.outputs, made))

    def _are_known(self, op: Operation) -> bool:
        return all(t in self.batched or t in self.shared for t in op.inputs)

    def _copy(
        self,
        op: Operation,
        inputs: Sequence[Tensor],
        attrs: Mapping[str, Any] | None = None,
        op_type: str = "",
    ) -> Sequence[Tensor]:
        given = dict(op.attrs) if attrs is None else attrs
        return self.graph.add_operation(op_type or op.type, inputs, given, op.name).outputs

    def _inputs(self, op: Operation) -> list[Tensor]:
        known = {**self.shared, **self.batched}
        return [known[t] for t in op.inputs]

    def _rank(self, tensor: Tensor) -> int | None:
        """The rank of what an element has."""
        if tensor in self.shared:
            return self.shared[tensor].shape.rank
        rank = self.batched[tensor].shape.rank
        return None if rank is None else rank - 1

    def _many(self, op: Operation, record: Op) -> Sequence[Tensor]:
        """The outputs for all elements; none where there is no way."""
        if "by_element" in record.traits:
            is_first = op.inputs[0] in self.batched
            if is_first and all(t in self.shared for t in op.inputs[1:]):
                return self._copy(op, self._inputs(op))
            return ()
        if isinstance(record.lowering, Elementwise) or op.type == "Cast":
            return self._elementwise(op)
        others = {
            "Pack": self._pack,
            "ParseExampleV2": self._parse_examples,
            "ParseSingleExample": self._parse_single_examples,
            "Reshape": self._reshape,
            "Transpose": self._transpose,
        }
        return others[op.type](op) if op.type in others else ()

    def _elementwise(self, op: Operation) -> Sequence[Tensor]:
        ranks = [self._rank(t) for t in op.inputs]
        differing = {r for r, t in zip(ranks, op.inputs) if t in self.batched}
        if len(differing) > 1 or None in ranks:
            return ()
        most = max(r for r in differing if r is not None)
        if any(r is not None and r > most for r in ranks):
            return ()
        return self._copy(op, self._inputs(op))

    def _pack(self, op: Operation) -> Sequence[Tensor]:
        if any(t in self.shared for t in op.inputs):
            return ()
        axis = op.attrs.get("axis", 0)
        attrs = {**op.attrs, "axis": axis + 1 if axis >= 0 else axis}
        return self._copy(op, self._inputs(op), attrs)

    def _reshape(self, op: Operation) -> Sequence[Tensor]:
        sizes = constant_elements(op.inputs[1])
        if sizes is None or op.inputs[0] in self.shared or (sizes < 0).any() or not sizes.all():
            return ()
        shape = as_tensor(np.concatenate([[-1], sizes]).astype(sizes.dtype))
        return self._copy(op, [self.batched[op.inputs[0]], shape])

    def _transpose(self, op: Operation) -> Sequence[Tensor]:
        order = constant_elements(op.inputs[1])
        if order is None or op.inputs[0] in self.shared or (order < 0).any():
            return ()
        axes = as_tensor(np.concatenate([[0], order + 1]).astype(order.dtype))
        return self._copy(op, [self.batched[op.inputs[0]], axes])

    def _parse_examples(self, op: Operation) -> Sequence[Tensor]:
        if any(t in self.batched for t in op.inputs[1:]) or self._rank(op.inputs[0]) != 0:
            return ()
        ragged = op.attrs.get("ragged_value_types") or ()
        if op.attrs["num_sparse"] or len(ragged) or not _are_fixed(op.attrs["dense_shapes"]):
            return ()
        return self._copy(op, self._inputs(op))

    def _parse_single_examples(self, op: Operation) -> Sequence[Tensor]:
        attrs = op.attrs
        if any(t in self.batched for t in op.inputs[1:]) or not _are_fixed(attrs["dense_shapes"]):
            return ()
        if attrs["num_sparse"]:
            return ()
        none = as_tensor(np.empty(0, object))
        keys = np.array([_bytes(key) for key in attrs["dense_keys"]], object)
        inputs = self._inputs(op)
        given = [inputs[0], none, none, as_tensor(keys), none, *inputs[1:]]
        settings = {
            "Tdense": attrs["Tdense"],
            "num_sparse": 0,
            "sparse_types": [],
            "ragged_value_types": [],
            "ragged_split_types": [],
            "dense_shapes": attrs["dense_shapes"],
        }
        return self._copy(op, given, settings, "ParseExampleV2")


def _bytes(key: Any) -> bytes:
    return key if isinstance(key, bytes) else key.encode("utf-8", "surrogateescape")


def _are_fixed(shapes: Sequence[Any]) -> bool:
    """Whether every element has the shapes that are stated."""
    sizes = [getattr(shape, "sizes", shape) for shape in shapes]
    return all(shape is not None and None not in shape for shape in sizes)
