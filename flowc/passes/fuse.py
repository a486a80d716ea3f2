"""Groups nodes into clusters, each of which becomes one kernel.

In: a Computation of lowered nodes. Out: one whose kernels are `cluster` nodes with bodies; what is
left beside them is structure (parameters, constants, sizes) and reshapes, which move no data.

`grouping.py` decides what joins. Floating nodes are copied into the clusters that read them.
"""

from __future__ import annotations

from types import MappingProxyType

from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Node, Value, parameter_node
from flowc.ir.lowering import Convolution, MatMul, Native
from flowc.ir.op import op_named
from flowc.options import Options
from flowc.passes.grouping import Cluster, Grouping, cluster_of


def fuse(c: Computation, options: Options) -> Computation:
    """Every lowered node in a cluster."""
    grouping = Grouping(c)
    # A cluster for each node: what fusion is compared with in tests.
    clusters = grouping.run() if options.fuse else [k for n in c.nodes if (k := cluster_of(n))]
    return _Assembly(grouping, clusters).run()


# What reads its operands from memory, and not element by element.
_READ_MEMORY = (MatMul, Convolution, Native)


class _Assembly:
    """Builds the new Computation: cluster nodes in an order that respects what they read."""

    def __init__(self, grouping: Grouping, clusters: list[Cluster]) -> None:
        self.c = c = grouping.c
        self.grouping = grouping
        self.floating = grouping.floating
        self.owner = {n: k for k in clusters for n in k.nodes}
        self.values: dict[Value, Value] = {}
        self.nodes: dict[Node, Node] = {}
        self.b = Builder()
        self.b.constraints = list(c.constraints)

    def run(self) -> Computation:
        """Places each node when the last member of its cluster comes up, inputs first."""
        done: set[Node | Cluster] = set()
        waiting: set[object] = set()
        stack: list[tuple[Node | Cluster, bool]] = []
        for root in self.c.nodes:
            if root in self.floating and root not in self.owner:
                continue
            stack.append((self.owner.get(root, root), False))
            while stack:
                item, ready = stack.pop()
                if item in done:
                    continue
                if ready:
                    done.add(item)
                    self._place(item)
                    continue
                assert item not in waiting, "two clusters need each other"
                waiting.add(item)
                stack.append((item, True))
                for node in self._needs(item):
                    key = self.owner.get(node, node)
                    if key is not item and key not in done:
                        stack.append((key, False))
        self.b.parameters = [self.nodes[p] for p in self.c.parameters]
        return self.b.build([self.values[v] for v in self.c.results])

    def _needs(self, item: Node | Cluster) -> list[Node]:
        """Nodes that must be placed before: inputs (through floating ones), order, sizes."""
        found: dict[Node, None] = {}
        stack = list(item.nodes) if isinstance(item, Cluster) else [item]
        seen: set[Node] = set()
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            for source in (*self.grouping.sources(node), *node.after):
                if source in self.floating:
                    stack.append(source)
                else:
                    found[source] = None
        return list(found)

    def _place(self, item: Node | Cluster) -> None:
        if isinstance(item, Cluster):
            self._place_cluster(item)
            return
        inputs = [self.values[v] for v in item.inputs]
        after = tuple(self.nodes[n] for n in item.after)
        node = self.b.append(item.over(inputs, after))
        self.values.update(zip(item.outputs, node.outputs))
        self.nodes[item] = node

    def _place_cluster(self, cluster: Cluster) -> None:
        body = Builder()
        inner: dict[Value, Value] = {}
        inputs: list[Value] = []
        members = self._with_floating(cluster)
        inside = set(members)
        in_memory = {v for n in members if isinstance(n.lowering, _READ_MEMORY) for v in n.inputs}
        for node in members:
            for v in node.inputs:
                if v.node in inside or v in inner:
                    continue
                constant = v.constant
                written = v.type.dtype.size and v not in in_memory  # in the code itself
                if constant is not None and constant.size == 1 and written:
                    inner[v] = body.append(v.node.over(())).output
                    continue
                parameter = body.append(parameter_node(f"p{len(inputs)}", v.type))
                body.parameters.append(parameter)
                inner[v] = parameter.output
                inputs.append(self.values[v])
            copy = body.append(node.over(inner[v] for v in node.inputs))
            inner.update(zip(node.outputs, copy.outputs))
        outputs = [v for n in cluster.nodes for v in n.outputs if self._leaves(v, inside)]
        if cluster.kind == "native":
            outputs = [v for n in cluster.nodes for v in n.outputs]
        elif cluster.kind != "loop":
            outputs = _raw_first(cluster.nodes[0].output, outputs)
        origin = tuple(dict.fromkeys(name for n in members for name in n.origin))
        after = tuple(dict.fromkeys(self.nodes[a] for n in cluster.nodes for a in n.after))
        attrs = {
            "kind": cluster.kind,
            "body": body.build([inner[v] for v in outputs]),
            "Tout": tuple(v.type.dtype for v in outputs),
        }
        sizes = tuple(s for n in members for s in n.sizes)
        types = tuple(v.type for v in outputs)
        node = Node(
            op_named("cluster"), tuple(inputs), MappingProxyType(attrs), types, after, origin, sizes
        )
        self.b.append(node)
        self.values.update(zip(outputs, node.outputs))
        for n in cluster.nodes:
            self.nodes[n] = node

    def _with_floating(self, cluster: Cluster) -> list[Node]:
        """The members and the floating nodes that they read, in order."""
        found: set[Node] = set(cluster.nodes)
        stack = list(cluster.nodes)
        while stack:
            for v in stack.pop().inputs:
                if v.node in self.floating and v.node not in found:
                    found.add(v.node)
                    stack.append(v.node)
        return sorted(found, key=lambda n: self.grouping.position[n])

    def _leaves(self, value: Value, inside: set[Node]) -> bool:
        """Whether a value of a cluster is read outside it (by more than floating copies)."""
        if value in self.grouping.results:
            return True
        users = self.grouping.users
        stack = list(users[value])
        while stack:
            user = stack.pop()
            if user in inside:
                continue
            if user in self.floating:
                stack += users[user.output]
                continue
            return True
        return False


def _raw_first(raw: Value, outputs: list[Value]) -> list[Value]:
    """A contraction's results, the first of which lends its memory to the raw result until that is
    replaced element by element: one of the same dtype, else the raw result itself."""
    first = next((v for v in outputs if v.type.dtype is raw.type.dtype), raw)
    return [first, *(v for v in outputs if v is not first)]
