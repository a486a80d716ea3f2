"""Refuses what no kernel can hold or compute with: handles that are still needed, and strings, but
where they only move.

In: a Computation before fusion. Out: the same object. Raises one `UnsupportedError` for all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import UnsupportedError
from flowc.ir.computation import Computation, Node
from flowc.ir.lowering import Elementwise, Host, Native, Structural, View
from flowc.options import Options
from flowc.passes.failures import Checks, Element


def check_dtypes(c: Computation, options: Options) -> Computation:
    held = [n for n in c.nodes if any(not v.type.dtype.held_size for v in n.outputs)]
    if held:
        raise _refused("flowc compiles no values of dtype resource or variant", held)
    computing = [n for n in c.nodes if _has_strings(n) and _computes(n)]
    if computing:
        raise _refused("flowc does not compute this with strings", computing)
    return c


def _refused(what: str, nodes: list[Node]) -> UnsupportedError:
    found: dict[str, list[Node]] = {}
    for node in nodes:
        found.setdefault(node.op.tf_name, []).append(node)
    lines = [
        f"  {name} ({len(nodes)}): {', '.join(n.name for n in nodes[:3])}"
        for name, nodes in found.items()
    ]
    return UnsupportedError(
        f"{what}:\n" + "\n".join(lines),
        node=nodes[0].name,
        hint="fetch tensors that do not need these nodes, or feed the tensors behind them",
        problems=[(t, len(n), tuple(x.name for x in n)) for t, n in found.items()],
    )


def _has_strings(node: Node) -> bool:
    return any(v.type.dtype is dtypes.string for v in (*node.inputs, *node.outputs))


def _computes(node: Node) -> bool:
    """Whether a kernel would take the numbers of strings for more than numbers that it moves."""
    match node.lowering:
        case View() | Host() | Structural():
            return False
        case Native(moves=moves):
            return not moves
        case Elementwise(expr):
            trial = _Trial(node)
            expr(trial, *(Element(v.type.dtype) for v in node.inputs))
            return trial.computes
        case _:
            return True


class _Trial(Checks):
    """A ScalarBuilder that notes whether strings are chosen only, or looked into."""

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        self.computes = False

    def __getattr__(self, primitive: str) -> Callable[..., Element]:
        call = super().__getattr__(primitive)

        def noting(*operands: Any) -> Element:
            self._note(*operands)
            return call(*operands)

        return noting

    def cast(self, x: Any, dtype: DType) -> Element:
        if x.dtype is not dtype:
            self._note(x, Element(dtype))
        return Element(dtype)

    def _note(self, *operands: Any) -> None:
        found = [x.dtype for x in operands if isinstance(x, Element)]
        self.computes = self.computes or dtypes.string in found
