"""Readers of text lines, records of fixed length, TFRecords, whole files, and of names as such.

In: handles of readers, and of queues of names of files. Out: host steps. Invariant: whoever waits
for a name waits as a run that dequeues.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.capability import FILES
from flowc.ir.computation import Value
from flowc.ir.extraction import Extractor
from flowc.ir.host_run import HostRun, scalar_of
from flowc.ir.inference import Inference
from flowc.ir.op import Attrs
from flowc.ir.types import Dims
from flowc.ops.queues.handles import (
    Handle,
    define_handle,
    define_step,
    find_state,
    infer_scalars,
    no_outputs,
    scalars,
)
from flowc.ops.queues.queues import queue_of
from flowc.ops.queues.reader_states import KINDS, NextWork, Reader

Array = np.ndarray[Any, Any]


def reader_of(run: HostRun, text: bytes) -> Reader:
    return find_state(run, text, "reader", Reader, KINDS)


def names_of(run: HostRun, text: bytes) -> NextWork:
    """What takes the next name from a queue, which must be one of single strings."""
    queue = queue_of(run, text)
    if queue.dtypes != (dtypes.string,):
        raise InvalidArgumentError(f"Expected a queue of strings, found one of {queue.dtypes}")

    def next_work() -> bytes:
        (name,) = queue.dequeue(run)
        if name.ndim:
            raise InvalidArgumentError("Expected a queue of scalars as names of work")
        return bytes(name[()])

    return next_work


def _strings(items: Sequence[bytes]) -> Array:
    found = np.empty(len(items), object)
    found[:] = list(items)
    return found


# -- steps


def _read(inputs: Sequence[Any], _: Sequence[DType], *, run: HostRun) -> list[Array]:
    record = reader_of(run, inputs[0]).read(run, names_of(run, inputs[1]))
    return [np.array(item, object) for item in record]


def _read_up_to(inputs: Sequence[Any], _: Sequence[DType], *, run: HostRun) -> list[Array]:
    reader, count = reader_of(run, inputs[0]), int(scalar_of(inputs[2], "num_records"))
    if count < 0:
        raise InvalidArgumentError(f"num_records must be >= 0 not {count}")
    records = reader.read_up_to(run, count, names_of(run, inputs[1]))
    return [_strings([key for key, _ in records]), _strings([value for _, value in records])]


def _produced(inputs: Sequence[Any], _: Sequence[DType], *, run: HostRun) -> list[Array]:
    return [np.array(reader_of(run, inputs[0]).produced)]


def _completed(inputs: Sequence[Any], _: Sequence[DType], *, run: HostRun) -> list[Array]:
    return [np.array(reader_of(run, inputs[0]).completed)]


def _serialize(inputs: Sequence[Any], _: Sequence[DType], *, run: HostRun) -> list[Array]:
    return [np.array(reader_of(run, inputs[0]).serialized(run), object)]


def _restore(inputs: Sequence[Any], _: Sequence[DType], *, run: HostRun) -> list[Array]:
    reader_of(run, inputs[0]).restore(run, scalar_of(inputs[1], "state"))
    return []


def _reset(inputs: Sequence[Any], _: Sequence[DType], *, run: HostRun) -> list[Array]:
    reader_of(run, inputs[0]).reset(run)
    return []


# -- records


def _vectors(x: Extractor, handle: Handle, values: Sequence[Value], attrs: Attrs) -> Any:
    return [(None,), (None,)]


def _infer_vectors(c: Inference) -> list[Dims]:
    count = c.fresh("records")
    return [(count,), (count,)]


_SHARED = 'container: string = "", shared_name: string = ""'

for _name, _op, _attrs in (
    ("text_line_reader", "TextLineReader", f"skip_header_lines: int = 0, {_SHARED}"),
    ("tf_record_reader", "TFRecordReader", f'{_SHARED}, compression_type: string = ""'),
    ("whole_file_reader", "WholeFileReader", _SHARED),
    ("identity_reader", "IdentityReader", _SHARED),
):
    define_handle(_name, f"{_op}(; {_attrs}) -> reader_handle", FILES)
define_handle(
    "fixed_length_record_reader",
    "FixedLengthRecordReader(; header_bytes: int = 0, record_bytes: int, footer_bytes: int = 0,"
    f" hop_bytes: int = 0, {_SHARED}) -> reader_handle",
    FILES,
    'encoding: string = ""',
)
define_step(
    "reader_read",
    "ReaderRead(reader_handle: HANDLE, queue_handle: HANDLE) -> (key: string, value: string)",
    _read,
    scalars(2),
    infer=infer_scalars(2),
    capability=FILES,
)
define_step(
    "reader_read_up_to",
    "ReaderReadUpTo(reader_handle: HANDLE, queue_handle: HANDLE, num_records: i64)"
    " -> (keys: string, values: string)",
    _read_up_to,
    _vectors,
    infer=_infer_vectors,
    capability=FILES,
)
for _name, _tf, _step, _count in (
    ("produced", "NumRecordsProduced({}) -> records_produced: i64", _produced, 1),
    ("completed", "NumWorkUnitsCompleted({}) -> units_completed: i64", _completed, 1),
    ("serialize", "SerializeState({}) -> state: string", _serialize, 1),
    ("restore", "RestoreState({}, state: string)", _restore, 0),
    ("reset", "Reset({})", _reset, 0),
):
    define_step(
        f"reader_{_name}",
        f"Reader{_tf}".format("reader_handle: HANDLE"),
        _step,
        scalars(1) if _count else no_outputs,
        infer=infer_scalars(_count),
    )
