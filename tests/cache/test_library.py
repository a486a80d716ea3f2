"""The package's libraries of kernels: what they save, and when they are as good as none."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fused_text import clusters
from tensor_types import tensor_type

from flowc import compiler
from flowc.cache import library, library_making
from flowc.cache.disk import DiskCache
from flowc.cache.library import contents_of, path_of, ready_made, write_library
from flowc.cache.recorded_clusters import (
    RECORDED,
    cluster_of,
    kernels_of,
    recorded_texts,
    text_of,
)
from flowc.cache.store import KernelCache
from flowc.cli.entry import run_command_line
from flowc.codegen.cpu.target import LIBRARY_LEVELS, CpuTarget, cpu_target
from flowc.codegen.targets import LIBRARIES, library_targets, target_named
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation
from flowc.ir.program_spec import spec_of
from flowc.ir.verifier import verify
from flowc.options import Options
from flowc.passes.pipeline import run_passes

TARGET = "x86-64-v3"
OBJECTS: dict[str, tuple[bytes, ...]] = {
    "a": (b"own of a" * 90, b"shared" * 50),
    "b": (b"own of b", b"shared" * 50),
}
OBJECTS["shared"] = (b"shared" * 50,)


def network(factor: float = 1.0) -> Computation:
    """A layer whose results are scaled, and turned."""
    b = Builder()
    x = b.parameter("x:0", tensor_type("f32", (3, 8)))
    weights = np.arange(8 * 5, dtype=np.float32).reshape(8, 5) * np.float32(factor)
    y = b.relu(b.add(b.mat_mul(x, weights), np.ones(5, np.float32)))
    return b.build([b.mul(y, np.float32(0.3)), b.transpose(y, (1, 0))])


def lone_texts() -> list[str]:
    """The clusters of the network, by themselves."""
    fused = run_passes(network(), Options(target=TARGET))
    return [text_of(node) for node in clusters(fused)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the library of that network."""
    folder = tmp_path_factory.mktemp("libraries")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(library, "FOLDER", folder)
        same, *others = library_making.write(TARGET, map(cluster_of, lone_texts()), folder).values()
    assert same > 1 and not any(others)
    return folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder in which libraries are looked for."""
    library._opened.cache_clear()
    monkeypatch.setattr(library, "FOLDER", tmp_path)
    monkeypatch.setenv("FLOWC_LIBRARY", "1")
    yield tmp_path
    library._opened.cache_clear()


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The keys of the kernels that are compiled."""
    found: list[str] = []
    original = CpuTarget.objects_of

    def noted(self: CpuTarget, kernel: Any, kept: Any) -> tuple[bytes, ...]:
        found.append(kernel.key)
        return original(self, kernel, kept)

    monkeypatch.setattr(CpuTarget, "objects_of", noted)
    return found


def objects_of_network(cache: Path | None, factor: float = 1.0) -> tuple[bytes, ...]:
    """What a compilation with an own cache gives."""
    c = network(factor)
    spec = spec_of(c, ["x:0"], ["y:0", "z:0"])
    store = KernelCache(DiskCache(cache))
    return compiler.compile_computation(c, Options(target=TARGET), spec, kernels=store).objects


def test_what_a_library_has_is_not_compiled(
    folder: Path, made: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The same bytes, with an empty cache and with none, for other weights too; nothing of it is
    written to the cache."""
    without = objects_of_network(None)
    assert len(compiled) == len(set(compiled)) > 1
    compiled.clear()
    monkeypatch.setattr(library, "FOLDER", made)
    cache = tmp_path / "cache"
    cache.mkdir()
    assert objects_of_network(cache) == without == objects_of_network(None)
    objects_of_network(None, factor=2)
    assert not compiled and not list(cache.rglob("*.flowc"))
    monkeypatch.setenv("FLOWC_LIBRARY", "0")
    assert objects_of_network(None) == without
    assert compiled


def test_a_library_comes_before_the_cache(
    folder: Path, made: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """So objects do not depend on what somebody compiled before."""
    cache = tmp_path / "cache"
    cache.mkdir()
    monkeypatch.setenv("FLOWC_LIBRARY", "0")
    objects_of_network(cache)
    entries = list(cache.rglob("*.flowc"))
    assert entries
    for entry in entries:
        entry.write_bytes(b"nobody reads this")
    monkeypatch.setattr(library, "FOLDER", made)
    monkeypatch.setenv("FLOWC_LIBRARY", "1")
    objects_of_network(cache)
    assert all(entry.read_bytes() == b"nobody reads this" for entry in entries)


def test_what_comes_back(folder: Path) -> None:
    """What is shared is there once."""
    write_library(path_of("m"), OBJECTS)
    assert {name: ready_made(name, ["none", "m"]) for name in OBJECTS} == OBJECTS
    assert ready_made("c", ["m"]) is None and ready_made("a", []) is None
    assert len(library._header(library.PlainFile(path_of("m")))[1]["objects"]) == 3
    (folder / "other.kernels").write_bytes(path_of("m").read_bytes())
    assert ready_made("a", ["other"]) is None  # it is that of another target


def test_another_maker_is_a_miss(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    write_library(path_of("m"), OBJECTS)
    with monkeypatch.context() as patch, caplog.at_level(logging.INFO):
        patch.setattr(library, "maker", lambda: "another Numba")
        assert ready_made("a", ["m"]) is None
    assert not caplog.records
    library._opened.cache_clear()
    assert ready_made("a", ["m"]) == OBJECTS["a"]


def test_the_maker_is_what_files_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever they are and whenever they were written; of Python files alone."""
    folders = [tmp_path / name for name in ("here", "there")]
    for folder in folders:
        (folder / "inner").mkdir(parents=True)
        (folder / "a.py").write_text("a = 1\n")
        (folder / "inner" / "b.py").write_text("b = 1\n")
        (folder / "note.txt").write_text(str(folder))
    os.utime(folders[1] / "a.py", (1, 1))
    here, there = ({"package": str(folder)} for folder in folders)
    first = contents_of(here)
    assert first == contents_of(there) != contents_of({"other": str(folders[0])})
    (folders[1] / "inner" / "b.py").write_text("b = 2\n")
    assert contents_of(there) != first
    (folders[1] / "inner" / "b.py").rename(folders[1] / "inner" / "c.py")
    (folders[1] / "inner" / "c.py").write_text("b = 1\n")
    assert contents_of(there) != first
    monkeypatch.setattr(library, "versions", lambda: "numba 9")
    assert library.maker() != first and library.maker().endswith("numba 9")


def test_what_files_hold_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While none of them was changed. Without a cache they are read once a process."""
    monkeypatch.setenv("FLOWC_CACHE_DIR", str(tmp_path / "cache"))
    stamp = ["stamp"]
    monkeypatch.setattr(library, "toolchain", lambda: stamp[0])
    counts: list[int] = []
    monkeypatch.setattr(library, "contents_of", lambda _: counts.append(1) or f"{len(counts)}")
    unremembered = library._contents.__wrapped__
    assert [unremembered() for _ in range(3)] == ["1"] * 3
    stamp[0] = "edited"
    assert unremembered() == "2"
    monkeypatch.setenv("FLOWC_CACHE", "0")
    assert unremembered() == "3"


@pytest.mark.parametrize("cut", [0, 7, 47, 48, 200, -1])
def test_a_library_that_is_cut_off(
    folder: Path, cut: int, caplog: pytest.LogCaptureFixture
) -> None:
    write_library(path_of("m"), OBJECTS)
    path_of("m").write_bytes(path_of("m").read_bytes()[:cut])
    found = [ready_made(name, ["m"]) for name in ("a", "b", "a", "b")]
    assert None in found
    (record,) = caplog.records  # once
    assert "m.kernels is damaged and not used" in record.getMessage()


def test_fuzz_no_damage_is_taken_for_a_kernel(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A changed byte, wherever it is: an error is told once, or it does not matter."""
    write_library(path_of("m"), OBJECTS)
    good, random = path_of("m").read_bytes(), np.random.default_rng(3)
    for at in range(0, len(good), 3):
        bad = bytearray(good)
        bad[at] ^= 1 << int(random.integers(8))
        path_of("m").write_bytes(bad)
        library._opened.cache_clear()
        caplog.clear()
        found = {name: ready_made(name, ["m"]) for name in OBJECTS}
        assert all(found[name] in (None, OBJECTS[name]) for name in OBJECTS), at
        assert len(caplog.records) == (None in found.values()), at


def test_a_library_that_changes_while_it_is_open(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What replaces the file whole is not seen; what is written into it is damage."""
    write_library(path_of("m"), OBJECTS)
    assert ready_made("a", ["m"]) == OBJECTS["a"]
    write_library(path_of("m"), {"a": (b"other",)})
    assert ready_made("b", ["m"]) == OBJECTS["b"] and not caplog.records
    library._opened.cache_clear()
    assert ready_made("a", ["m"]) == (b"other",)
    path_of("m").write_bytes(b"")
    assert ready_made("a", ["m"]) is None and len(caplog.records) == 1


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_no_plain_file_is_no_library(
    folder: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    if kind == "folder":
        path_of("m").mkdir()
    else:
        os.mkfifo(path_of("m"))
    assert ready_made("a", ["m"]) is None and len(caplog.records) == 1


def test_a_package_that_nobody_can_write_to(folder: Path) -> None:
    write_library(path_of("m"), OBJECTS)
    path_of("m").chmod(0o444)
    folder.chmod(0o555)
    assert ready_made("a", ["m"]) == OBJECTS["a"]
    folder.chmod(0o755)


def test_threads_and_forks(folder: Path) -> None:
    many = {f"k{i}": (os.urandom(5000), b"shared") for i in range(40)}
    write_library(path_of("m"), many)

    def all_right(_: int) -> bool:
        return {name: ready_made(name, ["m"]) for name in many} == many

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(all_right, range(4)))
    children = []
    for _ in range(2):  # they share the open file, and read side by side
        child = os.fork()
        if child == 0:
            os._exit(0 if all_right(0) else 1)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]


def test_which_targets_a_library_serves() -> None:
    """Those that have all that the level's code uses, and are as wide."""
    level = cpu_target("x86-64-v4")
    has = ",".join(f"+{feature}" for feature in LIBRARY_LEVELS["x86-64-v4"])
    host = replace(level, processor=replace(level.processor, cpu="znver5", features=f"{has},+vaes"))
    assert level.libraries == ("x86-64-v4",)
    assert host.libraries == ("x86-64-v4", "x86-64-v4-gathers")
    assert replace(host, exact=True).libraries == host.libraries
    slow = replace(host.processor, features=f"{host.processor.features},+prefer-no-gather")
    assert replace(host, processor=slow).libraries == ("x86-64-v4", "x86-64-v4-loads")
    lacks = replace(host.processor, features=has.replace("+avx512cd", "-avx512cd"))
    assert replace(host, processor=lacks).libraries == ()
    assert replace(host, vector_bits=256).libraries == ("x86-64-v3",)
    foreign = replace(host.processor, triple="x86_64-unknown-freebsd")
    assert replace(host, processor=foreign).libraries == ()
    assert cpu_target("x86-64-v2").libraries == ()
    slow = replace(level.processor, features=f"{level.processor.features},+prefer-no-gather")
    assert replace(level, processor=slow).libraries == ("x86-64-v4", "x86-64-v4-loads")
    assert target_named("cuda:sm_80,x86-64-v4").libraries == ()
    assert set(LIBRARIES) == LIBRARY_LEVELS.keys()


def test_what_depends_on_the_processor_is_for_that_alone(folder: Path) -> None:
    """Elements of short rows stand apart, and are gathered where that is fast."""
    b = Builder()
    c = b.build([b.max(b.parameter("x", tensor_type("f32", (900, 5))), np.int32([1]))])
    texts = [text_of(node) for node in clusters(run_passes(c, Options(target=TARGET)))]
    counts = library_making.write(TARGET, map(cluster_of, texts), folder)
    assert list(counts.values()) == [1, 1, 1]  # what every program has, and the kernel
    (kernel,) = kernels_of(cluster_of(texts[0]), target_named(TARGET))
    level = cpu_target(TARGET)
    has = ",".join(f"+{feature}" for feature in LIBRARY_LEVELS[TARGET])
    for features, found in (("", False), (",+prefer-no-gather", True)):
        processor = replace(level.processor, cpu="znver3", features=f"{has}{features}")
        libraries = replace(level, processor=processor).libraries
        assert (ready_made(kernel, libraries) is not None) == found
    assert ready_made(kernel, level.libraries) is None
    gathered, loaded = (ready_made(kernel, [n]) for n in library_targets(TARGET))
    assert gathered != loaded


def test_recorded_clusters_are_current() -> None:
    """Each is read, is what its types say, and gives kernels; none is there twice."""
    texts = list(recorded_texts(RECORDED))
    assert len(texts) == len(set(texts)) > 100
    found: set[str] = set()
    for text in texts:
        c = cluster_of(text)
        verify(c, "text", lowered=True)
        (node,) = clusters(c)
        assert text_of(node) == text
        more = {k for name in LIBRARIES for k in kernels_of(c, target_named(name))}
        assert more
        found |= more
    assert len(found) > len(texts)


def test_the_cache_is_filled_by_command(
    folder: Path,
    compiled: list[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("FLOWC_CACHE_DIR", str(tmp_path / "cache"))
    few = tmp_path / "few.txt"
    few.write_text("\n\n".join(lone_texts()))
    monkeypatch.setattr(library_making, "RECORDED", [few])
    assert run_command_line(["cache", "--fill", "--json"]) == 0
    first = json.loads(capsys.readouterr().out)["entries"]
    assert first > len(compiled) > 1  # routines have entries of their own
    compiled.clear()
    assert run_command_line(["cache", "--fill", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["entries"] == first and not compiled


def test_the_command_that_makes_libraries(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    few = folder / "few.txt"
    few.write_text("\n\n".join(lone_texts()[:1]))
    monkeypatch.setattr(library_making, "RECORDED", [few])
    library_making.main([TARGET])
    assert f"{TARGET}.kernels: " in capsys.readouterr().out
    assert ready_made("pool and arena", [TARGET]) is not None


def test_numba_reads_what_no_library_has(tmp_path: Path, made: Path) -> None:
    """It takes longer to import than all that a library's kernels take."""
    folders = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    env = os.environ | {"FLOWC_CACHE": "0", "FLOWC_LIBRARY": "1", "PYTHONPATH": folders}
    for folder, expected in ((made, "False"), (tmp_path, "True")):
        command = [sys.executable, "-c", _NETWORK, str(folder)]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == expected


_NETWORK = """
import sys
from pathlib import Path
from test_library import library, objects_of_network
library.FOLDER = Path(sys.argv[1])
objects_of_network(None)
print("numba" in sys.modules)
"""


def test_a_process_that_compiles_nothing_opens_no_library(tmp_path: Path) -> None:
    """A program comes from the cache without it."""
    command = [sys.executable, "-c", _SECOND_RUN]
    env = os.environ | {"FLOWC_CACHE_DIR": str(tmp_path), "FLOWC_LIBRARY": "1"}
    tmp_path.chmod(0o700)
    for expected in ("True", "False"):
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == expected


_SECOND_RUN = """
import flowc as tf
from flowc.cache import library
with tf.Graph().as_default(), tf.Session() as session:
    session.run(tf.exp(tf.placeholder_with_default([1.0, 2.0], [2])))
print(library._opened.cache_info().misses > 0)
"""
