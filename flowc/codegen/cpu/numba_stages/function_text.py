"""Python source of a kernel -> LLVM IR text of its function, by Numba, before any optimisation.

In: a Kernel. Out: text that defines the function under the name that is asked for. Nothing of the
host is in the text: Numba's own optimiser and code generator never run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from types import CodeType
from typing import Any

import numpy as np
from numba.core import compiler_lock, errors, types

from flowc.codegen import math as vector_math
from flowc.codegen.cpu.numba_stages.kernel_globals import TEXT, base_globals, numba_type
from flowc.codegen.cpu.numba_stages.stages import Lowered, lower
from flowc.codegen.kernels.kernel import Kernel
from flowc.codegen.llvm.kernel_functions import KernelFunction
from flowc.codegen.llvm.shared_routines import EmittedText
from flowc.errors import InternalError


def emitted_function(kernel: Kernel, symbol: str) -> EmittedText:
    """The LLVM IR of `i32 <symbol>(i8** unused, i8** unused, *bound, *buffers, *ints, *ranges)`,
    and the routines that it calls. Raises `InternalError` with the source if Numba rejects it."""
    lowered = _lowered(kernel, symbol)
    return EmittedText(_clean(lowered.text, lowered.name, symbol), lowered.shared)


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
    for name, value in space.items():
        if isinstance(value, KernelFunction):
            space[name] = value.for_numba
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
