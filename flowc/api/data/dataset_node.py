"""What every dataset is: a node of the graph, and what its elements are made of.

In: the node's tensor and a structure of specs. Out: these, and datasets made of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowc import dtypes
from flowc.api.data import iterators
from flowc.api.data.structure import DatasetSpec, held_types
from flowc.api.framework.raw_ops import call
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor

if TYPE_CHECKING:
    from flowc.api.data.dataset import Dataset

AUTOTUNE = -1


def number(value: Any, name: str) -> Tensor:
    """A count as the tensor that a dataset takes."""
    return as_tensor(value, dtypes.i64, name)


def made(op_type: str, structure: Any, *inputs: Any, **attrs: Any) -> Dataset:
    """A dataset of a node."""
    tensor = call(op_type, *inputs, **held_types(structure), **attrs)
    return DatasetSpec(structure).value(tensor)


class DatasetNode:
    """A dataset's node and the structure of its elements."""

    def __init__(self, variant_tensor: Tensor, element_spec: Any) -> None:
        self._variant_tensor = variant_tensor
        self._structure = element_spec
        self._options: Any = None

    @property
    def element_spec(self) -> Any:
        """What elements are made of."""
        return self._structure

    @property
    def output_types(self) -> Any:
        """The dtypes of an element's components, in its structure."""
        return iterators.get_output_types(self)

    @property
    def output_shapes(self) -> Any:
        """The static shapes of an element's components, in its structure."""
        return iterators.get_output_shapes(self)

    @property
    def output_classes(self) -> Any:
        """The classes of an element's components, in its structure."""
        return iterators.get_output_classes(self)

    def __repr__(self) -> str:
        return f"<Dataset element_spec={self._structure}>"

    def __iter__(self) -> Any:
        raise RuntimeError(
            "`tf.data.Dataset` only supports Python-style iteration in eager mode or within "
            "tf.function."
        )

    def __bool__(self) -> bool:
        return True

    def _same(self, op_type: str, *inputs: Any, **attrs: Any) -> Dataset:
        """A dataset of elements like these."""
        return made(op_type, self._structure, self._variant_tensor, *inputs, **attrs)
