"""Files of models, checkpoints and records with something wrong in them, each made from a seed.

In: a seed. Out: the files of a folder, one of which was changed: in its bytes, in the tokens of its
text, or in the fields of the message that it holds, whose checksums are then right. Invariant: a
mutant is a pure function of its seed and of the recorded files.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from campaigns.graph_mutants import FLOATS, INTS, TEXTS, changed_bytes, one_of
from google.protobuf import json_format, text_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError

from flowc.checkpoint.table import masked_crc, read_table
from flowc.checkpoint.table_writer import table_pieces
from flowc.encoding.wire import FileBytes
from flowc.proto.checkpoint_pb2 import (
    BundleEntryProto,
    BundleHeaderProto,
    CheckpointState,
    SavedTensorSlices,
)
from flowc.proto.graph_pb2 import GraphDef
from flowc.proto.meta_graph_pb2 import MetaGraphDef, SavedModel

RECORDED = Path(__file__).resolve().parents[2] / "data" / "import"
BYTES, TOKENS = 0.3, 0.3  # of the mutants are changed so; the others in their fields
WORDS = (b"{", b"}", b"[", b"]", b":", b'"', b"node", b"value", b"-1", b"1e999", b"0x", b"\\377")

Change = Callable[[bytes, np.random.Generator], bytes]


@dataclass(frozen=True, slots=True)
class Folder:
    """Files by their paths. `model`: what is read. `changed`: the path of the file that mutants
    have otherwise, and what changes its fields."""

    kind: str
    files: dict[str, bytes]
    model: str
    changed: str
    fields: Change


# -- messages


def change_message(message: Any, random: np.random.Generator) -> None:
    """One field of a message, or of one inside it, becomes another, more, or is left out."""
    inner = [
        value
        for field, value in message.ListFields()
        if field.type == FieldDescriptor.TYPE_MESSAGE
        for value in _messages(field, value)
    ]
    if inner and random.random() < 0.8:
        change_message(one_of(inner, random), random)
        return
    fields = message.DESCRIPTOR.fields
    if not fields:
        return
    known = [field for field, _ in message.ListFields()]
    field = one_of(known if known and random.random() < 0.8 else fields, random)
    if random.random() < 0.25:
        message.ClearField(field.name)
    elif field.is_repeated:
        _change_repeated(message, field, random)
    elif field.type == FieldDescriptor.TYPE_MESSAGE:
        getattr(message, field.name).SetInParent()
    else:
        _set(message, field, random)


def _messages(field: FieldDescriptor, value: Any) -> list[Any]:
    if not field.is_repeated:
        return [value]
    if _is_map(field):
        inner = field.message_type.fields_by_name["value"]
        is_message = inner.type == FieldDescriptor.TYPE_MESSAGE
        return [value[key] for key in sorted(value)] if is_message else []
    return list(value)


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def _change_repeated(message: Any, field: FieldDescriptor, random: np.random.Generator) -> None:
    held = getattr(message, field.name)
    if _is_map(field):
        if len(held):
            del held[one_of(sorted(held), random)]
        return
    at = int(random.integers(len(held) + 1))
    if len(held) and random.random() < 0.4:
        del held[at % len(held)]
    elif field.type == FieldDescriptor.TYPE_MESSAGE:
        more = held.add()
        if len(held) > 1:
            more.CopyFrom(held[at % (len(held) - 1)])
    else:
        held.append(_value(field, random))


def _set(message: Any, field: FieldDescriptor, random: np.random.Generator) -> None:
    try:
        setattr(message, field.name, _value(field, random))
    except (TypeError, ValueError):  # a number that the field cannot hold
        message.ClearField(field.name)


def _value(field: FieldDescriptor, random: np.random.Generator) -> Any:
    match field.cpp_type:
        case FieldDescriptor.CPPTYPE_STRING:
            text = one_of(TEXTS, random)
            return text if field.type == FieldDescriptor.TYPE_BYTES else text.decode("latin-1")
        case FieldDescriptor.CPPTYPE_FLOAT | FieldDescriptor.CPPTYPE_DOUBLE:
            return one_of(FLOATS, random)
        case FieldDescriptor.CPPTYPE_BOOL:
            return bool(random.integers(2))
        case FieldDescriptor.CPPTYPE_INT32 | FieldDescriptor.CPPTYPE_UINT32:
            return abs(one_of(INTS, random)) % 2**31
        case FieldDescriptor.CPPTYPE_ENUM:
            return one_of((0, 1, 2, 3, 9, 20, 21, 999), random)
    return one_of(INTS, random) % 2**63


def of_message(kind: type[Any], form: str = "binary") -> Change:
    """Changes the fields of a message that a file holds in this form."""

    def change(content: bytes, random: np.random.Generator) -> bytes:
        message = kind()
        if form == "binary":
            message.ParseFromString(content)
        elif form == "text":
            text_format.Parse(content, message)
        else:
            json_format.Parse(content, message)
        for _ in range(int(one_of((1, 1, 2), random))):
            change_message(message, random)
        return written(message, form)

    return change


def written(message: Any, form: str) -> bytes:
    if form == "binary":
        return message.SerializeToString(deterministic=True)
    if form == "text":
        return text_format.MessageToString(message).encode()
    try:
        return json_format.MessageToJson(message, sort_keys=True).encode()
    except ValueError:  # numbers that JSON has no word for
        return b"{}"


def of_table(kinds: Callable[[bytes], type[Any]]) -> Change:
    """Changes an entry of a table, whose checksums are right again."""

    def change(content: bytes, random: np.random.Generator) -> bytes:
        region = FileBytes(memoryview(content), "table")
        entries = [(key, bytes(value)) for key, value in read_table(region)]
        at = int(random.integers(len(entries)))
        key, value = entries[at]
        message = kinds(key).FromString(value)
        match int(random.integers(6)):
            case 0:
                del entries[at]
            case 1:
                entries[at] = key, changed_bytes(value, random)
            case 2:
                entries[at] = changed_bytes(key, random), value
            case _:
                change_message(message, random)
                entries[at] = key, message.SerializeToString(deterministic=True)
        return b"".join(table_pieces(sorted(dict(entries).items())))

    return change


def framed(records: Sequence[bytes]) -> bytes:
    """A file of records."""
    found = b""
    for record in records:
        length = struct.pack("<Q", len(record))
        found += length + struct.pack("<I", masked_crc(length))
        found += record + struct.pack("<I", masked_crc(record))
    return found


def of_records(content: bytes, random: np.random.Generator) -> bytes:
    """Changes the bytes of a record, or its length, with checksums that are right."""
    records, at = [], 0
    while at < len(content):
        (length,) = struct.unpack_from("<Q", content, at)
        records.append(content[at + 12 : at + 12 + length])
        at += 16 + length
    at = int(random.integers(len(records)))
    if random.random() < 0.7:
        records[at] = changed_bytes(records[at], random)
        return framed(records)
    length = struct.pack("<Q", one_of(INTS, random) % 2**64)
    told = length + struct.pack("<I", masked_crc(length))
    return framed(records[:at]) + told + framed(records[at:])[12:]


# -- texts


def changed_tokens(content: bytes, random: np.random.Generator) -> bytes:
    """Some words, numbers or marks exchanged, left out, or put in twice."""
    tokens = re.findall(rb"\w+|\s+|.", content, re.DOTALL) or [b""]
    for _ in range(int(random.integers(1, 4))):
        at, other = (int(random.integers(len(tokens))) for _ in range(2))
        match int(random.integers(5)):
            case 0:
                tokens[at] = b""
            case 1:
                tokens[at] += tokens[other]
            case 2:
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case 3 if tokens[at].isdigit():
                tokens[at] = b"%d" % one_of(INTS, random)
            case _:
                tokens[at] = one_of(WORDS, random)
    return b"".join(tokens)


# -- what mutants are made from


def _files(folder: str) -> dict[str, bytes]:
    root = RECORDED / folder
    found = sorted(path for path in root.rglob("*") if path.is_file())
    return {str(path.relative_to(root)): path.read_bytes() for path in found}


@cache
def sound_folders() -> tuple[Folder, ...]:
    """A folder of each kind, which are all read without an error."""
    tf1 = _files("tf1")
    meta = MetaGraphDef.FromString(tf1["model.meta"])
    found: list[Folder] = []
    for form in ("binary", "text", "JSON"):
        graph, whole = written(meta.graph_def, form), written(meta, form)
        name = f"graph.{form}"
        change = of_message(GraphDef, form)
        found.append(Folder("graph", {**tf1, name: graph}, name, name, change))
        change = of_message(MetaGraphDef, form)
        found.append(
            Folder("meta", {**tf1, "model.meta": whole}, "model.meta", "model.meta", change)
        )
    for folder, file, form in (
        ("tf2", "saved_model.pb", "binary"),
        ("two_graphs", "saved_model.pbtxt", "text"),
    ):
        change = of_message(SavedModel, form)
        found.append(Folder("saved model", _files(folder), "", file, change))
    of_index = of_table(lambda key: BundleEntryProto if key else BundleHeaderProto)
    found.append(Folder("checkpoint", tf1, "model", "model.index", of_index))
    data = "model.data-00000-of-00002"
    found.append(Folder("checkpoint", tf1, "model", data, changed_bytes))
    of_slices = of_table(lambda _: SavedTensorSlices)
    found.append(Folder("checkpoint", tf1, "old.ckpt", "old.ckpt", of_slices))
    state = CheckpointState(model_checkpoint_path="model", all_model_checkpoint_paths=["model"])
    state.all_model_checkpoint_timestamps.append(1.5)
    files = {**tf1, "checkpoint": written(state, "text")}
    change = of_message(CheckpointState, "text")
    found.append(Folder("state", files, "checkpoint", "checkpoint", change))
    for count in (1, 5):
        records = {"records": framed([bytes([k]) * 10 * k for k in range(count)])}
        found.append(Folder("records", records, "records", "records", of_records))
    return tuple(found)


def mutant(seed: int) -> Folder:
    """The mutant of a seed. Kinds take turns."""
    random = np.random.Generator(np.random.PCG64(seed))
    sound = sound_folders()
    folder = sound[seed % len(sound)]
    content, how = folder.files[folder.changed], random.random()
    if how < BYTES:
        changed = changed_bytes(content, random)
    elif how < BYTES + TOKENS:
        changed = changed_tokens(content, random)
    else:
        try:
            changed = folder.fields(content, random)
        except DecodeError:
            changed = content[: len(content) // 2]
    files = {**folder.files, folder.changed: changed}
    return Folder(folder.kind, files, folder.model, folder.changed, folder.fields)
