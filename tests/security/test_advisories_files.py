"""Advisories of TensorFlow's about files: checkpoints, meta graphs, what commands are given.

A test is named by its advisory. Files are written byte by byte, so that each is wrong in one place
and right elsewhere: checksums hold.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import google_crc32c
import numpy as np
import pytest
from op_models import loaded, op_model, run_model, run_op
from raw_nodes import constant, graph_of, node

import flowc
from flowc import dtypes
from flowc.cli.entry import run_command_line
from flowc.errors import (
    DataLossError,
    FlowcError,
    InternalError,
    InvalidArgumentError,
    InvalidModelError,
    ResourceExhaustedError,
)
from flowc.files.safe_write import replacing
from flowc.proto.checkpoint_pb2 import BundleEntryProto, BundleHeaderProto, SavedTensorSlices
from flowc.proto.meta_graph_pb2 import MetaGraphDef

ROOT = Path(__file__).parents[2]

# -- the table that both kinds of checkpoints are

MAGIC = 0xDB4775248B80FB57
LARGEST = 2**63 - 1


def crc(data: bytes) -> int:
    found = google_crc32c.value(data)
    return ((found >> 15 | found << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def sealed(content: bytes, compression: int = 0) -> bytes:
    """A block, with how it is compressed and its checksum."""
    found = content + bytes([compression])
    return found + struct.pack("<I", crc(found))


def entries_of(pairs: Mapping[bytes, bytes]) -> bytes:
    found = b"".join(varint(0) + varint(len(k)) + varint(len(v)) + k + v for k, v in pairs.items())
    return found + struct.pack("<II", 0, 1)


def table(
    pairs: Mapping[bytes, bytes],
    data: bytes | None = None,
    place: tuple[int, int] | None = None,
    index_place: tuple[int, int] | None = None,
) -> bytes:
    """`data`: the sealed block of the pairs; `place`, `index_place`: where the file says that the
    data and its index are."""
    data = sealed(entries_of(pairs)) if data is None else data
    handle = lambda at, size: varint(at) + varint(size)
    index = sealed(entries_of({b"\xff": handle(*(place or (0, len(data) - 5)))}))
    found = data + index
    footer = handle(len(data), 0) + handle(*(index_place or (len(data), len(index) - 5)))
    return found + footer.ljust(40, b"\0") + struct.pack("<Q", MAGIC)


VALUES = np.arange(6, dtype=np.float32).tobytes()


def bundle_pairs(change: Callable[[Any], Any] = lambda entry: None) -> dict[bytes, bytes]:
    entry = BundleEntryProto(dtype=1, size=len(VALUES), crc32c=crc(VALUES))
    for size in (2, 3):
        entry.shape.dim.add(size=size)
    change(entry)
    header = BundleHeaderProto(num_shards=1)
    return {b"": header.SerializeToString(), b"t": entry.SerializeToString()}


def value_in_bundle(folder: Path, index: bytes) -> np.ndarray:
    (folder / "c.index").write_bytes(index)
    (folder / "c.data-00000-of-00001").write_bytes(VALUES)
    return value_in(folder)


def value_in(folder: Path) -> np.ndarray:
    """What the checkpoint `c` of a folder has for the variable `t` of a model beside it."""
    model = graph_of(
        {"t": node("VariableV2", dtype="DT_FLOAT", shape="shape { unknown_rank: true }")}
    )
    (folder / "m.pb").write_bytes(model.as_graph_def().SerializeToString())
    graph = flowc.load_graph(folder / "m.pb", checkpoint=folder / "c")
    return graph.variable_values["t"]


def check_lost(read: Callable[[], Any]) -> None:
    with pytest.raises(DataLossError) as caught:
        read()
    assert not isinstance(caught.value, InternalError)


def test_a_bundle_that_is_right(tmp_path: Path) -> None:
    found = value_in_bundle(tmp_path, table(bundle_pairs()))
    assert found.tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("which", ["place", "index_place"])
@pytest.mark.parametrize("size", [LARGEST, LARGEST - 4, 2**64 - 1, 2**32, 2**31 - 5])
def test_tfsa_2018_004_blocks_as_large_as_int64(which: Any, size: int, tmp_path: Path) -> None:
    pairs = bundle_pairs()
    for at in (0, 1, LARGEST):
        index = table(pairs, **{which: (at, size)})
        check_lost(partial(value_in_bundle, tmp_path, index))


CONTENT = entries_of(bundle_pairs())
SNAPPY = {
    "nothing": b"",
    "a length beyond int64": varint(2**64 - 1) + b"\0a",
    "a length without content": varint(2**40),
    "a length that is cut off": b"\xff\xff",
    "less than it says": varint(9) + b"\x04ab",
    "more than it says": varint(1) + b"\x04ab",
    "a literal that is cut off": varint(60) + bytes([59 << 2]) + b"abc",
    "a literal of 2^32 bytes": varint(8) + b"\xfc\xff\xff\xff\xff" + b"abc",
    "a copy of what is not there": varint(8) + b"\x00a" + b"\x01\x05",
    "a copy from nowhere": varint(8) + b"\x00a" + b"\x01\x00",
    "a copy from 2^32": varint(8) + b"\x00a" + b"\x0f\xff\xff\xff\xff",
    "a copy that is cut off": varint(8) + b"\x00a" + b"\x02\x01",
}


@pytest.mark.parametrize("name", SNAPPY)
def test_tfsa_2018_005_blocks_that_snappy_did_not_write(name: str, tmp_path: Path) -> None:
    check_lost(lambda: value_in_bundle(tmp_path, table({}, sealed(SNAPPY[name], 1))))


def test_tfsa_2018_005_copies_that_overlap_what_they_write(tmp_path: Path) -> None:
    """One of the last byte again and again: the copies of the old library wrote over their own."""
    zeros = CONTENT.index(b"\0\0\0\0\1") + 1
    head, tail = CONTENT[:zeros], CONTENT[zeros + 2 :]
    literal = lambda part: bytes([60 << 2, len(part) - 1]) + part
    packed = varint(len(CONTENT)) + literal(head) + b"\x06\x01\x00" + literal(tail)
    found = value_in_bundle(tmp_path, table({}, sealed(packed, 1)))
    assert found.tolist() == [[0, 1, 2], [3, 4, 5]]


def sizes(entry: Any, *found: int) -> None:
    del entry.shape.dim[:]
    for size in found:
        entry.shape.dim.add(size=size)


ENTRIES: dict[str, Callable[[Any], Any]] = {
    "sizes whose product wraps": lambda e: sizes(e, 2**33, 2**31 + 1),
    "sizes whose product wraps to 6": lambda e: sizes(e, 2**63 + 3 - 2**64, 2),
    "a negative size": lambda e: sizes(e, -2, -3),
    "an unknown rank": lambda e: setattr(e.shape, "unknown_rank", True),
    "255 dims": lambda e: sizes(e, *[1] * 255),
    "no dtype": lambda e: e.ClearField("dtype"),
    "a dtype that is none": lambda e: setattr(e, "dtype", 99),
    "a negative size in bytes": lambda e: setattr(e, "size", -24),
    "a negative offset": lambda e: setattr(e, "offset", -24),
    "an offset at the end of int64": lambda e: setattr(e, "offset", LARGEST),
    "bytes to the end of int64": lambda e: setattr(e, "size", LARGEST),
    "another shard": lambda e: setattr(e, "shard_id", 7),
    "a negative shard": lambda e: setattr(e, "shard_id", -1),
    "a slice that is not there": lambda e: e.slices.add().extent.add(start=0, length=2),
    "a slice of a negative length": lambda e: e.slices.add().extent.add(start=0, length=-2),
    "a slice with a negative start": lambda e: e.slices.add().extent.add(start=-1, length=2),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_tfsa_2021_193_entries_of_bundles(name: str, tmp_path: Path) -> None:
    check_lost(lambda: value_in_bundle(tmp_path, table(bundle_pairs(ENTRIES[name]))))


def slices_file(change: Callable[[Any, Any], Any]) -> bytes:
    """A checkpoint of the first version: `t` is the vector [0, 1], in one slice."""
    meta, data = SavedTensorSlices(), SavedTensorSlices()
    tensor = meta.meta.tensor.add(name="t", type=1)
    tensor.shape.dim.add(size=2)
    tensor.slice.add().extent.add()
    data.data.name = "t"
    data.data.slice.extent.add()
    data.data.data.float_val.extend([0, 1])
    change(tensor, data.data)
    return table({b"": meta.SerializeToString(), SLICE: data.SerializeToString()})


SLICE = b"\0" + b"t\0\1" + b"\1\1" + b"\x80" + b"\x7f"  # all of a vector
SLICES: dict[str, Callable[[Any, Any], Any]] = {
    "a negative length": lambda t, d: t.slice[0].extent[0].MergeFrom(extent(0, -5)),
    "a negative start": lambda t, d: t.slice[0].extent[0].MergeFrom(extent(-3, 2)),
    "a length beyond the size": lambda t, d: t.slice[0].extent[0].MergeFrom(extent(0, LARGEST)),
    "a start at the end of int64": lambda t, d: t.slice[0].extent[0].MergeFrom(extent(LARGEST, 2)),
    "no extent": lambda t, d: t.slice[0].ClearField("extent"),
    "two extents": lambda t, d: t.slice[0].extent.add(),
    "no slice": lambda t, d: t.ClearField("slice"),
    "no dtype": lambda t, d: t.ClearField("type"),
    "a dtype that is none": lambda t, d: setattr(t, "type", 99),
    "a negative size": lambda t, d: setattr(t.shape.dim[0], "size", -2),
    "sizes whose product wraps": lambda t, d: (
        setattr(t.shape.dim[0], "size", 2**62), t.shape.dim.add(size=4)),
    "a large size and two values": lambda t, d: setattr(t.shape.dim[0], "size", 2**40),
    "more values": lambda t, d: d.data.float_val.extend([1.0] * 9),
    "content that is cut off": lambda t, d: (
        d.data.ClearField("float_val"), setattr(d.data, "tensor_content", b"123")),
}  # fmt: skip


def extent(start: int, length: int) -> Any:
    return SavedTensorSlices(
        data={"slice": {"extent": [{"start": start, "length": length}]}}
    ).data.slice.extent[0]


@pytest.mark.parametrize("name", [None, *SLICES])
def test_tfsa_2021_193_slices(name: str | None, tmp_path: Path) -> None:
    change = SLICES[name] if name is not None else lambda tensor, data: None
    (tmp_path / "c").write_bytes(slices_file(change))
    if name is None:
        assert value_in(tmp_path).tolist() == [0, 1]
    else:
        check_lost(lambda: value_in(tmp_path))


# -- meta graphs


def meta_graph() -> MetaGraphDef:
    found = MetaGraphDef()
    found.graph_def.CopyFrom(op_model("Neg", [np.ones(2, np.float32)]))
    found.meta_info_def.tags.append("serve")
    op = found.meta_info_def.stripped_op_list.op.add(name="Neg")
    op.attr.add(name="T", type="type")
    return found


def load_meta(folder: Path, meta: MetaGraphDef) -> flowc.Graph:
    path = folder / "m.meta"
    path.write_bytes(meta.SerializeToString())
    return flowc.load_graph(path)


def test_tfsa_2022_031_an_op_whose_attrs_have_one_name(tmp_path: Path) -> None:
    meta = meta_graph()
    load_meta(tmp_path, meta)
    meta.meta_info_def.stripped_op_list.op[0].attr.add(name="T", type="int")
    with pytest.raises(InvalidModelError, match="op 'Neg' has two attrs named 'T'"):
        load_meta(tmp_path, meta)


@pytest.mark.parametrize("name", ["__saved_model_init_op", "__saved_model_train_op"])
def test_tfsa_2022_040_first_steps_without_a_name(name: str, tmp_path: Path) -> None:
    meta = meta_graph()
    meta.signature_def[name].outputs[name].name = "y"
    load_meta(tmp_path, meta)
    meta.signature_def[name].outputs["other"].CopyFrom(meta.signature_def[name].outputs.pop(name))
    with pytest.raises(InvalidModelError, match=f"'{name}' has no output of that name"):
        load_meta(tmp_path, meta)


# -- ops that read and write files


STRINGS = "tensor { dtype: DT_STRING tensor_shape { dim { size: 0 } } }"
FLOATS = "list { type: DT_FLOAT }"
SAVING: dict[str, tuple[str, tuple[str, ...], dict[str, str]]] = {
    "restore with an empty pattern": ("Restore", ("none", "none"), {"dt": "DT_FLOAT"}),
    "restore slices of no names": ("RestoreSlice", ("none", "none", "none"), {"dt": "DT_FLOAT"}),
    "save lists of unequal length": ("SaveV2", ("path", "none", "none", "x"), {"dtypes": FLOATS}),
    "restore fewer than are named": ("RestoreV2", ("path", "none", "none"), {"dtypes": FLOATS}),
}


@pytest.mark.parametrize("name", SAVING)
def test_tfsa_2021_113_and_122_checkpoints_that_models_name(name: str, tmp_path: Path) -> None:
    op, inputs, attrs = SAVING[name]
    place = f'tensor {{ dtype: DT_STRING tensor_shape {{ }} string_val: "{tmp_path}/c" }}'
    graph = graph_of(
        {
            "path": node("Const", dtype="DT_STRING", value=place),
            "none": node("Const", dtype="DT_STRING", value=STRINGS),
            "x": constant(1.0),
            "y": node(op, *inputs, **attrs),
        }
    )
    for _ in range(2):
        with flowc.Session(graph=graph) as session, pytest.raises(FlowcError) as caught:
            session.run("y")
        assert not isinstance(caught.value, InternalError)
        assert caught.value.node == "y"
        graph.allow("files")
    assert not list(tmp_path.iterdir())


# -- text, and bools that are neither


@pytest.mark.parametrize(
    ("op", "more"), [("DecodeRaw", ()), ("DecodePaddedRaw", (3,)), ("DecodePaddedRaw", (-2,))]
)
def test_tfsa_2021_102_lengths_that_are_no_multiple(op: str, more: tuple[int, ...]) -> None:
    given = [np.array([b"abc"], object), *(np.int32(length) for length in more)]
    with pytest.raises(InvalidArgumentError) as caught:
        run_op(op, *given, out_type=dtypes.u16)
    assert caught.value.node == "y"


@pytest.mark.parametrize(
    ("op", "attrs", "wanted"),
    [("LogicalNot", {}, [False, True]), ("Cast", {"DstT": dtypes.i32}, [1, 0]),
     ("AsString", {}, [b"true", b"false"])],
)  # fmt: skip
def test_tfsa_2022_166_a_bool_of_7_is_true(
    op: str, attrs: dict[str, Any], wanted: list[Any]
) -> None:
    bools = np.frombuffer(b"\x07\x00", bool)
    model = op_model(op, [np.array([True, False])], **attrs)
    tensor = model.node[0].attr["value"].tensor
    tensor.ClearField("bool_val")
    tensor.tensor_content = b"\x07\x00"
    assert run_model(model).tolist() == wanted
    assert run_op(op, bools, fed=True, **attrs).tolist() == wanted


def test_tfsa_2022_166_a_bool_of_7_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    with flowc.Graph().as_default():
        x = flowc.placeholder(flowc.bool, [2], "x")
        shown = flowc.Print(x, [x])
        with flowc.Session() as session:
            session.run(shown, {x: np.frombuffer(b"\x07\x00", bool)})
    assert capfd.readouterr().err == "[1 0]\n"


# -- what stands around graphs


@pytest.mark.parametrize(
    "value",
    ["__import__('os').mkdir('made')", "[x for x in [1]]", "open('made','w')", "1+", "np.ones(3)"],
)
def test_tfsa_2022_060_inputs_of_commands_are_literals(
    value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = loaded(op_model("Neg", [np.ones(2, np.float32)], fed=True))
    Path("m.pb").write_bytes(model.as_graph_def().SerializeToString())
    assert run_command_line(["run", "m.pb", "--input", "x0=[1,2]"]) == 0
    assert run_command_line(["run", "m.pb", "--input", f"x0={value}"]) == 2
    assert os.listdir() == ["m.pb"]


def test_tfsa_2022_027_names_of_temporary_files_are_taken_at_once(tmp_path: Path) -> None:
    """Whoever finds a free name first and opens it later can be handed a link in between."""
    for path in [*(ROOT / "flowc").rglob("*.py"), *(ROOT / "runtime").rglob("*.py")]:
        assert not re.search(r"\bmktemp\b", path.read_text()), path
    with replacing(tmp_path / "out") as file:
        (name,) = os.listdir(tmp_path)
        assert os.stat(tmp_path / name).st_mode & 0o777 == 0o600
        assert os.fstat(file.fileno()).st_ino == os.stat(tmp_path / name).st_ino


def test_tfsa_2021_196_what_is_too_large_is_refused_before_it_is_made() -> None:
    cube, image = np.ones((1, 1, 1), np.float32), np.ones((1, 2, 2, 1), np.float32)
    for op, x, count, kind in (
        ("Tile", cube, [10**8] * 3, InvalidArgumentError),  # more than an int64 counts
        ("ResizeBilinear", image, [1_600_000_000] * 2, ResourceExhaustedError),
    ):
        with pytest.raises(kind) as caught:
            run_op(op, x, np.array(count, np.int32))
        assert caught.value.node == "y"
