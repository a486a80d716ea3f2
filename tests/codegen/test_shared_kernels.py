"""What kernels share: routines by all contractions, counted in modules that LLVM compiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from ir_reference import reference_results

from flowc import dtypes
from flowc.cache.store import DiskCache, KernelCache
from flowc.codegen.cpu import target as cpu
from flowc.codegen.cpu.convolution import pointwise_source
from flowc.codegen.cpu.depthwise import DepthwiseSpec, depthwise_source
from flowc.codegen.cpu.gemm_m_vectorized import turned_source
from flowc.codegen.cpu.numba_frontend import separate_texts
from flowc.codegen.cpu.tile_shape import TileShape, tile_shape
from flowc.codegen.kernels.kernel import Kernel
from flowc.codegen.llvm import vector_ir
from flowc.compiler import Report, compile_computation
from flowc.errors import InternalError
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation
from flowc.ir.program_spec import spec_of
from flowc.ir.types import tensor_type
from flowc.options import Options
from flowc.run.executable import Executable


def _cache() -> KernelCache:
    return KernelCache(DiskCache(None))


def _compiled(c: Computation, names: Any, kernels: KernelCache, **more: Any) -> tuple[Any, Any]:
    """The program, and its kernels by key."""
    report = Report()
    options = Options(target="x86-64-v3")
    program = compile_computation(
        c, options, spec_of(c, *names), report=report, kernels=kernels, **more
    )
    return program, report.stages.kernels


def _product_and_convolution() -> Computation:
    b, rng = Builder(), np.random.default_rng(3)
    x = b.parameter("x", tensor_type(dtypes.f32, (61, 100)))
    image = b.parameter("image", tensor_type(dtypes.f32, (1, 9, 9, 48)))
    weights, window = rng.normal(size=(100, 70)), rng.normal(size=(5, 5, 48, 40))
    attrs = {"strides": (1, 2, 2, 1), "padding": "SAME"}
    y = b.mat_mul(x, b.const(weights.astype(np.float32)))
    return b.build([y, b.conv2d(image, b.const(window.astype(np.float32)), **attrs)])


def test_a_product_and_a_convolution_share_their_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    modules: list[str] = []
    plain = cpu.compile_module

    def counted(texts: Sequence[str], *rest: Any) -> bytes:
        modules.append(texts[0])
        return plain(texts, *rest)

    monkeypatch.setattr(cpu, "compile_module", counted)
    c, kernels = _product_and_convolution(), _cache()
    program, found = _compiled(c, (["x", "image"], ["y", "z"]), kernels)
    assert sorted(k.entry for k in found.values()) == ["conv", "gemm"]
    tiles = [text for text in modules if "flowc.tile." in text]
    assert len(tiles) == 1
    assert len(modules) == 3
    assert len(program.objects) == 4  # with the driver
    rng = np.random.default_rng(4)
    given = [rng.normal(size=s).astype(np.float32) for s in ((61, 100), (1, 9, 9, 48))]
    for y, wanted in zip(Executable(program, 1).run(given), reference_results(c, given)):
        np.testing.assert_allclose(y, wanted, rtol=1e-4, atol=1e-3)
    # Another kernel finds them.
    b = Builder()
    x = b.parameter("x", tensor_type(dtypes.f32, (61, 100)))
    c = b.build([b.relu(b.mat_mul(x, b.const(np.ones((100, 70), np.float32))))])
    modules.clear()
    _compiled(c, (["x"], ["y"]), kernels)
    assert modules
    assert not any("flowc.tile." in text for text in modules)


def test_the_name_of_a_routine_says_all_that_its_code_depends_on() -> None:
    v3, v4 = tile_shape(dtypes.f32, 256), tile_shape(dtypes.f32, 512, registers=32)
    half = TileShape(dtypes.f32, v3.rows, v3.columns, v3.lanes // 2)
    sources = [
        *(pointwise_source(shape, rest) for shape in (v3, v4, half) for rest in (0, 4)),
        *(turned_source(shape) for shape in (v3, half)),
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


def test_who_waits_for_a_part_hears_of_its_fault() -> None:
    def fails() -> bytes:
        raise InternalError("no code")

    kernels = _cache()
    for _ in range(2):
        with pytest.raises(InternalError, match="no code"):
            kernels._part("part", fails)
    assert kernels._part("part", lambda: b"code") == b"code"
    assert kernels._part("part", fails) == b"code"
    assert not kernels.making
