"""Files that take their place whole, folders beside them, and signals that wait."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import threading
from pathlib import Path

import pytest

from flowc.errors import UsageError
from flowc.files import safe_write
from flowc.files.safe_write import (
    abandoned,
    check_place,
    current_umask,
    make_folder,
    replacing,
    scratch_folder,
    signals_waiting,
)


def write(path: Path, content: bytes = b"new") -> None:
    with replacing(path) as file:
        file.write(content)


def test_a_file_takes_its_place_with_the_rights_of_the_process(tmp_path: Path) -> None:
    for mask in (0o022, 0o077):
        before = os.umask(mask)
        try:
            assert current_umask() == mask == current_umask()
            write(tmp_path / "a")
        finally:
            os.umask(before)
        assert (tmp_path / "a").stat().st_mode & 0o777 == 0o666 & ~mask
    with replacing(tmp_path / "b", private=True) as file:
        file.write(b"x")
    assert (tmp_path / "b").stat().st_mode & 0o777 == 0o600
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b"]


def test_what_fails_leaves_what_was_there(tmp_path: Path) -> None:
    write(tmp_path / "a", b"old")
    with pytest.raises(KeyError), replacing(tmp_path / "a") as file:
        file.write(b"new")
        raise KeyError
    assert (tmp_path / "a").read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("act", [write, check_place])
def test_what_cannot_be_written_is_said_before(act: object, tmp_path: Path) -> None:
    assert callable(act)
    (tmp_path / "target").write_bytes(b"kept")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    for name, kind in (("link", "a link"), ("folder", "a folder"), ("fifo", "no plain file")):
        with pytest.raises(OSError, match=f"this is {kind}") as caught:
            act(tmp_path / name)
        assert caught.value.errno == errno.EEXIST and caught.value.filename == str(tmp_path / name)
    with pytest.raises(OSError, match="is for devices"):
        act(Path("/dev/flowc-test"))
    for path in (Path("a\0b"), tmp_path / "none" / "a"):
        with pytest.raises(UsageError):
            act(path)
    assert (tmp_path / "target").read_bytes() == b"kept"


def test_errors_name_the_path_and_the_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(safe_write.os, "fsync", full)
    raises = pytest.raises(OSError, match="No space left")
    with raises as caught, replacing(tmp_path / "a", size=123) as file:
        file.write(b"x")
    assert caught.value.filename == str(tmp_path / "a")
    assert "123 bytes are needed" in str(caught.value)
    assert not list(tmp_path.iterdir())
    # An error of another file keeps its name.
    with pytest.raises(FileNotFoundError) as other, replacing(tmp_path / "a"):
        open(tmp_path / "elsewhere" / "b").close()
    assert other.value.filename == str(tmp_path / "elsewhere" / "b")


def test_a_folder_that_cannot_be_synced_does_not_undo_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(folder: Path) -> None:
        raise OSError(errno.EIO, "no")

    monkeypatch.setattr(safe_write, "sync_folder", refused)
    write(tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == b"new"


def test_folders_are_synced_where_they_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, passes in ((errno.EINVAL, True), (errno.ENOTSUP, True), (errno.EIO, False)):

        def refused(_: int, number: int = number) -> None:
            raise OSError(number, "no")

        monkeypatch.setattr(safe_write.os, "fsync", refused)
        if passes:
            safe_write.sync_folder(tmp_path)
        else:
            with pytest.raises(OSError):
                safe_write.sync_folder(tmp_path)


def test_folders_are_made_and_links_are_none(tmp_path: Path) -> None:
    make_folder(tmp_path / "a")
    make_folder(tmp_path / "a")
    assert (tmp_path / "a").is_dir()
    (tmp_path / "link").symlink_to(tmp_path / "a")
    with pytest.raises(OSError, match="this is a link"):
        make_folder(tmp_path / "link")
    with pytest.raises(UsageError):
        make_folder(tmp_path / "none" / "a")


def test_what_a_process_left_is_told_from_what_is_being_written(tmp_path: Path) -> None:
    (tmp_path / ".model.index-abcd1234").write_bytes(b"left")
    (tmp_path / ".folder-abcd1234").mkdir()
    (tmp_path / "plain").write_bytes(b"")
    (tmp_path / ".link-abcd1234").symlink_to(tmp_path / "plain")
    with replacing(tmp_path / "busy") as file:
        file.write(b"x")
        found = list(abandoned(tmp_path))
    assert found == [("model.index", tmp_path / ".model.index-abcd1234")]


def test_a_scratch_folder_goes_and_takes_those_along_that_were_left(tmp_path: Path) -> None:
    left, held = tmp_path / ".flowc-abcd1234", tmp_path / ".flowc-held1234"
    for folder in (left, held):
        folder.mkdir()
        (folder / "object.o").write_bytes(b"x")
    number = os.open(held, os.O_RDONLY)
    fcntl.flock(number, fcntl.LOCK_EX)  # of a process that lives
    try:
        with scratch_folder(tmp_path / "m.so", 10) as folder:
            assert folder.parent == tmp_path and folder.is_dir()
            assert not left.exists() and (held / "object.o").exists()
            raises = pytest.raises(OSError, match="10 bytes are needed")
            with raises as caught, scratch_folder(tmp_path / "n.so", 10) as other:
                open(other / "missing" / "b").close()
            assert caught.value.filename == str(tmp_path / "n.so")
            assert folder.is_dir() and not other.exists()
    finally:
        os.close(number)
    assert sorted(p.name for p in tmp_path.iterdir()) == [held.name]


def test_signals_wait_until_the_block_ends_and_then_come() -> None:
    came: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: came.append(number))
    ignored = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    interrupt = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with signals_waiting():
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            assert not came
        assert came == [signal.SIGTERM]
        with pytest.raises(KeyError), signals_waiting():
            os.kill(os.getpid(), signal.SIGTERM)
            raise KeyError
        assert came == [signal.SIGTERM] * 2
        os.kill(os.getpid(), signal.SIGTERM)
        assert came == [signal.SIGTERM] * 3  # the handlers are back
        with pytest.raises(KeyboardInterrupt), signals_waiting():
            os.kill(os.getpid(), signal.SIGINT)
    finally:
        signal.signal(signal.SIGTERM, before)
        signal.signal(signal.SIGHUP, ignored)
        signal.signal(signal.SIGINT, interrupt)


def test_only_the_main_thread_holds_signals_back() -> None:
    seen: list[object] = []

    def other() -> None:
        with signals_waiting():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGTERM)]
