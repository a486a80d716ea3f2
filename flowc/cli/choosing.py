"""Which tensors a command feeds and fetches.

In: a Graph, what the user said (`NAME[=DTYPE[DIMS]]`, names of fetches). Out: a `Choice` of tensors
under the names that the user knows them by. What is not said comes from the signature, else from
the graph's placeholders and sinks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from flowc.dtypes import DType, as_dtype
from flowc.errors import UnknownNameError, UsageError, did_you_mean
from flowc.graph import Graph, Operation, Tensor
from flowc.graph.signature import Signature
from flowc.ir.dims import parse_dim, symbol
from flowc.ir.types import Dims, TensorType, split_dims

BATCH = "batch"
_PLACEHOLDERS = frozenset({"Placeholder", "PlaceholderV2"})


@dataclass(frozen=True, slots=True)
class FeedText:
    """`NAME[=DTYPE[DIMS]]`, read. `dims` are None where the text leaves them out."""

    name: str
    dtype: DType | None = None
    dims: tuple[str, ...] | None = None


@dataclass(slots=True)
class Choice:
    """Feeds and fetches, by the names that the user sees. `said`: what was chosen for him."""

    feeds: dict[str, tuple[Tensor, TensorType]] = field(default_factory=dict)
    fetches: dict[str, Tensor] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)


def parse_feed(text: str) -> FeedText:
    """Reads `x`, `x=f32` or `x=f32[batch,784]`. Raises `UsageError` with what was expected."""
    name, equals, rest = text.partition("=")
    name = name.strip()
    if not name or (equals and not rest.strip()):
        raise _bad_feed(text, "expected NAME, NAME=DTYPE or NAME=DTYPE[DIMS]")
    if not equals:
        return FeedText(name)
    dtype_text, bracket, dims_text = rest.strip().partition("[")
    try:
        dtype = as_dtype(dtype_text.strip())
    except TypeError:
        raise _bad_feed(text, f"no dtype is named {dtype_text.strip()!r}") from None
    if not bracket:
        return FeedText(name, dtype)
    if not dims_text.endswith("]"):
        raise _bad_feed(text, "the dims lack their closing bracket")
    dims = tuple(split_dims(dims_text[:-1]))
    for dim in dims:
        if not (dim.isidentifier() or dim.isdigit()):
            raise _bad_feed(text, f"{dim!r} is no size: expected a number or a name")
    return FeedText(name, dtype, dims)


def _bad_feed(text: str, why: str) -> UsageError:
    return UsageError(f"--feed {text!r}: {why}", hint="for example --feed x=f32[batch,784]")


def signature_of(graph: Graph) -> Signature | None:
    """The signature that was asked for, or the model's default one."""
    source = graph.source
    return None if source is None or not source.signature else graph.signatures[source.signature]


def tensor_named(graph: Graph, name: str, role: str) -> Tensor:
    """The tensor `scope/op:0`, whose `:0` may be left out, or the one that the signature calls so.

    Raises `UnknownNameError`, with what is like it.
    """
    op_name, colon, index = name.partition(":")
    if op_name not in graph:
        by_key = _signature_names(graph, role)
        if name in by_key:
            return tensor_named(graph, by_key[name], role)
        known = [*by_key, *(op.name for op in graph.get_operations())]
        raise UnknownNameError(
            f"no tensor of the graph is named {name!r} (asked for as a {role})",
            hint=did_you_mean(name, known) or "`flowc inspect MODEL` lists inputs and outputs",
        )
    op = graph.get_operation_by_name(op_name)
    if colon and not index.isdigit():
        raise UnknownNameError(f"{name!r} is no tensor name: expected OP or OP:NUMBER")
    place = int(index) if colon else 0
    declared = op.declared_outputs()
    if declared is not None and place >= len(declared):
        raise UnknownNameError(
            f"operation {op_name!r} has {len(declared)} outputs, and {name!r} asks for output "
            f"{place}",
            node=op_name,
        )
    return op.output(place)


def _signature_names(graph: Graph, role: str) -> dict[str, str]:
    signature = signature_of(graph)
    if signature is None:
        return {}
    side = signature.inputs if role == "feed" else signature.outputs
    return {key: info.name for key, info in side.items() if info.name}


def choose(
    graph: Graph,
    feeds: Sequence[FeedText] = (),
    fetches: Sequence[str] = (),
    also_fed: Iterable[Tensor] = (),
) -> Choice:
    """The feeds and fetches that are meant. Raises `UnknownNameError` and `UsageError`."""
    choice = Choice()
    for feed in feeds:
        tensor = tensor_named(graph, feed.name, "feed")
        if any(tensor is t for t, _ in choice.feeds.values()):
            raise UsageError(f"{feed.name!r} is fed twice")
        choice.feeds[feed.name] = (tensor, _type_of(tensor, feed))
    for name in fetches:
        choice.fetches[name] = tensor_named(graph, name, "fetch")
    if not choice.fetches:
        _choose_fetches(graph, choice)
    _choose_feeds(graph, choice, also_fed)
    return choice


def _choose_fetches(graph: Graph, choice: Choice) -> None:
    named = _signature_names(graph, "fetch")
    if named:
        choice.fetches = {k: tensor_named(graph, n, "fetch") for k, n in named.items()}
        origin = f"signature {graph.source.signature!r}"
    else:
        fed = [t for t, _ in choice.feeds.values()]
        choice.fetches = {t.op.name if not t.value_index else t.name: t for t in sinks(graph, fed)}
        origin = "sinks of the graph"
    if not choice.fetches:
        raise UsageError("the graph has no output to fetch", hint="name one with --fetch NAME")
    choice.said.append(f"fetches, from the {origin}: {', '.join(choice.fetches)}")


def _choose_feeds(graph: Graph, choice: Choice, also_fed: Iterable[Tensor]) -> None:
    """Adds the placeholders that the fetches still need, under the signature's names for them."""
    fed = {t for t, _ in choice.feeds.values()} | set(also_fed)
    keys = {n: k for k, n in _signature_names(graph, "feed").items()}
    added = []
    for tensor in needed_placeholders(choice.fetches.values(), fed):
        name = keys.get(tensor.name, tensor.op.name)
        choice.feeds[name] = (tensor, _type_of(tensor, FeedText(name)))
        added.append(f"{name}={choice.feeds[name][1]}")
    if added:
        choice.said.append(f"feeds, from the graph's placeholders: {', '.join(added)}")


def _type_of(tensor: Tensor, feed: FeedText) -> TensorType:
    dtype = feed.dtype or tensor.dtype
    if dtype is None:
        raise UsageError(f"the dtype of {feed.name!r} is not known", hint="--feed NAME=DTYPE[DIMS]")
    if tensor.dtype is not None and dtype is not tensor.dtype:
        raise UsageError(
            f"{feed.name!r} is fed as {dtype}, and the graph has it as {tensor.dtype}",
            node=tensor.op.name,
        )
    sizes = tensor.shape.as_list() if tensor.shape.ndims is not None else None
    if feed.dims is None:
        return TensorType(dtype, _dims_of(feed.name, tensor.op.name, sizes))
    if sizes is not None and (
        len(sizes) != len(feed.dims)
        or any(d.isdigit() and s is not None and int(d) != s for d, s in zip(feed.dims, sizes))
    ):
        known = ",".join("?" if s is None else str(s) for s in sizes)
        raise UsageError(
            f"{feed.name!r} is fed with the dims [{','.join(feed.dims)}], and the graph has it as "
            f"{dtype}[{known}]",
            node=tensor.op.name,
        )
    return TensorType(dtype, tuple(parse_dim(d) for d in feed.dims))


def _dims_of(name: str, op_name: str, sizes: Sequence[int | None] | None) -> Dims:
    """The graph's own sizes; an unknown first one is the batch, others get names of their own."""
    if sizes is None:
        raise UsageError(
            f"the shape of {name!r} is not known", node=op_name, hint=f"--feed {name}=DTYPE[DIMS]"
        )
    stem = "".join(c if c.isalnum() else "_" for c in op_name)
    stem = stem if stem[:1].isalpha() else f"n{stem}"
    return tuple(
        s if s is not None else symbol(BATCH if axis == 0 else f"{stem}_{axis}")
        for axis, s in enumerate(sizes)
    )


def needed_placeholders(fetches: Iterable[Tensor], fed: set[Tensor]) -> list[Tensor]:
    """The placeholders that fetches need and that are not fed, in the graph's order of names."""
    found: dict[str, Tensor] = {}
    stack = [t for t in fetches if t not in fed]
    seen = {t.op for t in stack}
    operations = list(seen)
    while operations:
        op = operations.pop()
        if op.type in _PLACEHOLDERS:
            if op.outputs[0] not in fed:
                found[op.name] = op.outputs[0]
            continue
        before = [t.op for t in op.inputs if t not in fed] + list(op.control_inputs)
        for other in before:
            if other not in seen:
                seen.add(other)
                operations.append(other)
    return [found[name] for name in sorted(found)]


def sinks(graph: Graph, fed: Iterable[Tensor] = ()) -> list[Tensor]:
    """Tensors that no operation reads and that depend on a placeholder or a fed tensor. What only
    changes state (training steps, restoring) is left out."""
    reached = _reached(graph, fed)
    found = []
    for op in graph.get_operations():
        if op not in reached or op.type in _PLACEHOLDERS:
            continue
        for tensor in op.outputs:
            plain = not tensor.is_ref and tensor.dtype is not None and tensor.dtype.size > 0
            if plain and not tensor.consumers() and not _updates(op):
                found.append(tensor)
    return found


def _updates(op: Operation) -> bool:
    return any(t.is_ref for t in op.inputs)


def _reached(graph: Graph, fed: Iterable[Tensor]) -> Mapping[Operation, None]:
    """What data flows to from placeholders and fed tensors."""
    starts = [t for op in graph.get_operations() if op.type in _PLACEHOLDERS for t in op.outputs]
    stack = [*starts, *fed]
    reached: dict[Operation, None] = {t.op: None for t in stack}
    while stack:
        for consumer in stack.pop().consumers():
            if consumer not in reached:
                reached[consumer] = None
                stack += consumer.outputs
    return reached
