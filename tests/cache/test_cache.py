"""The disk cache: hits and misses, damage, races, trust; nothing depends on the process."""

from __future__ import annotations

import errno
import fcntl
import json
import logging
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cache_child
import numpy as np
import pytest
from ir_reference import reference_results
from program_keys import program_key
from tensor_types import tensor_type

from flowc import compiler
from flowc.cache import store as cache
from flowc.cache.disk import DiskCache, evict
from flowc.cache.entry import MAGIC, PREFIX, fill_entry, open_entry, read_entry
from flowc.codegen.compiled import CompiledProgram, ProgramMetadata
from flowc.codegen.link.image import MAGIC as IMAGE
from flowc.compiler import load_executable
from flowc.files.cache_folder import code_stamp, package_folders
from flowc.ir.builder import Builder
from flowc.ir.program_spec import spec_of
from flowc.options import Options

CHILD = Path(cache_child.__file__)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    chosen = tmp_path / "cache"
    monkeypatch.setenv("FLOWC_CACHE_DIR", str(chosen))
    monkeypatch.delenv("FLOWC_CACHE", raising=False)
    monkeypatch.delenv("FLOWC_CACHE_SIZE", raising=False)
    return chosen


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grows by one for each program that is compiled in this process."""
    found: list[str] = []
    original = compiler.compile_computation

    def counted(*arguments: Any, **more: Any) -> CompiledProgram:
        found.append("program")
        return original(*arguments, **more)

    monkeypatch.setattr(compiler, "compile_computation", counted)
    return found


def start(mode: str = "", **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(CHILD), mode],
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return json.loads(out.splitlines()[-1])


def expected() -> np.ndarray:
    return reference_results(cache_child.network(), cache_child.inputs())[0]


def load_and_run(options: Options | None = None) -> np.ndarray:
    return load_executable(cache_child.network(), options or Options(), cache_child.spec()).run(
        cache_child.inputs()
    )[0]


def entry_of(folder: Path) -> Path:
    path = DiskCache(folder).path(program_key(cache_child.network(), Options(), cache_child.spec()))
    assert path is not None
    return path


# -- hits


def test_a_second_process_compiles_nothing(folder: Path) -> None:
    first, second = finish(start()), finish(start("bare"))
    assert first["programs"] == 1 and first["kernels"] > 0
    assert second["programs"] == 0
    assert not second["numba"], "a program from the cache runs without Numba"
    assert first["result"] == second["result"]
    np.testing.assert_allclose(np.array(first["result"]), expected(), rtol=1e-5)


def test_processes_at_once_compile_once(folder: Path) -> None:
    found = [finish(p) for p in [start("slow"), start("slow")]]
    assert sorted(f["programs"] for f in found) == [0, 1]
    assert found[0]["result"] == found[1]["result"]
    assert not list(folder.glob("**/.*"))


def test_nothing_depends_on_the_process(folder: Path) -> None:
    """Text, kernels' names, objects and keys are the same for other hash seeds."""
    found = [start("digests", PYTHONHASHSEED=seed, FLOWC_CACHE="0") for seed in "12"]
    assert finish(found[0]) == finish(found[1])


def test_what_was_just_compiled_is_not_read_back(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs: list[CompiledProgram] = []
    original = DiskCache.load

    def noted(disk: DiskCache, key: str) -> CompiledProgram | None:
        found = original(disk, key)
        programs.extend([] if found is None else [found])
        return found

    monkeypatch.setattr(DiskCache, "load", noted)
    first = load_and_run()
    assert not any(p.weights for p in programs)
    assert load_and_run().tobytes() == first.tobytes()
    assert sum(len(p.weights) for p in programs) == 1


def test_off_means_off(folder: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOWC_CACHE", "0")
    np.testing.assert_allclose(load_and_run(), expected(), rtol=1e-5)
    load_and_run()
    assert compiled == ["program", "program"] and not folder.exists()


# -- misses


def changed_structure() -> Any:
    b = Builder(("net/layer",))
    x = b.parameter("x:0", tensor_type("f32", (3, 8)))
    return b.build([b.relu(x)])


def test_every_part_of_the_key_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    network = cache_child.network

    def key(c: Any = None, options: Options | None = None, names: Any = None) -> str:
        asked, names = c or network(), names or (["x:0"], ["y:0"])
        return program_key(asked, options or Options(), spec_of(asked, *names))

    plain = key()
    assert key() == plain
    others = {
        "weights": key(network(1.5)),
        "structure": key(changed_structure()),
        "fuse": key(options=Options(fuse=False)),
        "skip": key(options=Options(skip=("simplify",))),
        "target": key(options=Options(target="x86-64-v3")),
        "inputs": key(names=(["z:0"], ["y:0"])),
        "outputs": key(names=(["x:0"], ["z:0"])),
    }
    for name in ("flowc", "numba", "llvmlite"):
        versions = cache.toolchain().replace(f"{name} ", f"{name} 9")
        with monkeypatch.context() as patch:
            patch.setattr(cache, "toolchain", lambda versions=versions: versions)
            others[name] = key()
    assert len({plain, *others.values()}) == len(others) + 1, others


def test_an_edit_of_any_package_gives_other_keys(tmp_path: Path) -> None:
    """Objects of code that has changed since are never reused, whatever folder the code is in."""
    folders: dict[str, str] = {}
    for package, folder in package_folders().items():
        folders[package] = str(tmp_path / package)
        shutil.copytree(folder, folders[package], ignore=shutil.ignore_patterns("__pycache__"))
    found = {code_stamp(folders)}
    packages = sorted({p.parent for p in tmp_path.rglob("*.py")})
    assert len(packages) > 10
    for package in packages:
        edited = sorted(package.glob("*.py"))[0]
        edited.write_text(edited.read_text() + "\n")
        found.add(code_stamp(folders))
    assert len(found) == len(packages) + 1
    assert code_stamp(folders) in found  # a function of the files alone


def test_weights_differ_by_any_bit() -> None:
    def key(weights: np.ndarray) -> str:
        b = Builder()
        c = b.build([b.const(weights)])
        return program_key(c, Options(), spec_of(c, [], ["w"]))

    base = np.zeros(100, np.float32)
    last = base.copy()
    last[-1] = -0.0
    order = base.copy()
    order[0] = 1
    swapped = order[::-1]
    found = [base, last, order, swapped, base.reshape(10, 10), base.view(np.int32)]
    assert len({key(w) for w in found}) == len(found)
    assert key(swapped) == key(swapped.copy()), "the layout in memory does not count"


def test_a_changed_kernel_is_compiled_anew(folder: Path) -> None:
    load_and_run()
    before = len(list(folder.glob("*/*.flowc")))
    load_executable(cache_child.network(1.5), Options(), cache_child.spec())
    after = len(list(folder.glob("*/*.flowc")))
    assert after == before + 1, "kernels do not depend on weights: only the program is new"


# -- damage


def flipped(at: float) -> Callable[[bytes], bytes]:
    def change(data: bytes) -> bytes:
        place = min(len(data) - 1, int(len(data) * at))
        return data[:place] + bytes([data[place] ^ 0x40]) + data[place + 1 :]

    return change


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "magic": flipped(0.0),
    "older format": lambda d: MAGIC[:-1] + b"\x00" + d[len(MAGIC) :],
    "header length": lambda d: d[:8] + b"\xff" * 8 + d[16:],
    "header checksum": lambda d: d[:20] + bytes([d[20] ^ 1]) + d[21:],
    "header": lambda d: d[: PREFIX.size + 9] + b"?" + d[PREFIX.size + 10 :],
    "first object": lambda d: d.replace(IMAGE, b"\x7fOTHERIM", 1),
    "runtime": lambda d: b"\x7fOTHERIM".join(d.rsplit(IMAGE, 1)),
    "weights": flipped(1.0),
    "cut in the header": lambda d: d[:50],
    "cut in the objects": lambda d: d[: len(d) // 2],
    "cut in the weights": lambda d: d[:-1],
    "longer": lambda d: d + b"\0",
    "empty": lambda d: b"",
    "zeros": lambda d: bytes(len(d)),
    "text": lambda d: b"not an entry at all\n" * 100,
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the entries of one program."""
    chosen = tmp_path_factory.mktemp("sound") / "cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FLOWC_CACHE_DIR", str(chosen))
        load_and_run()
    return chosen


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_entry_is_made_again(
    kind: str, sound: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLOWC_CACHE_DIR", str(sound))
    path = entry_of(sound)
    good = path.read_bytes()
    bad = DAMAGE[kind](good)
    assert bad != good
    path.write_bytes(bad)
    np.testing.assert_allclose(load_and_run(), expected(), rtol=1e-5)
    assert compiled == ["program"], kind
    assert path.read_bytes() == good, "the same bytes are made again"
    load_and_run()
    assert compiled == ["program"]


def test_every_byte_is_guarded(tmp_path: Path) -> None:
    """Wherever one byte changes, the entry is refused, or nothing of what it gives has changed."""
    weights = np.arange(64, dtype=np.uint8)
    program = CompiledProgram(
        (b"object one", b"two"), [(0, weights)], ProgramMetadata(weights_bytes=64), b"rt"
    )
    path = tmp_path / "entry"
    with open_entry(path) as file:
        fill_entry(file, "key", program)
    good = path.read_bytes()
    places = [*range(400), *range(400, len(good), 97), *range(len(good) - 64, len(good))]
    for place in places:
        path.write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])
        found = read_entry(path, "key")
        if found is not None:
            assert found.objects == program.objects and found.runtime == program.runtime
            assert found.metadata == program.metadata
            assert found.weights_image().tobytes() == weights.tobytes()
            assert good[place] == 0, "only padding may change unseen"


def test_an_entry_of_another_key_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "entry"
    with open_entry(path) as file:
        fill_entry(file, "mine", CompiledProgram((b"o",), [], ProgramMetadata()))
    assert read_entry(path, "mine") is not None
    assert read_entry(path, "yours") is None and not path.exists()


def test_a_folder_in_place_of_an_entry(folder: Path, compiled: list[str]) -> None:
    folder.mkdir(mode=0o700)
    entry_of(folder).mkdir(parents=True, mode=0o700)
    np.testing.assert_allclose(load_and_run(), expected(), rtol=1e-5)
    assert compiled == ["program"]


def test_a_folder_that_takes_no_lock(
    folder: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(file: object, operation: int) -> None:
        raise OSError(errno.ENOLCK, "no locks here")

    monkeypatch.setattr(fcntl, "flock", refuse)
    np.testing.assert_allclose(load_and_run(), expected(), rtol=1e-5)
    assert compiled == ["program"]


# -- trust


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_can_write_to_is_refused_once(
    mode: int, folder: Path, compiled: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    folder.mkdir()
    folder.chmod(mode)
    with caplog.at_level(logging.WARNING, "flowc.cache.store"):
        np.testing.assert_allclose(load_and_run(), expected(), rtol=1e-5)
        load_and_run()
    said = [r.getMessage() for r in caplog.records]
    assert len(said) == 1 and "others can write" in said[0] and str(folder) in said[0]
    assert list(folder.iterdir()) == [] and len(compiled) == 2


def test_a_file_in_place_of_the_folder(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder.write_text("not a folder")
    with caplog.at_level(logging.WARNING, "flowc.cache.store"):
        np.testing.assert_allclose(load_and_run(), expected(), rtol=1e-5)
    assert len(caplog.records) == 1


def test_a_new_folder_is_the_users_alone(folder: Path) -> None:
    load_and_run()
    modes = {p: p.stat().st_mode & 0o077 for p in [folder, *folder.glob("*/*.flowc")]}
    assert set(modes.values()) == {0}, modes


# -- size


def test_the_longest_unused_entries_go_first(tmp_path: Path) -> None:
    paths = []
    for i in range(6):
        path = tmp_path / f"{i:02}" / "entry.flowc"
        path.parent.mkdir()
        path.write_bytes(bytes(1000))
        os.utime(path, (time.time() - 100 + i, time.time() - 100 + i))
        paths.append(path)
    evict(tmp_path, 3500, keep=paths[0])
    assert [p.exists() for p in paths] == [True, False, False, False, True, True]
    evict(tmp_path, 0, keep=paths[5])
    assert [p for p in paths if p.exists()] == [paths[5]]


def test_the_folder_holds_no_more_than_it_may(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLOWC_CACHE_SIZE", "60000")
    for factor in (1.0, 2.0, 3.0, 4.0):
        c = cache_child.network(factor)
        load_executable(c, Options(), cache_child.spec(c))
        entries = list(folder.glob("*/*.flowc"))
        last = DiskCache(folder).path(program_key(c, Options(), cache_child.spec(c)))
        assert last in entries
        assert len(entries) == 1 or sum(p.stat().st_size for p in entries) <= 60000


def test_a_use_makes_an_entry_young(folder: Path) -> None:
    load_and_run()
    path = entry_of(folder)
    os.utime(path, (1, 1))
    load_and_run()
    status = path.stat()
    assert status.st_atime > time.time() - 3600
    assert status.st_mtime == 1  # who reads the entry meanwhile sees that it is the same


def test_a_size_that_is_no_number_is_reported(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("FLOWC_CACHE_SIZE", "8GB")
    with caplog.at_level(logging.WARNING, "flowc.cache.store"):
        np.testing.assert_allclose(load_and_run(), expected(), rtol=1e-5)
    assert any("FLOWC_CACHE_SIZE" in r.getMessage() for r in caplog.records)
