"""The second kernel of a split-K product, whose inner dimension was split: each thread adds the
parts' sums of one element, in the order of the parts, and applies the epilogue to the total.

In: the epilogue of an element (`finish.py`). Out: the module of the kernel. Its ints are those of
`FOLD_SIZES`: elements of the result, from one row to the next, and how many parts there are.
"""

from __future__ import annotations

from flowc.codegen.cuda.device_writer import DeviceWriter, total_type
from flowc.codegen.cuda.finish import Ending, Finish
from flowc.dtypes import DType

FOLD_THREADS = 256
FOLD_SIZES = ("elements", "c_stride", "parts")


def fold_text(dtype: DType, end: Ending) -> str:
    """LLVM IR of the kernel for a product of `dtype`; its first buffer are the sums."""
    w = DeviceWriter(["sums", *end.buffers], [*FOLD_SIZES, *end.ints], FOLD_THREADS)
    finish = Finish(w, end)
    kind, elements = total_type(dtype), w.int("elements")
    place = w.wide(w.block_number()) * FOLD_THREADS + w.wide(w.thread())
    with w.when(place.compare("<", elements)):
        total = w.variable(w.read(w.at(w.parameters["sums"], place, kind), kind))
        with w.steps(w.int("parts"), 1, w.number(1)) as part:
            pointer = w.at(w.parameters["sums"], place + part * elements, kind)
            total.set(w.sum(total.get(), w.read(pointer, kind)))
        stride = w.int("c_stride")
        row, column = place // stride, place % stride
        finish.element(row, column, total.get(), w.number(0))
    finish.end()
    w.give()
    return w.text()
