"""`tf.strings`, as far as graphs of them can be built; flowc does not compute with strings yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowc import dtypes
from flowc.api.conversion import as_tensor
from flowc.api.scopes import name_scope
from flowc.graph import Tensor, get_default_graph


def join(inputs: Sequence[Any], separator: str = "", name: str | None = None) -> Tensor:
    """The strings of one or several tensors, element by element, joined."""
    with name_scope(name, "StringJoin", inputs) as scope:
        parts = [as_tensor(x, dtypes.string, f"inputs_{i}") for i, x in enumerate(inputs)]
        shape: Any = ()
        for part in parts:
            if part.shape.ndims != 0:
                shape = part.shape.sizes
        attrs = {"N": len(parts), "separator": separator.encode()}
        op = get_default_graph().create_op(
            "StringJoin", parts, attrs, scope, output_types=[(dtypes.string, shape)]
        )
        return op.outputs[0]
