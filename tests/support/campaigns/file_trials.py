"""Mutants of files (file_mutants.py) on their way through whatever reads such files.

In: seeds. Out: for `mutant_trials.py`, `FILES`: how far a mutant came. What is read is read to the
end: every node's attrs, every variable's value, every tensor, every record.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

from campaigns.file_mutants import mutant, sound_folders
from campaigns.mutant_trials import Trials
from google.protobuf.message import DecodeError

import flowc.compat.v1 as tf
from flowc.checkpoint.locate import find_checkpoint, latest_checkpoint
from flowc.checkpoint.reader import CheckpointReader
from flowc.errors import FlowcError, InternalError
from flowc.extract.interface import choose_interface
from flowc.extract.size_unification import extract_fetches
from flowc.extract.unsupported_ops import faults_of
from flowc.importer import load_graph


def _graph(path: Path) -> None:
    """A model's graph, as `flowc check` and `flowc compile` look at it."""
    graph = load_graph(path, allow="files")
    for op in graph.get_operations():
        dict(op.attrs)
        faults_of(op.name, op)
    values = graph.variable_values
    for name in values:
        values[name]
    extract_fetches(graph, choose_interface(graph))


def _imported_graph(path: Path) -> None:
    with tf.Graph().as_default():
        tf.import_graph_def(path)


def _meta_graph(path: Path) -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        try:
            saver = tf.train.import_meta_graph(str(path))
        except OSError as error:  # TensorFlow's class, for what the importer finds
            raise error.__cause__ or error from None
        for name in graph.get_all_collection_keys():
            graph.get_collection(name)
        tf.train.export_meta_graph(graph=graph)
        if saver is not None:
            saver.restore(session, str(path.parent / "model"))


def _saved_model(path: Path) -> None:
    for tags in (["serve"], ["serve", "gpu"]):
        with tf.Graph().as_default(), tf.Session() as session:
            tf.saved_model.load(session, tags, str(path))


def _checkpoint(path: Path) -> None:
    reader = CheckpointReader(path)
    for name in reader:
        reader.dtype(name)
        reader.read(name)
    tf.train.list_variables(str(path))


def _state(path: Path) -> None:
    latest_checkpoint(path.parent)
    found = tf.train.get_checkpoint_state(str(path.parent))
    if found is not None:
        list(found.all_model_checkpoint_paths)
    find_checkpoint(path.parent)


def _records(path: Path) -> None:
    for _ in tf.python_io.tf_record_iterator(str(path)):
        pass


def _events(path: Path) -> None:
    for _ in tf.train.summary_iterator(str(path)):
        pass


# What TensorFlow's functions raise, too: of names that a graph does not have KeyError, TypeError.
SAID = (ValueError, RuntimeError, DecodeError)
NAMES = re.compile(r"[\"']?(The name |Cannot interpret feed_dict key as Tensor: The name )")
READERS: dict[str, tuple[Callable[[Path], None], ...]] = {
    "graph": (_graph, _imported_graph),
    "meta": (_graph, _meta_graph),
    "saved model": (_graph, _saved_model),
    "checkpoint": (_checkpoint,),
    "state": (_state,),
    "records": (_records, _events),
}


def _read(seed: int) -> str:
    """What the first reader that fails says; `read` if none does. All of them try."""
    found = mutant(seed)
    first: Exception | None = None
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, content in found.files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        for read in READERS[found.kind]:
            try:
                read(Path(folder, found.model))
            except InternalError:
                raise
            except FlowcError as error:
                first = first or error
            except Exception as error:
                if type(error) not in SAID and not NAMES.match(str(error)):
                    raise
                first = first or error
    return f"{found.kind}: {'read' if first is None else type(first).__name__}"


FILES = Trials(sound_folders, _read, lack_of_memory_is_fine=True)
