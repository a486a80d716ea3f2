"""The clusters whose kernels a library has: those that models of several families have in common.

In: `common_clusters.txt` and `other_clusters.txt`, texts of Computations of one cluster each. Out:
their kernels. A cluster is of any target; constants that it reads have a type alone, as kernels
are told where weights are, not what they are. `benchmarks/record_clusters.py` writes the texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import MappingProxyType

import numpy as np

from flowc.codegen.kernels.kernel import Kernel
from flowc.codegen.program import launches_of
from flowc.codegen.target import Target
from flowc.codegen.targets import epilogue_forms
from flowc.ir.computation import Computation, Node, Value, parameter_node
from flowc.ir.text.form import parse_computation, print_computation
from flowc.ir.types import parse_type

# A third of all, which have 0.7 of the kernels that the models of `benchmarks/peers` ask for.
COMMON = Path(__file__).with_name("common_clusters.txt")
RECORDED = (COMMON, Path(__file__).with_name("other_clusters.txt"))
_WEIGHTS = re.compile(r"weights<(\d+)>\} : (\S+)")
_COMMENT = re.compile(r"  # .*")


def recorded_texts(paths: Iterable[Path]) -> Iterator[str]:
    """The texts of files."""
    for path in paths:
        yield from path.read_text().strip().split("\n\n")


def recorded_clusters(paths: Iterable[Path]) -> Iterator[Computation]:
    """The Computations of files. Raises `ValueError` for a text that cannot be read."""
    return map(cluster_of, recorded_texts(paths))


def cluster_of(text: str) -> Computation:
    """A Computation whose large constants are zeros. Raises `ValueError` as `parse_computation`."""
    types = {int(number): parse_type(type_) for number, type_ in _WEIGHTS.findall(text)}
    return parse_computation(
        text, [_zeros(types[i].dtype.numpy, types[i].static_dims) for i in range(len(types))]
    )


def text_of(node: Node) -> str:
    """The text of a cluster by itself, without the names of its nodes."""

    def constant(value: Value) -> Node:
        found = value.constant
        assert found is not None
        zeros = _zeros(found.dtype, found.shape)
        attrs = MappingProxyType({**value.node.attrs, "value": zeros})
        return Node(value.node.op, (), attrs, value.node.types, (), ())

    text = print_computation(lone_cluster(node, constant), exact=True)
    return "\n".join(_COMMENT.sub("", line) for line in text.split("\n"))


def lone_cluster(node: Node, constant: Callable[[Value], Node]) -> Computation:
    """A Computation of one cluster. What it reads that is no constant is a parameter; `constant`
    gives the nodes of the others."""
    given: dict[Value, Value] = {}
    nodes: list[Node] = []
    for value in node.inputs:
        if value not in given:
            is_known = value.constant is not None
            made = constant(value) if is_known else parameter_node(f"x{len(given)}", value.type)
            nodes.append(made)
            given[value] = made.output
    inputs = tuple(given[v] for v in node.inputs)
    attrs = MappingProxyType(dict(node.attrs))
    cluster = Node(node.op, inputs, attrs, node.types, (), node.origin, node.sizes)
    parameters = tuple(n for n in nodes if n.op.name == "parameter")
    return Computation(parameters, (*nodes, cluster), cluster.outputs)


def kernels_of(c: Computation, target: Target) -> dict[str, Kernel]:
    """The kernels of a Computation's clusters, as a program for a target launches them."""
    launches = launches_of(c, target, shares_sizes=True)
    return {k.key: k for made in launches.values() for x in made for k in x.kernels}


def epilogues_of(c: Computation, target: Target) -> dict[str, Kernel]:
    """What follows the products of a Computation, as it does where they have few columns, and where
    they have many: a layer is narrow in one model, and wide in another."""
    found = [node for node in c.nodes if node.op.name == "cluster"]
    return {k.key: k for node in found for k in epilogue_forms(node, target)}


def _zeros(dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """Zeros that take no memory."""
    return np.broadcast_to(np.zeros((), dtype), shape)
