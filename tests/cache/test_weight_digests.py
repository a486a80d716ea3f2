"""Digests of constants: what they depend on, and when a file's are remembered."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tensor_types import tensor_type

from flowc.cache import weight_digests
from flowc.cache.weight_digests import WeightDigests, array_digest
from flowc.compiler import load_executable
from flowc.encoding.wire import open_region
from flowc.files import identity as file_identity
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation
from flowc.ir.program_spec import spec_of
from flowc.options import Options
from flowc.passes import pipeline
from flowc.passes.pipeline import run_passes

OLD = time.time() - 1000


def write(path: Path, data: bytes, changed: float) -> None:
    path.write_bytes(data)
    os.utime(path, (changed, changed))


def mapped(path: Path) -> np.ndarray:
    return np.frombuffer(open_region(path).view, np.float32)


def digests(folder: Path, *arrays: np.ndarray) -> list[str]:
    found = WeightDigests(folder)
    results = [result() for result in found.of(arrays)]
    found.close()
    return results


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Sizes of the arrays that are really hashed; files count as settled at once."""
    seen: list[int] = []

    def count(array: np.ndarray) -> str:
        seen.append(array.size)
        return array_digest(array)

    monkeypatch.setattr(weight_digests, "array_digest", count)
    monkeypatch.setattr(file_identity, "SETTLED_SECONDS", -1)
    return seen


def test_dtype_shape_and_bytes_count() -> None:
    a = np.arange(6, dtype=np.int32)
    others = [a.view(np.float32), a.reshape(2, 3), a + 1, a[:5]]
    assert len({array_digest(x) for x in [a, *others]}) == 5
    assert array_digest(a) == array_digest(a.copy())


def test_a_file_is_hashed_once(tmp_path: Path, counted: list[int]) -> None:
    write(tmp_path / "w", np.arange(8, dtype=np.float32).tobytes(), OLD)
    first = digests(tmp_path, mapped(tmp_path / "w")[2:6])
    again = digests(tmp_path, mapped(tmp_path / "w")[2:6])
    assert first == again == [array_digest(np.arange(2, 6, dtype=np.float32))]
    assert counted == [4]


def test_what_is_new_is_known_before_it_is_hashed(tmp_path: Path, counted: list[int]) -> None:
    write(tmp_path / "w", np.arange(8, dtype=np.float32).tobytes(), OLD)
    found: list[bool] = []
    for array in (mapped(tmp_path / "w"), mapped(tmp_path / "w"), np.zeros(8, np.float32)):
        new = WeightDigests(tmp_path)
        new.of([array])
        found.append(new.finds_new)
        new.close()
    assert found == [True, False, False]


def test_a_file_that_changed_is_hashed_again(tmp_path: Path, counted: list[int]) -> None:
    write(tmp_path / "w", np.zeros(8, np.float32).tobytes(), OLD)
    before = digests(tmp_path, mapped(tmp_path / "w"))
    write(tmp_path / "w", np.ones(8, np.float32).tobytes(), OLD)  # same size, same modified time
    after = digests(tmp_path, mapped(tmp_path / "w"))
    assert before != after
    assert counted == [8, 8]


def test_a_file_changed_just_now_is_not_trusted(tmp_path: Path) -> None:
    write(tmp_path / "w", np.zeros(8, np.float32).tobytes(), OLD)  # its status changed just now
    digests(tmp_path, mapped(tmp_path / "w"))
    assert not (tmp_path / "digests").exists()


def test_damaged_memory_is_forgotten(tmp_path: Path, counted: list[int]) -> None:
    write(tmp_path / "w", np.zeros(8, np.float32).tobytes(), OLD)
    first = digests(tmp_path, mapped(tmp_path / "w"))
    (memory,) = (tmp_path / "digests").glob("*.json")
    memory.write_text("{broken")
    assert digests(tmp_path, mapped(tmp_path / "w")) == first
    assert counted == [8, 8]


def test_passes_run_while_new_files_are_hashed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLOWC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("FLOWC_CACHE", raising=False)
    monkeypatch.setattr(file_identity, "SETTLED_SECONDS", -1)
    write(tmp_path / "w", np.arange(1000, dtype=np.float32).tobytes(), OLD)
    events: list[str] = []
    passed = threading.Event()

    def hashed(array: np.ndarray) -> str:
        assert passed.wait(60), "the key was asked for before passes ran"
        events.append("digest")
        return array_digest(array)

    def ran(*arguments: Any) -> Computation:
        events.append("passes")
        passed.set()
        return run_passes(*arguments)

    monkeypatch.setattr(weight_digests, "array_digest", hashed)
    monkeypatch.setattr(pipeline, "run_passes", ran)
    for _ in range(2):
        b = Builder()
        weights = b.const(mapped(tmp_path / "w"))
        c = b.build([b.add(b.parameter("x:0", tensor_type("f32", (1000,))), weights)])
        executable = load_executable(c, Options(), spec_of(c, ["x:0"], ["y:0"]))
        (result,) = executable.run([np.ones(1000, np.float32)])
        np.testing.assert_array_equal(result, np.arange(1, 1001))
    assert events == ["passes", "digest"]
