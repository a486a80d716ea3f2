"""What is in a checkpoint, without a graph: readers in TensorFlow's names.

In: a prefix, or a folder. Out: names, shapes, dtypes, arrays.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc.api.saving.checkpoint_state import latest_checkpoint
from flowc.dtypes import DType

if TYPE_CHECKING:
    from flowc.checkpoint.reader import CheckpointReader


class NewCheckpointReader:
    """Reads the tensors of a checkpoint, of either format. Raises `NotFoundError` where there is
    none, and `DataLossError` for a damaged file."""

    def __init__(self, filepattern: str | os.PathLike[str]) -> None:
        from flowc.checkpoint.reader import open_checkpoint

        self._reader: CheckpointReader = open_checkpoint(os.fspath(filepattern))

    def get_tensor(self, tensor_str: str | bytes) -> Any:
        """The value of a tensor: an array, a NumPy scalar for rank 0. Raises `NotFoundError`,
        `DataLossError`."""
        found = self._reader.read(_name(tensor_str))
        return np.array(found) if found.ndim else found[()]

    def has_tensor(self, tensor_str: str | bytes) -> bool:
        return _name(tensor_str) in self._reader

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """The shape of every tensor, by name."""
        return {name: list(self._reader.shape(name)) for name in self._reader}

    def get_variable_to_dtype_map(self) -> dict[str, DType]:
        """The dtype of every tensor, by name."""
        return {name: self._reader.dtype(name) for name in self._reader}

    def debug_string(self) -> bytes:
        """A line for each tensor: its name, dtype and shape."""
        from flowc.ops.lists.list_values import dtype_shown

        rows: list[str] = []
        for name in sorted(self._reader):
            sizes = ",".join(map(str, self._reader.shape(name)))
            rows.append(f"{name} (DT_{dtype_shown(self._reader.dtype(name)).upper()}) [{sizes}]\n")
        return "".join(rows).encode()


def _name(name: str | bytes) -> str:
    return name.decode() if isinstance(name, bytes) else name


def load_checkpoint(ckpt_dir_or_file: str | os.PathLike[str]) -> NewCheckpointReader:
    """A reader of a checkpoint, or of the newest one of a folder. Raises `ValueError` for a folder
    without any, and `NotFoundError`."""
    path = os.fspath(ckpt_dir_or_file)
    if os.path.isdir(path):
        found = latest_checkpoint(path)
        if found is None:
            raise ValueError(
                f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}"
            )
        path = found
    return NewCheckpointReader(path)


def list_variables(ckpt_dir_or_file: str | os.PathLike[str]) -> list[tuple[str, list[int]]]:
    """(name, shape) of every tensor, sorted. Raises as `load_checkpoint`."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


def load_variable(ckpt_dir_or_file: str | os.PathLike[str], name: str) -> Any:
    """The value of a tensor, whose name may end in `:0`. Raises as `load_checkpoint`."""
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))
