"""Python source of a kernel -> LLVM IR text, by Numba, before any optimisation.

In: a Kernel. Out: text that defines `void <key>(i8** buffers, i64* dims, i64 begin, i64 end,
i64 worker)`, the one kernel ABI. Nothing of the host is in the text: Numba's own optimiser and code
generator never run, so that any target can be compiled from it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from types import CodeType
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import compiler_lock, errors, types

from flowc.codegen import math as vector_math
from flowc.codegen.cpu.numba_stages.kernel_globals import TEXT, base_globals, numba_type
from flowc.codegen.cpu.numba_stages.stages import Lowered, contexts, lower
from flowc.codegen.cpu.row_pieces import pieces_of
from flowc.codegen.kernels.kernel import Kernel
from flowc.codegen.llvm.shared_routines import SharedRoutine, with_called
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.errors import InternalError


def module_texts(kernel: Kernel) -> list[str]:
    """The LLVM IR of a kernel, and that of all that it calls."""
    texts, shared = separate_texts(kernel)
    return [*texts, *(routine.text for routine in shared)]


def separate_texts(kernel: Kernel) -> tuple[list[str], list[SharedRoutine]]:
    """The LLVM IR of a kernel and of the math functions that it calls, and the routines that other
    kernels call, too. Raises `InternalError` with the source if Numba rejects it."""
    if kernel.bound:
        function = _shared_function(kernel)
        routines = [function, *(x for x in kernel.bound if isinstance(x, SharedRoutine))]
        given = [x.symbol for x in kernel.bound if isinstance(x, SharedRoutine)]
        call = _Call.of_all(kernel, function.symbol)
        text = _declarations(kernel, [call], given) + _wrapper(kernel, [call])
        return [text], list(with_called(routines).values())
    pieces = pieces_of(kernel.nest) if kernel.nest is not None else ()
    if pieces:
        functions = [_shared_function(piece.kernel) for piece in pieces]
        calls = [_Call(f.symbol, p.buffers, p.ints) for f, p in zip(functions, pieces)]
        return [_declarations(kernel, calls) + _wrapper(kernel, calls)], list(
            with_called(functions).values()
        )
    lowered = _lowered(kernel, kernel.key)
    call = _Call.of_all(kernel, f"{kernel.key}_body")
    texts = [_body(kernel, lowered) + _wrapper(kernel, [call])]
    if kernel.functions:
        texts.append(vector_math.math_module_text(sorted(kernel.functions)))
    return texts, list(with_called(lowered.shared).values())


def kernel_text(kernel: Kernel) -> str:
    """LLVM IR text of one kernel, without what it calls. Raises as `separate_texts`."""
    return separate_texts(kernel)[0][0]


def body_text(kernel: Kernel) -> str:
    """LLVM IR text of `i32 <key>_body(i8** unused, i8** unused, *buffers, *ints, *ranges)`, which
    is internal to its module, and calls no shared routines."""
    lowered = _lowered(kernel, kernel.key)
    assert not lowered.shared, kernel.source
    return _body(kernel, lowered)


def _body(kernel: Kernel, lowered: Lowered) -> str:
    name = f"{kernel.key}_body"
    text = _internal(_clean(lowered.text, lowered.name, name), name)
    if not kernel.in_vectors:
        return text
    # No pass for vectors finds functions that are called once.
    text, functions = _FUNCTION.subn(r"\1 alwaysinline", text, count=1)
    assert functions == 1, text[:1000]
    return text


def _shared_function(kernel: Kernel) -> SharedRoutine:
    """The function of a kernel, to which others bind other things, or of which they call some."""
    assert not kernel.functions, kernel.source
    with compiler_lock.global_compiler_lock:
        found = _shared_functions.get(kernel.function_key)
        if found is None:
            symbol = f"r_{kernel.function_key}"
            lowered = _lowered(kernel, symbol)
            text = _clean(lowered.text, lowered.name, symbol)
            found = SharedRoutine(symbol, text, lowered.shared, kernel.in_vectors)
            _shared_functions[kernel.function_key] = found
        return found


# There are a few for each dtype.
_shared_functions: dict[str, SharedRoutine] = {}


def _lowered(kernel: Kernel, name: str) -> Lowered:
    with compiler_lock.global_compiler_lock:
        arguments = [types.int64 if isinstance(x, int) else TEXT for x in kernel.bound]
        arguments += [types.CPointer(numba_type(b)) for b in kernel.buffers]
        arguments += [types.int64] * (kernel.ints + 2 * kernel.ranges)
        try:
            function, definition = _python_function(kernel, name)
            return lower(function, tuple(arguments), name, definition)
        except errors.NumbaError as error:
            raise InternalError(f"a kernel does not compile: {error}\n{kernel.source}") from error


def _python_function(kernel: Kernel, name: str) -> tuple[Any, ast.FunctionDef]:
    """The function of a kernel, and its definition."""
    tree = ast.parse(kernel.source)
    code = compile(tree, f"<{name}>", "exec")  # our own generated source
    pointer = "as_elem_pointer", f"as_{kernel.element}_pointer"
    space = base_globals(n.replace(*pointer) for n in _names(code))
    for function in kernel.functions:
        space[function] = vector_math.intrinsic(function)
    space.update(kernel.globals)
    if kernel.element is not None:
        space["elem"] = numba_type(kernel.element)
        space["as_elem_pointer"] = space.get(f"as_{kernel.element}_pointer")
    for constant, value in kernel.constants.items():
        known = isinstance(value, (np.generic, int, float))
        space[constant] = value if known else np.asarray(value)
    exec(code, space)
    (definition,) = (x for x in tree.body if getattr(x, "name", "") == kernel.entry)
    assert isinstance(definition, ast.FunctionDef)
    return space[kernel.entry], definition


def _names(code: CodeType) -> Iterator[str]:
    """The globals and attributes that code names."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


_ENVIRONMENT = re.compile(r'^@"?_ZN08NumbaEnv[^\n]*\n', re.MULTILINE)
_PICKLED = re.compile(r'^@"\.const\.pickle[^\n]*\n', re.MULTILINE)
_RAISE = re.compile(
    r"^\s*store \{i8\*, i32, i8\*, i8\*, i32\}\* @\"\.const\.pickle[^\n]*\n", re.MULTILINE
)


_LEFT = re.compile(r"^.*(NumbaEnv|pickle|numba_exception).*$", re.MULTILINE)


def _clean(text: str, name: str, key: str) -> str:
    """Gives the function the stable name `key` and drops Numba's environment and exceptions. Raises
    `InternalError` where the text is not of the form that this Numba is known to write."""
    text, environments = _ENVIRONMENT.subn("", text)
    text = _RAISE.sub("", _PICKLED.sub("", text))
    left = _LEFT.search(text)
    if left is not None:
        raise InternalError(f"Numba's text has another form: {left[0].strip()[:200]}")
    if environments != 1 or text.count(f'define i32 @"{name}"(') != 1:
        raise InternalError(f"Numba's text has another form: {name} or its environment is missing")
    text = text.replace(f'@"{name}"', f"@{key}")
    return re.sub(r"^; ModuleID = .*$", f'; ModuleID = "{key}"', text, count=1, flags=re.MULTILINE)


_FUNCTION = re.compile(r"^(define internal i32 [^\n]*\))$", re.MULTILINE)


def _internal(text: str, key: str) -> str:
    return text.replace(f"define i32 @{key}", f"define internal i32 @{key}", 1)


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
    return contexts()[1].get_data_type(numba_type(dtype))
