"""`tf.ReaderBase` and the readers: records of the files whose names a queue gives.

In: queues of strings. Out: tensors of a key and a value. Invariant: each record goes to one run.
"""

from __future__ import annotations

from typing import Any

from flowc.api.framework.raw_ops import call
from flowc.api.inputs.queues import QueueBase
from flowc.api.io.record_files import TFRecordOptions
from flowc.graph import Operation, Tensor
from flowc.graph.building.creation import create, output


class ReaderBase:
    """What all readers have. `supports_serialize`: whether its state can be saved. A run raises
    `OutOfRangeError` when the queue of names is closed and empty."""

    def __init__(self, reader_ref: Tensor, supports_serialize: bool = False) -> None:
        self._reader_ref = reader_ref
        self._supports_serialize = supports_serialize

    @property
    def reader_ref(self) -> Tensor:
        """The handle."""
        return self._reader_ref

    @property
    def supports_serialize(self) -> bool:
        return self._supports_serialize

    def read(self, queue: Any, name: str | None = None) -> Any:
        """(key, value) of the next record: string[] each. A run takes a name from the queue when
        it needs one, and waits for it; it raises `OutOfRangeError` when there are none any more,
        `NotFoundError` for a file that is not there, `DataLossError` for one that is damaged."""
        return call("ReaderReadV2", self._reader_ref, _handle(queue), name=name)

    def read_up_to(self, queue: Any, num_records: Any, name: str | None = None) -> Any:
        """(keys, values) of the next records, at most `num_records`: string[?] each. Raises as
        `read`."""
        return call("ReaderReadUpToV2", self._reader_ref, _handle(queue), num_records, name=name)

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """How many records were read: int64[]."""
        return output("ReaderNumRecordsProducedV2", self._reader_ref, name=name)

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """How many files were read to their ends: int64[]."""
        return output("ReaderNumWorkUnitsCompletedV2", self._reader_ref, name=name)

    def serialize_state(self, name: str | None = None) -> Tensor:
        """The state: string[]. A run raises `UnimplementedError` where it cannot be saved."""
        return output("ReaderSerializeStateV2", self._reader_ref, name=name)

    def restore_state(self, state: Any, name: str | None = None) -> Operation:
        """Goes on from a state. A run raises `InvalidArgumentError` for what is none."""
        return create("ReaderRestoreStateV2", [self._reader_ref, state], None, name)

    def reset(self, name: str | None = None) -> Operation:
        """Makes the reader as it was when it was new."""
        return create("ReaderResetV2", [self._reader_ref], None, name)


def _handle(queue: Any) -> Any:
    return queue.queue_ref if isinstance(queue, QueueBase) else queue


class TextLineReader(ReaderBase):
    """The lines of files, without their ends. Keys: `file:line`, counted from 1.
    `skip_header_lines`: lines at the beginning of each file that are left out. A run raises
    `OutOfRangeError` when the queue of names is closed and empty, `NotFoundError` for a missing
    file."""

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        super().__init__(
            output("TextLineReaderV2", skip_header_lines=skip_header_lines or 0, name=name)
        )


class FixedLengthRecordReader(ReaderBase):
    """Records of `record_bytes`, each `hop_bytes` behind the one before (0: directly), between a
    header and a footer. Keys: `file:index`, counted from 0. `encoding`: "ZLIB", "GZIP" or none. A
    run raises `OutOfRangeError` when the queue of names is closed and empty, `NotFoundError` for a
    missing file."""

    def __init__(
        self,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        hop_bytes: int | None = None,
        name: str | None = None,
        encoding: str | None = None,
    ) -> None:
        super().__init__(
            output(
                "FixedLengthRecordReaderV2",
                record_bytes=record_bytes,
                header_bytes=header_bytes or 0,
                footer_bytes=footer_bytes or 0,
                hop_bytes=hop_bytes or 0,
                encoding=encoding or "",
                name=name,
            )
        )


class TFRecordReader(ReaderBase):
    """The records of TFRecord files. Keys: `file:offset`. `options`: `TFRecordOptions`. A run
    raises `OutOfRangeError` when the queue of names is closed and empty, `DataLossError` for a
    damaged record."""

    def __init__(self, name: str | None = None, options: Any = None) -> None:
        kind = TFRecordOptions.get_compression_type_string(options)
        super().__init__(output("TFRecordReaderV2", compression_type=kind, name=name))


class WholeFileReader(ReaderBase):
    """Files as one record each: key its name, value its content. A run raises `OutOfRangeError`
    when the queue of names is closed and empty, `NotFoundError` for a missing file."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(output("WholeFileReaderV2", name=name), supports_serialize=True)


class IdentityReader(ReaderBase):
    """What the queue gives, as key and as value. A run raises `OutOfRangeError` when the queue is
    closed and empty."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(output("IdentityReaderV2", name=name), supports_serialize=True)
