"""What the cache does where files vanish, memory runs full or a part cannot be made."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flowc.cache import disk as disk_module
from flowc.cache import store
from flowc.cache.disk import DiskCache, entries_of
from flowc.cache.store import KernelCache
from flowc.codegen.compiled import CompiledProgram, ProgramMetadata
from flowc.codegen.targets import target_named
from flowc.files import cache_folder as folders
from flowc.files.cache_folder import cache_folder, code_stamp

KEY = "ab" * 32


def small(content: bytes = b"code") -> CompiledProgram:
    return CompiledProgram((content,), [], ProgramMetadata())


def test_parts_are_made_once_and_faults_are_not_kept(tmp_path: Path) -> None:
    cache = KernelCache(DiskCache(tmp_path))
    part = cache.parts_for(target_named("x86-64-v3"))

    def fails() -> tuple[bytes, ...]:
        raise MemoryError("no room")

    with pytest.raises(MemoryError, match="no room"):
        part("exp", fails)
    assert part("exp", lambda: (b"made", b"called")) == (b"made", b"called")
    assert part("exp", fails) == (b"made", b"called")  # from memory
    other = KernelCache(DiskCache(tmp_path)).parts_for(target_named("x86-64-v3"))
    assert other("exp", fails) == (b"made", b"called")  # from disk
    assert cache.choice("unroll", lambda: "4") == "4" == cache.choice("unroll", lambda: "8")


def test_memory_holds_the_last_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "KEPT_BYTES", 10)
    cache = KernelCache(DiskCache(tmp_path))
    part = cache.parts_for(target_named("x86-64-v3"))
    for name in "abcd":
        part(name, lambda name=name: (name.encode() * 4,))
    assert [data for (data,) in cache.objects.values()] == [b"cccc", b"dddd"]
    assert cache.kept == 8


def test_a_child_makes_parts_that_its_parent_was_making(tmp_path: Path) -> None:
    cache = KernelCache(DiskCache(tmp_path))
    lock = cache._lock
    cache._lock.acquire()  # as a thread of the parent had it
    cache.making["exp"] = store.Future()
    cache.forked()
    assert cache._lock is not lock and not cache.making


def test_what_killed_processes_left_is_removed(tmp_path: Path) -> None:
    """Entries that are being written stay."""
    left = tmp_path / "ab" / ".cdef.flowc-x1y2z3_4"
    left.parent.mkdir()
    left.write_bytes(b"half")
    write = DiskCache(tmp_path).opened("98765")
    DiskCache(tmp_path).store(KEY, small())  # the first of this process, which looks round
    assert not left.exists()
    write(small())
    assert {p.parent.name for p in tmp_path.rglob("*.flowc")} == {KEY[:2], "98"}
    assert not list(tmp_path.rglob(".*"))


def test_entries_that_vanish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process removes an entry between two looks at it."""
    disk = DiskCache(tmp_path)
    disk.store(KEY, small())
    assert len(entries_of(tmp_path)) == 1
    (path,) = tmp_path.glob("*/*.flowc")
    os.symlink(tmp_path / "gone", path.parent / "other.flowc")
    assert [found for _, _, found in entries_of(tmp_path)] == [path]

    def gone(*_: object, **__: object) -> None:
        raise FileNotFoundError("gone")

    monkeypatch.setattr(disk_module.os, "utime", gone)  # it is read, and not marked as used
    found = disk.load(KEY)
    assert found is not None and found.objects == (b"code",)


def test_folders_that_are_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    open_to_all, file = tmp_path / "open", tmp_path / "file"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    file.touch()
    others = tmp_path / "others"
    others.mkdir()
    for folder, said in (
        (open_to_all, "others can write to it"),
        (file, "File exists"),
        (file / "below", "Not a directory"),
    ):
        monkeypatch.setenv("FLOWC_CACHE_DIR", str(folder))
        assert cache_folder() is None and cache_folder() is None
        warnings = [r.message for r in caplog.records if str(folder) in r.message]
        assert said in warnings[-1]
    monkeypatch.setenv("FLOWC_CACHE_DIR", str(others))
    monkeypatch.setattr(folders.os, "getuid", lambda: os.stat(others).st_uid + 1)
    assert cache_folder() is None
    assert "it belongs to another user" in caplog.text


def test_the_folder_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FLOWC_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "flowc"
    assert (tmp_path / "flowc").stat().st_mode & 0o777 == 0o700
    monkeypatch.setenv("FLOWC_CACHE", "off")
    assert cache_folder() is None


def test_the_stamp_of_code(tmp_path: Path) -> None:
    """Sizes and times of every Python file, in folders below, too; of nothing else."""
    package = tmp_path / "package"
    (package / "inner" / "__pycache__").mkdir(parents=True)
    (package / "inner" / "a.py").write_text("1")
    stamps = [code_stamp({"p": str(package)})]
    (package / "inner" / "__pycache__" / "b.py").write_text("1")
    (package / "data.bin").write_text("1")
    assert code_stamp({"p": str(package)}) == stamps[0]
    (package / "inner" / "a.py").write_text("12")
    stamps.append(code_stamp({"p": str(package)}))
    os.utime(package / "inner" / "a.py", ns=(1, 1))
    stamps.append(code_stamp({"p": str(package)}))
    assert len(set(stamps)) == 3


def test_versions_of_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "odd_package_of_a_test").mkdir()
    (tmp_path / "odd_package_of_a_test" / "__init__.py").touch()
    info = tmp_path / "odd_package_of_a_test-1.2.3.dist-info"
    info.mkdir()
    assert folders._installed_version("odd_package_of_a_test") == "1.2.3"
    second = tmp_path / "odd_package_of_a_test-1.2.4.dist-info"
    second.mkdir()
    for found in (info, second):  # two are told apart by the standard library
        (found / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: odd_package_of_a_test\nVersion: 9"
        )
    assert folders._installed_version("odd_package_of_a_test") == "9"
    assert folders._installed_version("no_package_of_this_name") == "none"
