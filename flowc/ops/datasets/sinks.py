"""Steps that go through a whole dataset: they write it to a file, or fill a table with it.

In: a dataset. Out: a file of records, entries of a table. Invariant: a fault leaves a file of the
records before it, and a table that has none of the entries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.capability import FILES
from flowc.ir.extraction import Bound, Extractor
from flowc.ir.host_run import HostRun, text_of
from flowc.ir.lowering import Extracted
from flowc.ir.op import Attrs, define
from flowc.ops.datasets.dataset import Array, Element, IterationContext, Kept, dataset_of
from flowc.ops.datasets.iterators import blocking_host, define_iterator_step
from flowc.ops.datasets.mapped import batched
from flowc.ops.state.variables import value_of
from flowc.ops.tables.lookup_tables import STEP, handle_of
from flowc.ops.tables.table_steps import static_of, table_of, table_step
from flowc.records.record_writer import RecordWriter

MANY = 256  # elements that are asked for at once


def elements_of(value: Any, run: HostRun) -> Iterator[Element]:
    """What goes through a dataset, from its beginning."""
    context = IterationContext(run)
    try:
        items = dataset_of(value).elements(context)
        while found := items.take(MANY, run):
            run.check()
            yield from found
    finally:
        context.close()


def _write(inputs: Sequence[Any], types: Sequence[DType], *, run: HostRun) -> list[Array]:
    run.check()
    name, compression = text_of(inputs[1], "filename"), text_of(inputs[2], "compression_type")
    with RecordWriter(name, compression) as writer:
        for element in elements_of(inputs[0], run):
            if len(element) != 1 or not isinstance(record := element[0][()], bytes):
                raise InvalidArgumentError("a TFRecord file takes elements that are one string")
            writer.write(record)
    return []


define_iterator_step(
    "DatasetToTFRecord",
    "(input_dataset: variant, filename: string, compression_type: string)",
    blocking_host(_write, "DatasetToTFRecord"),
    ("DatasetToTFRecord", "ExperimentalDatasetToTFRecord"),
    (),
    FILES,
)


# -- tables


def _fill(inputs: Sequence[Any], types: Sequence[DType], *, run: HostRun) -> list[Array]:
    table = static_of(table_of(run, inputs[0]))
    found, size = list[Element](), Kept("what a table is filled with")
    for element in elements_of(inputs[1], run):
        if len(element) != 2:
            raise InvalidArgumentError(
                "a table is filled with elements of a key and a value; those of the dataset have "
                f"{len(element)} components"
            )
        size.add([element], run)
        found.append(element)
    type = table.type
    empty = np.empty(0, type.key), np.empty((0, *type.value_shape), type.value)
    keys, values = batched(found) if found else empty
    table.initialize(table.entries(keys, values))
    return []


_fill_table = table_step(
    "fill_table",
    "_FillTable(table: string, dataset: string)",
    "InitializeTableFromDataset",
    _fill,
    lambda c: [],
)


def _emit_fill(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    _, id = handle_of(x, inputs[0])
    x.effect(x.b.emit(_fill_table, [id, value_of(x, inputs[1])], {}))
    return []


define(
    "initialize_table_from_dataset",
    "InitializeTableFromDataset(table_handle: resource, dataset: variant)",
    infer=lambda c: [],
    lowering=Extracted(_emit_fill),
    traits=STEP,
)
