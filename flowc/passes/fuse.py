"""Groups nodes into clusters, each of which becomes one kernel.

In: a Computation of lowered nodes. Out: one whose kernels are `cluster` nodes with bodies; what is
left beside them is structure (parameters, constants, sizes) and reshapes, which move no data.

`grouping.py` decides what joins. Floating nodes are copied into the clusters that read them.
"""

from __future__ import annotations

from types import MappingProxyType

from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Node, Value, parameter_node
from flowc.ir.lowering import Convolution, FilterGradient, MatMul, Native
from flowc.ir.op import op_named
from flowc.ir.traversal import inputs_first, reachable
from flowc.options import Options
from flowc.passes.analysis.grouping import Cluster, Grouping, cluster_of


def fuse(c: Computation, options: Options) -> Computation:
    """Every lowered node in a cluster."""
    grouping = Grouping(c)
    # A cluster for each node: what fusion is compared with in tests.
    clusters = grouping.run() if options.fuse else [k for n in c.nodes if (k := cluster_of(n))]
    return _Assembly(grouping, clusters).run()


# What reads its operands from memory, and not element by element.
_READ_MEMORY = (MatMul, Convolution, FilterGradient, Native)


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
        nodes = [n for n in self.c.nodes if n not in self.floating or n in self.owner]
        for item in inputs_first(map(self._placed_as, nodes), self._needs, _refuse_circle):
            self._place(item)
        self.b.parameters = [self.nodes[p] for p in self.c.parameters]
        return self.b.build([self.values[v] for v in self.c.results])

    def _placed_as(self, node: Node) -> Node | Cluster:
        return self.owner.get(node, node)

    def _needs(self, item: Node | Cluster) -> list[Node | Cluster]:
        """What must be placed before: inputs (through floating ones), order, sizes."""
        found: dict[Node | Cluster, None] = {}

        def floating_sources(node: Node) -> list[Node]:
            sources = (*self.grouping.sources(node), *node.after)
            found.update((self._placed_as(n), None) for n in sources if n not in self.floating)
            return [n for n in sources if n in self.floating]

        reachable(item.nodes if isinstance(item, Cluster) else [item], floating_sources)
        found.pop(item, None)
        return list(reversed(found))

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
        is_product = cluster.kind in ("matmul", "convolution")
        of_one_column = is_product and cluster.nodes[0].output.dims[-1] == 1
        in_memory = {v for n in members if isinstance(n.lowering, _READ_MEMORY) for v in n.inputs}
        for node in members:
            for v in node.inputs:
                if v.node in inside or v in inner:
                    continue
                constant = v.constant
                # In the code itself; not the bias of a product of one column, which is a weight.
                is_weight = of_one_column and v.type.rank > 0
                written = v.type.dtype.size and v not in in_memory and not is_weight
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
        grouping = self.grouping
        found = reachable(cluster.nodes, grouping.copied_for)
        return sorted(found, key=grouping.position.__getitem__)

    def _leaves(self, value: Value, inside: set[Node]) -> bool:
        """Whether a value of a cluster is read outside it (by more than floating copies)."""
        if value in self.grouping.results:
            return True
        users = self.grouping.users
        if any(n not in inside and n not in self.floating for n in users[value]):
            return True  # of a value that many read, without following them all

        def beyond(node: Node) -> list[Node]:
            return users[node.output] if node in self.floating and node not in inside else []

        readers = reachable(users[value], beyond)
        return not all(n in inside or n in self.floating for n in readers)


def _refuse_circle(circle: list[Node | Cluster]) -> None:
    raise AssertionError("two clusters need each other")


def _raw_first(raw: Value, outputs: list[Value]) -> list[Value]:
    """A contraction's results, the first of which lends its memory to the raw result until that is
    replaced element by element: one of the same dtype, else the raw result itself."""
    first = next((v for v in outputs if v.type.dtype is raw.type.dtype), raw)
    return [first, *(v for v in outputs if v is not first)]
