"""A program of the real compiler as a library: right numbers, at several batches."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

import flowc_runtime
from flowc.aot import write_library
from flowc.codegen.kernels.kernel import Kernel
from flowc.codegen.program import CompiledProgram
from flowc.codegen.target import Kept, Target, made_anew
from flowc.compiler import compile_computation
from flowc.ir.program_spec import spec_of
from flowc.ir.text.form import parse_computation
from flowc.options import Options

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")

TEXT = """computation(%x: f32[batch,20]) {
  %w = const {value=weights<0>, dtype=f32} : f32[20,7]
  %b = const {value=weights<1>, dtype=f32} : f32[7]
  %0 = mat_mul(%x, %w) {transpose_a=False, transpose_b=False} : f32[batch,7]
  %1 = add(%0, %b) : f32[batch,7]
  %2 = relu(%1) : f32[batch,7]
  return %2, %0
}"""


class _NoStore:
    """Compiles every kernel anew, so that the test says nothing of the cache."""

    def objects_of(self, kernel: Kernel, target: Target) -> tuple[bytes, ...]:
        return target.objects_of(kernel, made_anew)

    def parts_for(self, target: Target) -> Kept:
        return made_anew


@pytest.fixture(scope="module")
def weights() -> list[np.ndarray]:
    random = np.random.default_rng(11)
    return [random.normal(size=s).astype(np.float32) for s in ((20, 7), (7,))]


@pytest.fixture(scope="module")
def program(weights: list[np.ndarray]) -> CompiledProgram:
    names = (["x:0"], ["out/Relu:0", "out/MatMul:0"])
    options = Options(target="x86-64-v3")
    computation = parse_computation(TEXT, weights)
    return compile_computation(
        computation, options, spec_of(computation, *names), kernels=_NoStore()
    )


@pytest.mark.parametrize("place", ["embed", "file"])
def test_a_dense_layer(
    program: CompiledProgram,
    weights: list[np.ndarray],
    place: Literal["embed", "file"],
    tmp_path: Path,
) -> None:
    report = write_library(program, tmp_path / "dense.so", weights=place)
    assert report.weights_bytes >= sum(w.nbytes for w in weights)
    model = flowc_runtime.load(tmp_path / "dense.so")
    w, b = weights
    for batch in (1, 3, 64, 0):
        x = np.random.default_rng(batch).normal(size=(batch, 20)).astype(np.float32)
        found = model.run({"x": x})
        np.testing.assert_allclose(found["out/MatMul:0"], x @ w, rtol=1e-5, atol=1e-5)
        right = np.maximum(x @ w + b, 0)
        np.testing.assert_allclose(found["out/Relu:0"], right, rtol=1e-5, atol=1e-5)
