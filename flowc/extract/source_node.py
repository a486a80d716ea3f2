"""One node as extraction reads it, whether it stands in a graph or in the body of a function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flowc.dataclass import dataclass

ARGUMENT = "@arg"  # the key of a call's arguments
Ref = tuple[Any, int]  # (node key, output index)


@dataclass(frozen=True, slots=True)
class SourceNode:
    """A node of a graph or of a function's body. `controls` are keys; `inputs` are refs."""

    name: str
    type: str
    attrs: Mapping[str, Any]
    inputs: tuple[Ref, ...]
    controls: tuple[Any, ...]
