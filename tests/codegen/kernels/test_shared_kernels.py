"""What kernels share: routines by all contractions, small kernels by clusters that differ in sizes;
counted in modules that LLVM compiles and in kernels."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ir_reference import reference_results
from tensor_types import tensor_type

import flowc as tf
from flowc import dtypes
from flowc.cache.recorded_clusters import RECORDED, kernels_of, recorded_clusters
from flowc.cache.store import DiskCache, KernelCache
from flowc.codegen.cpu import target as cpu
from flowc.codegen.cpu.block_copy import transpose_routine
from flowc.codegen.cpu.depthwise import DepthwiseSpec, depthwise_source
from flowc.codegen.cpu.kernel_text import separate_texts
from flowc.codegen.cpu.products.gemm_m_vectorized import m_vectorized_source
from flowc.codegen.cpu.products.pointwise import pointwise_source
from flowc.codegen.cpu.products.row_sums import Stored
from flowc.codegen.cpu.tile_shape import TileShape, tile_shape
from flowc.codegen.cpu.tile_sums import Operands, sums_routine
from flowc.codegen.kernels.kernel import Kernel
from flowc.codegen.kernels.sharing.launch_sizes import FEW_ELEMENTS
from flowc.codegen.llvm import vector_ir
from flowc.codegen.llvm.compile import compile_module, module_text
from flowc.codegen.llvm.loop_metadata import NO_UNROLLING
from flowc.codegen.llvm.shared_routines import SharedRoutine, with_called
from flowc.codegen.program import native_object
from flowc.codegen.target import made_anew
from flowc.codegen.targets import LIBRARIES, library_targets, target_here
from flowc.compiler import Report, compile_computation
from flowc.errors import InternalError
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation
from flowc.ir.dims import symbol
from flowc.ir.program_spec import spec_of
from flowc.options import Options
from flowc.run.executable import Executable


def _cache() -> KernelCache:
    return KernelCache(DiskCache(None))


def _compiled(c: Computation, names: Any, kernels: KernelCache, **more: Any) -> tuple[Any, Any]:
    """The program, and its kernels by key."""
    options, report = Options(target="x86-64-v3"), Report()
    spec = spec_of(c, *names)
    program = compile_computation(c, options, spec, report=report, kernels=kernels, **more)
    return program, report.stages.kernels


def _product_and_convolution() -> Computation:
    b, rng = Builder(), np.random.default_rng(3)
    x = b.parameter("x", tensor_type(dtypes.f32, (61, 2200)))
    image = b.parameter("image", tensor_type(dtypes.f32, (1, 9, 9, 260)))
    weights, window = rng.normal(size=(2200, 70)), rng.normal(size=(5, 5, 260, 40))
    attrs = {"strides": (1, 2, 2, 1), "padding": "SAME"}
    y = b.mat_mul(x, b.const(weights.astype(np.float32)))
    return b.build([y, b.conv2d(image, b.const(window.astype(np.float32)), **attrs)])


def test_a_product_and_a_convolution_share_their_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    modules: list[str] = []
    plain = compile_module

    def counted(texts: Sequence[str], *rest: Any, **asked: Any) -> bytes:
        modules.append(texts[0])
        return plain(texts, *rest, **asked)

    monkeypatch.setattr("flowc.codegen.llvm.compile.compile_module", counted)
    c, kernels = _product_and_convolution(), _cache()
    program, found = _compiled(c, (["x", "image"], ["y", "z"]), kernels)
    assert sorted(k.entry for k in found.values()) == ["conv", "gemm"]
    ((_, image),) = program.weights  # as one piece, which runs read
    assert image.nbytes == program.metadata.weights_bytes
    tiles = [text for text in modules if "flowc.tile." in text]
    assert len(tiles) == 1
    assert len(modules) == 3
    assert len(program.objects) == 4  # with the driver
    rng = np.random.default_rng(4)
    given = [rng.normal(size=s).astype(np.float32) for s in ((61, 2200), (1, 9, 9, 260))]
    for y, wanted in zip(Executable(program, 1).run(given), reference_results(c, given)):
        np.testing.assert_allclose(y, wanted, rtol=1e-4, atol=1e-3)
    # Another kernel finds them.
    b = Builder()
    x = b.parameter("x", tensor_type(dtypes.f32, (61, 2200)))
    c = b.build([b.relu(b.mat_mul(x, b.const(np.ones((2200, 70), np.float32))))])
    modules.clear()
    _compiled(c, (["x"], ["y"]), kernels)
    assert modules
    assert not any("flowc.tile." in text for text in modules)


def test_symbols_of_routines_say_all_that_their_code_depends_on() -> None:
    """Of two clusters, or two processors, which have one symbol there is one text."""
    targets = [t for name in LIBRARIES for t in library_targets(name).values()]
    texts: dict[str, set[str]] = defaultdict(set)
    for c in list(recorded_clusters(RECORDED))[::3]:
        for target in targets:
            vector_ir._shared.cache_clear()
            bound = [x for k in kernels_of(c, target).values() for x in k.bound]
            routines = [x for x in bound if isinstance(x, SharedRoutine)]
            for name, routine in with_called(routines).items():
                texts[name].add(routine.text)
    assert len(texts) > 100
    assert all(len(found) == 1 for found in texts.values())
    assert all(symbol in text for symbol, (text,) in texts.items())


def test_the_name_of_a_routine_says_all_that_its_code_depends_on() -> None:
    v3, v4 = tile_shape(dtypes.f32, 256), tile_shape(dtypes.f32, 512, registers=32)
    half = TileShape(dtypes.f32, v3.rows, v3.columns, v3.lanes // 2)
    sources = [
        *(pointwise_source(shape, rest) for shape in (v3, v4) for rest in (0, 4)),
        *(pointwise_source(v4, rest, stored=Stored(in_place=True)) for rest in (0, 20)),
        m_vectorized_source(v3),
        *(
            depthwise_source(DepthwiseSpec(shape, (3, 3), stride, lanes=lanes))
            for shape, stride, lanes in ((v3, 1, 8), (v3, 2, 8), (v3, 1, 4), (half, 1, 4))
        ),
    ]

    def symbols(kernel: Kernel) -> list[str]:
        return [routine.symbol for routine in separate_texts(kernel)[1]]

    alone = []
    for source in sources:
        vector_ir._shared.cache_clear()
        alone.append(symbols(source.kernel))
    vector_ir._shared.cache_clear()
    assert [symbols(source.kernel) for source in sources] == alone
    assert len({s for found in alone for s in found}) >= len(sources)


def test_kernels_that_are_given_their_routines_share_their_function() -> None:
    """What Numba compiles of convolutions by channel and of products of pixels is two functions."""
    shape = tile_shape(dtypes.f32, 256)
    wide = DepthwiseSpec(shape, (5, 5), repeat=2)
    kernels = [
        *(depthwise_source(spec).kernel for spec in (DepthwiseSpec(shape, (3, 3), 2), wide)),
        *(pointwise_source(shape, rest).kernel for rest in (0, 4, 12)),
    ]
    assert len({k.key for k in kernels}) == 5
    functions = [f"r_{k.function_key}" for k in kernels]
    assert len(set(functions)) == 2
    for kernel, function in zip(kernels, functions):
        texts, routines = separate_texts(kernel)
        given = [x.symbol for x in kernel.bound if isinstance(x, SharedRoutine)]
        assert [r.symbol for r in routines][: 1 + len(given)] == [function, *given]
        assert "".join(texts).count("define") == 1  # which binds, and calls the function


def test_loops_of_vector_ir_are_unrolled_as_they_ask_for_and_no_others() -> None:
    """An iteration of a tile has 48 multiply-adds at most, and four steps; what edges need stays a
    loop of single elements."""
    target, processor = cpu.cpu_target("x86-64-v3"), cpu.cpu_target("x86-64-v3").processor
    kernel = pointwise_source(tile_shape(dtypes.f32, 256), 0).kernel
    assert kernel.as_written
    routine = vector_ir._shared(transpose_routine(tile_shape(dtypes.f32, 256)))
    text = routine.text
    written = module_text([text], processor, "llvm", **cpu._passes(True))
    stores = re.compile(r"^ *store float", re.MULTILINE)
    assert len(stores.findall(written)) == len(stores.findall(text))
    free = text.replace(NO_UNROLLING, "llvm.loop.of_anyone")
    assert len(stores.findall(module_text([free], processor, "llvm"))) > len(stores.findall(text))
    (code,) = target._routine(routine, made_anew)
    assert len(code) < len(compile_module([free], processor))

    def products(rows: int) -> int:
        routine = sums_routine(tile_shape(dtypes.f32, 256), rows, 16, Operands(1, 400, 16))
        text = vector_ir._shared(routine).text
        written = module_text([text], processor, "llvm", **cpu._passes(True))
        assert "alloca" not in written  # sums are in registers
        return written.count("call <8 x float> @llvm.fmuladd")

    # Four steps, and those that are left one by one; of sixteen multiply-adds two.
    assert [products(rows) for rows in (8, 6, 4, 1)] == [3 * 16, 5 * 12, 5 * 8, 5 * 2]


@pytest.mark.parametrize("level", ["x86-64-v3", "x86-64-v4"])
def test_sums_of_tiles_stay_in_registers(level: str) -> None:
    target = cpu.cpu_target(level)
    shape = target.tile_shape(dtypes.f32)
    spill = re.compile(r"[yz]mm.*\(%rsp\)|\(%rsp\).*[yz]mm")
    for rows in shape.heights:
        for columns in (shape.columns, *shape.widths):
            operands = Operands(1, shape.row_stride, shape.columns)
            text = vector_ir._shared(sums_routine(shape, rows, columns, operands)).text
            asm = module_text([text], target.processor, "asm", **cpu._passes(True))
            assert len(re.findall(r"vfmadd\w*\s.*[yz]mm", asm)) >= rows
            assert not spill.search(asm), (rows, columns)


def test_names_of_sums_say_all_that_their_code_depends_on() -> None:
    """Routines of one name and dtype are one routine."""
    shape, operands = tile_shape(dtypes.f32, 256), Operands(1, 400, 16)
    others = [
        replace(operands, **{field.name: 1 + getattr(operands, field.name)})
        for field in fields(Operands)
        if field.type != "bool"
    ]
    others += [replace(operands, fetches_next=False), replace(operands, lines=True)]
    others += [replace(operands, fetches_result=True)]
    made = [sums_routine(shape, 4, 16, o) for o in (operands, *others)]
    made += [sums_routine(tile_shape(dtypes.f32, 512), 4, 16, operands)]
    assert len({routine.name for routine in made}) == len(made) == len(fields(Operands)) + 2


def test_who_waits_for_a_part_hears_of_its_fault() -> None:
    def fails() -> tuple[bytes, ...]:
        raise InternalError("no code")

    kernels = _cache()
    kept = kernels.parts_for(cpu.cpu_target("x86-64-v3"))
    for _ in range(2):
        with pytest.raises(InternalError, match="no code"):
            kept("part", fails)
    assert kept("part", lambda: (b"code", b"called")) == (b"code", b"called")
    assert kept("part", fails) == (b"code", b"called")
    assert not kernels.making


def test_processes_with_one_cache_share_the_pool_and_the_arena(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    b = Builder()
    c = b.build([b.neg(b.parameter("x", tensor_type(dtypes.f32, (3,))))])
    program, _ = _compiled(c, (["x"], ["y"]), KernelCache(DiskCache(tmp_path)))
    target = target_here("x86-64-v3")
    of_another_process = KernelCache(DiskCache(tmp_path)).parts_for(target)
    monkeypatch.setattr("flowc.codegen.program.compile_module", None)  # nothing is compiled
    assert native_object(target.processor, of_another_process) == program.runtime


# -- sizes

# What is done to [2, n], and its result.
MOVES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "pad": (lambda x: tf.pad(x, [[1, 1], [0, 2]]), lambda x: np.pad(x, [(1, 1), (0, 2)])),
    "tile": (lambda x: tf.tile(x, [2, 3]), lambda x: np.tile(x, (2, 3))),
    "max": (lambda x: tf.reduce_max(x, 0), lambda x: x.max(0)),
    "diag": (tf.linalg.diag, lambda x: x[:, :, None] * np.eye(x.shape[1], dtype=x.dtype)),
}


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> dict[str, Kernel]:
    """The kernels of all programs that are compiled in the test."""
    found: dict[str, Kernel] = {}
    plain = KernelCache.objects_of

    def noted(cache: KernelCache, kernel: Kernel, target: Any) -> tuple[bytes, ...]:
        found[kernel.key] = kernel
        return plain(cache, kernel, target)

    monkeypatch.setattr(KernelCache, "objects_of", noted)
    return found


def _run(make: Callable[[Any], Any], given: np.ndarray) -> np.ndarray:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, given.shape)
        return session.run(make(x), {x: given})


@pytest.mark.parametrize("name", MOVES)
def test_small_clusters_that_differ_in_sizes_share_a_kernel(
    name: str, counted: dict[str, Kernel]
) -> None:
    make, wanted = MOVES[name]
    for size in (17, 20, 21) if name != "diag" else (6, 7, 9):
        given = np.arange(2 * size, dtype=np.float32).reshape(2, size)
        np.testing.assert_array_equal(_run(make, given), wanted(given))
    assert len(counted) == 1


def test_llvm_looks_for_no_vectors_in_few_elements(counted: dict[str, Kernel]) -> None:
    """But where a loop has them again and again."""

    def repeated(x: Any) -> Any:
        body = lambda i, x: (i + 1, tf.exp(x) * 0.5)
        return tf.while_loop(lambda i, _: i < 3, body, [tf.constant(0), x])[1]

    for elements, found in ((FEW_ELEMENTS, True), (FEW_ELEMENTS + 1, False)):
        counted.clear()
        _run(lambda x: tf.exp(x) * 2.0, np.ones(elements, np.float32))
        assert [kernel.as_written for kernel in counted.values()] == [found]
    counted.clear()
    _run(lambda x: tf.gather(x, [3, 5, 700]) + 1.0, np.ones(1000, np.float32))
    _run(lambda x: tf.reduce_max(x), np.ones(1000, np.float32))
    assert [kernel.as_written for kernel in counted.values()] == [True, False]
    counted.clear()
    _run(repeated, np.ones(FEW_ELEMENTS, np.float32))
    assert [kernel.as_written for kernel in counted.values()] == [False]


def test_what_is_large_or_repeated_has_its_sizes_in_its_code(
    counted: dict[str, Kernel],
) -> None:
    def repeated(x: Any) -> Any:
        turned = tf.while_loop(
            lambda i, _: i < 3, lambda i, x: (i + 1, tf.reverse(x, [1])), [tf.constant(0), x]
        )
        return turned[1]

    cases = (
        (lambda x: tf.tile(x, [2, 3]), (4, 30)),
        (lambda x: tf.reduce_sum(x, 1), (100, 5)),
        (repeated, (2, 5)),
    )
    for make, dims in cases:
        counted.clear()
        _run(make, np.ones(dims, np.float32))
        ((kernel,),) = [counted.values()]
        assert re.search(r"range\(\d|idiv\(i\d, \d|\*\d", kernel.source), kernel.source


def test_a_library_has_its_sizes_in_its_code(counted: dict[str, Kernel]) -> None:
    b = Builder()
    x = b.parameter("x", tensor_type(dtypes.f32, (2, 5)))
    c = b.build([b.transpose(b.tile(x, np.array([2, 3])), np.array([1, 0]))])
    for for_library in (False, True):
        _compiled(c, (["x"], ["y"]), _cache(), for_library=for_library)
    assert sorted(kernel.ints > 0 for kernel in counted.values()) == [False, True]


def test_concatenations_of_pixels_share_a_kernel_whatever_the_size_of_the_image() -> None:
    """Along dims that pieces have in common, a concatenation of concatenations is one range."""
    b = Builder()
    results, fed, rng = [], [], np.random.default_rng(5)
    for size in (6, 9):
        shapes = [(1, size, size, channels) for channels in (12, 5, 5)]
        fed += [rng.normal(size=shape).astype(np.float32) for shape in shapes]
        pieces = [
            b.parameter(f"x{size}_{i}", tensor_type(dtypes.f32, shape))
            for i, shape in enumerate(shapes)
        ]
        inner = b.concat(*pieces[:2], np.int32(3))
        results.append(b.relu(b.concat(inner, pieces[2], np.int32(3))))
    c = b.build(results)
    names = [p.attrs["name"] for p in c.parameters]
    program, kernels = _compiled(c, (names, ["y", "z"]), _cache())
    (kernel,) = kernels.values()
    assert "idiv" not in kernel.source
    for found, expected in zip(Executable(program, 1).run(fed), reference_results(c, fed)):
        np.testing.assert_array_equal(found, expected)


def test_transpositions_share_a_kernel_whatever_blocks_of_tiles_they_are_split_into() -> None:
    """As the activations of convolutions do whose images have their channels first."""
    b = Builder()
    results, fed, rng = [], [], np.random.default_rng(6)
    for rows, columns in ((43264, 64), (10816, 192)):
        fed.append(rng.normal(size=(rows, columns)).astype(np.float32))
        x = b.parameter(f"x{rows}", tensor_type(dtypes.f32, (rows, columns)))
        results.append(b.relu(b.transpose(x, np.array([1, 0]))))
    c = b.build(results)
    names = [p.attrs["name"] for p in c.parameters]
    program, kernels = _compiled(c, (names, ["y", "z"]), _cache())
    (kernel,) = kernels.values()
    assert "beginning = " in kernel.source
    for found, expected in zip(Executable(program, 1).run(fed), reference_results(c, fed)):
        np.testing.assert_array_equal(found, expected)


def test_layers_of_any_sizes_share_their_packed_weights() -> None:
    """Of views of one constant, too, which is what folding reshapes of it for each layer makes."""
    weights = np.random.default_rng(7).normal(size=(96, 80)).astype(np.float32)
    counts = []
    for uses in (1, 4):
        b = Builder()
        results = []
        for i in range(uses):
            kernel = weights.reshape(1, 1, 96, 80)
            x = b.parameter(f"x{i}", tensor_type(dtypes.f32, (1, symbol(f"h{i}"), 7, 96)))
            results.append(b.conv2d(x, kernel, strides=(1, 1, 1, 1), padding="VALID"))
            rows = b.parameter(f"r{i}", tensor_type(dtypes.f32, (symbol(f"m{i}"), 96)))
            results.append(b.mat_mul(rows, weights.view()))
        c = b.build(results)
        names = [p.attrs["name"] for p in c.parameters]
        program, _ = _compiled(c, (names, [f"y{i}" for i in range(2 * uses)]), _cache())
        counts.append(len(program.weights_image()))
    assert counts[0] == counts[1] < 3 * weights.nbytes


def test_functions_that_call_other_routines_have_other_keys() -> None:
    """A library has the functions of kernels by their keys: of two that call routines by one name,
    each finds its own."""
    wide, narrow = (transpose_routine(tile_shape(dtypes.f32, bits)) for bits in (512, 256))

    def key(routine: vector_ir.Routine) -> str:
        return Kernel("def kernel(): move()", (), 0, globals={"move": routine.function}).key

    assert key(wide) == key(wide)
    assert key(wide) != key(narrow)
