"""Runs a compiled model through its C ABI with ctypes: NumPy is all it needs, not even flowc.

    python run_model.py model.so inputs.npy [outputs.npy]

`flowc_runtime.load` does the same with less code; this shows each call, for those who want to do it
in another language. The model has one input; the output is the first one.
"""

from __future__ import annotations

import ctypes
import json
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

INT64 = ctypes.c_int64
DTYPES = {"f32": "float32", "f64": "float64", "i32": "int32", "i64": "int64", "u8": "uint8"}


def check(library: Any, code: int) -> None:
    if code:
        raise RuntimeError(library.flowc_last_error().decode())


def run(library: Any, array: NDArray[Any]) -> NDArray[Any]:
    """The first output for one input."""
    described = json.loads(library.flowc_metadata())
    dtype = DTYPES[described["inputs"][0]["dtype"]]
    array = np.ascontiguousarray(array, dtype)
    dims = (INT64 * array.ndim)(*array.shape)
    all_dims = (ctypes.c_void_p * 1)(ctypes.addressof(dims))

    results: list[NDArray[Any]] = []
    for index, output in enumerate(described["outputs"]):
        shape = (INT64 * library.flowc_output_rank(index))()
        check(library, library.flowc_output_dims_for(all_dims, index, shape))
        results.append(np.empty(tuple(shape), DTYPES[output["dtype"]]))

    inputs = (ctypes.c_void_p * 1)(array.ctypes.data)
    outputs = (ctypes.c_void_p * len(results))(*[r.ctypes.data for r in results])
    check(library, library.flowc_run(inputs, all_dims, outputs, None))
    return results[0]


def main(path: str, source: str, target: str | None) -> None:
    library = ctypes.CDLL(path)
    library.flowc_metadata.restype = ctypes.c_char_p
    library.flowc_last_error.restype = ctypes.c_char_p
    result = run(library, np.load(source))
    if target:
        np.save(target, result)
    else:
        print(result)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) == 4 else None)
