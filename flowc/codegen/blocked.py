"""What every generated contraction kernel has in common.

In: the pieces of one contraction (how a block of its left operand is gathered, what follows a
finished block). Out: a `ContractionSource`: the text of one Python function that Numba compiles in
nopython mode, with its arguments, the globals it calls, and how much scratch and how many tasks it
takes.

A kernel walks tasks `begin <= task < end`. A task is a block of rows x columns of C (of one batch
entry or group), owned by that task alone and summed over the whole inner dimension in one fixed
order, so results do not depend on how tasks are shared out. Per block of the inner dimension the
kernel gathers rows of A into `scratch` (row-major, `shape.row_stride` apart) and runs the register
tile over the packed panels of B. When a block of C is finished, and still in cache, the epilogue's
lines run over it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

from flowc.codegen.gather import gather_intrinsics
from flowc.codegen.kernel import Kernel
from flowc.codegen.tiles import TileShape, panel_intrinsics
from flowc.codegen.vector_ir import advance
from flowc.dtypes import DType


@dataclass(frozen=True, slots=True)
class Argument:
    """A kernel argument: a pointer to elements of `type` (`"bytes"` for scratch), or an index."""

    name: str
    type: DType | str = "index"

    @property
    def is_pointer(self) -> bool:
        return self.type != "index"


@dataclass(frozen=True, slots=True)
class ContractionSource:
    """One kernel as text.

    `arguments` are in order: pointers, indices, `begin, end`. `symbols` are the globals that the
    text calls. `tasks` (an expression over the index arguments, of `+ - * //` and parentheses) is
    the end of the whole parallel range. `scratch_bytes` is what each worker must have at `scratch`,
    64-byte aligned; its contents need no initial value.
    """

    name: str
    text: str
    arguments: tuple[Argument, ...]
    tasks: str
    scratch_bytes: int
    symbols: dict[str, Any] = field(compare=False)

    @property
    def kernel(self) -> Kernel:
        buffers = tuple(a.type for a in self.arguments if a.is_pointer)
        ints = len(self.arguments) - len(buffers) - 2
        return Kernel(self.text, buffers, ints, globals=self.symbols, entry=self.name)


class Epilogue(Protocol):
    """Writes the lines that finish a block of C in place.

    `indent` is the number of spaces each line must start with. `rows` and `columns` are pairs of
    expressions, begin and end, that index C as `c[row * c_stride + column]`, where a row is a
    matrix row (of all batch entries in a row) or a flattened output pixel.
    """

    def __call__(
        self, indent: int, rows: tuple[str, str], columns: tuple[str, str]
    ) -> Sequence[str]: ...


def no_epilogue(indent: int, rows: tuple[str, str], columns: tuple[str, str]) -> Sequence[str]:
    return ()


def indented(text: str, indent: int) -> str:
    return textwrap.indent(textwrap.dedent(text).strip("\n"), " " * indent)


def ceil_div(dividend: str, divisor: int) -> str:
    return f"(({dividend} + {divisor - 1}) // {divisor})"


def even_step(total: str, blocks: str, shape: TileShape) -> str:
    """An even share of `total`, of which at most `shape.depth` is a block's, in whole vectors."""
    lanes = shape.lanes
    return f"(({total} + {blocks} - 1) // {blocks} + {lanes - 1}) // {lanes} * {lanes}"


def arguments_of(
    shape: TileShape, pointers: str, indices: Sequence[str], extra: Sequence[Argument]
) -> tuple[Argument, ...]:
    """All arguments in order; of the pointers, the one named `scratch` is to bytes."""
    return (
        *(Argument(p, "bytes" if p == "scratch" else shape.dtype) for p in pointers.split()),
        *(a for a in extra if a.is_pointer),
        *(Argument(name) for name in indices),
        *(a for a in extra if not a.is_pointer),
        Argument("begin"),
        Argument("end"),
    )


def block_pointer(shape: TileShape) -> str:
    """The line that makes `blocks`, where rows are gathered, of the scratch bytes."""
    return f"blocks = as_{shape.dtype}_pointer(scratch)"


def function_text(name: str, arguments: Sequence[Argument], *bodies: str) -> str:
    """`def name(arguments):` over bodies that are already indented by 4."""
    head = textwrap.fill(
        f"def {name}({', '.join(a.name for a in arguments)}):",
        96,
        subsequent_indent=" " * 8,
        break_long_words=False,
    )
    return "\n".join([head, *(body for body in bodies if body)]) + "\n"


def block_bounds(shape: TileShape) -> str:
    """Lines that share out `m` rows evenly over row blocks and count the column blocks of `n`."""
    return f"""
        row_blocks = {ceil_div("m", shape.block_rows)}
        per_block = (m + row_blocks - 1) // row_blocks if row_blocks > 0 else 0
        per_block = (per_block + {shape.rows - 1}) // {shape.rows} * {shape.rows}
        column_blocks = {ceil_div("n", shape.block_columns)}
        """


def block_of_task(shape: TileShape) -> str:
    """Lines that set `row_begin .. column_end` from `block_index`; consecutive blocks go down."""
    return f"""
        column_block = block_index // row_blocks
        row_begin = (block_index - column_block * row_blocks) * per_block
        row_end = row_begin + per_block if row_begin + per_block < m else m
        column_begin = column_block * {shape.block_columns}
        column_end = column_begin + {shape.block_columns}
        column_end = column_end if column_end < n else n
        """


PANEL_CALL = """
    add_panels(blocks, advance(panels, k_begin * {columns}), c_block, inner, depth, c_stride,
               row_begin, row_end, column_begin, column_end, accumulate)
    """


def add_panels_text(shape: TileShape) -> str:
    """The call that adds block x panels to C.

    It reads `panels` (of this batch entry or group), `inner` (rows of a panel), `k_begin`, `depth`,
    the block at `blocks`, C from `c_block` on with `c_stride`, and `accumulate`.
    """
    return PANEL_CALL.format(columns=shape.columns)


@lru_cache(maxsize=64)
def contraction_symbols(shape: TileShape, rank: int = 2) -> dict[str, Any]:
    """The globals of contraction kernels; the same objects for the same shape."""
    return {"advance": advance, **panel_intrinsics(shape), **gather_intrinsics(shape, rank)}
