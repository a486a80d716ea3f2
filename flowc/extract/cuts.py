"""Suggests feeds and fetches that leave out the nodes which cannot be compiled.

In: a fetch set, and the names of nodes that cannot be compiled, as errors have them. Out: a fetch
set that needs none of them. Invariant: what is fed has a dtype that arrays have, and lies outside
of loops, so that every call of the program can give it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import FlowcError, UsageError
from flowc.extract.behind_feeds import changes_nothing, not_waited_for
from flowc.extract.expand_calls import expand_calls_to, is_call, passed_on
from flowc.extract.feed_specs import FeedSpec, plain_name
from flowc.extract.interface import Interface, feed_of, is_placeholder, named_apart
from flowc.extract.size_unification import BATCH
from flowc.graph import Graph, Operation, Tensor
from flowc.graph.fetch_set import Feed, Fetch, FetchSet
from flowc.graph.sources_and_sinks import inside_loops
from flowc.ir.dims import Dim, Symbol, substitute, symbol, symbols_of
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.traversal import inputs_first, reachable

LONG = 24  # letters of a size's name that nobody wants to type


def without(graph: Graph, wanted: Interface, names: Iterable[str]) -> Interface | None:
    """The fetch set with feeds in place of the named nodes, without the fetches and targets that
    need them; None where nothing is left. Calls of functions that hold such nodes are expanded.

    Raises `UsageError` for a tensor to feed whose rank is unknown.
    """
    blocked = {op for op in (_standing_for(graph, name) for name in names) if op is not None}
    fed = {f.tensor: f for f in wanted.feeds if _is_array(f.tensor.base_dtype)}
    wanted = replace(
        wanted, fetches=tuple(Fetch(f.name, passed_on(f.tensor)) for f in wanted.fetches)
    )
    asked = [*(f.tensor.op for f in wanted.fetches), *wanted.targets]
    fallen = _fallen(graph, asked, blocked, set(fed))
    fetches = tuple(f for f in wanted.fetches if f.tensor.op not in fallen or f.tensor in fed)
    targets = tuple(op for op in wanted.targets if op not in fallen)
    if not fetches and not targets:
        return None
    read = _read_of(fetches, targets, fallen, set(fed))
    kept = [f for f in wanted.feeds if f.tensor in read and f.tensor in fed]
    cut = [_feed(t) for t in read if t.op in fallen and t not in fed]
    feeds = tuple(named_apart([*kept, *cut]))
    ends = [*(f.tensor.op for f in fetches), *targets]
    done = not_waited_for(ends, {f.tensor for f in feeds})
    return Interface(feeds, fetches, targets, done)


def feeds_missing(wanted: FetchSet) -> str:
    """`--feed` for each placeholder that a fetch set needs and does not feed, and for those that
    decide rather than flow through the model what makes them constants."""
    fed = {f.tensor for f in wanted.feeds}

    def before(op: Operation) -> list[Operation]:
        waits = [c for c in op.control_inputs if c not in wanted.done]
        return [*(t.op for t in op.inputs if t not in fed), *waits]

    ends = [*(f.tensor.op for f in wanted.fetches if f.tensor not in fed), *wanted.targets]
    feeds: list[str] = []
    constants: list[str] = []
    for op in reachable(ends, before):
        if is_placeholder(op) and op.output(0) not in fed:
            dtype, sizes = op.output(0).base_dtype, op.output(0).shape.sizes
            spec = f"{op.name}={dtype or 'DTYPE'}{shown_dims(sizes, '[...]')}"
            feeds.append(f"--feed {shlex.quote(spec)}")
            if sizes == () or dtype is dtypes.bool_:
                value = "false" if dtype is dtypes.bool_ else "1"
                constants.append(f"--set {shlex.quote(f'{op.name}={value}')}")
    text = " ".join(sorted(feeds))
    if constants:
        text += f"; or have a constant in its place, such as {' '.join(sorted(constants))}"
    return text


def command_line(
    graph: Graph, wanted: Interface, given: Iterable[str] = (), allow: Iterable[str] = ()
) -> str:
    """The arguments with which `flowc compile` makes a library of the fetch set. `given`: those
    that said which model and which constants are meant."""
    words = ["flowc", "compile", graph.source.path, *given, "-o", "OUT.so"]
    names = _short_sizes(wanted.feeds)
    for feed in (f for f in wanted.feeds if f.value is None):
        shown = feed.type.with_dims(substitute(d, names) for d in feed.type.dims)
        words += ["--feed", f"{feed.name}={shown}".replace(" ", "")]
    for name in [*(f.name for f in wanted.fetches), *(op.name for op in wanted.targets)]:
        words += ["--fetch", name]
    for name in allow:
        words += ["--allow", name]
    return shlex.join(words)


def _short_sizes(feeds: Sequence[Feed]) -> dict[Symbol, Dim]:
    """`n0`, `n1`, ... in place of long names of unnamed sizes, and of `batch` where several sizes
    are the first of an input, any of which may be the model's batch."""
    inner = [f for f in feeds if not is_placeholder(f.tensor.op)]
    every = symbols_of(*(d for f in feeds for d in f.type.dims))
    leading = symbols_of(*(f.type.dims[0] for f in feeds if f.type.dims))
    kept = symbols_of(*(d for f in feeds if f not in inner for d in f.type.dims))
    taken = {size.name for size in every}
    free = (name for name in (f"n{number}" for number in count()) if name not in taken)
    return {
        size: symbol(next(free))
        for size in symbols_of(*(f.type.dims[axis] for f in inner for axis in f.open))
        if size not in kept and (len(size.name) > LONG or (size.name == BATCH and len(leading) > 1))
    }


def _standing_for(graph: Graph, name: str) -> Operation | None:
    """The operation of a name that a message has; for a node inside of a loop or a branch that is
    a function, the operation that runs it."""
    name = name.partition(":")[0]
    with suppress(FlowcError):
        expand_calls_to(graph, name)
    while name and name not in graph:
        name = name.rpartition("/")[0]
    found = graph.get_operation_by_name(name) if name else None
    return found if found is None or not is_call(graph, found) else None


def _fallen(
    graph: Graph, ends: Iterable[Operation], blocked: set[Operation], fed: set[Tensor]
) -> set[Operation]:
    """The blocked operations, and those that need one: they wait for it, or read an output of it
    that cannot be fed in its place."""
    looped = inside_loops(graph)

    def before(op: Operation) -> list[Operation]:
        return [*(t.op for t in op.inputs if t not in fed), *op.control_inputs]

    fallen = set(blocked)
    order = inputs_first(ends, before)
    grows = True
    while grows:  # circles are looked at until nothing changes
        count = len(fallen)
        for op in order:
            lost = any(t.op in fallen and not _is_fit(t, looped) for t in op.inputs if t not in fed)
            if lost or any(c in fallen and not changes_nothing(c.type) for c in op.control_inputs):
                fallen.add(op)
        grows = len(fallen) > count
    return fallen


def _is_fit(tensor: Tensor, looped: set[Operation]) -> bool:
    """Whether every run can be given a tensor."""
    return tensor.op not in looped and not tensor.is_ref and _is_array(tensor.base_dtype)


def _is_array(dtype: DType | None) -> bool:
    return dtype is not None and dtype.kind not in ("handle", "string")


def _read_of(
    fetches: Iterable[Fetch], targets: Iterable[Operation], fallen: set[Operation], fed: set[Tensor]
) -> dict[Tensor, None]:
    """The tensors that are read on the way back from the ends to what is fed."""
    read: dict[Tensor, None] = dict.fromkeys(f.tensor for f in fetches)

    def before(op: Operation) -> list[Operation]:
        read.update(dict.fromkeys(op.inputs))
        inner = [t.op for t in op.inputs if t not in fed and t.op not in fallen]
        return [*inner, *(c for c in op.control_inputs if c not in fallen)]

    reachable([*(f.tensor.op for f in fetches if f.tensor not in fed), *targets], before)
    return read


def _feed(tensor: Tensor) -> Feed:
    name = plain_name(tensor)
    if tensor.shape.sizes is None:
        raise UsageError(
            f"{name!r} would have to be fed, and nothing says its rank",
            hint=f"--feed '{name}={tensor.base_dtype}[...]' with its dims",
        )
    return feed_of(tensor, FeedSpec(name))
