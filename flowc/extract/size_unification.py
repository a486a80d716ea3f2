"""Which sizes of inputs are one: those that nobody named and that the graph needs to be equal.

In: an Interface, whose open sizes have a name each. Out: its program, and the Interface with one
name for what must be equal. Invariant: two names that callers gave stay two.

Extraction says where sizes meet: in an elementwise node, a product, a list. The graph needs that
what meets outside of conditionals is equal; a loop counts as if it ran. Then the program is
extracted anew, so that nothing in it depends on sizes that only seemed to differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from flowc.errors import FlowcError
from flowc.extract.interface import BATCH, Feed, Interface
from flowc.extract.program import ExtractedProgram, extract_program
from flowc.graph import Graph
from flowc.ir.dims import Dim, Expr, Symbol, substitute, symbol, symbols_of


def extract_interface(graph: Graph, chosen: Interface) -> tuple[Interface, ExtractedProgram]:
    """The program of an interface, and the interface with the names that its sizes have in it.

    Raises as `extract_program`.
    """
    while True:
        met: list[tuple[Dim, Dim]] = []
        fetches = [f.tensor for f in chosen.fetches]
        types = {f.tensor: f.type for f in chosen.feeds}
        program, fault = None, None
        try:
            program = extract_program(graph, fetches, types, chosen.targets, met=met)
        except FlowcError as error:
            fault = error  # perhaps of sizes that seemed to differ
        names = _joined(chosen.feeds, met)
        if names:
            chosen = _renamed(chosen, names)
        elif program is not None:
            return chosen, program
        else:
            assert fault is not None
            raise fault


def with_joined_sizes(graph: Graph, chosen: Interface) -> Interface:
    """The interface with the names that its sizes have in its program; as it is, where there is
    nothing to join or the program cannot be compiled."""
    if len({name for f in chosen.feeds for d in f.type.dims for name in symbols_of(d)}) < 2:
        return chosen
    try:
        return extract_interface(graph, chosen)[0]
    except FlowcError:
        return chosen


def _joined(feeds: Sequence[Feed], met: Iterable[tuple[Dim, Dim]]) -> dict[str, Dim]:
    """For open sizes that must be another one, its name."""
    open_names = [n for f in feeds for axis in f.open for n in symbols_of(f.type.dims[axis])]
    every = [n for f in feeds for d in f.type.dims for n in symbols_of(d)]
    given = [n for n in dict.fromkeys(every) if n not in open_names]
    # The name that a set of equal sizes gets is the one that stands first here.
    order = dict.fromkeys([*given, *(n for n in open_names if n == BATCH), *open_names])
    rank = {name: number for number, name in enumerate(order)}
    first = {name: name for name in order}

    def root(name: str) -> str:
        while first[name] != name:
            name = first[name]
        return name

    for one, other in met:
        for pair in _equal_sizes(one - other, feeds):
            if not rank.keys() >= set(pair):
                continue
            kept, dropped = sorted((root(pair[0]), root(pair[1])), key=rank.__getitem__)
            if dropped not in given:
                first[dropped] = kept
    return {name: symbol(root(name)) for name in order if root(name) != name}


def _equal_sizes(difference: Dim, feeds: Sequence[Feed]) -> list[tuple[str, str]]:
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
    ours = [atom.name for atom in atoms if isinstance(atom, Symbol)]
    theirs = [atom.name for atom in others if isinstance(atom, Symbol)]
    if a != -b or len(ours) < len(atoms) or len(theirs) < len(others) or len(ours) != len(theirs):
        return []
    if len(ours) == 1:
        return list(zip(ours, theirs))
    for axes, other_axes in product(_axes(feeds, ours), _axes(feeds, theirs)):
        if axes.keys() == other_axes.keys():
            return [(name, other_axes[axis]) for axis, name in axes.items()]
    return []


def _axes(feeds: Sequence[Feed], names: Sequence[str]) -> Iterator[dict[int, str]]:
    """For each input that has all the sizes among its dims, on which axes."""
    for feed in feeds:
        found = {axis: str(d) for axis, d in enumerate(feed.type.dims) if str(d) in names}
        if sorted(found.values()) == sorted(names):
            yield found


def _renamed(chosen: Interface, names: Mapping[str, Dim]) -> Interface:
    feeds = [
        replace(f, type=f.type.with_dims(substitute(d, names) for d in f.type.dims))
        for f in chosen.feeds
    ]
    return replace(chosen, feeds=tuple(feeds))
