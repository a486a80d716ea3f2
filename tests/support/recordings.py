"""What TensorFlow answered to the examples of every op: written and read here alone.

In and out: tests/recorded/ops.npz, two arrays. `index`: JSON, for each case the checksum of its
inputs and either the dtypes and shapes of the outputs or the class and message of the error.
`data`: the outputs' bytes one after another. Invariant: same answers, same bytes.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from calls.op_examples import Case

from flowc import dtypes

FOLDER = Path(__file__).resolve().parents[1] / "recorded"


@dataclass(frozen=True, slots=True)
class Answer:
    """`outputs`, or the class name and message of an error. `checksum`: of the case's inputs."""

    checksum: int
    outputs: tuple[np.ndarray, ...] = ()
    error: str | None = None
    message: str = ""

    @property
    def lacks_kernel(self) -> bool:
        """Whether TensorFlow has no kernel on a CPU for the dtype or the layout."""
        words = (
            *("No OpKernel was registered", "Detected unsupported operations", "NHWC", "NDHWC"),
            "not available in GraphDef",
        )
        return self.error == "UnimplementedError" or any(w in self.message for w in words)


def checksum(case: Case) -> int:
    """Changes whenever the case does, so that an old answer is not taken for a new one's."""
    total = zlib.crc32(repr((case.text, sorted(case.attrs.items(), key=str))).encode())
    for array in case.inputs:
        total = zlib.crc32(f"{array.shape}".encode(), total)
        total = zlib.crc32(np.ascontiguousarray(array).tobytes(), total)
    return total


def write(answers: Mapping[str, Answer]) -> None:
    """Replaces the recordings."""
    index: dict[str, Any] = {}
    pieces: list[bytes] = []
    for name in sorted(answers):
        answer = answers[name]
        if answer.error is not None:
            index[name] = [answer.checksum, answer.error, answer.message]
            continue
        index[name] = [
            answer.checksum,
            [[dtypes.as_dtype(a.dtype).short, *a.shape] for a in answer.outputs],
        ]
        pieces += [np.ascontiguousarray(a).tobytes() for a in answer.outputs]
    text = json.dumps(index, separators=(",", ":"))
    np.savez_compressed(
        FOLDER / "ops.npz",
        index=np.frombuffer(text.encode(), np.uint8),
        data=np.frombuffer(b"".join(pieces), np.uint8),
    )


@cache
def answers() -> dict[str, Answer]:
    """Every recording by the case's name."""
    with np.load(FOLDER / "ops.npz") as file:
        index = json.loads(file["index"].tobytes())
        data = file["data"].tobytes()
    found: dict[str, Answer] = {}
    at = 0
    for name, (total, *rest) in index.items():
        if len(rest) == 2:
            found[name] = Answer(total, (), *rest)
            continue
        outputs = []
        for kind, *shape in rest[0]:
            dtype = dtypes.as_dtype(kind).numpy
            count = int(np.prod(shape))
            outputs.append(np.frombuffer(data, dtype, count, at).reshape(shape))
            at += count * dtype.itemsize
        found[name] = Answer(total, tuple(outputs))
    return found
