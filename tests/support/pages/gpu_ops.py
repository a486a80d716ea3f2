"""Writes `flowc/cli/host_ops_of_gpus.txt`: the ops that stay on the host where a GPU is, and why.

    python tests/support/pages/gpu_ops.py

In: the examples of the records, compiled for a GPU of architecture 80. Out: a line for each reason,
with the ops behind it. Sizes do not count: work for one thread stays on the host, however little.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import numpy as np
from devices.device_launches import cuda_target
from op_cases import placed, plain_cases

from flowc import dtypes
from flowc.codegen.cuda import native
from flowc.codegen.cuda.target import CudaTarget
from flowc.extract.unsupported_ops import is_supported
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.lowering import Extracted, Host
from flowc.ir.op import Op, op_named
from flowc.ops import tf_names, tf_op
from flowc.options import Options
from flowc.passes.pipeline import run_passes

PAGE = Path(__file__).parents[3] / "flowc" / "cli" / "host_ops_of_gpus.txt"
PYTHON = "the host's Python does it"
STRINGS = "strings and tables are on the host"
# What is written in terms of another op, which decides.
WRITTEN_AS = {
    r"RandomShuffle$": "permutation_of_words",
    r"\w*CandidateSampler$": "draw_candidates",
    r"Add$": "add",
}


def host_ops() -> dict[str, str]:
    """The reason for each op that stays on the host."""
    target = cuda_target(80)
    found: dict[str, str] = {}
    for name in sorted(tf_names()):
        op = tf_op(name)
        assert op is not None
        if not is_supported(name):
            continue
        reason = host_reason(op, target)
        if reason is not None:
            found[name] = reason
    return found


def host_reason(op: Op, target: CudaTarget) -> str | None:
    """Why some cluster of an op's examples stays on the host."""
    lowering = op.lowering
    if isinstance(lowering, Host) or (isinstance(lowering, Extracted) and lowering.host):
        return PYTHON
    if isinstance(lowering, Extracted):
        for pattern, name in WRITTEN_AS.items():
            if re.match(pattern, op.tf_name):
                return host_reason(op_named(name), target)
        made_by = lowering.emit.__module__
        return STRINGS if re.match(r"flowc\.ops\.(tables|strings)", made_by) else None
    with mock.patch.object(native, "LITTLE", -1), np.errstate(all="ignore"):
        for case in plain_cases(op):
            b, feeds = Builder(), dict[Value, np.ndarray]()
            c = run_passes(b.build(placed(b, case, feeds).outputs), Options())
            for node in nodes_of(c):
                if node.op.name == "host":
                    return PYTHON
                reason = target.host_reason(node) if node.op.name == "cluster" else None
                if reason is not None:
                    return reason
    return STRINGS if any(a.dtype is dtypes.string for a in op.signature.inputs) else None


def nodes_of(c: Computation) -> Iterator[Node]:
    for node in c.nodes:
        yield node
        if node.op.name in ("while", "if"):
            for inner in node.attrs.values():
                if isinstance(inner, Computation):
                    yield from nodes_of(inner)


def page() -> str:
    rows = host_ops()
    lines = [
        f"{reason}: {' '.join(name for name, why in rows.items() if why == reason)}"
        for reason in sorted(set(rows.values()))
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
