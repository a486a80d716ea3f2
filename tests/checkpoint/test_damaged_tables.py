"""What a checkpoint's tables may say that cannot be: each is an error that names the place."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from bundle_files import block, entry, table, varint, write_bundle

from flowc import dtypes
from flowc.checkpoint.bundle_writer import SavedTensor
from flowc.checkpoint.bundle_writer import write_bundle as write_bundle_of_tensors
from flowc.checkpoint.locate import (
    checkpoint_beside,
    find_checkpoint,
    latest_checkpoint,
    v1_files,
    variables_of,
)
from flowc.checkpoint.reader import CheckpointReader
from flowc.checkpoint.slices import parse_part, slice_key
from flowc.checkpoint.snappy import decompress
from flowc.checkpoint.table import MAGIC, masked_crc, read_table
from flowc.encoding.wire import FileBytes
from flowc.errors import (
    DataLossError,
    FlowcError,
    InvalidArgumentError,
    InvalidModelError,
    NotFoundError,
    UnsupportedError,
)
from flowc.proto.checkpoint_pb2 import BundleHeaderProto, SavedTensorSlices
from flowc.proto.tensor_pb2 import DataType

ONES = np.ones(2, "<f4").tobytes()


def read_all(content: bytes) -> list[tuple[bytes, bytes]]:
    return [(k, bytes(v)) for k, v in read_table(FileBytes(memoryview(content), "t.index"))]


def sealed(content: bytes, kind: int = 0) -> bytes:
    tail = bytes([kind])
    return content + tail + struct.pack("<I", masked_crc(content + tail))


def table_of(data: bytes, handle: bytes | None = None) -> bytes:
    """A table whose only data block is given, sealed."""
    index = block([(b"\xff", handle or varint(0) + varint(len(data) - 5))])
    footer = varint(0) + varint(0) + varint(len(data)) + varint(len(index) - 5)
    return data + index + footer.ljust(40, b"\0") + struct.pack("<Q", MAGIC)


def entries(*parts: tuple[int, bytes, bytes], restarts: int = 1) -> bytes:
    """A block's content: (bytes shared with the key before, rest of the key, value)."""
    found = b"".join(
        varint(shared) + varint(len(rest)) + varint(len(value)) + rest + value
        for shared, rest, value in parts
    )
    return found + struct.pack("<I", 0) * restarts + struct.pack("<I", restarts)


def test_keys_share_their_beginnings() -> None:
    content = entries((0, b"layer/bias", b"1"), (6, b"kernel", b"2"), (0, b"z", b""), restarts=2)
    wanted = [(b"layer/bias", b"1"), (b"layer/kernel", b"2"), (b"z", b"")]
    assert read_all(table_of(sealed(content))) == wanted


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (table_of(sealed(b"\0\0\0")), "without its restart points"),
        (table_of(sealed(struct.pack("<I", 9))), "9 restart points"),
        (table_of(sealed(entries((1, b"a", b"")))), "reaches beyond it"),
        (table_of(sealed(b"\0\x05\0abc" + struct.pack("<II", 0, 1))), "reaches beyond it"),
        (table_of(sealed(b"\x80" + struct.pack("<I", 0))), "reaches beyond it"),
        (table_of(sealed(entries((0, b"b", b""), (0, b"a", b"")))), "stands behind"),
        (table_of(sealed(entries((0, b"b", b""), (0, b"b", b"")))), "stands behind"),
        (table_of(sealed(entries(), 2)), "compression type 2"),
        (table_of(sealed(b"\xff", 1)), "snappy"),
        (table_of(sealed(entries())[:-1] + b"\xff"), "checksum"),
        (table_of(sealed(entries()), varint(0) + varint(10_000)), "a block of 10000 bytes at 0"),
        (table_of(sealed(entries()), varint(1 << 62) + varint(1)), "in a file of"),
        (table_of(sealed(entries()), b"\x80"), "cut off"),
        (table([])[:-1] + b"\0", "magic number"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_tables_that_cannot_be(content: bytes, text: str) -> None:
    with pytest.raises(DataLossError, match=text) as caught:
        read_all(content)
    assert "t.index" in str(caught.value)


@pytest.mark.parametrize(
    ("header", "error", "text"),
    [
        (BundleHeaderProto(num_shards=0), DataLossError, "0 shards"),
        (BundleHeaderProto(num_shards=1 << 30), DataLossError, "shards"),
        (BundleHeaderProto(num_shards=1, version={"min_consumer": 2}), InvalidModelError, "2, flo"),
        (BundleHeaderProto.FromString(b"\x08\x01\x10\x07"), DataLossError, "byte order 7"),
    ],
)
def test_headers_that_cannot_be(
    tmp_path: Path, header: BundleHeaderProto, error: type[FlowcError], text: str
) -> None:
    prefix = write_bundle(tmp_path / "m", {"a": entry(ONES, [2])}, ONES, header)
    with pytest.raises(error, match=text):
        CheckpointReader(prefix)


def test_indexes_that_cannot_be(tmp_path: Path) -> None:
    header = (b"", BundleHeaderProto(num_shards=1).SerializeToString())
    for pairs, text in (
        ([(b"a", entry(ONES, [2]).SerializeToString())], "no header"),
        ([(b"", b"\x0a\xff")], "the entry of the header is damaged"),
        ([header, (b"a", b"\x0a\xff")], "the entry of tensor 'a' is damaged"),
        ([header, (b"\xff", entry(ONES, [2]).SerializeToString())], "no UTF-8"),
    ):
        (tmp_path / "m.index").write_bytes(table(pairs))
        with pytest.raises(DataLossError, match=text):
            CheckpointReader(tmp_path / "m")


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"shard_id": 1}, DataLossError, "in shard 1 of 1"),
        ({"shard_id": -1}, DataLossError, "in shard -1 of 1"),
        ({"offset": 1}, DataLossError, "takes 8 bytes here, and the file has 8"),
        ({"offset": -1}, DataLossError, "takes 8 bytes here"),
        ({"size": 4}, DataLossError, "takes 8 bytes, found 4"),
        ({"crc32c": 1}, DataLossError, "stored 00000001"),
        ({"dtype": 20}, UnsupportedError, "which flowc cannot read"),
        ({"dtype": 7}, DataLossError, "tensor 'a'"),
    ],
)
def test_entries_that_cannot_be(
    tmp_path: Path, change: dict[str, int], error: type[FlowcError], text: str
) -> None:
    prefix = write_bundle(tmp_path / "m", {"a": entry(ONES, [2], **change)}, ONES)
    with pytest.raises(error, match=text):
        CheckpointReader(prefix).read("a")


def _strings(*texts: bytes, lengths: bytes | None = None) -> bytes:
    sizes = b"".join(varint(len(t)) for t in texts) if lengths is None else lengths
    check = masked_crc(b"".join(struct.pack("<I", len(t)) for t in texts))
    return sizes + struct.pack("<I", check) + b"".join(texts)


def test_strings_that_cannot_be(tmp_path: Path) -> None:
    for data, count, text in (
        (_strings(b"ab", b"c"), 100, "100 strings in"),
        (b"\x80" * 20, 2, "lengths of its strings are cut off"),
        (_strings(b"ab", b"c") + b"x", 2, "tensor 'a'"),
        (_strings(b"ab", b"c")[:2] + b"\0\0\0\0abc", 2, "checksum"),
    ):
        prefix = write_bundle(tmp_path / "m", {"a": entry(data, [count], dtype=7)}, data)
        with pytest.raises(DataLossError, match=text):
            CheckpointReader(prefix).read("a")


def test_variants_that_cannot_be(tmp_path: Path) -> None:
    """Handles and lists of a state: each message with its length and its own checksum."""
    kind = int(DataType.DT_VARIANT)
    messages = np.array([b"one", b"", b"three"], object)
    saved = str(tmp_path / "saved")
    write_bundle_of_tensors(saved, [SavedTensor("a", messages, dtypes.variant)])
    assert CheckpointReader(saved).read("a").tolist() == messages.tolist()
    data = Path(f"{saved}.data-00000-of-00001").read_bytes()
    for found, count, text in (
        (data, 100, "100 variants in"),
        (b"\xff" * 12, 2, "the length of a variant is cut off"),
        (data.replace(b"one", b"0ne"), 3, "checksum of a variant"),
        (data[:9], 3, "checksum of a variant|cut off"),
        (data, 2, "tensor 'a'"),
    ):
        prefix = write_bundle(tmp_path / "m", {"a": entry(found, [count], dtype=kind)}, found)
        with pytest.raises(DataLossError, match=text):
            CheckpointReader(prefix).read("a")


def test_slices_that_are_missing_or_of_another_type(tmp_path: Path) -> None:
    for part, text in (
        (None, "is missing"),
        (entry(ONES, [1]), "has another type"),
        (entry(ONES, [2], dtype=3), "has another type"),
    ):
        whole = entry(b"", [2])
        whole.slices.add().extent.add()
        found = {"a": whole}
        if part is not None:
            found[slice_key("a", ((0, -1),)).decode("latin-1")] = part
        prefix = write_bundle(tmp_path / "m", found, ONES)
        with pytest.raises(DataLossError, match=text):
            CheckpointReader(prefix).read("a")


def test_a_region_that_no_slices_cover(tmp_path: Path) -> None:
    whole = entry(b"", [4])
    whole.slices.add().extent.add(start=0, length=2)
    key = slice_key("a", ((0, 2),)).decode("latin-1")
    prefix = write_bundle(tmp_path / "m", {"a": whole, key: entry(ONES, [2])}, ONES)
    reader = CheckpointReader(prefix)
    assert reader.read("a", (slice(0, 2),)).tolist() == [1, 1]
    with pytest.raises(InvalidArgumentError, match="sufficient slices"):
        reader.read("a", (slice(1, 3),))
    with pytest.raises(DataLossError, match="do not make it whole"):
        reader.read("a")


def _old(change: Callable[[SavedTensorSlices], None]) -> bytes:
    meta, data = SavedTensorSlices(), SavedTensorSlices()
    tensor = meta.meta.tensor.add(name="t", type=1)
    tensor.shape.dim.add(size=2)
    tensor.slice.add().extent.add()
    data.data.data.float_val.extend([1, 2])
    change(meta)
    pairs = [
        (b"", meta.SerializeToString()),
        (slice_key("t", ((0, -1),)), data.SerializeToString()),
    ]
    return table(pairs)


def test_old_checkpoints_that_cannot_be(tmp_path: Path) -> None:
    def wide(meta: SavedTensorSlices) -> None:
        meta.meta.tensor[0].shape.dim[0].size = 3

    def negative(meta: SavedTensorSlices) -> None:
        meta.meta.tensor[0].shape.dim[0].size = -3

    def other(meta: SavedTensorSlices) -> None:
        meta.meta.tensor[0].type = DataType.DT_INT32

    sound = _old(lambda _: None)
    for second, text in (
        (_old(wide), "has another type in another file"),
        (_old(other), "has another type in another file"),
        (_old(negative), "negative size"),
        (table([(b"", b"\x0a\xff")]), "an entry is damaged"),
        (table([]), "does not say which tensors"),
    ):
        (tmp_path / "c-00000-of-00002").write_bytes(sound)
        (tmp_path / "c-00001-of-00002").write_bytes(second)
        with pytest.raises(DataLossError, match=text):
            CheckpointReader(tmp_path / "c")
    (tmp_path / "c-00001-of-00002").write_bytes(sound)
    assert CheckpointReader(tmp_path / "c").read("t").tolist() == [1, 2]


def test_texts_that_name_a_part() -> None:
    part = parse_part("5 3 1,2:-")
    assert part is not None and part.shape == (5, 3)
    assert part.place == (slice(1, 3), slice(0, 3))
    for text in ("5 3", "5 3 a", "5 3 0,2", "5 3 0,2:-:-", "5 3 4,2:-"):
        found = parse_part(text)
        assert found is None or found.place is None, text


def test_elements_of_snappy_blocks() -> None:
    def stored(content: bytes) -> bytes:
        """One literal of any length, its length in as many bytes as it takes."""
        size, extra = len(content) - 1, b""
        if size >= 60:
            extra = size.to_bytes((size.bit_length() + 7) // 8, "little")
        tag = 59 + len(extra) if extra else size
        return varint(len(content)) + bytes([tag << 2]) + extra + content

    for size in (1, 59, 60, 61, 255, 256, 257, 65536, 65537):
        content = bytes(i % 251 for i in range(size))
        assert decompress(stored(content)) == content, size
    head = varint(308) + b"\xf0" + bytes([255]) + bytes(i % 251 for i in range(256))
    content = head[4:] if len(head) == 260 else bytes(i % 251 for i in range(256))
    near = bytes([(4 - 4) << 2 | 1 | (250 >> 8) << 5, 250])  # 4 bytes from 250 before
    far = bytes([(8 - 1) << 2 | 2]) + (256).to_bytes(2, "little")
    wide = bytes([(40 - 1) << 2 | 3]) + (200).to_bytes(4, "little")
    wanted = bytearray(content)
    for offset, length in ((250, 4), (256, 8), (200, 40)):
        start = len(wanted) - offset
        wanted += wanted[start : start + length]
    assert decompress(head + near + far + wide) == wanted
    for cut in (near[:1], far[:2], wide[:4], b"\xf4\x01"):
        with pytest.raises(ValueError, match="snappy"):
            decompress(head + cut)
    zero = bytes([(8 - 1) << 2 | 2]) + (0).to_bytes(2, "little")
    with pytest.raises(ValueError, match="before the block"):
        decompress(head + zero)


def test_checkpoints_that_a_folder_names(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    assert latest_checkpoint(folder) is None
    with pytest.raises(NotFoundError, match="cannot be told"):
        find_checkpoint(folder)
    prefix = write_bundle(folder / "model-1", {"a": entry(ONES, [2])}, ONES)
    assert find_checkpoint(folder) == prefix  # the only one
    assert checkpoint_beside(folder / "graph.pb") == prefix
    write_bundle(folder / "model-2", {"a": entry(ONES, [2])}, ONES)
    assert checkpoint_beside(folder / "graph.pb") is None
    assert checkpoint_beside(folder / "model-2.meta") == str(folder / "model-2")
    for named, found in (
        ("model-1", "model-1"), ("/elsewhere/model-2", "model-2"), ("../other/model-1", "model-1"),
        ("gone", None), ("", None),
    ):  # fmt: skip
        (folder / "checkpoint").write_text(f'model_checkpoint_path: "{named}"')
        latest = latest_checkpoint(folder)
        assert latest == (None if found is None else str(folder / found)), named
    (folder / "checkpoint").write_text('model_checkpoint_path: "a\\000b"')
    with pytest.raises(InvalidModelError, match="no checkpoint has the name"):
        latest_checkpoint(folder)
    (folder / "checkpoint").write_text("not a message {")
    with pytest.raises(InvalidModelError, match="no checkpoint state"):
        latest_checkpoint(folder)


def test_checkpoints_by_one_of_their_files(tmp_path: Path) -> None:
    prefix = write_bundle(tmp_path / "m.v1", {"a": entry(ONES, [2])}, ONES)
    for ending in ("", ".index", ".meta", ".data-00000-of-00001"):
        assert find_checkpoint(prefix + ending) == prefix
    for named in (tmp_path / "none", tmp_path / "none.index", tmp_path / "gone" / "m"):
        with pytest.raises(NotFoundError, match="no checkpoint of this name"):
            find_checkpoint(named)
        with pytest.raises(NotFoundError, match="no checkpoint of this name"):
            CheckpointReader(named)
    with pytest.raises(NotFoundError, match="too long"):
        CheckpointReader(tmp_path / ("x" * 5000))
    (tmp_path / "old").write_bytes(_old(lambda _: None))
    (tmp_path / "text").write_bytes(b"no table at all, and longer than the footer of one is")
    assert v1_files(str(tmp_path / "old")) == [tmp_path / "old"]
    assert v1_files(str(tmp_path / "text")) == []
    model = tmp_path / "saved" / "saved_model.pb"
    (tmp_path / "saved" / "variables").mkdir(parents=True)
    assert variables_of(model) is None
    inner = write_bundle(tmp_path / "saved" / "variables" / "variables", {}, b"")
    assert variables_of(model) == inner == find_checkpoint(tmp_path / "saved")
