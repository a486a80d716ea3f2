"""Sums of what several consumers of a tensor give back.

In: gradients of one tensor, as tensors or as rows of it (`IndexedSlices`). Out: one of them. Rows
stay rows where all are: they are written one behind the other.
"""

from __future__ import annotations

from collections.abc import Sequence

from flowc import dtypes
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output
from flowc.graph.default import get_default_graph
from flowc.graph.gradients.operation import Gradient
from flowc.graph.indexed_slices import IndexedSlices
from flowc.graph.tensor import Tensor


class AggregationMethod:
    """How `gradients` sums: one `AddN` of all terms, or with `EXPERIMENTAL_TREE` one of each two,
    which frees each term early. Raises nothing."""

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


METHODS = (
    AggregationMethod.ADD_N,
    AggregationMethod.EXPERIMENTAL_TREE,
    AggregationMethod.EXPERIMENTAL_ACCUMULATE_N,
)


def total(name: str, terms: Sequence[Gradient | None], method: int) -> Gradient | None:
    """The sum of the gradients of an output of the operation `name`."""
    if len(terms) == 1:
        return terms[0]
    given = [t for t in terms if t is not None]
    if not given:
        return None
    if all(isinstance(t, IndexedSlices) for t in given):
        return _joined([t for t in given if isinstance(t, IndexedSlices)])
    tensors = [as_tensor(t) for t in given]
    if len(tensors) == 1:
        return tensors[0]
    if any(isinstance(t, IndexedSlices) for t in given):
        return output("AddN", tensors)
    if method == AggregationMethod.ADD_N:
        return _sum_by_device(tensors)
    with get_default_graph().name_scope(f"{name}_gradient_sum"):
        found = tensors[0]
        for term in tensors[1:]:
            found = output("AddN", [found, term])
        return found


def _sum_by_device(tensors: Sequence[Tensor]) -> Tensor:
    """What stands on one device is summed there first."""
    groups: dict[str, list[Tensor]] = {}
    for tensor in tensors:
        groups.setdefault(tensor.device, []).append(tensor)
    sums: list[Tensor] = []
    for device in sorted(groups):
        group = groups[device]
        with get_default_graph().colocate_with(group[0].op, ignore_existing=True):
            sums.append(group[0] if len(group) == 1 else output("AddN", group))
    return sums[0] if len(sums) == 1 else output("AddN", sums)


def _joined(terms: Sequence[IndexedSlices]) -> IndexedSlices:
    if len(terms) == 1:
        return terms[0]
    indices = [t.indices for t in terms]
    if any(i.dtype is not indices[0].dtype for i in indices):
        indices = [output("Cast", i, DstT=dtypes.i64) for i in indices]
    values = output("ConcatV2", [t.values for t in terms], 0, name="concat")
    return IndexedSlices(
        values, output("ConcatV2", indices, 0, name="concat"), terms[0].dense_shape
    )
