"""Which feeds callers ask for, in their words: `x=f32[batch,784]`, tensors, shapes by name.

In: texts, tensors, or what a dict gives for them. Out: FeedSpecs, with the tensor where one was
given. Invariant: a size is a number, has the name that callers gave it, or is None: left open.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from typing import Any

from flowc import dtypes
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.errors import UsageError, did_you_mean
from flowc.graph import Tensor, TensorShape
from flowc.ir.dims import Dim, parse_dim
from flowc.ir.types import TensorType, split_dims

_SPEC = re.compile(
    r"(?P<name>[^=\[\]]+?)\s*(?:=\s*(?P<dtype>[A-Za-z]\w*)?\s*(?:\[(?P<dims>.*)\])?)?\s*"
)


@dataclass(frozen=True, slots=True)
class FeedSpec:
    """What `NAME[=DTYPE[DIMS]]` says: parts that it leaves out are None."""

    name: str
    dtype: DType | None = None
    dims: tuple[Dim | None, ...] | None = None


def parse_feed(text: str) -> FeedSpec:
    """Reads `NAME`, `NAME=DTYPE`, `NAME=[DIMS]` or `NAME=DTYPE[DIMS]`; `?` among the dims is a size
    of its own. Raises `UsageError`."""
    found = _SPEC.fullmatch(text.strip())
    if found is None:
        raise UsageError(
            f"cannot read the feed {text!r}", hint="write NAME[=DTYPE[DIMS]], as x=f32[batch,784]"
        )
    name = found["name"].strip()
    dtype = dims = None
    if found["dtype"]:
        try:
            dtype = dtypes.as_dtype(found["dtype"])
        except TypeError:
            values = [d for d in dtypes.ALL if d not in (dtypes.resource, dtypes.variant)]
            names = [name for d in values for name in (d.short, d.name)]
            near = did_you_mean(found["dtype"], names)
            raise UsageError(
                f"the feed {text!r} has an unknown dtype {found['dtype']!r}", hint=near
            ) from None
    if found["dims"] is not None:
        dims = tuple(_dim(name, d) for d in split_dims(found["dims"]))
    return FeedSpec(name, dtype, dims)


def _dim(name: str, text: str) -> Dim | None:
    if text in ("?", "None"):
        return None
    try:
        found = parse_dim(text)
    except (ValueError, SyntaxError) as error:
        raise UsageError(f"the feed {name!r} has an unreadable size {text!r} ({error})") from None
    if isinstance(found, int) and found < 0:
        raise UsageError(f"the feed {name!r} has a negative size {text!r}")
    return found


def open_sizes(name: str, axis: int) -> Iterator[str]:
    """Candidate names for an unnamed size: the last part of the input's name, the whole name, with
    a number."""
    whole = name.partition(":")[0]
    for part in (whole.rpartition("/")[2], whole):
        plain = re.sub(r"\W+", "_", part)
        own = f"{plain if not plain[:1].isdigit() else '_' + plain}_{axis}"
        yield own
    yield from (f"{own}_{number}" for number in count(2))


Specs = str | Tensor | FeedSpec | Iterable[Any] | Mapping[Any, Any]


def read_specs(specs: Specs) -> list[tuple[Tensor | None, FeedSpec]]:
    """Each feed that is asked for, with the tensor where it is one. Raises `UsageError`."""
    if isinstance(specs, str | Tensor | FeedSpec):
        specs = [specs]
    if isinstance(specs, Mapping):
        return [_spec_of_item(k, v) for k, v in specs.items()]
    return [_spec_of(s) for s in specs]


def _spec_of(item: Any) -> tuple[Tensor | None, FeedSpec]:
    if isinstance(item, Tensor):
        return item, FeedSpec(plain_name(item))
    return None, item if isinstance(item, FeedSpec) else parse_feed(item)


def _spec_of_item(key: Any, value: Any) -> tuple[Tensor | None, FeedSpec]:
    name = plain_name(key) if isinstance(key, Tensor) else key
    tensor = key if isinstance(key, Tensor) else None
    if value is None:
        return tensor, FeedSpec(name)
    if isinstance(value, str):
        return tensor, parse_feed(f"{name}={value}")
    if isinstance(value, TensorType):
        return tensor, FeedSpec(name, value.dtype, value.dims)
    if isinstance(value, DType):
        return tensor, FeedSpec(name, value)
    sizes = TensorShape(value).sizes if not _has_names(value) else value
    dims = None
    if sizes is not None:
        dims = tuple(None if s is None else _dim(name, str(s)) for s in sizes)
    return tensor, FeedSpec(name, None, dims)


def _has_names(value: Any) -> bool:
    return isinstance(value, list | tuple) and any(isinstance(v, str) for v in value)


def plain_name(tensor: Tensor) -> str:
    """A tensor as callers name it: `:0` left out."""
    return tensor.op.name if tensor.value_index == 0 else tensor.name
