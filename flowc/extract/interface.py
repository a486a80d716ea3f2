"""Which tensors a program takes and gives: feeds and fetches of a graph.

In: specs as the command line and `flowc.compile` take them (`x=f32[batch,784]`), or nothing. Out:
an `Interface` of tensors with types. Invariant: every feed has a dtype and a known rank; sizes that
are not known have names, and one name means one size. Those that nobody named have a name each
(which of them must be equal is found by extract/size_unification.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from itertools import chain
from typing import Any

from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.errors import UnknownNameError, UsageError, did_you_mean
from flowc.extract.behind_feeds import not_waited_for
from flowc.extract.expand_calls import expand_calls_to, passed_on
from flowc.extract.feed_specs import FeedSpec, Specs, open_sizes, plain_name, read_specs
from flowc.extract.size_unification import BATCH
from flowc.graph import Graph, Operation, Signature, Tensor, TensorInfo, TensorShape
from flowc.graph.fetch_set import Feed, Fetch, FetchSet
from flowc.graph.op_info import has_trait
from flowc.graph.sources_and_sinks import sinks, sources
from flowc.ir.dims import Dim, symbol, symbols_of
from flowc.ir.traversal import reachable
from flowc.ir.types import TensorType

LIKE_AN_END = 0.75  # how like the last part of another name one has to be to be taken for a slip
MOST_NAMES = 10  # inputs or outputs of a graph that a message lists


@dataclass(frozen=True, slots=True)
class Interface(FetchSet):
    """A fetch set, and how it was chosen, to be shown: `given`, `signature NAME`, `placeholders`
    and `sinks`. `defaults`: the feeds that are constants because nobody feeds them."""

    feeds_from: str = "given"
    fetches_from: str = "given"
    defaults: tuple[str, ...] = ()


def is_placeholder(op: Operation) -> bool:
    """Whether an operation has a value only where it is fed."""
    return has_trait(op.type, "placeholder")


def element_named(graph: Graph, name: str, role: str) -> Tensor:
    """The tensor `scope/op:0` or `scope/op`, also one of a function that the graph calls (its call
    is expanded). Raises `UnknownNameError` with the nearest names, or with what there is."""
    plain = name if ":" in name else f"{name}:0"
    expand_calls_to(graph, name)
    try:
        found = graph.get_tensor_by_name(plain)
        return passed_on(found) if role == "fetch" else found
    except (KeyError, ValueError):
        known = [op.name for op in graph.get_operations()]
        op_name = name.partition(":")[0]
        what = f"has no output {name.partition(':')[2] or '0'}"
        if op_name not in graph:
            what = "is not in the graph"
        near = (
            _of_other_signature(graph, name)
            or did_you_mean(op_name, known)
            or _with_that_end(op_name, known)
            or _choice(graph, role)
        )
        text = f"{role} {name!r}: '{op_name}' {what}"
        raise UnknownNameError(text + _signature_text(graph), hint=near) from None


def _of_other_signature(graph: Graph, name: str) -> str | None:
    """What to ask for where a signature that was not chosen has the name."""
    for signature, ports in graph.signatures.items():
        for side, infos in (("input", ports.inputs), ("output", ports.outputs)):
            if name in infos:
                return f"the signature {signature} has the {side} {name!r}: --signature {signature}"
    return None


def _with_that_end(name: str, known: Iterable[str]) -> str | None:
    """`did you mean 'scope/relu'?` for a name whose last part is like that of one elsewhere."""
    ends: dict[str, list[str]] = {}
    for other in known:
        ends.setdefault(other.rpartition("/")[2], []).append(other)
    near = get_close_matches(name.rpartition("/")[2], ends, 1, LIKE_AN_END)
    return did_you_mean(name, ends[near[0]], least=0.0) if near else None


def _choice(graph: Graph, role: str) -> str | None:
    """The graph's inputs, or its outputs for a fetch; those of a signature are told anyway."""
    if getattr(graph.source, "signature", None) in graph.signatures:
        return None
    if role == "fetch":
        names = [plain_name(tensor) for tensor in sinks(graph, set())]
    else:
        names = [op.name for op in sources(graph)]
    shown = ", ".join(names[:MOST_NAMES]) + ", ..." * (len(names) > MOST_NAMES)
    what = "the graph's outputs are" if role == "fetch" else "the graph's inputs are"
    return f"{what} {shown}" if names else None


def operations_named(graph: Graph, names: Iterable[str]) -> list[Operation]:
    """The operations to run first. Raises `UnknownNameError` with the nearest names."""
    found = []
    for name in names:
        plain = name.removeprefix("^").partition(":")[0]
        if plain not in graph:
            assigning = [op.name for op in graph.get_operations() if not op.outputs]
            listed = ", ".join(assigning[:5]) or "none"
            hint = did_you_mean(plain, assigning) or f"operations without outputs: {listed}"
            raise UnknownNameError(f"init {name!r}: the graph has no such operation", hint=hint)
        found.append(graph.get_operation_by_name(plain))
    return found


def _signature_text(graph: Graph) -> str:
    """The names that the model's signature has, for who asked for another one."""
    chosen = graph.signatures.get(getattr(graph.source, "signature", None) or "")
    if chosen is None:
        return ""
    ports = [
        ", ".join(f"{name} ({info.name})" for name, info in side.items()) or "none"
        for side in (chosen.inputs, chosen.outputs)
    ]
    return f"\n  signature {graph.source.signature}: inputs {ports[0]}; outputs {ports[1]}"


def feed_of(tensor: Tensor, spec: FeedSpec, shape: Any = None, dtype: DType | None = None) -> Feed:
    """A feed of a tensor: what the spec leaves open comes from the tensor (or a signature's `shape`
    and `dtype`).

    Raises `UsageError` for an unknown rank or dtype and for dims that contradict the graph.
    """
    kind = spec.dtype or tensor.base_dtype or dtype
    if kind is None:
        raise UsageError(
            f"nothing says the dtype of the feed {spec.name!r}",
            hint=f"--feed {spec.name}=f32[...]",
        )
    if tensor.base_dtype is not None and kind is not tensor.base_dtype:
        raise UsageError(
            f"the feed {spec.name!r} is given as {kind}, and the graph has {tensor.base_dtype}"
        )
    known = tensor.shape if shape is None else _merged(tensor.shape, TensorShape(shape))
    if spec.dims is None and known.sizes is None:
        raise UsageError(
            f"the feed {spec.name!r} has an unknown rank",
            hint=f"give its dims: --feed {spec.name}={kind}[] for a scalar, or such as "
            f"{spec.name}={kind}[batch,10]",
        )
    given = spec.dims if spec.dims is not None else (None,) * len(known.sizes or ())
    if not known.is_compatible_with([d if isinstance(d, int) else None for d in given]):
        raise UsageError(
            f"the feed {spec.name!r} is given as {_shown(given)}, and the graph has "
            f"{_shown(known.sizes or ())}"
        )
    dims = [s if s is not None else d for d, s in zip(given, known.sizes or [None] * len(given))]
    open_axes = tuple(axis for axis, d in enumerate(dims) if d is None)
    named = [symbol(next(open_sizes(spec.name, i))) if d is None else d for i, d in enumerate(dims)]
    return Feed(spec.name, tensor, TensorType(kind, tuple(named)), open_axes)


def _shown(dims: Iterable[Dim | None]) -> str:
    return f"[{','.join('?' if d is None else str(d) for d in dims)}]"


def named_apart(feeds: Sequence[Feed]) -> list[Feed]:
    """The feeds with distinct names for their unnamed sizes: `batch` for the first leading one,
    unless a caller uses that name, else input and axis."""
    named = [d for f in feeds for axis, d in enumerate(f.type.dims) if axis not in f.open]
    taken = {size.name for size in symbols_of(*named)}
    found: list[Feed] = []
    for feed in feeds:
        dims = list(feed.type.dims)
        for axis in feed.open:
            wanted = chain([BATCH] if axis == 0 else [], open_sizes(feed.name, axis))
            name = next(n for n in wanted if n not in taken)
            taken.add(name)
            dims[axis] = symbol(name)
        found.append(replace(feed, type=feed.type.with_dims(dims)))
    return found


def _merged(one: TensorShape, other: TensorShape) -> TensorShape:
    return one.merge_with(other) if one.is_compatible_with(other) else one


def choose_feeds(graph: Graph, specs: Specs | None = None) -> list[Feed]:
    """Feeds as they are asked for (texts, tensors, `FeedSpec`s, or a dict from names or tensors to
    shapes, dtypes or types); without any, those of the signature, else the placeholders.

    Raises `UnknownNameError` and `UsageError`.
    """
    if specs is None:
        return default_feeds(graph)[0]
    inputs = _signature_inputs(graph)
    found: list[Feed] = []
    for tensor, spec in read_specs(specs):
        info = inputs.get(spec.name) if tensor is None and spec.name not in graph else None
        if tensor is None:
            tensor = element_named(graph, info.name if info else spec.name, "feed")
        if any(f.tensor is tensor for f in found):
            raise UsageError(f"the feed {spec.name!r} is given twice")
        found.append(feed_of(tensor, spec, None if info is None else info.shape))
    return named_apart(found)


def choose_fetches(graph: Graph, names: Any) -> list[Fetch]:
    """Fetches as they are asked for (names or tensors).

    Raises `UnknownNameError`, and `UsageError` where there is nothing to fetch.
    """
    outputs = _signature_outputs(graph)
    found: list[Fetch] = []
    for item in names:
        if isinstance(item, Operation):
            item = item.name
        if isinstance(item, Tensor):
            found.append(Fetch(plain_name(item), item))
            continue
        info = outputs.get(item) if item not in graph else None
        target = info.name if info is not None else item
        found.append(Fetch(item, element_named(graph, target, "fetch")))
    if not found:
        raise UsageError("there is nothing to fetch", hint="name a tensor: --fetch NAME")
    return found


def choose_interface(
    graph: Graph, feeds: Specs | None = None, fetches: Any = None, signature: str | None = None
) -> Interface:
    """Feeds and fetches, given or chosen; placeholders that no fetch needs are not chosen.

    Raises `UnknownNameError` and `UsageError`.
    """
    chosen = _signature(graph, signature)
    if feeds is None and fetches is None and chosen is not None:
        name, found = chosen
        ins = [_signature_feed(graph, n, i) for n, i in found.inputs.items()]
        outs = [Fetch(n, element_named(graph, i.name, "fetch")) for n, i in found.outputs.items()]
        text = f"signature {name}"
        return Interface(tuple(named_apart(ins)), tuple(outs), feeds_from=text, fetches_from=text)
    given_feeds = None if feeds is None else choose_feeds(graph, feeds)
    out_list, targets, outs_from = choose_ends(graph, fetches, given_feeds or ())
    ends = tuple(targets)
    if given_feeds is not None:
        done = not_waited_for(
            [*(f.tensor.op for f in out_list), *targets], {f.tensor for f in given_feeds}
        )
        return Interface(tuple(given_feeds), tuple(out_list), ends, done, fetches_from=outs_from)
    in_list, ins_from = _needed_feeds(graph, [*(f.tensor.op for f in out_list), *targets])
    feeds_of = tuple(named_apart(in_list))
    return Interface(feeds_of, tuple(out_list), ends, feeds_from=ins_from, fetches_from=outs_from)


def choose_ends(
    graph: Graph, fetches: Any = None, feeds: Sequence[Feed] = ()
) -> tuple[list[Fetch], list[Operation], str]:
    """What is to be computed, given or chosen: tensors, operations, and where they came from.

    Raises `UnknownNameError` and `UsageError`.
    """
    if fetches is None:
        found, source = default_fetches(graph, feeds)
        return found, [], source
    names, targets = split_targets(graph, fetches)
    return choose_fetches(graph, names) if names or not targets else [], targets, "given"


def split_targets(graph: Graph, fetches: Any) -> tuple[list[Any], list[Operation]]:
    """What is asked for, as tensors and as operations: those that have no output."""
    items = [fetches] if isinstance(fetches, str | Tensor | Operation) else list(fetches)
    outputs = _signature_outputs(graph)
    names: list[Any] = []
    targets: list[Operation] = []
    for item in items:
        found = item if isinstance(item, Operation) else None
        if isinstance(item, str) and item in graph and item not in outputs:
            found = graph.get_operation_by_name(item)
        if found is None or found.outputs:
            names.append(item)
        else:
            targets.append(found)
    return names, targets


def _needed_feeds(graph: Graph, ends: Sequence[Operation]) -> tuple[list[Feed], str]:
    """The signature's inputs or the placeholders, without those that `ends` do not need."""
    needed = ancestors(ends)
    chosen = _signature(graph, None)
    if chosen is not None:
        name, found = chosen
        feeds = [_signature_feed(graph, n, i) for n, i in found.inputs.items()]
        fed = {f.tensor.op for f in feeds}
        open_ = [op for op in needed if is_placeholder(op) and op not in fed]
        if not open_:
            return [f for f in feeds if f.tensor.op in needed], f"signature {name}"
    ops = [op for op in graph.get_operations() if is_placeholder(op) and op in needed]
    return _feeds_of(ops), "placeholders"


def ancestors(ops: Iterable[Operation]) -> set[Operation]:
    """The operations, and all that they are computed from or wait for."""
    return set(reachable(ops, lambda op: [*(t.op for t in op.inputs), *op.control_inputs]))


# -- defaults


def default_feeds(graph: Graph) -> tuple[list[Feed], str]:
    """The signature's inputs, else all placeholders; and where they came from."""
    chosen = _signature(graph, None)
    if chosen is not None:
        name, found = chosen
        feeds = [_signature_feed(graph, n, i) for n, i in found.inputs.items()]
        return named_apart(feeds), f"signature {name}"
    ops = [op for op in graph.get_operations() if is_placeholder(op)]
    return named_apart(_feeds_of(ops)), "placeholders"


def _feeds_of(placeholders: Sequence[Operation]) -> list[Feed]:
    """Feeds of placeholders that nobody named. Raises `UsageError` where the dims of one must be
    given, and says the others: what names one feed names all."""
    tensors = [op.output(0) for op in placeholders]
    open_ = [t for t in tensors if t.shape.sizes is None and t.base_dtype is not None]
    if open_:
        first = f"{open_[0].op.name}={open_[0].base_dtype}"
        names = [t.op.name + f"={t.base_dtype}[]" * (t in open_) for t in tensors]
        also = ", and name the other feeds" * (len(tensors) > 1)
        raise UsageError(
            f"the feed {open_[0].op.name!r} has an unknown rank",
            hint=f"give its dims{also}: {' '.join(f'--feed {name}' for name in names)} for a "
            f"scalar, or such as {first}[batch,10]",
        )
    return [feed_of(t, FeedSpec(t.op.name)) for t in tensors]


def default_fetches(graph: Graph, feeds: Sequence[Feed] = ()) -> tuple[list[Fetch], str]:
    """The signature's outputs, else the sinks: tensors that nothing takes and that depend on
    `feeds`, if there are any; and where they came from."""
    chosen = _signature(graph, None)
    if chosen is not None:
        name, found = chosen
        outs = [Fetch(n, element_named(graph, i.name, "fetch")) for n, i in found.outputs.items()]
        return outs, f"signature {name}"
    tensors = sinks(graph, {f.tensor for f in feeds})
    if not tensors:
        raise UsageError("the graph has no sink to fetch", hint="name a tensor: --fetch NAME")
    return [Fetch(plain_name(t), t) for t in tensors], "sinks"


# -- signatures


def _signature(graph: Graph, name: str | None) -> tuple[str, Signature] | None:
    """The signature that was asked for, or the one that the model was loaded with."""
    wanted = name if name is not None else getattr(graph.source, "signature", None)
    if wanted is None:
        return None
    if wanted not in graph.signatures:
        listed = ", ".join(sorted(graph.signatures)) or "none"
        raise UnknownNameError(
            f"no signature {wanted!r}; the model has: {listed}",
            hint=did_you_mean(wanted, graph.signatures),
        )
    found = graph.signatures[wanted]
    return (wanted, found) if _is_plain(found) else None


def _is_plain(signature: Signature) -> bool:
    """Whether all its inputs and outputs are single tensors, and there are outputs."""
    infos = [*signature.inputs.values(), *signature.outputs.values()]
    return bool(signature.outputs) and not any(i.parts for i in infos)


def _signature_inputs(graph: Graph) -> dict[str, TensorInfo]:
    chosen = _signature(graph, None)
    return {} if chosen is None else chosen[1].inputs


def _signature_outputs(graph: Graph) -> dict[str, TensorInfo]:
    chosen = _signature(graph, None)
    return {} if chosen is None else chosen[1].outputs


def _signature_feed(graph: Graph, name: str, info: TensorInfo) -> Feed:
    tensor = element_named(graph, info.name, "feed")
    return feed_of(tensor, FeedSpec(name), info.shape, info.dtype)
