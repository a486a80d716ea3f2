"""What kind of model a file is, found from its content.

In: a path, or bytes. Out: `Format`, and the parsed message of text and JSON forms.
Invariant: nothing depends on a file's name or ending.
"""

from __future__ import annotations

import codecs
import re
from enum import StrEnum
from pathlib import Path
from typing import Any

from flowc.encoding.wire import BYTES, VARINT, FileBytes, fields
from flowc.errors import InvalidModelError
from flowc.proto.graph_pb2 import GraphDef
from flowc.proto.meta_graph_pb2 import MetaGraphDef, SavedModel

MAX_DEPTH = 100  # of nested messages in text, as in binary
MAX_TEXT = 1 << 30


class Kind(StrEnum):
    GRAPH = "GraphDef"
    META_GRAPH = "MetaGraphDef"
    SAVED_MODEL = "SavedModel"


class Encoding(StrEnum):
    BINARY = "binary"
    TEXT = "text"
    JSON = "JSON"


MESSAGES: dict[Kind, Any] = {
    Kind.GRAPH: GraphDef,
    Kind.META_GRAPH: MetaGraphDef,
    Kind.SAVED_MODEL: SavedModel,
}
_KERAS = "model.export('FOLDER') or tf.saved_model.save(model, 'FOLDER') makes a SavedModel of it: "
# Where a file says what it is, how, what that is, and the way from there to flowc.
_FOREIGN = (
    (0, b"\x89HDF\r\n\x1a\n", "an HDF5 file (a Keras model or its weights)", _KERAS),
    (0, b"PK\x03\x04", "a zip archive (a .keras file or a packed model)", _KERAS),
    (0, b"\x1f\x8b", "a gzip archive", "unpack it: "),
    (4, b"TFL3", "a TensorFlow Lite model", "use the model that it was converted from: "),
    (0, b"\x93NUMPY", "a NumPy array", ""),
    *((0, bytes((0x80, n)), "a pickle of Python", "pickles hold no graphs: ") for n in range(2, 6)),
    (0, b"\x7fELF", "a shared library or program", "`flowc run` and `inspect` take libraries: "),
)
# What the fields of a JSON file are those of.
_FOREIGN_FIELDS = (
    (
        {"modelTopology"},
        "a model of TensorFlow.js (graphs, and weights in files beside it)",
        "use the model that it was converted from: ",
    ),
    ({"class_name", "config"}, "the architecture of a Keras model, without its weights", _KERAS),
)
# Files in the folder of a SavedModel, whose fields could be those of a graph.
_BESIDE_A_SAVED_MODEL = {
    "fingerprint.pb": "the fingerprint of a SavedModel",
    "keras_metadata.pb": "what Keras says of a SavedModel",
}
_ONNX = re.compile(rb"\x08[\x03-\x7f][\x12\x1a\x22\x2a\x32\x3a\x42]")
_SHARD = re.compile(r"\.data-\d{5}-of-\d{5}$")
_TABLE_MAGIC = b"\x57\xfb\x80\x8b\x24\x75\x47\xdb"
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")  # bytes that texts do not have
_FIELD_OF_TEXT = re.compile(rb"(?:\s|#[^\n]*\n)*([A-Za-z_]\w*)\s*[:{<]")
_TEXT_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|#[^\n]*|[{}<>\[\]]', re.DOTALL)


def detect(region: FileBytes) -> tuple[Kind, Encoding]:
    """What a region holds."""
    head = bytes(region.view[:4096])
    foreign = [row for row in _FOREIGN if head[row[0] : row[0] + len(row[1])] == row[1]]
    what, way_out = foreign[0][2:] if foreign else ("", "")
    if _ONNX.match(head):  # of whose fields the first is the version of its format, 3 or more
        what, way_out = "an ONNX model", "use the TensorFlow model that it was made from: "
    if what:
        raise _not_read(region, what, way_out)
    if bytes(region.view[-8:]) == _TABLE_MAGIC:
        raise InvalidModelError(
            f"{region.name}: this is the index of a checkpoint, which holds no graph",
            hint="give the .meta file, and this checkpoint with --checkpoint",
        )
    if head.startswith(b"model_checkpoint_path:"):
        what, other = "the state file of checkpoints", "MODEL"
    elif _SHARD.search(region.name):
        what, other = "a data file of a checkpoint", _SHARD.sub("", Path(region.name).name)
    if what:
        raise InvalidModelError(
            f"{region.name}: this is {what}, which holds no graph",
            hint=f"give the .meta file, as in {other}.meta",
        )
    beside = _BESIDE_A_SAVED_MODEL.get(Path(region.name).name)
    if beside is not None:
        raise InvalidModelError(
            f"{region.name}: this is {beside}, which holds no graph",
            hint="give the folder that it is in",
        )
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    # A node of 123 bytes, at the beginning of a binary GraphDef, looks like a brace.
    if text.startswith(b"{") and _CONTROL.search(head) is None:
        return _kind_of_names(_json_names(region), region), Encoding.JSON
    found = _FIELD_OF_TEXT.match(head.removeprefix(b"\xef\xbb\xbf"))
    if found and any(found[1].decode() in m.DESCRIPTOR.fields_by_name for m in MESSAGES.values()):
        return _kind_of_names(_text_names(region), region), Encoding.TEXT
    try:
        return _kind_of_fields(region), Encoding.BINARY
    except InvalidModelError:
        if not _is_text(head):
            raise
        raise InvalidModelError(
            f"{region.name}: this is text, and not that of a graph",
            hint="give a GraphDef, a .meta file or a SavedModel folder",
        ) from None


def _not_read(region: FileBytes, what: str, way_out: str) -> InvalidModelError:
    return InvalidModelError(
        f"{region.name}: this is {what}, which flowc does not read",
        hint=f"{way_out}give a GraphDef, a .meta file or a SavedModel folder",
    )


def _is_text(head: bytes) -> bool:
    """Whether bytes are the beginning of UTF-8 text, the last character perhaps cut."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return _CONTROL.search(head) is None


def _kind_of_names(names: set[str], region: FileBytes) -> Kind:
    """The kind whose message has all these fields; the one with the most of them otherwise."""
    scores = {kind: len(names & _field_names(message)) for kind, message in MESSAGES.items()}
    best = max(scores, key=lambda kind: scores[kind])
    if not scores[best]:
        for fields_of, what, way_out in _FOREIGN_FIELDS:
            if fields_of <= names:
                raise _not_read(region, what, way_out)
        raise InvalidModelError(
            f"{region.name}: text, but none of a graph: its fields are {sorted(names)[:5]}",
            hint="give a GraphDef, a .meta file or a SavedModel folder",
        )
    return best


def _field_names(message: Any) -> set[str]:
    declared = message.DESCRIPTOR.fields
    return {f.name for f in declared} | {f.json_name for f in declared}


def _text_names(region: FileBytes) -> set[str]:
    """The names of the fields at the top of a text message."""
    content = bytes(region.view)
    names: set[str] = set()
    depth = start = 0
    for token in _TEXT_TOKEN.finditer(content):
        text = token[0]
        if text in b"{<[":
            if depth == 0:
                names.update(_names_in(content[start : token.start()] + b"{"))
            depth += 1
            _check_depth(depth, token.start(), region)
        elif text in b"}>]":
            depth -= 1
            start = token.end()
    if depth == 0:
        names.update(_names_in(content[start:]))
    return names


def _names_in(text: bytes) -> set[str]:
    return {m.decode() for m in re.findall(rb"([A-Za-z_]\w*)\s*[:{<]", text)}


def _json_names(region: FileBytes) -> set[str]:
    """The keys of a JSON object at its top."""
    content = bytes(region.view)
    names: set[str] = set()
    depth = 0
    for token in re.finditer(rb'"((?:[^"\\]|\\.)*)"(\s*:)?|[{}\[\]]', content, re.DOTALL):
        text = token[0]
        if text in (b"{", b"["):
            depth += 1
            _check_depth(depth, token.start(), region, 3 * MAX_DEPTH)
        elif text in (b"}", b"]"):
            depth -= 1
        elif depth == 1 and token[2]:
            names.add(token[1].decode("utf-8", "replace"))
    return names


def _check_depth(depth: int, at: int, region: FileBytes, limit: int = MAX_DEPTH) -> None:
    if depth > limit:
        raise region.fail(at, f"messages are nested more than {limit} deep")


def _kind_of_fields(region: FileBytes) -> Kind:
    """The kind of a binary message, from its first two fields and those of its parts."""
    counts: dict[int, int] = {}
    for number, kind, _, _, _ in fields(region):
        if number == 1 and kind == VARINT:
            return Kind.SAVED_MODEL
        counts[number] = counts.get(number, 0) + 1
        if counts.get(1, 0) > 1:
            return Kind.GRAPH
    if not counts or set(counts) - {1, 2, 3, 4, 5, 6, 7}:
        raise region.fail(
            0,
            "neither a GraphDef, a MetaGraphDef nor a SavedModel",
            hint="give a GraphDef, a .meta file or a SavedModel folder",
        )
    graph_part = next((f for f in fields(region) if f[0] == 2 and f[1] == BYTES), None)
    if graph_part is not None and _has_nodes(region.part(graph_part[3], graph_part[4])):
        return Kind.META_GRAPH
    return Kind.GRAPH


def _has_nodes(region: FileBytes) -> bool:
    """Whether a message reads as a GraphDef with a node."""
    try:
        return any(
            number == 1 and kind == BYTES and _is_node(region.part(begin, end))
            for number, kind, _, begin, end in fields(region)
        )
    except InvalidModelError:
        return False


def _is_node(region: FileBytes) -> bool:
    """Whether a message reads as a NodeDef: a name and an op, both words."""
    try:
        found = {n: region.view[b:e] for n, kind, _, b, e in fields(region) if kind == BYTES}
    except InvalidModelError:
        return False
    return all(n in found and re.fullmatch(rb"[\w.>][\w.\\/>-]*", bytes(found[n])) for n in (1, 2))


def parse_text(region: FileBytes, kind: Kind, encoding: Encoding) -> Any:
    """The message that a text or JSON file holds. Raises `InvalidModelError` with the line."""
    # Imported here because most models are binary, and this costs as much as reading one.
    from google.protobuf import json_format, text_format

    if len(region) > MAX_TEXT:
        raise InvalidModelError(
            f"{region.name}: {len(region)} bytes of text are beyond the limit of {MAX_TEXT}",
            hint="use the binary form",
        )
    message = MESSAGES[kind]()
    try:
        text = str(region.view, "utf-8-sig")
        if encoding is Encoding.JSON:
            json_format.Parse(text, message, ignore_unknown_fields=True)
        else:
            text_format.Parse(text, message, allow_unknown_field=True)
    except UnicodeDecodeError as error:
        raise region.fail(error.start, "not UTF-8 text") from None
    except (text_format.ParseError, json_format.ParseError, ValueError, RecursionError) as error:
        said = " ".join(str(error).split())[:300]
        raise InvalidModelError(f"{region.name}: no {kind}: {said}") from None
    return message
