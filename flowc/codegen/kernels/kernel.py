"""A kernel (what is compiled) and a launch (one use of it in a plan).

In: loops.py, contractions and native_kernels.py make them from clusters. Out: kernel_text.py
compiles the kernels, driver.py calls them. Invariant: a kernel's key is a pure function of its
content, so equal kernels of any graph share one compilation.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Literal

import numpy as np

from flowc.codegen.kernels.nest import LoopNest
from flowc.codegen.llvm.kernel_functions import KernelFunction
from flowc.codegen.llvm.shared_routines import SharedRoutine
from flowc.codegen.packed import Packed, memory_of
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.ir.cached_property import cached_property
from flowc.ir.computation import Value
from flowc.ir.dims import Dim, Symbol

# Pointers that are no tensors: memory private to a worker, memory that the launches of one cluster
# share, the words that report a fault, and the words that receive data-dependent sizes.
SCRATCH, WORKSPACE, STATUS, SIZES = "scratch", "workspace", "status", "sizes"
# The words by which a long kernel asks whether a signal ends the run.
INTERPRETER = "interpreter"
# An epilogue's function and its tables, for the kernel that calls it.
EPILOGUE, EPILOGUE_BUFFERS, EPILOGUE_INTS = "epilogue", "epilogue_buffers", "epilogue_ints"
# Memory that the kernel which calls another one names in that one's table.
STREAMED = "streamed"


@dataclass(frozen=True, slots=True)
class CalledPart:
    """What a kernel that calls others by their addresses is given of one of them: `call` is its
    number among the `calls` of the launch."""

    Name = Literal["function", "buffers", "ints", "epilogue_buffers"]

    call: int
    part: Name


@dataclass(frozen=True, eq=False)
class PackedConstant:
    """A constant value as a kernel reads it: what `pack`, a function of a module, makes of the
    elements and of settings, which can be hashed."""

    value: Value
    pack: Callable[..., np.ndarray | Packed]
    settings: tuple[Any, ...] = ()

    @property
    def layout(self) -> tuple[Any, ...]:
        """Equal for constants of which one copy serves all: the same elements, packed alike."""
        return memory_of(self._elements), self.pack, self.settings

    @cached_property
    def content(self) -> np.ndarray | Packed:
        """What stands among the weights."""
        return self.pack(self._elements, *self.settings)

    @property
    def _elements(self) -> np.ndarray:
        found = self.value.constant
        assert found is not None, self.value
        return found


Operand = Value | np.ndarray | PackedConstant | str | CalledPart


@dataclass(frozen=True, eq=False)
class Kernel:
    """One function `entry(*buffers, *ints, begin, end)` in Python source.

    `buffers`: element dtypes of its pointers; f16 and bf16 are carried as 16-bit integers, bool as
    u8, and the special names `"bytes"` (scratch) and `"i64"` give a uint8 and an int64 pointer.
    `ints`: how many int64 parameters follow. `functions`: math functions that it calls, by name.
    `constants`: globals, as NumPy scalars or ints. `globals`: functions by name. `element`: the
    dtype that the source calls `elem`. `ranges`: pairs of ints that it takes behind these, as a
    LoopNest says: one for a kernel that is launched by itself. `nest`: what the source was rendered
    from; None where it was written by hand. `symbol`: the kernel in C that it calls, where the
    source is LLVM IR. `as_written`: LLVM looks for no vectors in its loops, which are routines of
    vector IR, or too short. `bound`: arguments before the buffers that are constants of the kernel:
    numbers, addresses of routines, and None for one that is never called. Kernels that differ in
    these alone share the function's code.
    """

    source: str
    buffers: tuple[DType | str, ...]
    ints: int
    functions: tuple[str, ...] = ()
    constants: Mapping[str, Any] = field(default_factory=dict)
    globals: Mapping[str, KernelFunction] = field(default_factory=dict)
    entry: str = "kernel"
    element: DType | None = None
    ranges: int = 1
    nest: LoopNest | None = None
    symbol: str | None = None
    as_written: bool = False
    bound: tuple[SharedRoutine | int | None, ...] = ()

    @property
    def shown(self) -> str:
        """What readers of a trace know it by."""
        return self.entry if self.nest is None else "loops"

    @cached_property
    def key(self) -> str:
        """A name that is a pure function of the content."""
        bound = [x.symbol if isinstance(x, SharedRoutine) else x for x in self.bound]
        return f"k_{_digest((self.function_key, bound))}" if bound else f"k_{self.function_key}"

    @cached_property
    def function_key(self) -> str:
        """The same for the function, whatever is bound."""
        constants = sorted(
            (n, repr(v), str(getattr(v, "dtype", ""))) for n, v in self.constants.items()
        )
        called = [(n, g.routine) for n, g in sorted(self.globals.items())]
        return _digest(
            (
                self.source,
                [str(b) for b in self.buffers],
                self.ints,
                self.ranges,
                str(self.element),
                sorted(self.functions),
                constants,
                called,
                self.as_written,
            )
        )


def _digest(content: object) -> str:
    return hashlib.sha256(f"{content}".encode()).hexdigest()[:24]


@dataclass(frozen=True, eq=False)
class Epilogue:
    """What a contraction calls for each block of its result that is finished: a kernel with two
    ranges, its operands and ints."""

    kernel: Kernel
    operands: tuple[Operand, ...]
    ints: tuple[Dim, ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """A message, and the node that finds the fault (empty: the one that the launch is for)."""

    message: str
    node: str = ""


@dataclass(frozen=True, eq=False)
class Launch:
    """One call of a kernel: what its pointers and ints are, and the range that workers share.

    `operands`, one a buffer: values of the Computation, constant arrays, packed constants (weights
    in the layout that the kernel wants), or SCRATCH, WORKSPACE, STATUS, SIZES, INTERPRETER.
    `grain`: how many steps of the range make a chunk worth a thread; -c where one step is worth c
    of them, 0 where nobody knows. `sizes`: the data-dependent sizes that it writes; `scratch` is
    in bytes per worker, `workspace` in bytes for the whole cluster, from `workspace_offset` on.
    `errors`: the faults it may report, in the order of their numbers; `fault`: their class.
    `lanes`: how many threads of a GPU walk one step of the range together. `calls`: what the kernel
    calls for parts of their ranges, which report no faults and know of STREAMED memory.
    """

    kernel: Kernel
    operands: tuple[Operand, ...]
    ints: tuple[Dim, ...]
    total: Dim = 1
    grain: Dim = 1
    sizes: tuple[Symbol, ...] = ()
    scratch: Dim = 0
    workspace: Dim = 0
    errors: tuple[Fault, ...] = ()
    fault: str = "InvalidArgumentError"
    nodes: tuple[str, ...] = ()
    epilogue: Epilogue | None = None
    lanes: int = 1
    workspace_offset: Dim = 0
    calls: tuple[Launch, ...] = ()

    @property
    def chunks(self) -> int | None:
        """How many chunks worth a thread its range is cut into at most; None where that is not
        known."""
        if not isinstance(self.total, int) or not isinstance(self.grain, int):
            return None
        if self.grain == 0:
            return None if self.total > 1 else 1
        return max(1, -(-self.total // max(1, self.grain)))

    @property
    def worth(self) -> int | None:
        """How many chunks its work is worth, however few its range is cut into."""
        more = -self.grain if isinstance(self.grain, int) and self.grain < 0 else 1
        return None if self.chunks is None else self.chunks * more

    @property
    def memory(self) -> tuple[Dim, Dim]:
        """The bytes that it needs for each worker, and beside those."""
        return self.scratch, self.workspace_offset + self.workspace

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernel that is launched, and those that it calls."""
        own = (self.kernel,) if self.epilogue is None else (self.kernel, self.epilogue.kernel)
        return (*own, *(kernel for x in self.calls for kernel in x.kernels))
