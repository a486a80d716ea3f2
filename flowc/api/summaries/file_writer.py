"""Event files: what a training run tells of itself, as TensorBoard reads it.

In: serialized summaries, graphs, states of a session. Out: `events.out.tfevents.*`, records of
`Event` messages, each with the checksums of TFRecord files. Invariant: the first record is the
version; what `flush` has returned from is in the file. A thread writes it (`event_file.py`).
"""

from __future__ import annotations

import os
import socket
import struct
import threading
import time
import weakref
from pathlib import Path
from typing import Any, ClassVar

from flowc.api.summaries.event_file import EventFile
from flowc.checkpoint.table import masked_crc
from flowc.encoding.fields import bytes_field, double_field, varint_field
from flowc.graph import Graph, get_default_graph

VERSION = b"brain.Event:2"
# Fields of Event.
_WALL_TIME, _STEP, _FILE_VERSION, _GRAPH_DEF, _SUMMARY = 1, 2, 3, 4, 5
_SESSION_LOG, _RUN_METADATA, _META_GRAPH_DEF = 7, 8, 9


class FileWriter:
    """Writes events to a new file in the folder `logdir`, which it makes.

    `graph`: written first; `filename_suffix`: end of the file's name. Events wait for a thread that
    writes them when there are `max_queue`, or after `flush_secs`; who adds more than it can write
    waits. Any thread may add. A file that cannot be made is an `OSError`; where it is not written,
    the next call raises that, and later events go to another file. A process that is forked writes
    files of its own."""

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        graph: Graph | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def: Any = None,
        filename_suffix: str | None = None,
    ) -> None:
        self._folder = os.fspath(logdir)
        self._suffix = filename_suffix or ""
        self._max_queue = max_queue
        self._flush_secs = flush_secs
        self._lock = threading.Lock()
        self._file: EventFile | None = None
        self._end: Any = None  # ends the file, also when the writer is no more, or the program
        self._opened = 0
        self._run_tags = set[str]()
        if graph is not None or graph_def is not None:
            self.add_graph(graph, graph_def=graph_def)
        if isinstance(graph, Graph):
            from flowc.api.saving.exported_meta_graph import export_meta_graph

            self.add_meta_graph(export_meta_graph(graph=graph))

    def get_logdir(self) -> str:
        return self._folder

    def add_summary(self, summary: Any, global_step: int | None = None) -> None:
        """`summary`: a message, or its bytes as a run gives them."""
        self._add(_SUMMARY, _serialized(summary), global_step)

    def add_session_log(self, session_log: Any, global_step: int | None = None) -> None:
        self._add(_SESSION_LOG, _serialized(session_log), global_step)

    def add_graph(self, graph: Any, global_step: int | None = None, graph_def: Any = None) -> None:
        """`graph`: a Graph, or a GraphDef. Raises `TypeError` for anything else."""
        given = graph if graph_def is None else graph_def
        if isinstance(given, Graph):
            given = given.as_graph_def(add_shapes=True)
        if not hasattr(given, "SerializeToString"):
            raise TypeError(
                "The passed graph must be an instance of `Graph` or the deprecated `GraphDef`"
            )
        self._add(_GRAPH_DEF, given.SerializeToString(), global_step)

    def add_meta_graph(self, meta_graph_def: Any, global_step: int | None = None) -> None:
        self._add(_META_GRAPH_DEF, _serialized(meta_graph_def), global_step)

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: int | None = None) -> None:
        """What a run told of itself, under a tag. Raises `ValueError` for a tag that was used."""
        if tag in self._run_tags:
            raise ValueError("The provided tag was already used for this event type")
        self._run_tags.add(tag)
        content = bytes_field(1, tag.encode()) + bytes_field(2, _serialized(run_metadata))
        self._add(_RUN_METADATA, content, global_step)

    def add_event(self, event: Any) -> None:
        """`event`: an Event message, or its bytes."""
        self._write(_serialized(event))

    def _add(self, field: int, content: bytes, step: Any) -> None:
        number = b"" if step is None else varint_field(_STEP, int(step))
        self._write(double_field(_WALL_TIME, time.time()) + number + bytes_field(field, content))

    def _write(self, event: bytes) -> None:
        record = _record(event)
        self._leave_file_of_parent()
        with self._lock:
            file = self._opened_file()
            try:
                file.add(record)
            except Exception:
                self._drop_failed()
                raise

    def _opened_file(self) -> EventFile:
        if self._file is not None:
            return self._file
        folder = Path(self._folder)
        folder.mkdir(parents=True, exist_ok=True)
        now = time.time()
        number = f".{self._opened}" if self._opened else ""
        name = f"events.out.tfevents.{int(now):010d}.{socket.gethostname()}.{os.getpid()}{number}"
        version = _record(double_field(_WALL_TIME, now) + bytes_field(_FILE_VERSION, VERSION))
        path = folder / f"{name}{self._suffix}"
        self._file = EventFile(path, version, self._max_queue, self._flush_secs)
        self._end = weakref.finalize(self, self._file.end)
        self._opened += 1
        return self._file

    def _leave_file_of_parent(self) -> None:
        """After a fork: the file, its thread and the lock are those of the other process."""
        if self._file is not None and not self._file.is_of_this_process:
            self._end.detach()
            self._file, self._lock = None, threading.Lock()

    def _drop_failed(self) -> None:
        """The file whose thread has failed is no more."""
        self._end()
        self._file = None

    def flush(self) -> None:
        """Waits until all that was added is in the file."""
        self._leave_file_of_parent()
        with self._lock:
            if self._file is None:
                return
            try:
                self._file.flush()
            except Exception:
                self._drop_failed()
                raise

    def close(self) -> None:
        """Writes the rest and closes the file; what is added later goes to another one."""
        self._leave_file_of_parent()
        with self._lock:
            if self._file is None:
                return
            error = self._end()
            self._file = None
        if error is not None:
            raise error

    def reopen(self) -> None:
        """Later events go to another file."""
        self.close()

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


class FileWriterCache:
    """One `FileWriter` for each folder, as hooks share them. Raises nothing."""

    _writers: ClassVar[dict[str, FileWriter]] = {}
    _lock: ClassVar[threading.RLock] = threading.RLock()

    @staticmethod
    def get(logdir: str | os.PathLike[str]) -> FileWriter:
        """The writer of the folder, a new one that knows the default graph where there is none."""
        folder = os.fspath(logdir)
        with FileWriterCache._lock:
            if folder not in FileWriterCache._writers:
                made = FileWriter(folder, graph=get_default_graph())
                FileWriterCache._writers[folder] = made
            return FileWriterCache._writers[folder]

    @staticmethod
    def clear() -> None:
        """Forgets all writers; they stay open."""
        with FileWriterCache._lock:
            FileWriterCache._writers.clear()


def _serialized(message: Any) -> bytes:
    if isinstance(message, bytes):
        return message
    if not hasattr(message, "SerializeToString"):
        raise TypeError(f"A FileWriter takes messages or their bytes, found {message!r}")
    return message.SerializeToString()


def _record(content: bytes) -> bytes:
    """A record of a TFRecord file: its length and its bytes, each with a checksum."""
    length = struct.pack("<Q", len(content))
    checks = struct.pack("<I", masked_crc(length)), struct.pack("<I", masked_crc(content))
    return length + checks[0] + content + checks[1]
