"""A model as its message, read from a file and written to one, with all that it holds.

In: a GraphDef, a MetaGraphDef or a SavedModel folder, in binary, text or JSON form. Out: the same.
Invariant: what is written is whole or not there, and nothing is written over a SavedModel.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from flowc.dataclass import dataclass
from flowc.encoding.wire import open_region
from flowc.errors import UsageError
from flowc.files.safe_write import current_umask, replacing, sync_folder
from flowc.graph.meta_export import as_json_text
from flowc.importer.formats import MESSAGES, Encoding, Kind, detect, parse_text
from flowc.importer.model import saved_model_file
from flowc.importer.nodes import parse
from flowc.importer.read_model import choose_meta_graph

_ENCODINGS = {
    ".pb": Encoding.BINARY,
    ".meta": Encoding.BINARY,
    ".pbtxt": Encoding.TEXT,
    ".txt": Encoding.TEXT,
    ".json": Encoding.JSON,
}
_SAVED_MODEL_FILES = {Encoding.BINARY: "saved_model.pb", Encoding.TEXT: "saved_model.pbtxt"}
FINGERPRINT = "fingerprint.pb"  # of the graph that was saved


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model that was read. `message`: all of it; `chosen`: which graph of a SavedModel."""

    path: Path
    kind: Kind
    encoding: Encoding
    message: Any
    chosen: int = 0

    @property
    def meta_graph(self) -> Any:
        """The MetaGraphDef, or None."""
        if self.kind is Kind.SAVED_MODEL:
            return self.message.meta_graphs[self.chosen]
        return self.message if self.kind is Kind.META_GRAPH else None

    @property
    def graph_def(self) -> Any:
        return self.message if self.kind is Kind.GRAPH else self.meta_graph.graph_def


def read_model_file(path: Path, tags: str | None = None, allow_links: bool = False) -> ModelFile:
    """Reads a model. `tags`: those of the SavedModel's graph that is meant. Raises as
    `load_graph`."""
    within = path if os.path.isdir(path) and not allow_links else None
    region = open_region(saved_model_file(path) if os.path.isdir(path) else path, within)
    kind, encoding = detect(region)
    if tags is not None and kind is not Kind.SAVED_MODEL:
        raise UsageError(f"{path}: tags select a graph of a SavedModel, and this is a {kind}")
    if kind is Kind.SAVED_MODEL and not os.path.isdir(path):
        raise UsageError(f"{path}: name the folder of the SavedModel", hint=str(path.parent))
    if encoding is Encoding.BINARY:
        message = parse(MESSAGES[kind], bytes(region.view), region)
    else:
        message = parse_text(region, kind, encoding)
    chosen = 0
    if kind is Kind.SAVED_MODEL:
        found = [frozenset(m.meta_info_def.tags) for m in message.meta_graphs]
        wanted = None if tags is None else frozenset(filter(None, tags.split(",")))
        chosen = choose_meta_graph(found, wanted, str(path))
    return ModelFile(path, kind, encoding, message, chosen)


def check_out(model: ModelFile, out: Path) -> None:
    """Raises `UsageError` where `write_model_file` would refuse a SavedModel's place."""
    if model.kind is not Kind.SAVED_MODEL:
        return
    if os.path.exists(out) and (not os.path.isdir(out) or any(out.iterdir())):
        raise UsageError(f"-o {out}: this is there, and a SavedModel is a folder of its own")
    if not os.path.isdir(out.parent):
        raise UsageError(f"cannot write {out}: there is no folder {out.parent}")


def write_model_file(model: ModelFile, out: Path) -> list[str]:
    """Writes the message: of a SavedModel with its variables and assets, into a new folder, else
    in the form that the ending of `out` says. Returns what is to be said of it."""
    check_out(model, out)
    if model.kind is not Kind.SAVED_MODEL:
        write_message(model.message, out, model.encoding)
        return []
    notes: list[str] = []
    beside = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        for item in sorted(model.path.iterdir()):
            if item.name in (*_SAVED_MODEL_FILES.values(), "saved_model.json", FINGERPRINT):
                continue
            if os.path.isdir(item) and not item.is_symlink():
                shutil.copytree(item, beside / item.name, symlinks=True)
            else:
                shutil.copy2(item, beside / item.name, follow_symlinks=False)
            notes.append(f"kept {item.name}")
        if os.path.exists(model.path / FINGERPRINT):
            notes.append(f"dropped {FINGERPRINT}: it is that of the old graph")
        name = _SAVED_MODEL_FILES.get(model.encoding, "saved_model.pb")
        write_message(model.message, beside / name, model.encoding)
        os.chmod(beside, 0o777 & ~current_umask())
        os.rename(beside, out)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
    sync_folder(out.parent)
    return notes


def write_message(message: Any, out: Path, encoding: Encoding = Encoding.BINARY) -> None:
    """Writes a message, whole or not at all. `encoding`: where the ending of `out` says none."""
    encoding = _ENCODINGS.get(out.suffix, encoding)
    if encoding is Encoding.BINARY:
        data = message.SerializeToString(deterministic=True)
    else:
        text = str(message) if encoding is Encoding.TEXT else as_json_text(message)
        data = text.encode()
    with replacing(out, len(data)) as file:
        file.write(data)
