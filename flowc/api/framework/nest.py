"""Structures of values: nested lists, tuples, named tuples and dicts, as `tf.nest` handles them.

In: structures whose leaves are anything else. Out: their leaves in one order (dicts by sorted
keys), and structures of the same kind made of other leaves. `expand`: a leaf made of several
tensors (an IndexedSlices) counts as those tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Composite(Protocol):
    """A value that is made of several tensors."""

    def components(self) -> Sequence[Any]: ...

    def with_components(self, components: Sequence[Any]) -> Any: ...

    def component_invariants(self, shape: Any) -> list[Any]: ...


def is_nested(structure: Any) -> bool:
    """Whether something is a list, a tuple or a mapping. Raises nothing."""
    return isinstance(structure, list | tuple | Mapping)


def children(structure: Any, expand: bool = False) -> list[Any] | None:
    """What a structure consists of; None for a leaf."""
    if isinstance(structure, Mapping):
        return [structure[key] for key in _keys(structure)]
    if isinstance(structure, list | tuple):
        return list(structure)
    if expand and isinstance(structure, Composite):
        return list(structure.components())
    return None


def _keys(structure: Mapping[Any, Any]) -> list[Any]:
    try:
        return sorted(structure)
    except TypeError:
        raise TypeError(
            f"'nest' only supports dicts with sortable keys: {list(structure)}"
        ) from None


def _leaves(structure: Any, expand: bool) -> Iterator[Any]:
    inner = children(structure, expand)
    if inner is None:
        yield structure
        return
    for item in inner:
        yield from _leaves(item, expand)


def flatten(structure: Any, expand: bool = False) -> list[Any]:
    """The leaves of a structure as a list, dicts in the order of their keys; of a leaf, itself in a
    list. Raises `TypeError` for a dict whose keys cannot be sorted."""
    return list(_leaves(structure, expand))


def pack_sequence_as(structure: Any, flat_sequence: Sequence[Any], expand: bool = False) -> Any:
    """A structure like `structure` of the given leaves. Raises `ValueError` for another number."""
    count = len(flatten(structure, expand))
    if count != len(flat_sequence):
        raise ValueError(
            f"Could not pack sequence. Structure had {count} atoms, but flat_sequence had "
            f"{len(flat_sequence)} items.  Structure: {structure}, flat_sequence: {flat_sequence}."
        )
    return _packed(structure, iter(flat_sequence), expand)


def _packed(structure: Any, leaves: Iterator[Any], expand: bool) -> Any:
    inner = children(structure, expand)
    if inner is None:
        return next(leaves)
    return rebuilt(structure, [_packed(item, leaves, expand) for item in inner])


def rebuilt(structure: Any, items: Sequence[Any]) -> Any:
    """A structure of the same type over other items, in the order of `children`."""
    if isinstance(structure, Mapping):
        found = dict(zip(_keys(structure), items))
        in_order = {key: found[key] for key in structure}
        kind: Any = type(structure)
        return in_order if kind is dict else kind(in_order)
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*items)
    if isinstance(structure, list | tuple):
        return type(structure)(items)
    return structure.with_components(items)


def map_structure(function: Callable[..., Any], *structures: Any, expand: bool = False) -> Any:
    """`function` of the leaves, in the structure of the first. Raises as `assert_same_structure`
    where the others differ from it."""
    first = structures[0]
    for other in structures[1:]:
        assert_same_structure(first, other, expand=expand)
    columns = zip(*(flatten(s, expand) for s in structures))
    return pack_sequence_as(first, [function(*column) for column in columns], expand)


def assert_same_structure(
    nest1: Any, nest2: Any, check_types: bool = True, expand: bool = False
) -> None:
    """Raises `ValueError` where two structures have other numbers of elements, and `TypeError`
    where they are of other types."""
    fault = _difference(nest1, nest2, check_types, expand)
    if fault is None:
        return
    kind, text = fault
    raise kind(
        "The two structures don't have the same nested structure.\n\n"
        f"First structure: {_shown(nest1)}\n\nSecond structure: {_shown(nest2)}\n\n"
        f"More specifically: {text}\n"
        f"Entire first structure:\n{_dots(nest1)}\nEntire second structure:\n{_dots(nest2)}"
    )


def _shown(structure: Any) -> str:
    return f"type={type(structure).__name__} str={structure}"


def _dots(structure: Any) -> Any:
    return str(map_structure(lambda _: _Dot(), structure))


class _Dot:
    def __repr__(self) -> str:
        return "."


def _difference(
    a: Any, b: Any, check_types: bool, expand: bool
) -> tuple[type[Exception], str] | None:
    inner_a, inner_b = children(a, expand), children(b, expand)
    if inner_a is None and inner_b is None:
        return None
    if inner_a is None or inner_b is None:
        sequence, leaf = (a, b) if inner_b is None else (b, a)
        return ValueError, (
            f'Substructure "{_shown(sequence)}" is a sequence, while substructure '
            f'"{_shown(leaf)}" is not'
        )
    if check_types and not _same_type(a, b):
        return TypeError, (
            "The two structures don't have the same sequence type. First structure has type "
            f"{type(a).__name__}, while second structure has type {type(b).__name__}."
        )
    if len(inner_a) != len(inner_b):
        return ValueError, (
            "The two structures don't have the same number of elements. "
            f"First structure: {_shown(a)}. Second structure: {_shown(b)}"
        )
    if isinstance(a, Mapping) and set(a) != set(b):
        return ValueError, (
            "The two dictionaries don't have the same set of keys. First structure has keys "
            f"{_shown(list(a))}, while second structure has keys {_shown(list(b))}"
        )
    for x, y in zip(inner_a, inner_b):
        found = _difference(x, y, check_types, expand)
        if found is not None:
            return found
    return None


def _same_type(a: Any, b: Any) -> bool:
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return True
    fields_a, fields_b = getattr(a, "_fields", None), getattr(b, "_fields", None)
    if fields_a is not None and fields_b is not None:
        return type(a).__name__ == type(b).__name__ and fields_a == fields_b
    return type(a) is type(b)
