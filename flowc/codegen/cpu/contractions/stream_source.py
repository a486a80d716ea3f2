"""A kernel that calls others for a block of rows at a time: what one computes and the next reads
stands in scratch memory.

In: what the tables of the called kernels hold. Out: a kernel. The called ones are those that run by
themselves elsewhere: their tables say where operands are, and their ranges which tasks to do. The
rows of a block stand at the beginning of their value's place in scratch, so that a table says where
row 0 would be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from flowc import dtypes
from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.kernels.kernel import EPILOGUE_BUFFERS, SCRATCH, CalledPart, Kernel, Operand
from flowc.codegen.llvm.vector_ir import least
from flowc.dataclass import dataclass
from flowc.dtypes import DType

WORD = 8
# What a caller is given of each kernel.
_PARTS: tuple[tuple[CalledPart.Name, DType], ...] = (
    ("function", dtypes.u8),
    ("buffers", dtypes.i64),
    ("ints", dtypes.u8),
    ("epilogue_buffers", dtypes.i64),
)
Entry = int | str | None
Walked = Literal["panels", "tasks", "rows"]


@dataclass(frozen=True, slots=True)
class CalledKernel:
    """A kernel as its caller sees it. `buffers` and those of its epilogue say of each entry what
    the caller writes there: the number of a streamed value's place, the address of SCRATCH or of
    EPILOGUE_BUFFERS, None for what the driver wrote. `range`: its tasks are the panels of
    `each_block`, or those of a block of rows follow each other, or its range is rows."""

    range: Walked
    buffers: tuple[Entry, ...]
    epilogue_buffers: tuple[Entry, ...]

    @property
    def tables(self) -> tuple[tuple[str, tuple[Entry, ...]], ...]:
        return ("buffers", self.buffers), ("epilogue_buffers", self.epilogue_buffers)


def stream_kernel(calls: Sequence[CalledKernel], streamed: int, shape: TileShape) -> Kernel:
    """The kernel that makes `calls`, with so many streamed values between them.

    Buffers: scratch, which begins with `table_bytes`, then `buffers_of`. Ints: `rows` of a batch
    entry, `block_rows` and `blocks` of these, `free` (where in scratch the called kernels have
    theirs); `place` in scratch and `row_bytes` of each value; `panels` of each product, or how many
    `tasks` of a kernel are a block. The range is blocks of rows, entry by entry.
    """
    starts = _table_starts(calls)
    ints = ["rows", "block_rows", "blocks", "free"]
    ints += [f"{name}{i}" for i in range(streamed) for name in ("place", "row_bytes")]
    ints += [f"{call.range}{i}" for i, call in enumerate(calls) if call.range != "rows"]
    given = [f"{part}{i}" for i, call in enumerate(calls) for part, _ in _parts_of(call)]
    lines = [
        f"def streamed({', '.join(['scratch', *given, *ints, 'begin', 'end'])}):",
        "    words = as_i64_pointer(scratch)",
        "    base = address_of(scratch)",
        *_table_lines(calls, starts),
        "    for unit in range(begin, end):",
        "        entry = idiv(unit, blocks)",
        "        block = unit - entry * blocks",
        "        first = entry * rows + block * block_rows",
        "        last = least(first + block_rows, (entry + 1) * rows)",
        *_place_lines(calls, starts),
    ]
    for i, call in enumerate(calls):
        match call.range:
            case "panels":
                lines += _product_lines(i, starts[i], shape)
            case "tasks":
                begin, end = f"unit * tasks{i}", f"(unit + 1) * tasks{i}"
                lines.append(f"        {_call(i, starts[i], begin, end)}")
            case "rows":
                lines.append(f"        {_call(i, starts[i], 'first', 'last')}")
    kinds = (kind for call in calls for _, kind in _parts_of(call))
    return Kernel(
        "\n".join(lines) + "\n",
        ("bytes", *kinds),
        len(ints),
        globals={"least": least},
        entry="streamed",
        as_written=True,
    )


def buffers_of(calls: Sequence[CalledKernel]) -> list[Operand]:
    """The operands of the kernel behind scratch."""
    return [CalledPart(i, part) for i, call in enumerate(calls) for part, _ in _parts_of(call)]


def table_bytes(calls: Sequence[CalledKernel]) -> int:
    """Scratch for the tables of what is called."""
    return WORD * sum(len(entries) for call in calls for _, entries in call.tables)


def _parts_of(call: CalledKernel) -> Sequence[tuple[CalledPart.Name, DType]]:
    return _PARTS if call.epilogue_buffers else _PARTS[:-1]


def _table_starts(calls: Sequence[CalledKernel]) -> list[int]:
    """Where in scratch the tables of each call begin, in words: that of its epilogue is behind its
    own."""
    return [table_bytes(calls[:i]) // WORD for i in range(len(calls))]


def _table_lines(calls: Sequence[CalledKernel], starts: Sequence[int]) -> list[str]:
    """Copies the tables that the driver wrote; with the addresses that stay."""
    lines: list[str] = []
    for i, (call, start) in enumerate(zip(calls, starts)):
        values = {SCRATCH: "base + free"}
        values[EPILOGUE_BUFFERS] = f"base + {WORD * (start + len(call.buffers))}"
        word = start
        for name, entries in call.tables:
            for j, entry in enumerate(entries):
                value = values[entry] if isinstance(entry, str) else f"{name}{i}[{j}]"
                if not isinstance(entry, int):
                    lines.append(f"    words[{word}] = {value}")
                word += 1
    return lines


def _place_lines(calls: Sequence[CalledKernel], starts: Sequence[int]) -> list[str]:
    """Writes where row 0 of each value would be."""
    return [
        f"        words[{word}] = base + place{entry} - first * row_bytes{entry}"
        for call, start in zip(calls, starts)
        for word, entry in enumerate((*call.buffers, *call.epilogue_buffers), start)
        if isinstance(entry, int)
    ]


def _call(i: int, start: int, begin: str, end: str) -> str:
    return f"call_kernel(function{i}, offset(scratch, {WORD * start}), ints{i}, {begin}, {end})"


def _product_lines(i: int, start: int, shape: TileShape) -> list[str]:
    """The tasks of a block of rows follow each other in each block of columns."""
    return [
        "        panel = 0",
        f"        while panel < panels{i}:",
        f"            width = least(panels{i} - panel, {shape.block_columns // shape.columns})",
        f"            task = blocks * (entry * panels{i} + panel) + block * width",
        f"            {_call(i, start, 'task', 'task + width')}",
        "            panel += width",
    ]
