"""Compiled models from Python: `flowc_runtime.load`, with NumPy only."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import aot_programs
import ml_dtypes
import numpy as np
import pytest

import flowc_runtime
from flowc.aot import write_library
from flowc_runtime import InvalidArgumentError, LoadError, Model, ResourceExhaustedError
from flowc_runtime.addresses import data_address
from flowc_runtime.element_types import as_dense, numpy_dtype

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")

WEIGHTS = np.arange(1, 5, dtype=np.float32)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("loader") / "hand.so"
    write_library(aot_programs.program(), out, threads=2)
    return out


@pytest.fixture(scope="module")
def model(path: Path) -> Model:
    return flowc_runtime.load(path)


def _x(batch: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).normal(size=(batch, 4)).astype(np.float32)


def _check(model: Model, x: np.ndarray[Any, Any]) -> None:
    y, kept, steps = model(x, 3)
    assert steps.tolist() == [0, 1, 2]
    right, right_kept = aot_programs.expected(x, WEIGHTS)
    np.testing.assert_array_equal(y, right)
    np.testing.assert_array_equal(kept, right_kept)


def test_it_describes_itself(model: Model) -> None:
    assert [(p.name, p.dtype, p.dims) for p in model.inputs] == [
        ("in/x:0", np.dtype(np.float32), ("batch", 4)),
        ("k:0", np.dtype(np.int64), ()),
    ]
    assert [p.dims for p in model.outputs] == [("batch", 4), ("kept_count",), ("step_count",)]
    assert model.name == "hand"
    assert repr(model) == (
        "<Model 'hand': in/x:0: float32[batch, 4], k:0: int64[] "
        "-> y:0: float32[batch, 4], kept:0: float32[kept_count], steps:0: int64[step_count]>"
    )
    assert model.threads == 2


@pytest.mark.parametrize("batch", [0, 1, 2, 7, 100])
def test_one_library_serves_every_batch(model: Model, batch: int) -> None:
    _check(model, _x(batch))


def test_results_do_not_depend_on_threads(model: Model) -> None:
    x = _x(200)
    model.threads = 1
    first = model(x, 1)
    for count in (2, 3, 8):
        model.threads = count
        for one, other in zip(first, model(x, 1)):
            assert one.tobytes() == other.tobytes()
    model.threads = 2


def test_results_are_fresh_arrays(model: Model) -> None:
    x = _x(3)
    first = model(x, 1)[0]
    kept = first.copy()
    second = model(x + 1, 1)[0]
    assert not np.shares_memory(first, second)
    np.testing.assert_array_equal(first, kept)


def test_inputs_by_name(model: Model) -> None:
    x = _x(3)
    by_position = model(x, 1)[0]
    by_name = model(**{"k": 1, "in/x": x})[0]
    mixed = model(x, **{"k:0": 1})[0]
    results = model.run({"in/x:0": x, "k": 1})
    assert list(results) == ["y:0", "kept:0", "steps:0"]
    for found in (by_name, mixed, results["y:0"]):
        np.testing.assert_array_equal(found, by_position)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x.tolist(),
        lambda x: x.astype(np.float64),
        lambda x: np.asfortranarray(x),
        lambda x: np.repeat(x, 2, axis=0)[::2],
        lambda x: x.astype(">f4"),
        lambda x: memoryview(x),
    ],
)
def test_anything_that_becomes_the_array_is_taken(model: Model, make: Any) -> None:
    x = _x(5)
    np.testing.assert_array_equal(model(make(x), 1)[0], model(x, 1)[0])


def test_read_only_inputs(model: Model) -> None:
    x = _x(5)
    x.setflags(write=False)
    _check(model, x)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((np.zeros((2, 3), np.float32), 1), r"'in/x:0' has dims \[2, 3\], expected \[batch, 4\]"),
        ((np.zeros(4, np.float32), 1), r"'in/x:0' has dims \[4\], expected \[batch, 4\]"),
        ((np.zeros((2, 4), np.complex64), 1), "'in/x:0'.*complex64"),
        ((np.zeros((2, 4), np.float32), 1.5), "'k:0'.*float64 cannot become int64"),
        ((np.zeros((2, 4), np.float32), 1 << 70), "'k:0'"),
        ((np.zeros((2, 4), np.float32), "one"), "'k:0'"),
        (([[1.0, 2.0], [3.0]], 1), "'in/x:0'"),
        ((np.zeros((2, 4), np.float32),), "missing: k:0"),
        ((1, 2, 3), "takes 2 inputs; found 3"),
        ((np.zeros((2, 4), np.float32), -5), r"k = -5 is not in \[0, 100%\).*'top/K'"),
    ],
)
def test_what_does_not_fit_is_named(model: Model, args: tuple[Any, ...], words: str) -> None:
    with pytest.raises(InvalidArgumentError, match=words) as caught:
        model(*args)
    assert isinstance(caught.value, ValueError)


def test_wrong_names(model: Model) -> None:
    with pytest.raises(InvalidArgumentError, match="no input 'z'; it has in/x:0, k:0"):
        model(_x(1), z=1)
    with pytest.raises(InvalidArgumentError, match="'in/x:0' is given twice"):
        model(_x(1), **{"in/x": _x(1)})
    with pytest.raises(InvalidArgumentError, match="missing: in/x:0"):
        model.run({"k": 1})


def test_no_memory_is_its_own_error(model: Model) -> None:
    with pytest.raises(ResourceExhaustedError, match="bytes asked for") as caught:
        model(_x(1), 11)
    assert isinstance(caught.value, MemoryError)
    _check(model, _x(2))


def test_thread_counts_are_checked(model: Model) -> None:
    with pytest.raises(InvalidArgumentError, match="2000"):
        model.threads = 2000
    assert model.threads == 2


def test_many_threads_call_one_model(model: Model) -> None:
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            for index in range(100):
                _check(model, _x(1 + (seed * 31 + index) % 20, seed))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_forked_child_runs_and_exits(model: Model) -> None:
    model.threads = 4
    for _ in range(20):
        _check(model, _x(50))
        child = os.fork()
        if child == 0:
            try:
                _check(model, _x(50))
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
    model.threads = 2


def test_a_library_that_was_rebuilt_is_loaded_anew(tmp_path: Path) -> None:
    out = tmp_path / "m.so"
    x = np.ones((1, 4), np.float32)
    for scale in (1.0, 2.0, 3.0):
        weights = np.full(4, scale, np.float32)
        write_library(aot_programs.program(weights), out, weights="file")
        assert flowc_runtime.load(out)(x, 1)[0].tolist() == [[4 + scale] * 4]


def test_a_loaded_library_survives_its_files(tmp_path: Path) -> None:
    out = tmp_path / "m.so"
    write_library(aot_programs.program(), out, weights="file")
    model = flowc_runtime.load(out)
    for file in tmp_path.iterdir():
        file.unlink()
    _check(model, _x(3))


def test_files_that_are_no_models(path: Path, tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="absent"):
        flowc_runtime.load(tmp_path / "absent.so")
    text = tmp_path / "text.so"
    text.write_text("not a library")
    with pytest.raises(LoadError, match="text"):
        flowc_runtime.load(text)
    libc = next(p for p in Path("/lib").rglob("libm.so.6"))
    with pytest.raises(LoadError, match="not a model compiled by flowc"):
        flowc_runtime.load(libc)
    whole = path.read_bytes()
    other = tmp_path / "other.so"
    other.write_bytes(whole[:18] + (183).to_bytes(2, "little") + whole[20:])
    with pytest.raises(LoadError, match="it is for aarch64, and this machine is x86_64"):
        flowc_runtime.load(other)
    for length in (0, 10, 64, 100, 3000, len(whole) // 2):
        truncated = tmp_path / f"cut{length}.so"
        truncated.write_bytes(whole[:length])
        with pytest.raises(LoadError, match="cut"):
            flowc_runtime.load(truncated)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda data: None, "cannot be opened; it belongs beside the library"),
        (lambda data: b"", "not the one that this library was built with"),
        (lambda data: data[:70], "not the one"),
        (lambda data: data + b"\0", "not the one"),
        (lambda data: data[:30] + b"\xff" + data[31:], "not the one"),
        (lambda data: data[:64] + bytes([data[64] ^ 1]) + data[65:], "is damaged: its weights"),
        (lambda data: data[:-1] + bytes([data[-1] ^ 128]), "is damaged: its weights"),
        (lambda data: data[:64] + data[68:72] + data[64:68] + data[72:], "is damaged"),
    ],
)
def test_a_wrong_weights_file_is_an_error(tmp_path: Path, damage: Any, words: str) -> None:
    out = tmp_path / "m.so"
    write_library(aot_programs.program(), out, weights="file")
    side = tmp_path / "m.so.weights"
    data = damage(side.read_bytes())
    side.unlink()
    if data is not None:
        side.write_bytes(data)
    with pytest.raises(LoadError, match=words) as caught:
        flowc_runtime.load(out)
    assert "m.so.weights" in str(caught.value)


def test_a_library_that_cannot_be_asked_for_its_weights_is_loaded(tmp_path: Path) -> None:
    """One of an earlier flowc: its runs say what is wrong."""
    out = tmp_path / "m.so"
    write_library(aot_programs.program(), out, weights="file")
    (tmp_path / "m.so.weights").unlink()
    data = out.read_bytes()
    out.write_bytes(data.replace(b"_check_weights\0", b"_other_weights\0"))
    assert out.read_bytes() != data
    model = flowc_runtime.load(out)
    with pytest.raises(LoadError, match=r"m\.so\.weights cannot be opened"):
        model(_x(1), 1)


def test_links_to_a_library_find_its_weights(tmp_path: Path) -> None:
    write_library(aot_programs.program(), tmp_path / "m.so", weights="file")
    (tmp_path / "here").mkdir()
    link = tmp_path / "here" / "link.so"
    link.symlink_to(tmp_path / "m.so")
    _check(flowc_runtime.load(link), _x(2))


def test_it_needs_numpy_only(path: Path) -> None:
    """A process that can import NumPy, the standard library and the runtime, and nothing else."""
    code = f"""
import sys
class OnlyNumpy:
    def find_spec(self, name, path=None, target=None):
        top = name.split(".")[0]
        if top not in sys.stdlib_module_names and top not in ("numpy", "flowc_runtime"):
            raise ImportError("not allowed: " + name)
sys.meta_path.insert(0, OnlyNumpy())
import numpy, flowc_runtime
model = flowc_runtime.load({str(path)!r})
assert model(numpy.ones((2, 4), "f4"), 1)[0].tolist() == [[5, 6, 7, 8]] * 2
assert flowc_runtime.element_types.numpy_dtype("bf16") == numpy.uint16
"""
    runtime = str(Path(flowc_runtime.__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": runtime}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, timeout=60)


def test_addresses_are_those_that_numpy_tells() -> None:
    base = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    frozen = base.copy()
    frozen.setflags(write=False)
    arrays = [base, base[1:, ::-1], base.T, frozen, np.array(3.5), np.zeros((0, 4)), base.copy()]
    for array in arrays:
        assert data_address(array) == array.__array_interface__["data"][0]


# -- element types -----------------------------------------------------------------------------


def test_half_precision() -> None:
    bf16 = numpy_dtype("bf16")
    assert bf16 == ml_dtypes.bfloat16
    assert as_dense([1.5, 2], bf16).tolist() == [1.5, 2.0]
    assert as_dense(np.array([1.5], np.float32), bf16).dtype == bf16
    assert as_dense(np.array([1.5], bf16), np.dtype(np.float32)).tolist() == [1.5]
    with pytest.raises(TypeError, match="bfloat16"):
        as_dense(np.array([1.5], bf16), np.dtype(np.int32))
    assert as_dense([0.5], numpy_dtype("f16")).dtype == np.float16


@pytest.mark.parametrize(
    ("value", "dtype", "fits"),
    [
        ([1, 2], "u8", True),
        ([300], "u8", False),
        ([-1], "u8", False),
        ([True], "f32", True),
        ([], "i32", True),
        ([1.0], "i32", False),
        (np.array([1], np.int64), "i32", True),
        (np.array([1 << 40], np.int64), "i32", False),
        (np.array([-1], np.int32), "u8", False),
        (np.array([1 << 63], np.uint64), "i64", False),
        (np.array([1], np.int64), "bool", False),
        (np.array([1], np.int64), "f32", True),
        (np.float64(2.5), "f32", True),
        (np.float64(2.5), "i64", False),
        ([1j], "f64", False),
        ([1.0], "c64", True),
        (["a"], "f32", False),
        ([None], "f32", False),
    ],
)
def test_conversions_keep_the_kind(value: Any, dtype: str, fits: bool) -> None:
    wanted = numpy_dtype(dtype)
    if fits:
        assert as_dense(value, wanted).dtype == wanted
    else:
        with pytest.raises(TypeError):
            as_dense(value, wanted)


def test_an_array_that_fits_is_not_copied() -> None:
    array = np.zeros((3, 4), np.float32)
    assert as_dense(array, array.dtype) is array
