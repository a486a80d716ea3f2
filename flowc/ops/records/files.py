"""ReadFile, WriteFile and MatchingFiles: whole files as strings, and which files there are.

In: paths, contents, patterns. Out: host steps that may block. Invariants: a run holds no variable
while it reads or writes; nodes of imported graphs need `files`; errors are TensorFlow's.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from flowc.dtypes import DType
from flowc.errors import FailedPreconditionError, OpError, PermissionDeniedError, UnknownError
from flowc.ir.capability import FILES
from flowc.ir.host_run import HostRun
from flowc.ir.inference import Inference
from flowc.ir.types import Dims
from flowc.ops.host_ops import host_op
from flowc.ops.state.variables import STATE
from flowc.ops.strings.string_values import strings_of
from flowc.records.byte_stream import data_of

Array = np.ndarray[Any, Any]
_ERRORS: dict[type[OSError], type[OpError]] = {
    IsADirectoryError: FailedPreconditionError,
    NotADirectoryError: FailedPreconditionError,
    FileExistsError: FailedPreconditionError,
    PermissionError: PermissionDeniedError,
}


def _name(path: Any) -> str:
    return os.fsdecode(np.asarray(path, object).item())


def _read(inputs: Sequence[Any], _: Sequence[DType], *, run: HostRun) -> list[Array]:
    run.check()
    return [strings_of([data_of(_name(inputs[0]))], ())]


def _write(inputs: Sequence[Any], _: Sequence[DType], *, run: HostRun) -> list[Array]:
    run.check()
    path = Path(_name(inputs[0]))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(np.asarray(inputs[1], object).item())
    except OSError as error:
        kind = _ERRORS.get(type(error), UnknownError)
        raise kind(f"{path}; {error.strerror}") from None
    return []


def matching_files(patterns: Sequence[bytes]) -> list[bytes]:
    """The paths that fit one of several patterns, in order, once each. As in TensorFlow, they begin
    with `./` where a pattern's first part is one to fit."""
    return sorted({path for pattern in patterns for path in _paths_that_fit(pattern)})


def _paths_that_fit(pattern: bytes) -> list[bytes]:
    found = glob.glob(pattern, include_hidden=True)
    if glob.has_magic(pattern.partition(b"/")[0]):
        return [b"./" + path for path in found]
    return found


def _match(inputs: Sequence[Any], _: Sequence[DType], *, run: HostRun) -> list[Array]:
    run.check()
    found = matching_files(np.asarray(inputs[0], object).reshape(-1).tolist())
    return [strings_of(found, (len(found),))]


def _infer_scalars(c: Inference) -> list[Dims]:
    for i in range(len(c.inputs)):
        c.need_rank(i, 0)
    return []


def _infer_read(c: Inference) -> Dims:
    _infer_scalars(c)
    return ()


def _infer_match(c: Inference) -> Dims:
    if c.rank(0) > 1:
        raise c.fail(f"Shape must be at most rank 1 but is rank {c.rank(0)}")
    return (c.fresh("files"),)


host_op(
    "read_file",
    "ReadFile(filename: string) -> contents: string",
    _read,
    infer=_infer_read,
    traits=STATE | {"may_block"},
    capability=FILES,
)
host_op(
    "write_file",
    "WriteFile(filename: string, contents: string)",
    _write,
    infer=_infer_scalars,
    traits=STATE | {"may_block"},
    capability=FILES,
)
host_op(
    "matching_files",
    "MatchingFiles(pattern: string) -> filenames: string",
    _match,
    infer=_infer_match,
    traits=STATE | {"may_block"},
    capability=FILES,
)
