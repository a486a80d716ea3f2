"""Checkpoints as flowc writes them: what is read back, and what a crash or a full disk leaves."""

from __future__ import annotations

import errno
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoint_faults import (
    Counted,
    check_folder,
    save_once,
    tensors_of_step,
)

from flowc import dtypes
from flowc.checkpoint.bundle_writer import SavedTensor, merge_bundles, write_bundle
from flowc.checkpoint.names import data_files
from flowc.checkpoint.reader import CheckpointReader
from flowc.checkpoint.slices import parse_part
from flowc.checkpoint.state_file import MOST_STATE, read_state, state_of, write_state
from flowc.checkpoint.table import read_table
from flowc.checkpoint.table_writer import BLOCK, table_pieces
from flowc.checkpoint.tensor_slices_writer import write_tensor_slices
from flowc.encoding.wire import FileBytes
from flowc.errors import (
    DataLossError,
    FlowcError,
    InvalidArgumentError,
    InvalidModelError,
    NotFoundError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnknownError,
    UnsupportedError,
)

KINDS = [d for d in dtypes.ALL if d not in (dtypes.resource, dtypes.variant)]
Write = Callable[[str, list[SavedTensor]], None]


def values(dtype: dtypes.DType, shape: tuple[int, ...]) -> np.ndarray:
    rng = np.random.default_rng(len(shape))
    found = np.empty(shape, dtype.numpy)
    if dtype is dtypes.string:
        rows = [
            bytes(rng.integers(0, 256, int(n), np.uint8)) for n in rng.integers(0, 300, found.size)
        ]
        found.reshape(-1)[:] = rows
        return found
    codes = 2 if dtype.is_bool else 16 if dtype in (dtypes.i4, dtypes.u4) else 256
    raw = rng.integers(0, codes, found.nbytes, np.uint8)
    found.reshape(-1)[...] = raw.view(dtype.numpy).reshape(-1)
    return found


def same(one: np.ndarray, other: np.ndarray) -> bool:
    if one.dtype.hasobject:
        return one.shape == other.shape and bool(np.all(one == other))
    return one.shape == other.shape and one.tobytes() == other.tobytes()


@pytest.mark.parametrize("write", [write_bundle, write_tensor_slices])
def test_every_dtype_is_read_back_bit_for_bit(write: Write, tmp_path: Path) -> None:
    saved = [
        SavedTensor(f"{dtype.name}/{len(shape)}", values(dtype, shape), dtype)
        for dtype in KINDS
        for shape in ((), (7,), (0, 3), (2, 3, 5))
    ]
    whole = np.arange(15, dtype=np.float32).reshape(5, 3)
    for text, rows in (("5 3 3,2:0,3", whole[3:]), ("5 3 0,3:-", whole[:3])):
        saved.append(SavedTensor("part", rows, dtypes.f32, parse_part(text)))
    write(str(tmp_path / "m"), saved)
    reader = CheckpointReader(tmp_path / "m")
    assert reader.keys() == sorted({t.name for t in saved})
    for tensor in saved[:-2]:
        assert reader.dtype(tensor.name) is tensor.dtype
        assert same(reader.read(tensor.name), tensor.value), tensor.name
    assert same(reader.read("part"), whole)
    assert same(reader.read("part", (slice(2, 4), slice(1, 3))), whole[2:4, 1:3])


def test_tables_of_many_blocks() -> None:
    rows = [(b"%06d" % i * (1 + i % 3), os.urandom(i % 700)) for i in range(2000)]
    rows.sort()
    data = b"".join(table_pieces(rows))
    assert len(data) > 2 * BLOCK
    assert [(k, bytes(v)) for k, v in read_table(FileBytes(memoryview(data), "table"))] == rows
    assert list(read_table(FileBytes(memoryview(b"".join(table_pieces([]))), "table"))) == []


@pytest.mark.parametrize(
    "name, value, part, message",
    [
        ("x", np.zeros(3), None, "duplicate key"),
        ("y", np.zeros(3), "4 0,2", "cannot hold a value"),
        ("y", np.zeros(2), "4 3,2", "cannot hold a value"),
        ("x", np.zeros(2), "4 0,2", "two tensors"),
    ],
)
@pytest.mark.parametrize("write", [write_bundle, write_tensor_slices])
def test_tensors_that_do_not_go_together(
    write: Write, name: str, value: Any, part: str | None, message: str, tmp_path: Path
) -> None:
    found = None if part is None else parse_part(part)
    tensors = [
        SavedTensor("x", np.zeros(5), dtypes.f64),
        SavedTensor(name, value, dtypes.f64, found),
    ]
    with pytest.raises(InvalidArgumentError, match=message):
        write(str(tmp_path / "m"), tensors)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("write", [write_bundle, write_tensor_slices])
def test_what_has_no_content(write: Write, tmp_path: Path) -> None:
    handle = SavedTensor("handle", np.array([None], object), dtypes.resource)
    with pytest.raises(UnsupportedError, match="tensor 'handle' is a resource, which has no"):
        write(str(tmp_path / "m"), [handle])
    assert list(tmp_path.iterdir()) == []


def test_the_older_format_takes_names_of_utf_8(tmp_path: Path) -> None:
    name = b"\xff".decode("utf-8", "surrogateescape")
    with pytest.raises(
        InvalidArgumentError, match="is not UTF-8, as names in the older format must be"
    ):
        write_tensor_slices(str(tmp_path / "m"), [SavedTensor(name, np.zeros(1), dtypes.f64)])


def test_the_state_of_a_folder(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    assert read_state(path) is None
    state = state_of(str(tmp_path), "b", ["a"], [1.0, 2.0], 3.0)
    write_state(path, state)
    assert read_state(path) == state
    assert list(state.all_model_checkpoint_paths) == ["a", "b"]
    near = state_of("there", os.path.abspath("there/b"), ["there/a"])
    assert list(near.all_model_checkpoint_paths) == ["a", os.path.abspath("there/b")]
    with pytest.raises(ValueError, match="timestamps, if provided, must match checkpoint paths"):
        state_of(str(tmp_path), "b", ["a"], [1.0])
    for content, text in ((b"\xff", "no checkpoint state"), (b"model: {", "no checkpoint state")):
        path.write_bytes(content)
        with pytest.raises(InvalidModelError, match=text):
            read_state(path)
    path.write_bytes(b"")
    os.truncate(path, MOST_STATE + 1)
    with pytest.raises(InvalidModelError, match="16777217 bytes are no checkpoint state"):
        read_state(path)


def test_one_prefix_again_and_again(tmp_path: Path) -> None:
    """New data goes to a file that the old index does not name."""
    prefix = str(tmp_path / "m")
    for step in range(4):
        before = {path for path, _ in data_files(prefix)}
        write_bundle(prefix, tensors_of_step(step))
        after = {path for path, _ in data_files(prefix)}
        assert len(after) == 1 and not before & after
        assert CheckpointReader(prefix).read("step").item() == step


def test_merging(tmp_path: Path) -> None:
    prefix, parts = str(tmp_path / "m"), [str(tmp_path / f"t/part-{i}") for i in range(3)]
    for i, part in enumerate(parts):
        piece = SavedTensor("s", np.full((1, 2), i), dtypes.i64, parse_part(f"3 2 {i},1:-"))
        write_bundle(part, [SavedTensor(f"x{i}", np.arange(i), dtypes.i64), piece])
    merge_bundles(parts, prefix)
    reader = CheckpointReader(prefix)
    assert reader.read("s").tolist() == [[0, 0], [1, 1], [2, 2]]
    assert [reader.read(f"x{i}").tolist() for i in range(3)] == [[], [0], [0, 1]]
    assert list((tmp_path / "t").iterdir()) == []
    write_bundle(parts[0], [SavedTensor("x", np.arange(2), dtypes.i64)])
    write_bundle(parts[1], [SavedTensor("x", np.arange(2), dtypes.i64)])
    with pytest.raises(InvalidArgumentError, match="Duplicate tensor"):
        merge_bundles(parts[:2], prefix)
    with pytest.raises(NotFoundError):
        merge_bundles(parts, prefix)
    assert CheckpointReader(prefix).read("s").tolist() == [[0, 0], [1, 1], [2, 2]]


# -- crashes


def calls_of_a_save(folder: Path, prefix: str) -> int:
    counted = Counted(None)
    with counted:
        save_once(folder, prefix, 1)
    return counted.calls


@pytest.mark.parametrize("prefixes", [("m", "m"), ("m-0", "m-1")], ids=["same", "new"])
def test_a_kill_at_every_call(prefixes: tuple[str, str], tmp_path: Path) -> None:
    """A process that ends at its k-th write, sync, rename or unlink, for every k, leaves the old
    checkpoint or the new one; the next save works, and removes what was left."""
    save_once(tmp_path / "count", prefixes[0], 0)
    calls = calls_of_a_save(tmp_path / "count", prefixes[1])
    assert calls > 12
    for k in range(calls):
        folder = tmp_path / str(k)
        save_once(folder, prefixes[0], 0)
        child = os.fork()
        if child == 0:
            with Counted(lambda call, k=k: os._exit(9) if call == k else None):
                save_once(folder, prefixes[1], 1)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9, k
        check_folder(folder, (0, 1))
        save_once(folder, prefixes[1], 2)
        check_folder(folder, (2,))
        names = {p.name for p in folder.iterdir()}
        assert not any(name.startswith(".") for name in names), (k, names)


@pytest.mark.parametrize(
    "number, kind",
    [
        (errno.ENOSPC, ResourceExhaustedError),
        (errno.EDQUOT, ResourceExhaustedError),
        (errno.EIO, UnknownError),
        (errno.EACCES, PermissionDeniedError),
    ],
)
def test_a_failing_disk_at_every_call(number: int, kind: type[FlowcError], tmp_path: Path) -> None:
    """The error names the path and the bytes that it takes; the old checkpoint is intact."""
    save_once(tmp_path, "m", 0)
    calls = calls_of_a_save(tmp_path, "m")
    save_once(tmp_path, "m", 0)

    def fail(call: int, at: int) -> None:
        if call == at:
            raise OSError(number, os.strerror(number))

    failed = 0
    for k in range(calls):
        try:
            with Counted(lambda call, k=k: fail(call, k)):
                write_bundle(str(tmp_path / "m"), tensors_of_step(1))
        except FlowcError as error:
            failed += 1
            assert type(error) is kind, k
            assert str(tmp_path / "m") in error.message and "bytes" in error.message
        found = CheckpointReader(tmp_path / "m")
        assert found.read("step").item() in (0, 1)
        write_bundle(str(tmp_path / "m"), tensors_of_step(0))
        assert len(list(tmp_path.iterdir())) == 3, k  # state file, index, data
    assert failed > 6


def test_no_folder_and_no_rights(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"No such file|no folder"):
        write_bundle(str(tmp_path / "a/b/m"), tensors_of_step(0))
    (tmp_path / "file").write_text("")
    with pytest.raises(FlowcError):
        write_bundle(str(tmp_path / "file/m"), tensors_of_step(0))


def test_every_bit_of_an_index_counts(tmp_path: Path) -> None:
    """A flipped bit of the index, or of the data, is seen; or it changes nothing."""
    tensors = [
        SavedTensor("a", np.arange(2, dtype=np.float32), dtypes.f32),
        SavedTensor("s", np.array([b"x"], object), dtypes.string),
    ]
    prefix = str(tmp_path / "m")
    write_bundle(prefix, tensors)
    for path in sorted(tmp_path.iterdir()):
        content = path.read_bytes()
        with path.open("r+b", buffering=0) as file:
            for bit in range(len(content) * 8):
                at = bit // 8
                os.pwrite(file.fileno(), bytes([content[at] ^ 1 << bit % 8]), at)
                try:
                    reader = CheckpointReader(prefix)
                    assert all(same(reader.read(t.name), t.value) for t in tensors), (path, bit)
                except DataLossError as error:
                    assert str(tmp_path / "m.") in str(error)
                os.pwrite(file.fileno(), content[at : at + 1], at)


@pytest.mark.skipif("FLOWC_KILLS" not in os.environ, reason="set FLOWC_KILLS to a number of kills")
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", ["same", "new", "kept"])
def test_kills_at_random_moments(kind: str, tmp_path: Path) -> None:
    """Processes that save in a loop are killed: nothing is torn, ever."""
    script = Path(__file__).parents[1] / "support" / "checkpoint_faults.py"
    for _ in range(int(os.environ["FLOWC_KILLS"])):
        command = [sys.executable, str(script), str(tmp_path), kind]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert process.stdout is not None and process.stdout.readline() == b"saved\n"
        time.sleep(random.random() * 0.2)
        process.kill()
        process.communicate()
        check_folder(tmp_path, None)
