"""Size unification: the sizes of inputs that nobody named and that the graph needs to be equal.

In: a fetch set, whose open sizes have a name each. Out: its program, and the fetch set with one
name for what must be equal. Invariant: two names that callers gave stay two.

Extraction says where sizes meet: in an elementwise node, a product, a list. The graph needs that
what meets outside of conditionals is equal; a loop counts as if it ran. Then the program is
extracted anew, so that nothing in it depends on sizes that only seemed to differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TypeVar

from flowc.errors import FlowcError
from flowc.extract.program import ExtractedProgram, RankOf, extract_program
from flowc.graph.fetch_set import Feed, FetchSet
from flowc.graph.graph import Graph
from flowc.ir.dims import Dim, Expr, Symbol, expression, lone_symbol, substitute, symbols_of
from flowc.ir.types import TensorType

BATCH = "batch"  # what the first size that leads is called
Fetched = TypeVar("Fetched", bound=FetchSet)


def extract_fetches(
    graph: Graph,
    wanted: Fetched,
    held: Mapping[str, TensorType] | None = None,
    ranks: RankOf | None = None,
) -> tuple[Fetched, ExtractedProgram]:
    """The program of a fetch set, and the fetch set with the names that its sizes have in it.

    `held` and `ranks` are those of `extract_program`, which says what is raised.
    """
    while True:
        met: list[tuple[Dim, Dim]] | None = [] if any(f.open for f in wanted.feeds) else None
        fetches = [f.tensor for f in wanted.fetches]
        types = {f.tensor: f.type for f in wanted.feeds if f.value is None}
        values = {f.tensor: f.value for f in wanted.feeds if f.value is not None}
        program, fault = None, None
        try:
            program = extract_program(
                graph, fetches, types, wanted.targets, held, ranks, met, wanted.done, values
            )
        except FlowcError as error:
            fault = error  # perhaps of sizes that seemed to differ
        names = _joined(wanted.feeds, met or ())
        if names:
            wanted = _renamed(wanted, names)
        elif program is not None:
            fed = [f.name for f in wanted.feeds if f.value is None]
            fetched = [f.name for f in wanted.fetches]
            return wanted, replace(program, spec=program.spec.renamed(fed, fetched))
        else:
            assert fault is not None
            raise fault


def with_joined_sizes(graph: Graph, wanted: Fetched) -> Fetched:
    """The fetch set with the names that its sizes have in its program; as it is, where there is
    nothing to join or the program cannot be compiled."""
    if len(symbols_of(*(d for f in wanted.feeds for d in f.type.dims))) < 2:
        return wanted
    try:
        return extract_fetches(graph, wanted)[0]
    except FlowcError:
        return wanted


def _joined(feeds: Sequence[Feed], met: Iterable[tuple[Dim, Dim]]) -> dict[Symbol, Dim]:
    """For open sizes that must be another one, that one."""
    open_sizes = symbols_of(*(f.type.dims[axis] for f in feeds for axis in f.open))
    every = symbols_of(*(d for f in feeds for d in f.type.dims))
    given = [s for s in every if s not in open_sizes]
    # Of a set of equal sizes that one stays which stands first here.
    order = dict.fromkeys([*given, *(s for s in open_sizes if s.name == BATCH), *open_sizes])
    rank = {size: number for number, size in enumerate(order)}
    first = {size: size for size in order}

    def root(size: Symbol) -> Symbol:
        while first[size] != size:
            size = first[size]
        return size

    for one, other in met:
        for pair in _equal_sizes(one - other, feeds):
            if not rank.keys() >= set(pair):
                continue
            kept, dropped = sorted((root(pair[0]), root(pair[1])), key=rank.__getitem__)
            if dropped not in given:
                first[dropped] = kept
    return {size: expression(root(size)) for size in order if root(size) != size}


def _equal_sizes(difference: Dim, feeds: Sequence[Feed]) -> list[tuple[Symbol, Symbol]]:
    """The sizes that are equal where a difference is 0: of `a*n - a*m` n and m. Of `a*b - c*d`
    those on the same axes of two inputs: that is what a graph means that gives one the shape of
    the other."""
    if not isinstance(difference, Expr) or len(difference.terms) != 2:
        return []
    (left, a), (right, b) = difference.terms
    atoms, others = list(left), list(right)
    for atom in left:
        if atom in others:
            atoms.remove(atom)
            others.remove(atom)
    ours = [atom for atom in atoms if isinstance(atom, Symbol)]
    theirs = [atom for atom in others if isinstance(atom, Symbol)]
    if a != -b or len(ours) < len(atoms) or len(theirs) < len(others) or len(ours) != len(theirs):
        return []
    if len(ours) == 1:
        return list(zip(ours, theirs))
    for axes, other_axes in product(_axes(feeds, ours), _axes(feeds, theirs)):
        if axes.keys() == other_axes.keys():
            return [(size, other_axes[axis]) for axis, size in axes.items()]
    return []


def _axes(feeds: Sequence[Feed], sizes: Sequence[Symbol]) -> Iterator[dict[int, Symbol]]:
    """For each input that has all the sizes among its dims, on which axes."""
    for feed in feeds:
        alone = {axis: lone_symbol(d) for axis, d in enumerate(feed.type.dims)}
        found = {axis: size for axis, size in alone.items() if size is not None and size in sizes}
        if sorted(found.values()) == sorted(sizes):
            yield found


def _renamed(wanted: Fetched, names: Mapping[Symbol, Dim]) -> Fetched:
    feeds = [
        replace(f, type=f.type.with_dims(substitute(d, names) for d in f.type.dims))
        for f in wanted.feeds
    ]
    return replace(wanted, feeds=tuple(feeds))
