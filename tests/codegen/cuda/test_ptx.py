"""Kernels as code for GPUs: PTX, cubins, and the object that a program is linked with.

What an assembler says needs one: the extra `cuda`, $FLOWC_PTXAS, or `ptxas` on the PATH. There are
kernels of every kind in all architectures; `FLOWC_PTXAS_ALL=1` (`make ptxas`) takes those of every
op's examples, each in one architecture after the other.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from devices.device_launches import assembled, cuda_target, device_launches, example, fused
from op_cases import TESTED, plain_cases
from tensor_types import tensor_type

from flowc import dtypes
from flowc.codegen.cuda.images import device_text
from flowc.codegen.cuda.kernel import DeviceKernel
from flowc.codegen.cuda.launch import DeviceLaunch
from flowc.codegen.cuda.ptxas import find_ptxas
from flowc.codegen.cuda.target import CudaTarget
from flowc.codegen.kernels.kernel import SCRATCH, STATUS
from flowc.codegen.link.jit import engine_of
from flowc.codegen.target import made_anew
from flowc.codegen.targets import target_named
from flowc.ir.builder import Builder
from flowc.options import Options
from flowc.passes.pipeline import run_passes

ARCHITECTURES = (70, 75, 80, 86, 89, 90, 100, 120)
# Pointwise, rows, columns, an op with faults, native kernels: by columns, that call functions, by
# owners of places; and which example of the op it is.
OPS = {
    "tanh": 0, "softmax": 2, "sum": 2, "gather": 0, "max_pool": 0, "lgamma": 0, "change_slices": 0,
}  # fmt: skip
# Registers of a thread, as ptxas 12 and 13 count them for architecture 80, and bytes of its stack,
# where what a sum of blocks has of scratch stands. None keeps registers there. A multiprocessor is
# full up to 32 registers.
REGISTERS = {
    "tanh": 24, "softmax": 32, "sum": 32, "gather": 24, "max_pool": 26, "lgamma": 50,
    "change_slices": 25,
}  # fmt: skip
STACK = {"sum": 112}

MORE_REGISTERS = 4  # that another LLVM may take
EVERY = bool(os.environ.get("FLOWC_PTXAS_ALL"))
MOST_SHARED = 48 << 10
CONTRACTIONS = {"mat_mul", "batch_mat_mul", "conv2d", "conv3d", "conv2d_backprop_input"}

needs_ptxas = pytest.mark.skipif(find_ptxas() is None, reason="there is no ptxas")


@cache
def launch_of(name: str) -> DeviceLaunch:
    (launch,) = device_launches(fused(example(name, OPS[name])), cuda_target(80))
    return launch


@cache
def ptx_of(name: str) -> str:
    kernel = launch_of(name).kernel
    assert isinstance(kernel, DeviceKernel)
    return device_text(kernel, 70, "asm")


@needs_ptxas
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_assembler_takes_every_kind_of_kernel(architecture: int) -> None:
    for name in OPS:
        kernel = launch_of(name).kernel
        assert isinstance(kernel, DeviceKernel)
        cubin = assembled(kernel, architecture)
        assert cubin.image.startswith(b"\x7fELF")
        assert 0 < cubin.registers <= 65536 // kernel.block, name
        assert cubin.spills == 0 and cubin.shared == 0, name
        assert cubin.stack <= STACK.get(name, 0), name
        if architecture == 80:
            assert cubin.registers <= REGISTERS[name] + MORE_REGISTERS, name


@cache
def kernels_of_examples() -> list[tuple[str, DeviceKernel]]:
    """The different kernels of the first two examples of every op."""
    found: dict[str, tuple[str, DeviceKernel]] = {}
    with np.errstate(all="ignore"):
        for op in TESTED if EVERY else ():
            for case in plain_cases(op)[:2]:
                for launch in device_launches(fused(case), cuda_target(80)):
                    assert isinstance(launch.kernel, DeviceKernel)
                    found.setdefault(launch.kernel.key, (op.name, launch.kernel))
    return list(found.values())


@needs_ptxas
@pytest.mark.parametrize("architecture", ARCHITECTURES if EVERY else ())
def test_the_assembler_takes_the_kernels_of_every_op(architecture: int) -> None:
    """Every eighth; those of all architectures are all of them."""
    first = ARCHITECTURES.index(architecture)
    spilled: dict[str, int] = {}
    for name, kernel in kernels_of_examples()[first :: len(ARCHITECTURES)]:
        cubin = assembled(kernel, architecture)
        assert 0 < cubin.registers <= 65536 // kernel.block, name
        assert cubin.shared <= MOST_SHARED, name
        if cubin.spills:
            spilled[name] = cubin.spills
    print(f"sm_{architecture}: spills {spilled}")
    assert not set(spilled) & CONTRACTIONS


@pytest.mark.parametrize("name", OPS)
def test_floats_are_rounded_after_every_operation(name: str) -> None:
    """Without `.rn`, the assembler would join products and sums; `ftz` would drop subnormals."""
    ptx = ptx_of(name)
    assert re.search(r"\b(add|sub|mul|fma)\.f(32|64)", ptx) is None
    assert re.search(r"\b(div|sqrt|rcp)\.(approx|full)", ptx) is None
    assert ".ftz" not in ptx


@pytest.mark.parametrize("name", OPS)
def test_a_kernel_needs_nothing_beside_its_module(name: str) -> None:
    assert ".extern" not in ptx_of(name)


@pytest.mark.parametrize("name", OPS)
def test_the_entry_takes_words_of_64_bits(name: str) -> None:
    """Operands, ints, the bytes of scratch of a thread, the total."""
    launch = launch_of(name)
    ptx = ptx_of(name)
    head = ptx[ptx.index(f".visible .entry {launch.kernel.key}(") :]
    parameters = re.findall(r"\.param \.(\w+)", head[: head.index(")")])
    assert parameters == ["u64"] * (len(launch.operands) + len(launch.ints) + 2)
    assert len(launch.operands) == len(launch.kernel.buffers)


def test_short_scratch_is_on_the_stack_of_the_thread() -> None:
    assert not any(o is SCRATCH for o in launch_of("sum").operands)


def test_a_fault_is_reported_by_the_first_thread_that_finds_one() -> None:
    assert any(o is STATUS for o in launch_of("gather").operands)
    assert "atom" in ptx_of("gather")


def test_memory_is_known_to_be_that_of_the_device() -> None:
    assert "ld.global" in ptx_of("tanh")
    assert re.search(r"\b(ld|st)\.b", ptx_of("tanh")) is None


def ptx_of_graph(emit: Callable[[Any, Any, Any], Any]) -> str:
    """The only kernel of a graph that is made of f32[128,1024] and f32[1024]."""
    b: Any = Builder()
    x = b.parameter("x", tensor_type(dtypes.f32, (128, 1024)))
    row = b.parameter("row", tensor_type(dtypes.f32, (1024,)))
    c = run_passes(b.build([emit(b, x, row)]), Options())
    (launch,) = device_launches(c, cuda_target(80))
    kernel = launch.kernel
    assert isinstance(kernel, DeviceKernel)
    return device_text(kernel, 80, "asm")


def test_neighbouring_elements_are_loaded_and_stored_by_one_instruction() -> None:
    ptx = ptx_of_graph(lambda b, x, row: b.relu(b.add(x, row)))
    assert (ptx.count("ld.global.v4.b32"), ptx.count("st.global.v4.b32")) == (2, 1)
    assert ptx.count("ld.global") == 2 and ptx.count("st.global") == 1
    assert "div." not in ptx and "rem." not in ptx  # 256 is known


def test_transposes_go_through_shared_memory() -> None:
    """Four elements a thread: each is read once and written once on either side."""
    ptx = ptx_of_graph(lambda b, x, row: b.transpose(x, np.array([1, 0], np.int32)))
    assert ptx.count("bar.sync") == 2
    for access in ("ld.global", "st.shared", "ld.shared", "st.global"):
        assert ptx.count(access) == 4, access


def test_rows_are_folded_by_shuffles_and_one_exchange_of_a_block() -> None:
    """A softmax of 1024: three loops, two folds across 256 threads, by five shuffles each."""
    ptx = ptx_of_graph(lambda b, x, row: b.softmax(b.add(x, row)))
    assert ptx.count("shfl.sync.bfly") == 2 * 5
    assert ptx.count("bar.sync") == 2 * 2


def test_keys_of_the_device_are_not_those_of_the_host() -> None:
    target = cuda_target(80)
    c = fused(example("tanh"))
    (node,) = [n for n in c.nodes if n.op.name == "cluster"]
    ours, theirs = target.launches(node)[0], target.host.launches(node)[0]
    assert ours.kernel.key != theirs.kernel.key
    assert len({cuda_target(80).key, cuda_target(90).key, cuda_target(80, 90).key}) == 3


class _Image(ctypes.Structure):
    _fields_ = [
        ("architecture", ctypes.c_int64),
        ("bytes", ctypes.c_int64),
        ("image", ctypes.c_void_p),
    ]


def images_in(data: bytes, key: str) -> list[tuple[int, bytes]]:
    """The rows of the constant `key` of an object."""
    engine = engine_of([data])
    address = engine.get_global_value_address(key)
    count = ctypes.c_int64.from_address(address).value
    rows = (_Image * count).from_address(address + 8)
    return [(r.architecture, ctypes.string_at(r.image, r.bytes)) for r in rows]


def test_without_an_assembler_the_object_holds_ptx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flowc.codegen.cuda.target.find_ptxas", lambda: None)
    kernel = launch_of("tanh").kernel
    target = CudaTarget(target_named("native"), (70,))
    ((architecture, image),) = images_in(target.objects_of(kernel, made_anew)[0], kernel.key)
    assert architecture == 0
    assert image == ptx_of("tanh").encode() + b"\0"


@needs_ptxas
def test_the_object_holds_cubins_first_and_ptx_last() -> None:
    kernel = launch_of("tanh").kernel
    target = CudaTarget(target_named("native"), (90, 80))
    found = images_in(target.objects_of(kernel, made_anew)[0], kernel.key)
    assert [architecture for architecture, _ in found] == [80, 90, 0]
    assert all(image.startswith(b"\x7fELF") for _, image in found[:-1])
    assert b".target sm_80" in found[-1][1]
