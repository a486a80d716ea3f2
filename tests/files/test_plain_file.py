"""Files as they are read: what is no file, what changes, what leads out."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

import pytest

from flowc.errors import InvalidModelError, NotFoundError, ResourceExhaustedError, UsageError
from flowc.files import plain_file
from flowc.files.plain_file import MOST_LINKS, SMALL, PlainFile, lies_within


@pytest.fixture
def large(tmp_path: Path) -> Path:
    path = tmp_path / "large"
    path.write_bytes(bytes(range(256)) * 1024)
    return path


def test_parts_of_a_file_are_read_only(large: Path) -> None:
    file = PlainFile(large)
    assert len(file) == 256 * 1024
    for start, end in ((0, 0), (5, 9), (7, 7 + SMALL), (0, len(file)), (len(file) - 1, len(file))):
        part = file.read(start, end)
        assert part.readonly and bytes(part) == large.read_bytes()[start:end]
    with file.stream() as stream:
        assert stream.read(3) == b"\0\1\2"


@pytest.mark.parametrize("size", [10, 2 * SMALL])
def test_a_file_that_changed_is_not_read_on(large: Path, size: int) -> None:
    file = PlainFile(large)
    assert bytes(file.read(0, 1)) == b"\0"
    os.truncate(large, size - 1)
    with pytest.raises(InvalidModelError, match="changed after it was opened"):
        file.read(0, size)
    file = PlainFile(large)
    os.utime(large, ns=(0, 0))
    with pytest.raises(InvalidModelError, match="changed after it was opened"):
        file.read(0, 1)


def test_what_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    monkeypatch.chdir(tmp_path)  # a socket's path is short
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket")
        for name, kind in (
            ("folder", "a folder"), ("fifo", "a FIFO"), ("/dev/null", "a device"),
            ("socket", "a socket"),
        ):  # fmt: skip
            with pytest.raises(InvalidModelError, match=f"this is {kind}, not a plain file"):
                PlainFile(tmp_path / name)
    for name in ("none", "large/none"):
        with pytest.raises(NotFoundError, match="no such file"):
            PlainFile(tmp_path / name)
    with pytest.raises(UsageError, match="no file has such a name"):
        PlainFile("a\0b")
    with pytest.raises(InvalidModelError, match="too long"):
        PlainFile("x" * 5000)


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM])
def test_a_system_at_its_end_is_no_bad_file(
    large: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refused(*_: object, **__: object) -> int:
        raise OSError(number, os.strerror(number))

    file = PlainFile(large)
    monkeypatch.setattr(plain_file.os, "preadv", refused)
    with pytest.raises(ResourceExhaustedError, match="large"):
        file.read(0, 1)
    monkeypatch.setattr(plain_file.os, "open", refused)
    with pytest.raises(ResourceExhaustedError, match="large"):
        PlainFile(large)


def test_memory_that_is_not_there(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object, **__: object) -> None:
        raise MemoryError

    file = PlainFile(large)
    monkeypatch.setattr(plain_file, "FileMemory", none)
    with pytest.raises(ResourceExhaustedError, match=f"no memory for {SMALL} bytes"):
        file.read(0, SMALL)
    assert bytes(file.read(0, 1)) == b"\0"


def test_paths_stay_in_their_folder(tmp_path: Path) -> None:
    model, outside = tmp_path / "model", tmp_path / "outside"
    (model / "a" / "b").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret").write_bytes(b"secret")
    (model / "data").write_bytes(b"data")
    (model / "a" / "back").symlink_to("../data")
    (model / "a" / "folder").symlink_to("b/..")
    (model / "out").symlink_to("../outside/secret")
    (model / "whole").symlink_to(outside / "secret")
    (model / "loop").symlink_to("loop")
    (model / "here").symlink_to("a/..")
    chain = "data"
    for i in range(MOST_LINKS + 1):
        (model / f"link{i}").symlink_to(chain)
        chain = f"link{i}"

    def content(name: str) -> bytes:
        file = PlainFile(model / name, model)
        return bytes(file.read(0, len(file)))

    for name in ("data", "a/back", "a/folder/back", "a/../data", f"link{MOST_LINKS - 1}"):
        assert content(name) == b"data", name
        assert lies_within(model / name, model)
    for name in ("out", "whole", "../outside/secret", "a/../../outside/secret"):
        with pytest.raises(InvalidModelError, match="leads out of the model's folder"):
            content(name)
        assert not lies_within(model / name, model) and lies_within(model / name, None)
    with pytest.raises(InvalidModelError, match="leads out"):
        PlainFile(outside / "secret", model)
    for name in ("loop", f"link{MOST_LINKS}"):
        with pytest.raises(InvalidModelError, match="symbolic links"):
            content(name)
    for name in ("a", "here"):
        with pytest.raises(InvalidModelError, match="this is a folder"):
            content(name)
    with pytest.raises(NotFoundError):
        content("a/none")
