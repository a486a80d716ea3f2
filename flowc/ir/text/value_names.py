"""What values are called in the printed form: as the TensorFlow nodes that they came from.

In: the nodes of one Computation. Out: a name for each value that another node's work reads. A name
is the end of the node's, as long as it takes to tell it from those of the others, without the scope
of the loop or conditional around it. What a node's own expansion reads has no name. Sizes have the
names that they were made with, numbered where several have the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from flowc.ir.bodies import nodes_within, replace_sizes_in, sizes_defined
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim, Symbol, symbol, symbols_of

_MERGE = re.compile(r"(Ref)?Merge(_\d+)?")
# What TensorFlow calls the counters that it adds to loops, for their limits and their gradients.
_ADDED_COUNTER = re.compile(r"(iteration_counter|loop_counter|f_count|b_count)(_\d+)*")


def is_added_counter(name: str) -> bool:
    """Whether TensorFlow called a loop variable so, not the author."""
    return _ADDED_COUNTER.fullmatch(name) is not None


def name_apart(name: str, taken: set[str], joint: str = ".") -> str:
    """A name with what the text cannot hold replaced, apart from the others' and from the numbers
    of values."""
    clean = re.sub(r"[^A-Za-z0-9_./:]", "_", name.removesuffix(":0"))
    chosen, number = clean, 2
    while chosen in taken or chosen.isdigit() or not chosen:
        chosen, number = f"{clean}{joint}{number}", number + 1
    taken.add(chosen)
    return chosen


def names_of_sizes(c: Computation) -> dict[Symbol, Dim]:
    """Named sizes for those that have no name of their own, in the order in which nodes define
    them: what else was compiled before tells nothing of it."""
    defined = [s for node in c.nodes for n in nodes_within(node) for s in sizes_defined(n)]
    unnamed = dict.fromkeys(s for s in defined if s.serial)
    if not unnamed:
        return {}
    given = symbols_of(*(d for p in c.parameters for d in p.output.dims))
    taken = {s.name for s in (*given, *defined) if not s.serial}
    return {s: symbol(name_apart(s.name, taken, "_")) for s in unnamed}


def name_sizes(c: Computation) -> Computation:
    """The Computation with named sizes only."""
    names = names_of_sizes(c)
    return replace_sizes_in(c, names) if names else c


def names_by_origin(
    nodes: Sequence[Node], results: Sequence[Value], around: str | None
) -> dict[Value, str]:
    """Names for the values that nodes of another origin read, or that are results. `around`: the
    origin of the node in whose body they stand."""
    read = set(results)
    for node in nodes:
        read.update(v for v in node.inputs if v.node.origin != node.origin)
    paths: dict[Value, str] = {}
    told: set[str] = set()
    for node in nodes:
        if not node.origin or node.origin[0] in told:
            continue
        named = {v: _path(node, v.index) for v in node.outputs if v in read}
        paths.update(named)
        if named:
            told.add(node.origin[0])
    return _shortened({v: _inside(path, around) for v, path in paths.items()})


def _path(node: Node, index: int) -> str:
    """The name of the node behind an output; of a conditional, that of its scope."""
    path = node.origin[0]
    scope, _, last = path.rpartition("/")
    if scope and _MERGE.fullmatch(last):
        path = scope
    return f"{path}:{index}" if index else path


def _inside(path: str, around: str | None) -> str:
    """A node's name within the scope of the loop or conditional in which it stands."""
    if around:
        for scope in (f"{around}/", around[: around.rfind("/") + 1]):
            if scope and path.startswith(scope) and path != scope:
                return path[len(scope) :]
    return path


def _shortened(paths: dict[Value, str]) -> dict[Value, str]:
    """The shortest ends of the paths, in whole parts, that tell them apart."""
    found: dict[Value, str] = {}
    left = {v: path.split("/") for v, path in paths.items()}
    length = 1
    while left:
        alike: dict[str, list[Value]] = {}
        for value, parts in left.items():
            alike.setdefault("/".join(parts[-length:]), []).append(value)
        for name, values in alike.items():
            for value in values:
                if len(values) == 1 or len(left[value]) <= length:
                    found[value] = name
                    del left[value]
        length += 1
    return found


def carried_names(parameters: Iterable[Node], count: int) -> list[str]:
    """What a loop's body calls the values that it carries."""
    taken: set[str] = set()
    return [name_apart(p.attrs["name"], taken) for p in parameters][:count]
