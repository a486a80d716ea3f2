"""`tf.strings`: strings from numbers and other strings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowc.api.framework.composites import over_flat_values
from flowc.graph import Tensor
from flowc.graph.building.creation import output


def join(inputs: Sequence[Any], separator: str = "", name: str | None = None) -> Tensor:
    """The strings of one or several tensors, element by element, joined with `separator` between:
    tensors of one shape, and scalars. Raises `TypeError` for tensors of another dtype and for
    what is no list, `ValueError` for other shapes."""
    if not isinstance(inputs, list | tuple):
        raise TypeError(f"Expected list for 'inputs' argument to 'string_join' Op, not {inputs!r}.")
    ragged = next((x for x in inputs if hasattr(x, "with_flat_values")), None)
    if ragged is not None:
        return ragged.mapped(lambda *parts, name: join(parts, separator, name), inputs, name)
    return output("StringJoin", list(inputs), name=name, separator=separator)


@over_flat_values
def as_string(
    input: Any,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Tensor:
    """Numbers and bools as strings in the shape of `input`, as C's `printf` writes them:
    `precision` digits after the point, `width` characters at least, filled with `fill` in front.
    Raises `TypeError` for strings; a run raises `InvalidArgumentError` for a format that the dtype
    does not have."""
    return output("AsString", **locals())


def format_(
    template: str,
    inputs: Any,
    placeholder: str = "{}",
    summarize: int = 3,
    name: str | None = None,
) -> Tensor:
    """A template with tensors in the places of placeholders: a scalar.

    Raises `ValueError` for other numbers of placeholders and of tensors."""
    inputs = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
    if template.count(placeholder) != len(inputs):
        raise ValueError(
            f"The template expects {template.count(placeholder)} tensors, but the inputs only has "
            f"{len(inputs)}. Please ensure the number of placeholders in template matches inputs "
            "length."
        )
    return output("StringFormat", **locals())
