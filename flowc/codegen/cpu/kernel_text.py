"""A kernel -> LLVM IR text, before any optimisation.

In: a Kernel. Out: text that defines `void <key>(i8** buffers, i64* dims, i64 begin, i64 end,
i64 worker)`, the one kernel ABI, and the routines that it calls. Nothing of the host is in the
text, so that any target can be compiled from it. What a kernel binds to a function, or calls of
several, is written here; Numba (`numba_stages/function_text.py`) is imported, and reads a
function, when its text is wanted: not where a library or a cache has what was compiled of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from llvmlite import ir

from flowc import dtypes
from flowc.codegen import math as vector_math
from flowc.codegen.cpu.row_pieces import pieces_of
from flowc.codegen.kernels.kernel import Kernel
from flowc.codegen.llvm.quantity import ir_type
from flowc.codegen.llvm.shared_routines import EmittedText, SharedRoutine, with_called
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc_runtime.native.writer import I8, I64


def module_texts(kernel: Kernel) -> list[str]:
    """The LLVM IR of a kernel, and that of all that it calls."""
    texts, called = separate_texts(kernel)
    return [*texts, *(routine.text for routine in with_called(called).values())]


def separate_texts(kernel: Kernel) -> tuple[list[str], list[SharedRoutine]]:
    """The LLVM IR of a kernel and of the math functions that it calls, and the routines that it
    calls and other kernels, too. Raises `InternalError` with the source if Numba rejects it."""
    if kernel.bound:
        function = _shared_function(kernel)
        given = [x for x in kernel.bound if isinstance(x, SharedRoutine)]
        call = _Call.of_all(kernel, function.symbol)
        declared = _declarations(kernel, [call], [x.symbol for x in given])
        return [declared + _wrapper(kernel, [call])], [function, *given]
    pieces = pieces_of(kernel.nest) if kernel.nest is not None else ()
    if pieces:
        functions = [_shared_function(piece.kernel) for piece in pieces]
        calls = [_Call(f.symbol, p.buffers, p.ints) for f, p in zip(functions, pieces)]
        text = _declarations(kernel, calls) + _wrapper(kernel, calls)
        return [text], list(dict.fromkeys(functions))
    body = _emitted_body(kernel)
    call = _Call.of_all(kernel, f"{kernel.key}_body")
    texts = [body.text + _wrapper(kernel, [call])]
    if kernel.functions:
        texts.append(vector_math.math_module_text(sorted(kernel.functions)))
    return texts, list(body.calls)


def kernel_text(kernel: Kernel) -> str:
    """LLVM IR text of one kernel, without what it calls. Raises as `separate_texts`."""
    return separate_texts(kernel)[0][0]


def body_text(kernel: Kernel) -> str:
    """LLVM IR text of `i32 <key>_body(i8** unused, i8** unused, *buffers, *ints, *ranges)`, which
    is internal to its module, and calls no shared routines."""
    body = _emitted_body(kernel)
    assert not body.calls, kernel.source
    return body.text


def _emitted_body(kernel: Kernel) -> EmittedText:
    name = f"{kernel.key}_body"
    made = _emitted_function(kernel, name)
    text = made.text.replace(f"define i32 @{name}", f"define internal i32 @{name}", 1)
    if kernel.as_written:
        # No pass for vectors finds functions that are called once.
        text, functions = _FUNCTION.subn(r"\1 alwaysinline", text, count=1)
        assert functions == 1, text[:1000]
    return EmittedText(text, made.calls)


def _emitted_function(kernel: Kernel, symbol: str) -> EmittedText:
    """As `emitted_function`, which takes Numba. Its modules import each other: of threads that
    import different ones at once one finds another's half made. All come to them through this one
    module, for which all wait."""
    from flowc.codegen.cpu.numba_stages.function_text import emitted_function

    return emitted_function(kernel, symbol)


def _shared_function(kernel: Kernel) -> SharedRoutine:
    """The function of a kernel, to which others bind other things, or of which they call some."""
    assert not kernel.functions, kernel.source
    symbol = f"r_{kernel.function_key}"
    emit = partial(_emitted_function, kernel, symbol)
    made = SharedRoutine(symbol, emit, kernel.as_written)
    return _shared_functions.setdefault(symbol, made)


# There are a few for each dtype.
_shared_functions: dict[str, SharedRoutine] = {}


_FUNCTION = re.compile(r"^(define internal i32 [^\n]*\))$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Call:
    """A call of a function. Its arguments are some of the kernel's buffers and ints, given by their
    positions among these."""

    function: str
    buffers: Sequence[int]
    ints: Sequence[int]

    @classmethod
    def of_all(cls, kernel: Kernel, function: str) -> _Call:
        return cls(function, range(len(kernel.buffers)), range(kernel.ints))


def _declarations(kernel: Kernel, calls: Sequence[_Call], given: Sequence[str] = ()) -> str:
    """The module that calls functions, and binds to them what is bound, up to its own code."""
    lines = [f"declare void @{x}()" for x in dict.fromkeys(given)]
    for call in calls:
        kinds = [*_RETURNED, *(kind for kind, _ in _bound(kernel))]
        kinds += [f"{_llvm_element(kernel.buffers[i])}*" for i in call.buffers]
        kinds += ["i64"] * (len(call.ints) + 2 * kernel.ranges)
        lines.append(f"declare i32 @{call.function}({', '.join(kinds)})")
    return "\n".join([f'; ModuleID = "{kernel.key}"', *dict.fromkeys(lines), ""])


def _bound(kernel: Kernel) -> list[tuple[str, str]]:
    """Types and values of what is bound."""
    found: list[tuple[str, str]] = []
    for x in kernel.bound:
        if isinstance(x, int):
            found.append(("i64", f"{x}"))
        else:
            found.append(("i8*", "null" if x is None else f"bitcast (void ()* @{x.symbol} to i8*)"))
    return found


# Where Numba's functions leave what they return and raise.
_RETURNED = ("i8**", "{i8*, i32, i8*, i8*, i32}**")


def _wrapper(kernel: Kernel, calls: Sequence[_Call]) -> str:
    """`void key(i8**, i64*, i64, i64, i64)`: unpacks the tables and calls functions. An epilogue
    takes its second range where a launched kernel takes the number of its worker."""
    ranges = ["%begin", "%end", "%first", "%last"][: 2 * kernel.ranges]
    passed = ", ".join(f"i64 {name}" for name in (*ranges, *(["%worker"] * (kernel.ranges == 1))))
    lines = [
        f"\ndefine void @{kernel.key}(i8** %buffers, i64* %dims, {passed}) {{",
        "entry:",
        "  %ret = alloca i8*",
        "  %exc = alloca {i8*, i32, i8*, i8*, i32}*",
    ]
    first = [f"{kind} {name}" for kind, name in zip(_RETURNED, ("%ret", "%exc"))]
    first += [f"{kind} {value}" for kind, value in _bound(kernel)]
    pointers: list[str] = []
    for i, dtype in enumerate(kernel.buffers):
        kind = str(_llvm_element(dtype))
        lines.append(f"  %bp{i} = getelementptr i8*, i8** %buffers, i64 {i}")
        lines.append(f"  %b{i} = load i8*, i8** %bp{i}")
        value = f"%b{i}"
        if f"{dtype}" == "bytes":
            # Scratch: every worker has its own part; its size stands behind the kernel's ints.
            lines.append(f"  %sp = getelementptr i64, i64* %dims, i64 {kernel.ints}")
            lines.append("  %sb = load i64, i64* %sp")
            lines.append("  %so = mul i64 %sb, %worker")
            lines.append(f"  %s{i} = getelementptr i8, i8* %b{i}, i64 %so")
            value = f"%s{i}"
        lines.append(f"  %c{i} = bitcast i8* {value} to {kind}*")
        pointers.append(f"{kind}* %c{i}")
    for i in range(kernel.ints):
        lines.append(f"  %np{i} = getelementptr i64, i64* %dims, i64 {i}")
        lines.append(f"  %n{i} = load i64, i64* %np{i}")
    if len(calls) > 1:
        lines += _BLOCKS_BEGIN
        ranges = ["%first", "%last"]
    for number, call in enumerate(calls):
        given = [*first, *(pointers[i] for i in call.buffers), *(f"i64 %n{i}" for i in call.ints)]
        given += [f"i64 {name}" for name in ranges]
        lines.append(f"  %r{number} = call i32 @{call.function}({', '.join(given)})")
    if len(calls) > 1:
        lines += _BLOCKS_END
    lines += ["  ret void", "}", ""]
    return "\n".join(lines)


# Of several functions each is called for so many rows, which stay in the nearest cache until the
# last has done them.
_ROWS = 16
_BLOCKS_BEGIN = (
    "  br label %head",
    "head:",
    "  %first = phi i64 [ %begin, %entry ], [ %last, %block ]",
    "  %more = icmp slt i64 %first, %end",
    "  br i1 %more, label %block, label %done",
    "block:",
    f"  %next = add i64 %first, {_ROWS}",
    "  %whole = icmp slt i64 %next, %end",
    "  %last = select i1 %whole, i64 %next, i64 %end",
)
_BLOCKS_END = ("  br label %head", "done:")


def _llvm_element(dtype: DType | str) -> ir.Type:
    """LLVM's type of an element in memory, as Numba has it."""
    if dtype == "bytes":
        return I8
    dtype = dtypes.as_dtype(dtype)
    if dtype.is_complex:
        part = ir_type(dtype.real_dtype)
        return ir.LiteralStructType([part, part])
    return I64 if dtype is dtypes.string else ir_type(dtype)
