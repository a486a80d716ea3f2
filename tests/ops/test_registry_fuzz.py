"""Random graphs of all ops: compiled without fusion each node agrees with its reference, compiled
with fusion the results are the same to the bit.

`FLOWC_FUZZ=1000` runs that many graphs, `FLOWC_FUZZ_SEED` is the first one's seed. Every node is
compared on the numbers that compiled code computed before it, element by element, so that nothing
hides behind what an error grows to. Seeds take turns with the targets that this machine runs.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from campaigns.registry_graphs import NEAR, RegistryGraph, node_reference, registry_graph
from campaigns.runnable_targets import TARGETS
from closeness import difference
from op_cases import EXACT
from op_tolerances import COMPILED, COMPILED_EXTREMES_APART
from partitions import PartitionedProgram, bits

from flowc import dtypes
from flowc.ir.computation import Node, Value
from flowc.options import Options

FIRST = int(os.environ.get("FLOWC_FUZZ_SEED", "0"))
COUNT = int(os.environ.get("FLOWC_FUZZ", "16"))


def wrong_nodes(graph: RegistryGraph, found: dict[Value, np.ndarray]) -> list[str]:
    """The nodes whose outputs are not those of their references for the inputs that they had."""
    faults: list[str] = []
    for node in graph.nodes():
        inputs = [content(v, graph, found) for v in node.inputs]
        if node.op.name in COMPILED_EXTREMES_APART and any(map(holds_extremes, inputs)):
            continue
        expected = node_reference(node, inputs)
        near = COMPILED.get(node.op.name, EXACT)
        for value, wanted in zip(node.outputs, expected, strict=True):
            wrong = difference(found[value], wanted, near)
            if wrong is not None and not is_rounded_mean(node, inputs, found[value], wanted):
                faults.append(f"{shown(node)}: {wrong}")
    return faults


def is_rounded_mean(
    node: Node, inputs: list[np.ndarray], found: np.ndarray, wanted: np.ndarray
) -> bool:
    """Whether a normalized image, or its variance, differs by the rounding of its mean, which is
    all that is left of pixels that are alike."""
    if not node.op.name.startswith("fused_batch_norm") or "grad" in node.op.name:
        return False
    image, scale = (float(np.abs(a).max(initial=0)) for a in inputs[:2])
    rounding = 8 * np.finfo(np.float32).eps * image
    error = max(rounding**2, rounding * scale / np.sqrt(node.attrs["epsilon"]))
    return np.allclose(found, wanted, rtol=0, atol=error)


def holds_extremes(array: np.ndarray) -> bool:
    """Whether an array has infinities, NaN, or the largest or smallest numbers of its dtype."""
    kind = dtypes.as_dtype(array.dtype)
    if not (kind.is_floating or kind.is_complex):
        return False
    size = np.abs(array.astype(np.complex128))
    return bool(np.any(~np.isfinite(size) | (size > 1e30) | ((size > 0) & (size < 1e-30))))


def content(value: Value, graph: RegistryGraph, found: dict[Value, np.ndarray]) -> np.ndarray:
    if value.constant is not None:
        return value.constant
    return found.get(value, graph.arrays[value])


def shown(node: Node) -> str:
    inputs = ", ".join(str(v.type) for v in node.inputs)
    return f"{node.op.name}({inputs}) {dict(node.attrs)}"


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_graphs_of_all_ops(seed: int) -> None:
    graph = registry_graph(seed)
    target = TARGETS[seed % len(TARGETS)]
    arrays = [graph.arrays[p.output] for p in graph.b.parameters]
    every = graph.every()
    outputs = PartitionedProgram(every, Options(target, fuse=False)).run(arrays)
    found = dict(zip(every.results, outputs, strict=True))
    assert not wrong_nodes(graph, found), f"seed {seed} on {target}\n{every}"
    few, results = graph.few()
    for value, array in zip(results, PartitionedProgram(few, Options(target)).run(arrays)):
        where = f"seed {seed} on {target}: {shown(value.node)}, fused\n{few}"
        if graph.trust[value] == NEAR:
            near = COMPILED.get(value.node.op.name, EXACT)
            assert difference(array, found[value], near) is None, where
        else:
            same = array.shape == found[value].shape and bits(array) == bits(found[value])
            assert same, f"{where}\n{array}\nunfused {found[value]}"
