"""Equal texts give equal objects, whatever the process compiled before."""

from __future__ import annotations

from llvmlite import ir

from flowc.codegen.llvm.compile import compile_module
from flowc.codegen.targets import target_named
from flowc_runtime.native.writer import call_at_load, text_constant


def _text_with_a_list_of_used_globals(count: int = 40) -> str:
    """A module that the loader starts, with many constants, each of which code reads."""
    module = ir.Module("listed")
    kind = ir.FunctionType(ir.VoidType(), [])
    reader = ir.Function(module, ir.FunctionType(ir.VoidType(), [ir.PointerType()]), "read_text")
    started = ir.Function(module, kind, "started")
    builder = ir.IRBuilder(started.append_basic_block())
    for n in range(count):
        builder.call(reader, [text_constant(module, f"the text with the number {n}")])
    builder.ret_void()
    call_at_load(module, [started])
    return str(module)


def test_objects_do_not_depend_on_what_was_compiled_before() -> None:
    text, processor = _text_with_a_list_of_used_globals(), target_named("native").processor
    assert len({compile_module([text], processor, speed=2) for _ in range(100)}) == 1
