"""Reads the tensors of a checkpoint: a bundle (V2) or tensor slices (V1), told apart by content.

In: the prefix that TensorFlow was given (`model.ckpt-1000`). Out: names, dtypes, shapes, arrays.
Invariant: the index is verified when it is opened, a tensor when it is read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import numpy as np

from flowc.checkpoint.bundle import BundleReader
from flowc.checkpoint.locate import v1_files
from flowc.checkpoint.slices import Place
from flowc.checkpoint.tensor_slices import TensorSliceReader
from flowc.dtypes import DType
from flowc.errors import NotFoundError, did_you_mean


class _Source(Protocol):
    shapes: dict[str, tuple[int, ...]]

    def dtype(self, name: str) -> DType: ...

    def read(self, name: str, wanted: Place | None = None) -> np.ndarray: ...


class CheckpointReader:
    """A checkpoint that is open for reading.

    `folder`: the one that its files lie in or below, by default that of the prefix; links that lead
    out of it are refused, unless `allow_links`. Raises `NotFoundError` where there is no
    checkpoint, `DataLossError` where a file is damaged, `InvalidModelError` for what is no file.
    """

    def __init__(
        self,
        prefix: str | os.PathLike[str],
        *,
        folder: Path | None = None,
        allow_links: bool = False,
    ) -> None:
        self.prefix = os.fspath(prefix)
        within = None if allow_links else folder or Path(prefix).parent
        self._source = self._open(within)

    def _open(self, within: Path | None) -> _Source:
        try:
            is_bundle = Path(self.prefix + ".index").exists()
        except OSError as error:  # a name that the system does not take
            raise NotFoundError(f"{self.prefix[:200]}: {error.strerror}") from None
        if is_bundle:
            return BundleReader(self.prefix, within)
        files = v1_files(self.prefix, within)
        if files:
            return TensorSliceReader(self.prefix, files, within)
        raise NotFoundError(
            f"{self.prefix}: no checkpoint of this name (no {Path(self.prefix).name}.index beside "
            "its data, and no V1 file)",
            hint="give the prefix of the checkpoint, such as model.ckpt-1000, without .index",
        )

    def keys(self) -> list[str]:
        """The names of the tensors, sorted."""
        return list(self._source.shapes)

    def __contains__(self, name: object) -> bool:
        return name in self._source.shapes

    def __iter__(self) -> Iterator[str]:
        return iter(self._source.shapes)

    def __len__(self) -> int:
        return len(self._source.shapes)

    def dtype(self, name: str) -> DType:
        self._check(name)
        return self._source.dtype(name)

    def shape(self, name: str) -> tuple[int, ...]:
        self._check(name)
        return self._source.shapes[name]

    def read(self, name: str, wanted: Place | None = None) -> np.ndarray:
        """A tensor, or the region of it that is wanted, read-only. Raises `NotFoundError` for an
        unknown name, `DataLossError` where its bytes are not those that were written."""
        self._check(name)
        return self._source.read(name, wanted)

    def _check(self, name: str) -> None:
        if name not in self._source.shapes:
            raise NotFoundError(
                f"Key {name} not found in checkpoint {self.prefix}",
                hint=did_you_mean(name, self._source.shapes),
            )

    def __repr__(self) -> str:
        return f"<CheckpointReader {self.prefix}: {len(self)} tensors>"


def open_checkpoint(prefix: str) -> CheckpointReader:
    """A checkpoint, where TensorFlow's API opens one: `NotFoundError` in its words."""
    try:
        return CheckpointReader(prefix)
    except NotFoundError as error:
        raise NotFoundError(
            "Unsuccessful TensorSliceReader constructor: Failed to find any matching files for "
            f"{prefix}",
            hint=error.hint,
        ) from None
