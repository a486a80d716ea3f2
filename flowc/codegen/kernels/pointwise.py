"""A cluster without reductions as a kernel: which loops walk its elements, and in what order.

In: a cluster of elementwise ops and views. Out: a Launch. A first lowering, which is thrown away,
tells how every access and every condition depends on the index. From that follow

- merging: adjacent dims that every access walks in one stride become one loop;
- splitting: where conditions such as "inside this part of a concatenation" hold on one stretch of a
  loop, each stretch becomes a loop of its own, in which they are known; what the loop inside it
  walks may follow without a gap there, so that both are one;
- tiling: where reads step over rows while writes step over columns, both walk small tiles, in each
  stretch of the rows by itself.

Invariant: every element of the results is written once, by the worker whose range it is in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from math import gcd, prod

from flowc.codegen.kernels.access_probe import (
    AccessProbe,
    element_index,
    names_beside_addresses,
    nonlinear_locals,
    store_all,
)
from flowc.codegen.kernels.builder import (
    LOCAL,
    both,
    compare,
    int_name,
    int_number,
    int_op,
    int_sum,
    linear_factors,
)
from flowc.codegen.kernels.cluster import ClusterLowering, row_major
from flowc.codegen.kernels.cost import body_cost
from flowc.codegen.kernels.fills import FilledPart, between, emit_fills, fills_of
from flowc.codegen.kernels.kernel import Launch
from flowc.codegen.kernels.nest import (
    Index,
    IndexSum,
    Name,
    statements_within,
)
from flowc.codegen.kernels.shared_tiles import SIDE, shared_tile
from flowc.codegen.kernels.tile_loops import reads_memory, rows_of_block, tile_loops
from flowc.codegen.target import Target
from flowc.ir.computation import Computation, Node
from flowc.ir.dims import (
    Dim,
    Symbol,
    ceildiv,
    floordiv,
    is_nonnegative,
    maximum,
    product,
    substitute,
    symbol,
)

SHORT_RUN = 1024  # elements: to begin a loop over more costs little beside it
INTERLEAVED = (2, 4, 3)  # parts of channels that are looked for
LEAST_SHARED = 16  # steps of a range that workers share
LEAST_TILES = 4  # side by side, that follow each other


def pointwise_launch(node: Node, body: Computation, target: Target) -> Launch:
    """The kernel of a cluster of elementwise ops and views."""
    return _Pointwise(node, body, target).launch()


def _stretches(extent: Dim, points: Sequence[Dim], most: int) -> list[tuple[Dim, Dim]]:
    """The loop's range cut at those points whose order can be proved."""
    cuts: list[Dim] = [0, extent]
    for point in points:
        place = next((i for i, cut in enumerate(cuts) if is_nonnegative(cut - point)), None)
        if place in (None, 0) or cuts[place or 0] == point:
            continue
        if is_nonnegative(point - cuts[place - 1] - 1):
            cuts.insert(place, point)
        if len(cuts) > most:
            break
    return list(pairwise(cuts))


class _Pointwise:
    """Emits the loops of one kernel."""

    def __init__(self, node: Node, body: Computation, target: Target) -> None:
        self.node = node
        self.target = target
        self.choices = target.choices
        self.body = body
        self.dims = body.results[0].dims
        probe = AccessProbe(body, self.choices)
        self.groups = probe.groups()
        self.extents = [product(self.dims[d] for d in g) for g in self.groups]
        self.last = len(self.groups) - 1
        self.tiled = probe.tiled_with(self.groups)
        self.parts = self._parts(probe)
        self.is_last_divided = bool(self.groups) and probe.is_divided(self.groups[-1][-1])
        if self.tiled is None and self._are_last_one_walk():
            self._join_last()
        elif self.tiled is None:
            self._join_interleaved()
        self.c = ClusterLowering(body, node.inputs, self.choices.tells_places)
        self.cost = body_cost(body)
        self.scratch: Dim = 0
        self.tile_columns: Dim = self.extents[-1] if self.extents else 1

    def _parts(self, probe: AccessProbe) -> list[list[tuple[Dim, Dim]]]:
        """The stretches of every loop: inner loops are split first, while copies are few."""
        found: list[list[tuple[Dim, Dim]]] = [[(0, e)] for e in self.extents]
        bodies, choices = 1, self.choices
        for g in reversed(range(len(self.groups))):
            if len(self.groups[g]) > 1 or (self.tiled is not None and g == self.last):
                continue
            points = probe.split_points(self.groups[g][0])
            stretches = _stretches(self.extents[g], points, choices.most_parts)
            copies = bodies * len(stretches)
            nodes = copies * len(self.body.nodes)
            if copies <= choices.most_bodies and nodes > choices.most_nodes:
                nodes = bodies * sum(self._statements_of(g, *s) for s in stretches)
            if copies <= choices.most_bodies and nodes <= choices.most_nodes:
                found[g], bodies = stretches, copies
        return found

    def _join_interleaved(self) -> None:
        """The last loop, over a few parts, and the one around it become one, if what each of the
        parts reads has no gaps: neighbours of its steps are the parts."""
        if len(self.groups) < 3 or self.extents[-1] not in INTERLEAVED:
            return
        if not self.choices.inner_loops or any(len(p) > 1 for p in self.parts[-2:]):
            return
        before = self.parts[-2:], self.groups[-2:], self.extents[-2:]
        self._join_last()
        if self._is_linear(0, self.extents[-1], int(before[2][1])):
            self.is_last_divided = True
            return
        self.parts[-1:], self.groups[-1:], self.extents[-1:] = before
        self.last += 1

    def _neighbours_in(self, start: Dim, stop: Dim) -> int:
        """How many neighbours a step of a stretch of the last loop computes: as many as the parts
        of channels that are interleaved, where each part is then read without gaps; else 1."""
        count = stop - start
        if not self.is_last_divided or not isinstance(count, int):
            return 1
        possible = (n for n in (1, *INTERLEAVED) if count % n == 0 and count > n)
        return next((n for n in possible if self._is_linear(start, stop, n)), 1)

    def _is_linear(self, start: Dim, stop: Dim, neighbours: int) -> bool:
        """Whether what a step computes is read and written at addresses that are linear in it."""
        c = ClusterLowering(self.body, ())
        chosen: list[Dim] = [symbol(f"{LOCAL}o{g}", e) for g, e in enumerate(self.extents[:-1])]
        step = symbol(f"{LOCAL}i", floordiv(stop - start, neighbours)) * neighbours + start
        store_all(c, self.body, [self._index([*chosen, step + n]) for n in range(neighbours)])
        tied = {Symbol(LOCAL + name) for name in names_beside_addresses(c.nest.body)}
        return Symbol(f"{LOCAL}i") not in tied.union(*map(nonlinear_locals, c.addresses))

    def _statements_of(self, group: int, start: Dim, stop: Dim) -> int:
        """How many statements compute an element in a stretch of a loop, in which conditions are
        known: of a concatenation of many parts, only those of one."""
        c = ClusterLowering(self.body, ())
        chosen: list[Dim] = [symbol(f"{LOCAL}i{g}", e) for g, e in enumerate(self.extents)]
        inside = symbol(f"{LOCAL}i{group}", stop - start) + start
        chosen[group] = start if stop - start == 1 else inside
        store_all(c, self.body, [self._index(chosen)])
        return sum(1 for _ in statements_within(c.nest.body))

    def _are_last_one_walk(self) -> bool:
        """Whether the loop around the last is split so that in each stretch both walk memory as one
        would, as where images are padded; the last is short, and enough is left to share."""
        if len(self.groups) < 2 or not self.choices.inner_loops:
            return False
        stretches, inner = self.parts[-2], self.extents[-1]
        if len(stretches) == 1 or len(self.parts[-1]) > 1:
            return False
        if not isinstance(inner, int) or inner > SHORT_RUN:
            return False
        known = prod(e for e in self.extents[:-2] if isinstance(e, int))
        if len(self.groups) > 2 and known < LEAST_SHARED:
            return False
        return all(self._is_one_walk(start, stop) for start, stop in stretches)

    def _is_one_walk(self, start: Dim, stop: Dim) -> bool:
        """Whether what a stretch of the last loop but one reads and writes is linear in the place
        within its elements."""
        c, inner = ClusterLowering(self.body, ()), self.extents[-1]
        place = symbol(f"{LOCAL}i", (stop - start) * inner)
        around = [symbol(f"{LOCAL}o{g}", e) for g, e in enumerate(self.extents[:-2])]
        groups = [*self.groups[:-2], self.groups[-2] + self.groups[-1]]
        store_all(
            c, self.body, [element_index(self.dims, groups, [*around, place + start * inner])]
        )
        tied = {Symbol(LOCAL + name) for name in names_beside_addresses(c.nest.body)}
        return Symbol(f"{LOCAL}i") not in tied.union(*map(nonlinear_locals, c.addresses))

    def _join_last(self) -> None:
        """The last two loops become one."""
        inner = self.extents[-1]
        self.parts[-2:] = [[(start * inner, stop * inner) for start, stop in self.parts[-2]]]
        self.groups[-2:] = [self.groups[-2] + self.groups[-1]]
        self.extents[-2:] = [self.extents[-2] * inner]
        self.last -= 1

    def launch(self) -> Launch:
        c, nest, extents, target = self.c, self.c.nest, self.extents, self.target
        cost, outputs = self.cost.element, self.node.outputs
        if not self.groups:
            self._store([])
            return c.launch(target, outputs, 1, 1, 0, self.node)
        if not self.choices.inner_loops:
            return self._launch_of_elements() if self.tiled is None else self._launch_of_tiles()
        if len(self.groups) == 1:
            self._shared_loop()
            return c.launch(target, outputs, extents[0], self.choices.grain(cost), 0, self.node)
        outer = list(extents[:-1])
        inner = extents[-1]
        if self.tiled is not None:
            rows = self.choices.tile_rows
            outer[self.tiled] = ceildiv(outer[self.tiled], rows)
            self.tile_columns = self._columns_of_block(product(outer))
            if self.tile_columns != inner:
                outer.append(ceildiv(inner, self.tile_columns))
            inner = self.tile_columns * rows
        # How many tiles there are is no part of the code: each is work enough for a division.
        size = nest.size if self.tiled is None else nest.own_parameter
        with nest.loop("p", int_name("begin"), int_name("end")):
            split_flat(c, outer, "i", size)
            self._nest(0, [])
        share = self.choices.grain(cost, inner)
        return c.launch(target, outputs, product(outer), share, self.scratch, self.node)

    def _columns_of_block(self, blocks: Dim) -> Dim:
        """Columns of tiles that follow each other: all, unless so few blocks of rows would leave
        threads idle that the work is worth."""
        columns, choices = self.extents[-1], self.choices
        if not isinstance(columns, int) or not isinstance(blocks, int) or blocks >= LEAST_SHARED:
            return columns
        elements = blocks * choices.tile_rows * columns
        chunks = int(elements * self.cost.element / choices.chunk_nanoseconds)
        steps = max(1, min(-(-LEAST_SHARED // blocks), chunks))
        tiles = max(LEAST_TILES, -(-columns // steps // choices.tile_side))
        return min(columns, tiles * choices.tile_side)

    def _launch_of_elements(self) -> Launch:
        """Every step of the shared range is one element, or a few that are neighbours in memory."""
        c, nest, last = self.c, self.c.nest, self.extents[-1]
        values = (*self.node.inputs, *self.node.outputs)
        size = max(v.type.dtype.size for v in values)
        count = self.choices.neighbours(product(self.extents), self.cost.element, size)
        if len(self.extents) > 1:
            count = gcd(count, last) if isinstance(last, int) else 1
        extents = [*self.extents[:-1], ceildiv(last, count)]
        chosen: list[Dim] = [symbol(f"{LOCAL}i{g}", e) for g, e in enumerate(extents)]
        first = chosen.pop() * count
        with nest.loop("p", int_name("begin"), int_name("end")):
            split_flat(c, extents, "i")
            if isinstance(last, int) and last % count == 0:
                self._store_neighbours(chosen, first, count)
            else:
                rest = nest.let(nest.index(last - first))
                with nest.when(compare("ge", rest, int_number(count))):
                    self._store_neighbours(chosen, first, count)
                with nest.otherwise(), nest.loop("v", int_number(0), rest):
                    self._store([*chosen, first + symbol(f"{LOCAL}v")])
        return c.launch(self.target, self.node.outputs, product(extents), 1, 0, self.node)

    def _launch_of_tiles(self) -> Launch:
        """Every step of the shared range is a tile that the lanes of a block transpose."""
        c, extents, number, last = self.c, self.extents, self.tiled, self.last
        assert number is not None
        tiles = [ceildiv(e, SIDE) if g in (number, last) else e for g, e in enumerate(extents)]

        def store(c: ClusterLowering, row: Dim, column: Dim) -> None:
            chosen: list[Dim] = [symbol(f"{LOCAL}i{g}", e) for g, e in enumerate(extents)]
            chosen[number], chosen[last] = row, column
            self._store(chosen, c)

        lanes, names = self.choices.block, (f"i{number}", f"i{last}")
        with c.nest.loop("p", int_name("begin"), int_name("end")):
            split_flat(c, tiles, "i")
            probe = ClusterLowering(self.body, ())
            sizes = extents[number], extents[last]
            size = shared_tile(c, probe, names, *sizes, store, lanes)
        tail = ("begin", "end", "lane", "lanes")
        total, outputs = product(tiles), self.node.outputs
        return c.launch(self.target, outputs, total, 1, size, self.node, tail, lanes=lanes)

    def _store_neighbours(self, chosen: Sequence[Dim], first: Dim, count: int) -> None:
        """All of them are computed before the first is stored, so that one instruction loads or
        stores them all."""
        indices = [self._index([*chosen, first + i]) for i in range(count)]
        store_all(self.c, self.body, indices)

    def _store(self, chosen: Sequence[Dim], c: ClusterLowering | None = None) -> None:
        store_all(c or self.c, self.body, [self._index(chosen)])

    def _index(self, chosen: Sequence[Dim]) -> tuple[Dim, ...]:
        return element_index(self.dims, self.groups, chosen)

    def _shared_loop(self) -> None:
        """The one loop is the range that workers share: each stretch meets it."""
        nest = self.c.nest
        for start, stop in self.parts[0]:
            first, last = int_name("begin"), int_name("end")
            if len(self.parts[0]) > 1:
                a, b = nest.size(start), nest.size(stop)
                first = nest.let(int_op("past", first, a), "s")
                last = nest.let(int_op("upto", last, b, a), "s")
            with nest.loop("i0", first, last):
                self._store([symbol(f"{LOCAL}i0", stop - start) + start])
                self._end_loop(stop - start)

    def _nest(self, number: int, chosen: list[Dim]) -> None:
        """The loops or branches of group `number` and those inside it."""
        if number == self.tiled:
            self._tiles(number, chosen)
        elif number == self.last:
            for start, stop in self.parts[number]:
                self._inner_loop(start, stop, chosen)
        elif len(self.parts[number]) == 1:
            self._nest(number + 1, [*chosen, symbol(f"{LOCAL}i{number}", self.extents[number])])
        else:
            self._branches(number, chosen)

    def _branches(self, number: int, chosen: list[Dim]) -> None:
        """A branch for each stretch of group `number`; one where a number stands on both sides."""
        parts = self.parts[number]
        fills = [self._fills_in(number, *stretch) for stretch in parts]
        others = [stretch for stretch, found in zip(parts, fills) if found is None]
        filled = [found for found in fills if found is not None]
        if len(others) == 1 and all(found == filled[0] for found in filled):
            with self._inside(number, *others[0]) as index:
                self._nest(number + 1, [*chosen, index])
            with self.c.nest.otherwise():
                self._fill(number, chosen, filled[0])
            return
        for stretch in parts:
            with self._inside(number, *stretch) as index:
                self._nest(number + 1, [*chosen, index])

    @contextmanager
    def _inside(self, number: int, start: Dim, stop: Dim) -> Iterator[Dim]:
        """A branch in which the index of group `number`, which this gives, is in a stretch."""
        nest = self.c.nest
        i, first = int_name(f"i{number}"), nest.size(start)
        with nest.when(both(compare("ge", i, first), compare("lt", i, nest.size(stop)))):
            less = f"-{first.name}" if isinstance(first, Name) else -int(start)
            here = nest.let(int_sum(i.name, less), "j").name
            yield start if stop - start == 1 else symbol(LOCAL + here, stop - start) + start

    def _fills_in(self, number: int, start: Dim, stop: Dim) -> list[FilledPart] | None:
        """The numbers that all elements in a stretch of group `number` are, whatever the indices of
        others, as where an image is padded; None if they are computed. They stand where the index
        of the whole group is named, so that stretches are alike."""
        c = ClusterLowering(self.body, ())
        whole: list[Dim] = [symbol(f"{LOCAL}i{g}", e) for g, e in enumerate(self.extents)]
        inside = symbol(f"{LOCAL}i", stop - start) + start
        store_all(c, self.body, [self._index([*whole[:number], inside, *whole[number + 1 :]])])
        fills = fills_of(c)
        if fills is None:
            return None
        index = self._index(whole)
        places = [row_major(v.dims, index) for v in self.body.results]
        return [replace(fill, address=at) for fill, at in zip(fills, places, strict=True)]

    def _fill(self, number: int, chosen: list[Dim], fills: Sequence[FilledPart]) -> None:
        """What a step of the shared range has where group `number` is in a stretch of numbers:
        a row of the last group, or the rows of a block."""
        at = {Symbol(f"{LOCAL}i{g}"): index for g, index in enumerate(chosen)}
        fills = [replace(f, address=substitute(f.address, at)) for f in fills]
        last = Symbol(f"{LOCAL}i{self.last}")
        if self.tiled is None:
            columns = self.c.nest.size(self.extents[-1])
            emit_fills(self.c, fills, {last: int_number(0)}, 0, int_number(1), columns)
            return
        row, columns = Symbol(f"{LOCAL}i{self.tiled}"), self._columns_of_tiles()
        step = linear_factors(fills[0].address).get(row, 0)
        rows = rows_of_block(
            self.c, f"i{self.tiled}", self.choices.tile_rows, self.extents[self.tiled]
        )
        corner = {row: rows[0], last: columns[0]}
        emit_fills(self.c, fills, corner, step, between(*rows), between(*columns))

    def _inner_loop(self, start: Dim, stop: Dim, chosen: list[Dim]) -> None:
        nest = self.c.nest
        count = stop - start
        if count == 1:
            self._store([*chosen, start])
            return
        neighbours = self._neighbours_in(start, stop)
        if neighbours > 1:
            steps = floordiv(count, neighbours)
            with nest.loop(f"i{self.last}", int_number(0), nest.size(steps)):
                first = symbol(f"{LOCAL}i{self.last}", steps) * neighbours + start
                self._store_neighbours(chosen, first, neighbours)
            return
        with nest.loop(f"i{self.last}", int_number(0), nest.size(count)):
            self._store([*chosen, symbol(f"{LOCAL}i{self.last}", count) + start])
            self._end_loop(count)

    def _end_loop(self, count: Dim) -> None:
        if self.choices.is_interleaved(self.cost.has_compute_bound, count):
            self.c.nest.invoke("interleave")

    def _tiles(self, number: int, chosen: list[Dim]) -> None:
        """Tiles of group `number` and the last; the indices of groups between are set before. What
        reads no memory is not transposed: neither tiles nor stretches of its rows gain anything."""
        outer = [symbol(f"{LOCAL}i{g}", self.extents[g]) for g in range(number + 1, self.last)]

        def store(c: ClusterLowering, row: Dim, column: Dim) -> None:
            self._store([*chosen, row, *outer, column], c)

        sizes, stretches = (self.extents[number], self.extents[-1]), self.parts[number]
        if not reads_memory(ClusterLowering(self.body, ()), *sizes, store):
            stretches = [(0, sizes[0])]
        columns = self._columns_of_tiles()
        for rows in stretches:
            probe, block = ClusterLowering(self.body, ()), f"i{number}"
            used = tile_loops(self.c, probe, block, rows, sizes[1], columns, store, self.choices)
            self.scratch = maximum(self.scratch, used)

    def _columns_of_tiles(self) -> tuple[Index, Index]:
        """The first column of the block that a step of the shared range walks, and the one behind
        its last."""
        nest, columns, block = self.c.nest, self.extents[-1], self.tile_columns
        if block == columns:
            return int_number(0), nest.size(columns)
        assert isinstance(block, int)
        width = nest.own_parameter(block).name
        first = nest.named("beginning", IndexSum(((1, (width, f"i{self.last}")),)))
        end = nest.declare("ending", int_sum("beginning", width))
        nest.assign("ending", int_op("smaller", end, nest.size(columns)))
        return first, end


def split_flat(
    c: ClusterLowering,
    extents: Sequence[Dim],
    prefix: str,
    size_of: Callable[[Dim], Index] | None = None,
) -> None:
    """Locals for the indices of the outer loops, from their flat position `p`."""
    nest, rest = c.nest, int_name("p")
    for d in range(len(extents) - 1, 0, -1):
        size = (size_of or nest.size)(extents[d])
        above = nest.named(f"r{d}", int_op("idiv", rest, size))
        nest.named(f"{prefix}{d}", int_op("rest", rest, above, size))
        rest = above
    nest.named(f"{prefix}0", rest)
