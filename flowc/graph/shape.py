"""Static shapes as TensorFlow 1 shows them: `TensorShape` of `Dimension`s.

In: ints, None, lists of them, other shapes. Out: shapes that may be partly or wholly unknown.
Invariant: a `TensorShape` and a `Dimension` never change; merging makes new ones.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    from flowc.proto.tensor_pb2 import TensorShapeProto


def _relation(relation: Callable[[Any, Any], bool]) -> Any:
    def method(self, other: Any) -> bool | None:
        other = _dimension_or_none(other)
        if other is None:
            return NotImplemented
        if self.value is None or other.value is None:
            return None
        return relation(self.value, other.value)

    return method


def _arithmetic(f: Callable[[Any, Any], int], swapped: bool = False) -> Any:
    def method(self, other: Any) -> Dimension:
        other = _dimension_or_none(other)
        if other is None:
            return NotImplemented
        if self.value is None or other.value is None:
            return Dimension(None)
        return Dimension(f(other.value, self.value) if swapped else f(self.value, other.value))

    return method


class Dimension:
    """One size of a shape: an int, or None where it is unknown. `value` holds it. Raises
    `TypeError` for what is no integer, `ValueError` for a negative one."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        if isinstance(value, Dimension):
            value = value.value
        elif value is not None:
            try:
                value = operator.index(value)
            except TypeError:
                raise TypeError(
                    f"Dimension value must be integer or None or have an __index__ method, got "
                    f"value '{value!r}' with type '{type(value)!r}'"
                ) from None
            if value < 0:
                raise ValueError(f"Dimension {value} must be >= 0")
        self._value: int | None = value

    @property
    def value(self) -> int | None:
        return self._value

    def __repr__(self) -> str:
        return f"Dimension({self._value})"

    def __str__(self) -> str:
        return "?" if self._value is None else str(self._value)

    def __int__(self) -> int:
        return self.__index__()

    def __index__(self) -> int:
        if self._value is None:
            raise TypeError("an unknown Dimension has no integer value")
        return self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def is_compatible_with(self, other: Any) -> bool:
        other = Dimension(other)
        return self._value is None or other.value is None or self._value == other.value

    def assert_is_compatible_with(self, other: Any) -> None:
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible")

    def merge_with(self, other: Any) -> Dimension:
        other = Dimension(other)
        self.assert_is_compatible_with(other)
        return other if self._value is None else self

    # A relation is None, as in TensorFlow, where a size is unknown.
    __eq__, __ne__ = _relation(operator.eq), _relation(operator.ne)
    __lt__, __le__ = _relation(operator.lt), _relation(operator.le)
    __gt__, __ge__ = _relation(operator.gt), _relation(operator.ge)
    __add__ = __radd__ = _arithmetic(operator.add)
    __mul__ = __rmul__ = _arithmetic(operator.mul)
    __sub__, __rsub__ = _arithmetic(operator.sub), _arithmetic(operator.sub, swapped=True)

    def __truediv__(self, other: Any) -> Any:
        raise TypeError(
            f"unsupported operand type(s) for /: 'Dimension' and '{type(other).__name__}', "
            "please use // instead"
        )

    def __rtruediv__(self, other: Any) -> Any:
        raise TypeError(
            f"unsupported operand type(s) for /: '{type(other).__name__}' and 'Dimension', "
            "please use // instead"
        )

    __floordiv__ = _arithmetic(operator.floordiv)
    __rfloordiv__ = _arithmetic(operator.floordiv, swapped=True)
    __mod__, __rmod__ = _arithmetic(operator.mod), _arithmetic(operator.mod, swapped=True)


def _dimension_or_none(value: Any) -> Dimension | None:
    try:
        return Dimension(value)
    except (TypeError, ValueError):
        return None


class TensorShape:
    """The static shape of a tensor: sizes that are ints or None, or an unknown rank (`dims=None`).

    Made from None, an int, a `Dimension`, an iterable of them, another shape or its message. Raises
    `TypeError` for what is no integer, `ValueError` for a negative size.
    """

    __slots__ = ("_sizes",)

    def __init__(self, dims: Any) -> None:
        sizes: tuple[int | None, ...] | None
        if dims is None:
            sizes = None
        elif isinstance(dims, TensorShape):
            sizes = dims._sizes
        elif hasattr(dims, "unknown_rank"):  # a TensorShapeProto
            known = [None if dim.size < 0 else int(dim.size) for dim in dims.dim]
            sizes = None if dims.unknown_rank else tuple(known)
        elif isinstance(dims, Iterable):
            sizes = tuple(Dimension(d).value for d in dims)
        else:
            sizes = (Dimension(dims).value,)
        self._sizes = sizes

    @property
    def sizes(self) -> tuple[int | None, ...] | None:
        """The plain form: a tuple of ints and Nones, or None for an unknown rank."""
        return self._sizes

    @property
    def static_sizes(self) -> tuple[int, ...] | None:
        """The sizes where all are known, else None."""
        known = [s for s in self._sizes or () if s is not None]
        return tuple(known) if self._sizes is not None and len(known) == len(self._sizes) else None

    @property
    def ndims(self) -> int | None:
        return None if self._sizes is None else len(self._sizes)

    @property
    def rank(self) -> int | None:
        return self.ndims

    @property
    def dims(self) -> list[Dimension] | None:
        return None if self._sizes is None else [Dimension(s) for s in self._sizes]

    def as_list(self) -> list[int | None]:
        if self._sizes is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._sizes)

    def as_proto(self) -> TensorShapeProto:
        """The shape as a message."""
        from flowc.graph.encode import attr_value  # loads protobuf

        return attr_value(self).shape

    def num_elements(self) -> int | None:
        if not self.is_fully_defined():
            return None
        product = 1
        for size in self._sizes or ():
            product *= size or 0
        return product

    def is_fully_defined(self) -> bool:
        return self._sizes is not None and None not in self._sizes

    def assert_is_fully_defined(self) -> None:
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def is_compatible_with(self, other: Any) -> bool:
        other = as_shape(other)
        if self._sizes is None or other._sizes is None:
            return True
        return len(self._sizes) == len(other._sizes) and all(
            a is None or b is None or a == b for a, b in zip(self._sizes, other._sizes)
        )

    def assert_is_compatible_with(self, other: Any) -> None:
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are incompatible")

    def merge_with(self, other: Any) -> TensorShape:
        other = as_shape(other)
        if self._sizes is None:
            return other
        if other._sizes is None:
            return self
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are not compatible")
        return TensorShape(b if a is None else a for a, b in zip(self._sizes, other._sizes))

    def concatenate(self, other: Any) -> TensorShape:
        other = as_shape(other)
        if self._sizes is None or other._sizes is None:
            return TensorShape(None)
        return TensorShape(self._sizes + other._sizes)

    def with_rank(self, rank: int) -> TensorShape:
        try:
            return self.merge_with(TensorShape([None] * rank))
        except ValueError:
            raise ValueError(f"Shape {self} must have rank {rank}") from None

    def assert_has_rank(self, rank: int) -> None:
        if self.ndims not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def assert_same_rank(self, other: Any) -> None:
        other = as_shape(other)
        if None not in (self.ndims, other.ndims) and self.ndims != other.ndims:
            raise ValueError(f"Shapes {self} and {other} must have the same rank")

    def with_rank_at_least(self, rank: int) -> TensorShape:
        if self.ndims is not None and self.ndims < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        if self.ndims is not None and self.ndims > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def most_specific_compatible_shape(self, other: Any) -> TensorShape:
        """The shape that keeps only what both shapes say alike."""
        other = as_shape(other)
        if self._sizes is None or other._sizes is None or self.ndims != other.ndims:
            return TensorShape(None)
        return TensorShape(a if a == b else None for a, b in zip(self._sizes, other._sizes))

    def most_specific_common_supertype(self, others: Iterable[TensorShape]) -> TensorShape | None:
        """The shape that keeps only what this and the others say alike; None among others."""
        found = self
        for other in others:
            if not isinstance(other, TensorShape):
                return None
            found = found.most_specific_compatible_shape(other)
        return found

    def is_subtype_of(self, other: TensorShape) -> bool:
        """Whether every tensor of this shape is one of the other."""
        if other._sizes is None:
            return True
        return (
            self._sizes is not None
            and len(self._sizes) == len(other._sizes)
            and all(b is None or a == b for a, b in zip(self._sizes, other._sizes))
        )

    def __len__(self) -> int:
        if self._sizes is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self._sizes)

    def __bool__(self) -> bool:
        return self._sizes is not None

    def __iter__(self) -> Iterator[Dimension]:
        if self._sizes is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return (Dimension(s) for s in self._sizes)

    @overload
    def __getitem__(self, key: int) -> Dimension: ...
    @overload
    def __getitem__(self, key: slice) -> TensorShape: ...
    def __getitem__(self, key: int | slice) -> Dimension | TensorShape:
        if self._sizes is not None:
            found = self._sizes[key]
            return TensorShape(found) if isinstance(found, tuple) else Dimension(found)
        if not isinstance(key, slice):
            return Dimension(None)
        start, stop = key.start or 0, key.stop
        if key.step is not None or stop is None or stop < 0 or start < 0:
            return TensorShape(None)
        return TensorShape([None] * max(stop - start, 0))

    def __add__(self, other: Any) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: Any) -> TensorShape:
        return as_shape(other).concatenate(self)

    def __eq__(self, other: object) -> bool:
        try:
            return self._sizes == as_shape(other)._sizes
        except (TypeError, ValueError):
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self._sizes)

    def __repr__(self) -> str:
        return f"TensorShape({self.dims})"

    def __str__(self) -> str:
        if self._sizes is None:
            return "<unknown>"
        inner = ", ".join("?" if s is None else str(s) for s in self._sizes)
        return f"({inner},)" if len(self._sizes) == 1 else f"({inner})"


UNKNOWN_SHAPE = TensorShape(None)


def sizes_text(shape: TensorShape) -> str:
    """A shape as errors about Python values write it: `(2, None)`."""
    return "<unknown>" if shape.ndims is None else str(tuple(shape.as_list()))


def as_shape(value: Any) -> TensorShape:
    """`value` as a `TensorShape`: the same object where it is one already."""
    return value if isinstance(value, TensorShape) else TensorShape(value)
