"""One op on arrays: by its reference, as a node, as machine code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.compiler import compile_computation
from flowc.ir.builder import Builder
from flowc.ir.dims import symbol
from flowc.ir.op import call_reference, op_named
from flowc.ir.program_spec import spec_of
from flowc.ir.types import TensorType
from flowc.options import Options
from flowc.run.executable import Executable


def reference(name: str, arrays: Sequence[Any], **attrs: Any) -> list[np.ndarray]:
    op = op_named(name)
    full = dict(built_node(name, arrays, attrs, range(len(arrays)), ()).attrs)
    inputs = [np.asarray(a) for a in arrays]
    assert op.reference is not None
    return call_reference(
        op, op.reference, inputs, full, [dtypes.as_dtype(a.dtype) for a in inputs]
    )


def built_node(
    name: str,
    arrays: Sequence[Any],
    attrs: Mapping[str, Any],
    constant: Sequence[int] | range,
    symbolic: Sequence[int],
) -> Any:
    """One node on constants and parameters; inputs in `symbolic` have no known size."""
    b = Builder()
    values = []
    for i, array in enumerate(np.asarray(a) for a in arrays):
        if i in constant:
            values.append(b.const(array))
            continue
        dims: Any = [symbol(f"n{d}") for d in range(array.ndim)] if i in symbolic else array.shape
        values.append(b.parameter(f"x{i}", TensorType(dtypes.as_dtype(array.dtype), tuple(dims))))
    return BuiltNode(b, b.emit(op_named(name), values, attrs))


class BuiltNode:
    def __init__(self, b: Builder, node: Any) -> None:
        self.computation = b.build(list(node.outputs))
        self.node = node
        self.attrs = node.attrs


def compiled(
    name: str,
    arrays: Sequence[Any],
    *,
    constant: Sequence[int] = (),
    symbolic: Sequence[int] = (),
    threads: int = 2,
    **attrs: Any,
) -> list[np.ndarray]:
    """The outputs of one op as machine code; inputs not in `constant` are fed."""
    built = built_node(name, arrays, attrs, constant, symbolic)
    c = built.computation
    names = [f"x{i}" for i in range(len(c.parameters))], [f"y{i}" for i in range(len(c.results))]
    program = Executable(compile_computation(c, Options(), spec_of(c, *names)), threads)
    return program.run([np.asarray(a) for i, a in enumerate(arrays) if i not in constant])
