"""Which nodes become one kernel.

In: a Computation of lowered nodes. Out: Clusters of them, and the floating nodes, which are
computed wherever they are read. Invariant: clusters depend on each other without cycles.

Matrix products and convolutions take the elementwise nodes after them. Reductions take what feeds
them and, where they fold whole rows, what follows. Elementwise nodes of equal dims join. Views, and
cheap values read through them or by folds of columns, float.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import takewhile

from flowc.ir.bodies import size_definitions
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim, is_nonnegative, maximum
from flowc.ir.lowering import (
    Convolution,
    Decompose,
    Elementwise,
    Extracted,
    FilterGradient,
    Host,
    MatMul,
    Native,
    Reduction,
    Structural,
    View,
)
from flowc.ir.rewrite import size_sources
from flowc.ir.scalar import PRIMITIVES, SIMPLE
from flowc.ir.scalar_body import ScalarBody
from flowc.ir.traversal import reachable
from flowc.ir.types import Dims
from flowc.passes.analysis.joined_views import joins, shuffles_joined

NODE_LIMIT = 64  # nodes in one cluster: bounds compile time and the depth of expressions
BUFFER_LIMIT = 28  # pointers of one kernel
REPEAT_LIMIT = 8  # how often a value that is computed where it is read may be computed
DEPTH_LIMIT = 24  # values in a row that are computed where they are read
FEW_CHANNELS = 16  # that fill no vector: of fewer, nothing is computed pixel by pixel


class Cluster:
    """Nodes that become one kernel. `kind`: loop, matmul, convolution, native. For a loop cluster
    `full` are the dims that it walks and `axes` those that its reductions fold (None without)."""

    def __init__(self, kind: str, full: Dims, axes: tuple[int, ...] | None) -> None:
        self.kind = kind
        self.full = full
        self.axes = axes
        self.nodes: list[Node] = []

    @property
    def folds_rows(self) -> bool:
        return self.axes is not None and len(self.full) - 1 in self.axes


def cluster_of(node: Node) -> Cluster | None:
    """The cluster that a node is when it is alone; None for what is no kernel."""
    match node.lowering:
        case MatMul():
            cluster = Cluster("matmul", node.output.dims, None)
        case Convolution():
            cluster = Cluster("convolution", node.output.dims, None)
        case FilterGradient():
            cluster = Cluster("filter_gradient", node.output.dims, None)
        case Native():
            cluster = Cluster("native", (), None)
        case Reduction(axes=axes):
            cluster = Cluster("loop", node.inputs[0].dims, axes)
        case View(reshape=True) | Structural() | Host() | Decompose() | Extracted():
            return None
        case Elementwise() | View():
            cluster = Cluster("loop", node.output.dims, None)
    cluster.nodes.append(node)
    return cluster


class Grouping:
    """Assigns nodes to clusters, in topological order."""

    def __init__(self, c: Computation) -> None:
        self.c = c
        self.users = c.users()
        self.results = set(c.results)
        self.cluster_of: dict[Node, Cluster] = {}
        self.position = {n: i for i, n in enumerate(c.nodes)}
        self.now = 0  # position of the node that is being added
        self.definitions = size_definitions(c)
        self.readers: dict[Node, list[Node]] = {n: [] for n in c.nodes}  # in their order
        for node in c.nodes:
            for n in dict.fromkeys(self._needs(node)):
                self.readers[n].append(node)
        self.floating: set[Node] = set()
        self.refolded: set[Node] = set()  # floating nodes that folds of columns compute again
        self.repeats: dict[Node, int] = {}  # of floating nodes: how often each is computed
        self.depth: dict[Node, int] = {}  # of floating nodes: how many stand in a row
        self.joined: set[Node] = set()  # floating nodes that end in a view of several values
        self.walked: dict[
            Node, Dim
        ] = {}  # of floating nodes: elements of the largest loop they end in

    def run(self) -> list[Cluster]:
        self._find_floating()
        for node in self.c.nodes:
            if node not in self.floating:
                self._add(node)
        found = (self.cluster_of.get(n) for n in self.c.nodes)
        return [k for k in dict.fromkeys(found) if k]

    # -- what is computed where it is read

    def _find_floating(self) -> None:
        """Nodes that are copied into every cluster that reads them: constants of one element,
        views, and single-use elementwise nodes behind a view that repeats nothing."""
        for node in reversed(self.c.nodes):
            if not node.outputs or any(v in self.results for v in node.outputs):
                continue
            if node.op.name == "const":
                continue
            lowering = node.lowering
            if not isinstance(lowering, (Elementwise, View)) or node.after:
                continue
            if node.attrs.get("device"):
                continue
            readers = self.users[node.output]
            if not readers or not all(self._absorbs(u) for u in readers):
                continue
            repeats = sum(self.repeats.get(u, 1) for u in readers)
            depth = 1 + max(self.depth.get(u, 0) for u in readers)
            if repeats > REPEAT_LIMIT or depth > DEPTH_LIMIT:
                continue
            is_joined = any(u in self.joined or joins(u) for u in readers)
            if is_joined and shuffles_joined(node):
                continue
            if isinstance(lowering, View):
                floats = self._cheap_view(node, readers)
            else:
                floats = self._cheap_elementwise(node, readers)
                if not floats and self._feeds_folds(node, lowering, readers):
                    self.refolded.add(node)
                    floats = True
            if floats:
                self.floating.add(node)
                self.repeats[node], self.depth[node] = repeats, depth
                if is_joined:
                    self.joined.add(node)
                self.walked[node] = reduce(maximum, map(self._walked_by, readers))

    def _absorbs(self, reader: Node) -> bool:
        """Whether a reader can compute a value itself, element by element."""
        if reader in self.floating:
            return True
        lowering = reader.lowering
        if isinstance(lowering, View):
            return not lowering.reshape
        return isinstance(lowering, (Elementwise, Reduction))

    def _cheap_view(self, node: Node, readers: list[Node]) -> bool:
        """Views are free to repeat, unless they check or look up indices, or read many inputs."""
        if len(readers) > 4 or len(node.inputs) > 4:
            return False
        lookups = any(v.type.dtype.is_integer and v.constant is None for v in node.inputs[1:])
        return len(readers) == 1 or not lookups

    def _cheap_elementwise(self, node: Node, readers: list[Node]) -> bool:
        """An elementwise node whose one reader is a floating view, when the loops in which the view
        ends do not compute much more often than the node has elements."""
        if len(readers) != 1 or readers[0] not in self.floating:
            return False
        often = self._walked_by(readers[0])
        if _ends_product(node) and is_nonnegative(2 * often - node.output.type.size):
            return False  # it joins the product, whose kernel computes elements by vectors
        return isinstance(readers[0].lowering, View) and is_nonnegative(
            node.output.type.size * REPEAT_LIMIT - often
        )

    def _feeds_folds(self, node: Node, lowering: Elementwise, readers: list[Node]) -> bool:
        """One instruction on a value that is in memory anyway, read by a fold of columns and by
        others, as what is less its mean: to write it and to read it again takes longer, and what
        stands between it and the fold would be written, too."""
        dims = node.output.dims
        given = [v for v in node.inputs if v.dims == dims]
        return (
            len(readers) > 1
            and len(given) == 1
            and len(self.users[given[0]]) > 1
            and given[0].node not in self.floating
            and _is_one_instruction(lowering)
            and any(map(self._leads_to_fold, readers))
        )

    def _leads_to_fold(self, reader: Node) -> bool:
        """Whether a reader folds columns, or makes what one that does alone reads."""
        if isinstance(reader.lowering, Elementwise):
            behind = self.users[reader.output]
            reader = behind[0] if len(behind) == 1 else reader
        lowering = reader.lowering
        if not isinstance(lowering, Reduction) or not lowering.axes:
            return False
        return reader.inputs[0].type.rank - 1 not in lowering.axes

    def _walked_by(self, reader: Node) -> Dim:
        """How many elements the largest loop walks that the reader is computed in."""
        fold = isinstance(reader.lowering, Reduction)
        return self.walked.get(reader, (reader.inputs[0] if fold else reader.output).type.size)

    # -- clusters

    def _add(self, node: Node) -> None:
        """Puts a node into a cluster that there is, or into one of its own."""
        self.now = self.position[node]
        if isinstance(node.lowering, Elementwise) and self._join_elementwise(node):
            return
        if isinstance(node.lowering, Reduction) and self._join_reduction(node, node.lowering):
            return
        cluster = cluster_of(node)
        if cluster is not None:
            self.cluster_of[node] = cluster

    def _join(self, cluster: Cluster, node: Node) -> None:
        cluster.nodes.append(node)
        self.cluster_of[node] = cluster

    def _producers(self, node: Node) -> list[Cluster]:
        """Clusters that the node reads from directly, latest first."""
        found: dict[Cluster, int] = {}
        for v in node.inputs:
            cluster = self.cluster_of.get(v.node)
            if cluster is not None:
                found[cluster] = max(found.get(cluster, 0), self.position[v.node])
        return sorted(found, key=lambda c: -found[c])

    def _siblings(self, node: Node) -> list[Cluster]:
        """Pointwise clusters that read a floating value which the node reads too, unless it floats
        so that what is folded has kernels of its own."""
        shared = (v for v in node.inputs if v.node in self.floating and v.node not in self.refolded)
        readers = (u for v in shared for u in self.users[v])
        found = (self.cluster_of.get(u) for u in readers)
        return [k for k in dict.fromkeys(found) if k and k.kind == "loop" and k.axes is None]

    def _may_join(self, node: Node, cluster: Cluster) -> bool:
        """Whether no other input of the node depends on the cluster, and the limits hold."""
        if len(cluster.nodes) >= NODE_LIMIT or node.after or cluster.kind == "native":
            return False
        if _scatters(cluster) or not _share_machine([*cluster.nodes, node]):
            return False
        if self._buffer_count([*cluster.nodes, node]) > BUFFER_LIMIT:
            return False
        outside = [n for n in self.sources(node) if self.cluster_of.get(n) is not cluster]
        return not self._depends(outside, cluster)

    def sources(self, node: Node) -> list[Node]:
        """The nodes whose values and sizes a node needs."""
        sizes = size_sources(node, self.definitions) if self.definitions else []
        return [*(v.node for v in node.inputs), *sizes]

    def copied_for(self, node: Node) -> list[Node]:
        """The floating nodes that are copied into the cluster of a node which reads them."""
        return [v.node for v in node.inputs if v.node in self.floating]

    def _needs(self, node: Node) -> list[Node]:
        """The nodes that a node reads or waits for."""
        return [*self.sources(node), *node.after]

    def _read_by(self, node: Node) -> Iterator[Node]:
        """The nodes that a node stands before, of those that have been added."""
        return takewhile(lambda n: self.position[n] <= self.now, self.readers[node])

    def _depends(self, nodes: list[Node], cluster: Cluster) -> bool:
        """Whether any of the nodes is computed, through other clusters, from the cluster. Walked
        from both ends, until one of the walks is over: the cluster is often one that hardly anyone
        reads as yet, or the nodes need little."""
        sought = {self.cluster_of.get(n, n) for n in nodes}
        back = self._reached(nodes, self._needs)
        forth = self._reached(cluster.nodes, self._read_by)
        return any(b is cluster or f in sought for b, f in zip(back, forth))

    def _reached(
        self, nodes: Iterable[Node], following: Callable[[Node], Iterable[Node]]
    ) -> Iterator[Cluster | Node]:
        """What the nodes lead to, and they, each once: clusters, and nodes that are in none."""
        stack = list(nodes)
        seen: set[Cluster | Node] = set()
        while stack:
            node = stack.pop()
            met = self.cluster_of.get(node, node)
            if met in seen:
                continue
            seen.add(met)
            yield met
            for member in met.nodes if isinstance(met, Cluster) else (met,):
                stack += following(member)

    def _buffer_count(self, nodes: list[Node]) -> int:
        inside = set(nodes)
        inputs = {v for n in nodes for v in n.inputs if v.node not in inside}
        outputs = {
            v
            for n in nodes
            for v in n.outputs
            if v in self.results or any(u not in inside for u in self.users[v])
        }
        return len(inputs) + len(outputs)

    def _join_elementwise(self, node: Node) -> bool:
        for cluster in (*self._producers(node), *self._siblings(node)):
            if self._fits_after(node, cluster) and self._may_join(node, cluster):
                self._join(cluster, node)
                self._merge_other_producers(node, cluster)
                return True
        return False

    def _merge_other_producers(self, node: Node, cluster: Cluster) -> None:
        """Takes in the pointwise clusters that the node reads beside its own: where branches meet,
        one loop computes them all."""
        if cluster.kind != "loop" or (cluster.axes is not None and not cluster.folds_rows):
            return
        for other in self._producers(node):
            if other is not cluster and self._may_merge(cluster, other):
                cluster.nodes += other.nodes
                self.cluster_of.update(dict.fromkeys(other.nodes, cluster))

    def _may_merge(self, cluster: Cluster, other: Cluster) -> bool:
        """Whether a pointwise cluster can be computed in the loop of another, within the limits."""
        if other.kind != "loop" or other.axes is not None or other.full != cluster.full:
            return False
        nodes = [*cluster.nodes, *other.nodes]
        if not _share_machine(nodes):
            return False
        if len(nodes) > NODE_LIMIT or self._buffer_count(nodes) > BUFFER_LIMIT:
            return False
        both = (cluster, other)
        for node in nodes:
            if node.after or any(self._reads_elsewhere(node, k) for k in both):
                return False
        outside = [s for n in nodes for s in self.sources(n) if self.cluster_of.get(s) not in both]
        return not any(self._depends(outside, k) for k in both)

    def _fits_after(self, node: Node, cluster: Cluster) -> bool:
        """Whether an elementwise node can be computed where the cluster computes its inputs."""
        inside = [v for v in node.inputs if self.cluster_of.get(v.node) is cluster]
        if self._reads_elsewhere(node, cluster):
            return False
        dims = node.output.dims
        if cluster.axes is None:
            return dims == cluster.full and all(v.dims == dims for v in inside)
        if not cluster.folds_rows:
            # Columns: only what follows the folds, at one element a result.
            folds = {n.output for n in cluster.nodes if isinstance(n.lowering, Reduction)}
            after = {v for n in cluster.nodes for v in n.outputs if v.dims == dims}
            return all(v.dims == dims and (v in folds or v in after) for v in inside) and (
                self._follows_folds(inside, cluster)
            )
        if dims == cluster.full:
            return all(v.dims in (dims, self._row_dims(cluster)) for v in inside)
        rows = (self._row_dims(cluster), self._dropped_dims(cluster))
        return dims in rows and all(v.dims == dims for v in inside)

    def _follows_folds(self, values: list[Value], cluster: Cluster) -> bool:
        """Whether each value is computed from the results of the cluster's folds."""
        after: set[Value] = set()
        for n in cluster.nodes:
            if isinstance(n.lowering, Reduction) or any(v in after for v in n.inputs):
                after.update(n.outputs)
        return all(v in after for v in values)

    def _reads_elsewhere(self, node: Node, cluster: Cluster) -> bool:
        """Whether the node reads from the cluster at other indices: through floating inputs, or as
        a view itself."""
        is_view = isinstance(node.lowering, View)
        readers = reachable([node] if is_view else self.copied_for(node), self.copied_for)
        return any(self.cluster_of.get(v.node) is cluster for n in readers for v in n.inputs)

    def _row_dims(self, cluster: Cluster) -> Dims:
        axes = cluster.axes or ()
        return tuple(1 if d in axes else size for d, size in enumerate(cluster.full))

    def _dropped_dims(self, cluster: Cluster) -> Dims:
        axes = cluster.axes or ()
        return tuple(size for d, size in enumerate(cluster.full) if d not in axes)

    def _join_reduction(self, node: Node, lowering: Reduction) -> bool:
        for cluster in self._producers(node):
            if self._may_fold_in(node, cluster, node.inputs[0].dims, lowering.axes):
                cluster.axes = lowering.axes
                self._join(cluster, node)
                return True
        return False

    def _may_fold_in(self, node: Node, cluster: Cluster, full: Dims, axes: tuple[int, ...]) -> bool:
        """Whether a fold can join the cluster that computes what it folds."""
        if cluster.kind != "loop" or not axes or self._reads_elsewhere(node, cluster):
            return False
        folds_rows = len(full) - 1 in axes
        if cluster.axes is None:
            # What feeds the fold must not be needed elsewhere, unless rows are stored on the way.
            alone = folds_rows or not self._needed_elsewhere(cluster, node)
            fits = cluster.full == full and alone
        else:
            same = cluster.axes == axes and cluster.full == full
            fits = (
                same
                and folds_rows
                and all(
                    v.dims in (full, self._row_dims(cluster))
                    for v in node.inputs
                    if self.cluster_of.get(v.node) is cluster
                )
            )
        return fits and self._may_join(node, cluster)

    def _needed_elsewhere(self, cluster: Cluster, reader: Node) -> bool:
        inside = {*cluster.nodes, reader}
        return any(
            v in self.results or any(u not in inside for u in self.users[v])
            for n in cluster.nodes
            for v in n.outputs
        )


def _is_one_instruction(lowering: Elementwise) -> bool:
    body = lowering.body
    if not isinstance(body, ScalarBody) or len(body.instructions) != 1:
        return False
    found = PRIMITIVES.get(body.instructions[0].name)
    return found is not None and found.cost <= SIMPLE


def _share_machine(nodes: Sequence[Node]) -> bool:
    """Whether all or none of the nodes have a kernel that is for the CPU alone."""
    return len({n.attrs.get("device") == "on_cpu" for n in nodes}) == 1


def _ends_product(node: Node) -> bool:
    """Whether a node is the last of elementwise ones that follow a product or a convolution."""
    dims = node.output.dims
    pending, seen = [node], {node}
    while pending and len(seen) <= NODE_LIMIT:
        for value in pending.pop().inputs:
            source = value.node
            if value.dims != dims or source in seen:
                continue
            if isinstance(source.lowering, MatMul | Convolution | FilterGradient):
                return True
            if isinstance(source.lowering, Elementwise):
                seen.add(source)
                pending.append(source)
    return False


def _scatters(cluster: Cluster) -> bool:
    """Whether a cluster's convolution is a transposed one to few channels: it writes pixels that
    are apart, and what follows it would be computed for one short pixel at a time."""
    first = cluster.nodes[0]
    if not isinstance(first.lowering, Convolution) or not first.lowering.transposed:
        return False
    channels = first.output.dims[-1]
    return isinstance(channels, int) and channels < FEW_CHANNELS
