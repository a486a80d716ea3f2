"""GenerateVocabRemapping and LoadAndRemapMatrix: rows and columns of a saved matrix that stand for
words of a vocabulary, loaded for another vocabulary (`tf.train.warm_start`).

In: paths of vocabularies, one word a line; the prefix of a checkpoint, for each new row and column
the number of its old one. Out: such numbers (-1 for a new word); a matrix. Invariants: nodes of
imported graphs need `files`; values for what is new are taken in order, none too many.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import FailedPreconditionError, InvalidArgumentError, UnimplementedError
from flowc.ir.capability import FILES
from flowc.ir.host_run import HostRun
from flowc.ir.inference import Inference
from flowc.ir.types import Dims
from flowc.ops.host_ops import host_op
from flowc.ops.lists.list_values import dtype_shown
from flowc.ops.state.variables import STATE
from flowc.records.byte_stream import data_of

Array = np.ndarray[Any, Any]


def _lines(path: Any) -> tuple[str, list[bytes]]:
    name = os.fsdecode(np.asarray(path, object).item())
    lines = data_of(name).split(b"\n")
    return name, lines if lines[-1] else lines[:-1]


def _numbers_of_words(path: Any, most: int) -> dict[bytes, int]:
    """The words of a vocabulary, the first `most` of them if that is not -1, with their lines."""
    name, words = _lines(path)
    if len(words) < most:
        raise InvalidArgumentError(
            f"Invalid vocab_size in {name}: expected {most} but got {len(words)}"
        )
    found: dict[bytes, int] = {}
    for i, word in enumerate(words if most < 0 else words[:most]):
        if found.setdefault(word, i) != i:
            raise FailedPreconditionError(
                "HashTable has different value for same key. Key "
                f"{word.decode(errors='replace')} has {found[word]} and trying to add value {i}"
            )
    return found


def _remapping(
    inputs: Sequence[Any],
    _: Sequence[DType],
    *,
    run: HostRun,
    new_vocab_offset: int,
    num_new_vocab: int,
    old_vocab_size: int,
) -> list[Array]:
    run.check()
    old = _numbers_of_words(inputs[1], old_vocab_size)
    words = _lines(inputs[0])[1]
    end = new_vocab_offset + num_new_vocab
    if num_new_vocab and len(words) < end:
        raise InvalidArgumentError(
            "lookup table size must be larger than last new vocab entry's line: the vocabulary has "
            f"{len(words)} lines, and the last entry is to be in line {end}"
        )
    found = np.array([old.get(word, -1) for word in words[new_vocab_offset:end]], np.int64)
    return [found, np.array(np.count_nonzero(found >= 0), np.int32)]


def _infer_remapping(c: Inference) -> list[Dims]:
    for i in range(2):
        c.need_rank(i, 0)
    return [(c.attrs["num_new_vocab"],), ()]


def _checked_places(name: str, places: Array, count: int, size: int) -> Array:
    """The old places of `count` rows or columns, of which there were `size`."""
    if places.ndim != 1:
        shown = ",".join(map(str, places.shape))
        raise InvalidArgumentError(
            f"The `{name}` tensor must be 1-D, got a tensor of shape [{shown}]"
        )
    if len(places) != count:
        what = "num_rows" if name == "row_remapping" else "num_cols"
        raise InvalidArgumentError(
            f"Size of {name} is {len(places)} instead of being equal to {what}={count}"
        )
    seen: dict[int, int] = {}
    for new, old in enumerate(places.tolist()):
        if old >= size:
            raise InvalidArgumentError(f"{name}[{new}] = {old} is not in [0, {size})")
        if old >= 0 and seen.setdefault(old, new) != new:
            raise UnimplementedError(
                f"Old ID {old} is mapped to both new ID {seen[old]} and {new}, which is not "
                "supported."
            )
    return places


def _matrix_of(path: Any, name: str) -> Array:
    from flowc.checkpoint.reader import open_checkpoint  # late: few programs do

    paths = np.asarray(path, object)
    if paths.size != 1:
        raise InvalidArgumentError(
            "The `ckpt_path` tensor must have exactly one element, got tensor of shape "
            f"[{','.join(map(str, paths.shape))}]"
        )
    reader = open_checkpoint(os.fsdecode(paths.item()))
    dtype, shape = reader.dtype(name), reader.shape(name)
    if dtype is not dtypes.f32:
        raise InvalidArgumentError(
            f"Tensor {name} has invalid type {dtype_shown(dtype)} instead of expected type float"
        )
    if len(shape) != 2:
        raise InvalidArgumentError(
            f"Tensor {name} has shape [{','.join(map(str, shape))}] of invalid rank {len(shape)} "
            "instead of expected shape of rank 2."
        )
    return reader.read(name)


def _load(
    inputs: Sequence[Any], _: Sequence[DType], *, run: HostRun, num_rows: int, num_cols: int
) -> list[Array]:
    run.check()
    path, tensor, rows, columns, fresh = inputs
    names = np.asarray(tensor, object)
    if names.size != 1:
        raise InvalidArgumentError(f"old_tensor_name must be one name, found {names.size}")
    name = os.fsdecode(names.item())
    old = _matrix_of(path, name)
    rows = _checked_places("row_remapping", rows, num_rows, len(old))
    if columns.size:
        columns = _checked_places("col_remapping", columns, num_cols, old.shape[1])
    elif old.shape[1] != num_cols:
        raise InvalidArgumentError(
            f"Tensor {name} has shape [{','.join(map(str, old.shape))}], where the size of its 2nd "
            f"dimension is {old.shape[1]} instead of being equal to num_cols={num_cols}"
        )
    else:
        columns = np.arange(num_cols)
    missing = (rows < 0)[:, None] | (columns < 0)[None, :]
    needed, given = int(np.count_nonzero(missing)), fresh.size
    if given < needed:
        raise InvalidArgumentError(
            f"initializing_values contained {given} elements, but more missing values remain."
        )
    if given > needed:
        raise InvalidArgumentError(
            f"initializing_values contained {given} elements, but only {needed} elements were used "
            "to fill in missing values."
        )
    found = np.zeros((num_rows, num_cols), np.float32)
    if old.size:
        found[...] = old[np.maximum(rows, 0)[:, None], np.maximum(columns, 0)[None, :]]
    found[missing] = fresh.reshape(-1)
    return [found]


host_op(
    "generate_vocab_remapping",
    "GenerateVocabRemapping(new_vocab_file: string, old_vocab_file: string;"
    " new_vocab_offset: int >= 0, num_new_vocab: int >= 0, old_vocab_size: int >= -1 = -1)"
    " -> (remapping: i64, num_present: i32)",
    _remapping,
    infer=_infer_remapping,
    traits=STATE | {"may_block"},
    capability=FILES,
)
host_op(
    "load_and_remap_matrix",
    "LoadAndRemapMatrix(ckpt_path: string, old_tensor_name: string, row_remapping: i64,"
    " col_remapping: i64, initializing_values: f32; num_rows: int >= 0, num_cols: int >= 1,"
    " max_rows_in_memory: int = -1) -> output_matrix: f32",
    _load,
    infer=lambda c: (c.attrs["num_rows"], c.attrs["num_cols"]),
    traits=STATE | {"may_block"},
    capability=FILES,
)
