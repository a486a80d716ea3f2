"""Operations whose output types are stated by their maker instead of inferred from the op's record:
those of handles and flows, whose static shapes the Python objects around them know better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flowc.dtypes import DType
from flowc.graph import Operation, get_default_graph
from flowc.graph.building.conversion import as_tensor

Argument = tuple[str, Any, DType | None]  # name, value, the dtype that it must have


def add_node(
    op_type: str,
    inputs: Sequence[Argument],
    attrs: Mapping[str, Any],
    outputs: Sequence[tuple[DType, Any]],
    name: str | None = None,
    ref_outputs: Sequence[int] = (),
) -> Operation:
    """Adds an operation to the default graph. `outputs`: (dtype, static shape) of each.

    Raises `TypeError` for an input of another dtype."""
    graph = get_default_graph()
    with graph.name_scope(name or op_type) as scope:
        tensors = []
        for argument, value, dtype in inputs:
            try:
                tensors.append(as_tensor(value, dtype, argument))
            except ValueError as error:
                raise TypeError(
                    f"Input '{argument}' of '{op_type}' Op has a value that does not fit: {error}"
                ) from None
        return graph.add_operation(
            op_type, tensors, attrs, scope, output_types=outputs, ref_outputs=ref_outputs
        )
