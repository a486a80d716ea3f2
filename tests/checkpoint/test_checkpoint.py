"""Checkpoints: values, slices, shards, both versions; and that every kind of damage is seen."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from bundle_files import entry, table, write_bundle

from flowc import dtypes
from flowc.checkpoint.locate import find_checkpoint, latest_checkpoint
from flowc.checkpoint.reader import CheckpointReader
from flowc.checkpoint.slices import cover, resolve, slice_key
from flowc.checkpoint.snappy import decompress
from flowc.errors import DataLossError, FlowcError, NotFoundError
from flowc.proto.checkpoint_pb2 import BundleHeaderProto, SavedTensorSlices

DATA = Path(__file__).parents[1] / "data" / "import"
TF1 = DATA / "tf1"
STEP = 1 if "FLOWC_FUZZ" in os.environ else 7  # from one damaged bit to the next; 7: every byte


def recorded() -> dict[str, np.ndarray]:
    with np.load(TF1 / "values.npz") as values:
        return {k.replace("|", "/"): values[k] for k in values.files}


def test_values_are_those_of_tensorflow() -> None:
    reader = CheckpointReader(TF1 / "model")
    values = recorded()
    assert sorted(reader.keys()) == ["dense/b", "dense/w", "emb", "halves", "step", "words"]
    assert reader.shape("emb") == (10, 2)
    assert reader.dtype("halves") is dtypes.f16
    for name in ("dense/w", "dense/b", "emb", "step"):
        assert np.array_equal(reader.read(name), values[name]), name
        assert not reader.read(name).flags.writeable
    assert np.array_equal(reader.read("halves").astype(np.float32), values["halves"])
    assert reader.read("words").tolist() == values["words"].tolist()
    with pytest.raises(NotFoundError, match="did you mean 'dense/w'"):
        reader.read("dense/ww")


def test_v1_values_are_those_of_tensorflow() -> None:
    reader = CheckpointReader(TF1 / "old.ckpt")
    values = recorded()
    assert len(reader) == 6
    for name in ("dense/w", "dense/b", "emb", "step", "halves"):
        assert np.array_equal(reader.read(name), values[name]), name
    assert reader.read("words").tolist() == values["words"].tolist()


def test_v1_in_several_files(tmp_path: Path) -> None:
    for i, rows in enumerate(((0, 2), (2, 1))):
        meta, data = SavedTensorSlices(), SavedTensorSlices()
        tensor = meta.meta.tensor.add(name="t", type=1)
        for size in (3, 2):
            tensor.shape.dim.add(size=size)
        extents = (rows, (0, -1))
        tensor.slice.add().extent.add(start=rows[0], length=rows[1])
        tensor.slice[0].extent.add()
        data.data.data.float_val.extend(range(10 * i, 10 * i + 2 * rows[1]))
        pairs = [
            (b"", meta.SerializeToString()),
            (slice_key("t", extents), data.SerializeToString()),
        ]
        (tmp_path / f"c-{i:05d}-of-00002").write_bytes(table(pairs))
    for named in ("c", "c-?????-of-00002", "c-?????-of-?????"):
        assert CheckpointReader(tmp_path / named).read("t").tolist() == [[0, 1], [2, 3], [10, 11]]
    (tmp_path / "c-00001-of-00002").unlink()
    with pytest.raises(DataLossError, match="do not make it whole"):
        CheckpointReader(tmp_path / "c").read("t")


def test_numbers_are_views_of_the_file(tmp_path: Path) -> None:
    data = np.arange(4, dtype="<f4").tobytes() + b"\1" + np.arange(3, dtype="<f4").tobytes()
    prefix = write_bundle(
        tmp_path / "m",
        {
            "a": entry(data[:16], [2, 2]),
            "b": entry(data[17:], [3], offset=17),
            "none": entry(b"", [0, 3]),
        },
        data,
    )
    reader = CheckpointReader(prefix)
    a, b = reader.read("a"), reader.read("b")
    assert a.base is not None and a.flags.aligned
    assert b.flags.aligned and b.tolist() == [0, 1, 2]
    assert reader.read("none").shape == (0, 3)


def test_big_endian_and_compressed_tables(tmp_path: Path) -> None:
    data = np.arange(6, dtype=">f8").tobytes() + np.array([1 + 2j], ">c8").tobytes()
    entries = {"d": entry(data[:48], [6], 2), "z": entry(data[48:], [1], 8, offset=48)}
    header = BundleHeaderProto(num_shards=1, endianness=BundleHeaderProto.BIG)
    prefix = write_bundle(tmp_path / "m", entries, data, header, compress=True)
    reader = CheckpointReader(prefix)
    assert reader.read("d").tolist() == [0, 1, 2, 3, 4, 5]
    assert reader.read("z").tolist() == [1 + 2j]


def test_snappy_blocks() -> None:
    # 3 literal bytes, a copy of 6 that overlaps itself, 2 literal bytes
    assert decompress(b"\x0b" + b"\x08abc" + bytes([2 << 2 | 1, 3]) + b"\x04xy") == b"abcabcabcxy"
    assert decompress(b"\x04" + b"\x00a" + bytes([2 << 2 | 2, 1, 0])) == b"aaaa"
    for damaged in (
        b"",
        b"\xff\xff\xff\xff\x7f",
        b"\x05\x10abc",
        b"\x04\x00a\x05\x09",
        b"\x02\x00a",
    ):
        with pytest.raises(ValueError, match="snappy"):
            decompress(damaged)


def test_slice_keys_and_places() -> None:
    assert slice_key("v", ((0, -1),)) == b"\x00v\x00\x01\x01\x01\x80\x7f"
    assert slice_key("a\0", ((64, 100),)) == b"\x00a\x00\xff\x00\x01\x01\x01\xc0\x40\xc0\x64"
    assert resolve(((2, 3), (0, -1)), (5, 4)) == (slice(2, 5), slice(0, 4))
    for extents in (((2, 4), (0, -1)), ((-1, 2), (0, 1)), ((0, 1),), ((0, -2), (0, 1))):
        assert resolve(extents, (5, 4)) is None


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"size": -1}, "takes -1 bytes"),
        ({"offset": -4}, "takes 16 bytes"),
        ({"offset": 4}, "takes 16 bytes"),
        ({"size": 12}, "takes 16 bytes, found 12"),
        ({"size": 1 << 62}, "and the file has 16"),
        ({"shard_id": 7}, "shard 7 of 1"),
        ({"shard_id": -1}, "shard -1 of 1"),
        ({"crc32c": 5}, "stored 00000005"),
        ({"dtype": 77}, "77 is not the number of a dtype"),
        ({"dtype": 0}, "0 is not the number of a dtype"),
    ],
)
def test_entries_against_their_data(tmp_path: Path, change: dict[str, int], text: str) -> None:
    data = bytes(16)
    prefix = write_bundle(tmp_path / "m", {"a": entry(data, [4], **change)}, data)
    with pytest.raises(FlowcError, match=text):
        CheckpointReader(prefix).read("a")


@pytest.mark.parametrize("shape", [[-1], [2, -3], [1 << 40, 1 << 40], [0] * 255])
def test_shapes_that_are_none(tmp_path: Path, shape: list[int]) -> None:
    prefix = write_bundle(tmp_path / "m", {"a": entry(b"", shape)}, b"x")
    with pytest.raises(DataLossError, match="tensor 'a'"):
        CheckpointReader(prefix)


def test_slices_must_fill_a_tensor_once() -> None:
    top, bottom = (slice(0, 2), slice(0, 3)), (slice(2, 4), slice(0, 3))
    assert cover((4, 3), [top, bottom])
    assert not cover((4, 3), [top])
    assert not cover((4, 3), [top, top])
    assert not cover((4, 3), [top, bottom, bottom])


def test_slices_that_do_not_make_a_whole(tmp_path: Path) -> None:
    whole = entry(b"", [1 << 30, 64])
    whole.slices.add().extent.add(start=0, length=2)
    prefix = write_bundle(tmp_path / "m", {"a": whole}, b"x")
    with pytest.raises(DataLossError, match="missing"):
        CheckpointReader(prefix).read("a")
    part = entry(bytes(8), [2, 1])
    whole = entry(b"", [4, 1])
    whole.slices.add().extent.add(start=0, length=2)
    whole.slices[0].extent.add()
    key = slice_key("a", ((0, 2), (0, -1))).decode("latin-1")
    prefix = write_bundle(tmp_path / "m", {"a": whole, key: part}, bytes(8))
    with pytest.raises(DataLossError, match="do not make it whole"):
        CheckpointReader(prefix).read("a")


@pytest.mark.parametrize("name", ["model.index", "old.ckpt"])
def test_every_flipped_bit_of_an_index_is_seen(tmp_path: Path, name: str) -> None:
    for file in TF1.glob("model.data*"):
        shutil.copy(file, tmp_path)
    original = (TF1 / name).read_bytes()
    prefix = str(tmp_path / name.removesuffix(".index"))
    good = {k: CheckpointReader(TF1 / name.removesuffix(".index")).read(k).tolist()
            for k in CheckpointReader(TF1 / name.removesuffix(".index"))}  # fmt: skip
    for bit in range(0, 8 * len(original), 1 if name == "model.index" else STEP):
        at = bit // 8
        damaged = bytearray(original)
        damaged[at] ^= 1 << bit % 8
        (tmp_path / name).write_bytes(damaged)
        try:
            reader = CheckpointReader(prefix)
            found = {k: reader.read(k).tolist() for k in reader}
        except (DataLossError, NotFoundError):
            continue
        # padding of the footer and the unused metaindex hold nothing that could be wrong
        assert found == good, at


def test_every_truncation_is_seen(tmp_path: Path) -> None:
    for file in TF1.glob("model.data*"):
        shutil.copy(file, tmp_path)
    original = (TF1 / "model.index").read_bytes()
    for size in range(0, len(original), 7):
        (tmp_path / "model.index").write_bytes(original[:size])
        with pytest.raises(FlowcError):
            CheckpointReader(tmp_path / "model")


def test_every_flipped_byte_of_a_shard_is_seen(tmp_path: Path) -> None:
    for file in TF1.glob("model.*"):
        shutil.copy(file, tmp_path)
    for shard in sorted(tmp_path.glob("model.data*")):
        original = shard.read_bytes()
        for bit in range(0, 8 * len(original), STEP):
            damaged = bytearray(original)
            damaged[bit // 8] ^= 1 << bit % 8
            shard.write_bytes(damaged)
            reader = CheckpointReader(tmp_path / "model")
            with pytest.raises(DataLossError, match=shard.name):
                for key in reader:
                    reader.read(key)
        shard.write_bytes(original)


def test_missing_and_truncated_shards(tmp_path: Path) -> None:
    for file in TF1.glob("model.*"):
        shutil.copy(file, tmp_path)
    shard = tmp_path / "model.data-00001-of-00002"
    shard.write_bytes(shard.read_bytes()[:-3])
    with pytest.raises(DataLossError, match="and the file has"):
        reader = CheckpointReader(tmp_path / "model")
        [reader.read(k) for k in reader]
    shard.unlink()
    with pytest.raises(NotFoundError, match=shard.name):
        reader = CheckpointReader(tmp_path / "model")
        [reader.read(k) for k in reader]


def test_where_a_checkpoint_is_looked_for(tmp_path: Path) -> None:
    for file in TF1.glob("model.*"):
        shutil.copy(file, tmp_path)
    prefix = str(tmp_path / "model")
    for named in ("model", "model.index", "model.meta", "model.data-00000-of-00002"):
        assert find_checkpoint(tmp_path / named) == prefix
    assert latest_checkpoint(tmp_path) is None
    assert find_checkpoint(tmp_path) == prefix
    state = tmp_path / "checkpoint"
    state.write_text('model_checkpoint_path: "/moved/away/model"\n')
    assert latest_checkpoint(tmp_path) == prefix
    state.write_text('model_checkpoint_path: "gone"\n')
    assert latest_checkpoint(tmp_path) is None
    outside = tmp_path / "inner"
    outside.mkdir()
    for named in ("../model", prefix):
        (outside / "checkpoint").write_text(f'model_checkpoint_path: "{named}"\n')
        assert latest_checkpoint(outside) is None
    state.write_text("model_checkpoint_path: ")
    with pytest.raises(FlowcError, match="no checkpoint state"):
        latest_checkpoint(tmp_path)
    with pytest.raises(NotFoundError, match=r"without \.index"):
        find_checkpoint(tmp_path / "other")
