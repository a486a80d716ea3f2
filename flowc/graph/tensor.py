"""A symbolic tensor: one output of an operation. It holds no value until a Session runs it.

In: made by `Operation.output(k)`. Out: what the public API hands round.
Invariant: one `Tensor` object per output, so identity is equality; its shape only gets more
precise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowc.dtypes import DType, name_of
from flowc.graph.building.operators import Operators
from flowc.graph.shape import TensorShape, as_shape
from flowc.ir.text.shape_text import shown_dims

if TYPE_CHECKING:
    from flowc.graph.graph import Graph
    from flowc.graph.operation import Operation


class Reference:
    """Stands for an object in dicts and sets; `deref()` gives it back."""

    __slots__ = ("_held",)

    def __init__(self, held: Any) -> None:
        self._held = held

    def deref(self) -> Any:
        """The object."""
        return self._held

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and self._held is other._held

    def __hash__(self) -> int:
        return id(self._held)

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._held!r}>"


class Referable:
    """What has a `ref()`."""

    __slots__ = ()

    def ref(self) -> Reference:
        """A key for dicts and sets, equal to every other one of the same object."""
        return Reference(self)

    def experimental_ref(self) -> Reference:
        """The older name of `ref`."""
        return self.ref()


class Tensor(Operators, Referable):
    """Output `value_index` of `op`. `is_ref`: a reference to a variable's buffer. `base_dtype`:
    that of the elements, None where nothing says it: an imported op that flowc has no record of.
    `dtype`: the same, as TensorFlow shows it (of a reference `float32_ref`). `assign`: only a slice
    of a variable has one. Using one as a Python bool, or iterating over one of unknown size, raises
    `TypeError`."""

    __slots__ = ("__weakref__", "_dtype", "_is_ref", "_shape", "assign", "op", "value_index")

    assign: Any
    __array_priority__ = 100  # NumPy leaves mixed operators to us

    def __init__(
        self,
        op: Operation,
        value_index: int,
        dtype: DType | None = None,
        shape: TensorShape | None = None,
        is_ref: bool = False,
    ) -> None:
        self.op = op
        self.value_index = value_index
        self._is_ref = is_ref
        self._dtype = None if dtype is None else dtype.base_dtype
        self._shape = shape

    @property
    def base_dtype(self) -> DType | None:
        if self._dtype is None:
            declared = self.op.declared_outputs() or ()
            if self.value_index < len(declared):
                self._dtype, self._is_ref = declared[self.value_index]
            # Those beside it, too: what a node with thousands of outputs declares is read once.
            for tensor, found in zip(self.op.made_outputs(), declared):
                if tensor is not None and tensor._dtype is None:
                    tensor._dtype, tensor._is_ref = found
        return self._dtype

    @property
    def is_ref(self) -> bool:
        return self.base_dtype is not None and self._is_ref

    @property
    def dtype(self) -> DType | None:
        found = self.base_dtype
        return found.reference if found is not None and self._is_ref else found

    @property
    def graph(self) -> Graph:
        return self.op.graph

    @property
    def device(self) -> str:
        return self.op.device

    @property
    def name(self) -> str:
        return f"{self.op.name}:{self.value_index}"

    @property
    def shape(self) -> TensorShape:
        if self._shape is None:
            from flowc.graph.shape_inference import settle_shapes  # loads the op records

            settle_shapes(self.op)
        assert self._shape is not None
        return self._shape

    @property
    def settled_shape(self) -> TensorShape | None:
        """The static shape where it was given or inferred already, else None."""
        return self._shape

    def settle_shape(self, shape: TensorShape) -> None:
        """Gives the tensor its static shape, where it has none yet."""
        if self._shape is None:
            self._shape = shape

    def get_shape(self) -> TensorShape:
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Merges `shape` into the static shape. Raises `ValueError` where they contradict."""
        given = as_shape(shape)
        mine = self.shape
        if not mine.is_compatible_with(given):
            raise ValueError(_contradiction(mine, given))
        self._shape = mine.merge_with(given)
        self.op.graph.edits += 1

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """The tensor's value, run in `session` or the default one. Raises `ValueError` where there
        is no session or it belongs to another graph."""
        from flowc.graph.default import evaluate

        return evaluate(self, feed_dict, session)

    @property
    def ndim(self) -> int | None:
        """The rank, or None where it is not known."""
        return self.shape.ndims

    def consumers(self) -> list[Operation]:
        """The operations that take this tensor, in the order in which they were made; one that
        takes it twice stands here twice."""
        return self.op.consumers_of(self)

    def __str__(self) -> str:
        text = f'Tensor("{self.name}"'
        if self.shape.ndims is not None:
            text += f", shape={self.shape}"
        if self.dtype is not None:
            text += f", dtype={name_of(self.dtype)}"
        if self.device:
            text += f", device={self.device}"
        return text + ")"

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape={self.shape} dtype={name_of(self.dtype)}>"

    __hash__ = object.__hash__  # by identity, and not in Python: runs look up many

    def __eq__(self, other: object) -> bool:
        return self is other

    def __bool__(self) -> bool:
        raise TypeError(
            "Using a `tf.Tensor` as a Python `bool` is not allowed. Use `if t is not None:` "
            "instead of `if t:` to test if a tensor is defined, and `tf.cond` to run operations "
            "that depend on its value."
        )

    def __iter__(self) -> Any:
        raise TypeError(
            "Tensor objects are not iterable when they are symbolic: use `tf.unstack`, `tf.map_fn` "
            "or `tf.while_loop`."
        )

    def __len__(self) -> int:
        raise TypeError(
            f"len is not well defined for a symbolic Tensor ({self.name}): use `tf.shape`."
        )

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError(
            f"Cannot convert a symbolic tf.Tensor ({self.name}) to a numpy array: run it in a "
            "Session."
        )


def _contradiction(mine: TensorShape, given: TensorShape) -> str:
    """TensorFlow's own words for two static shapes that cannot both hold."""
    a, b = mine.sizes or (), given.sizes or ()
    if len(a) != len(b):
        return f"Shapes must be equal rank, but are {len(a)} and {len(b)}"
    at = next(i for i, (x, y) in enumerate(zip(a, b)) if None not in (x, y) and x != y)
    return (
        f"Dimension {at} in both shapes must be equal, but are {a[at]} and {b[at]}. "
        f"Shapes are {shown_dims(a)} and {shown_dims(b)}."
    )
