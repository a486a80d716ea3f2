"""A call of each op of queues, readers and maps of SparseTensors, as a Session runs it.

In: nothing. Out: `INPUT_EXAMPLES`, an `ExampleTable`.
"""

from __future__ import annotations

from tempfile import NamedTemporaryFile
from typing import Any

from calls.example_table import Example, ExampleTable

import flowc as tf
from flowc.ops.queues.queue_states import KINDS

r: Any = tf.raw_ops
INPUT_EXAMPLES = ExampleTable()
example = INPUT_EXAMPLES.shows


def _queue(kind: str, version: str) -> Example:
    """Puts three elements in, takes them out one by one, several, and what is left."""

    def build() -> list[tuple[Any, Any]]:
        handle = getattr(r, kind + version)(component_types=[tf.int32], shapes=[[]], capacity=9)
        types = [tf.int32]
        values: list[Any] = [tf.constant([7])]
        if kind == "PriorityQueue":
            types, values = [tf.int64, tf.int32], [tf.constant([1], tf.int64), *values]

        def op(name: str, *before: Any, **attrs: Any) -> Any:
            with tf.control_dependencies([x.op if isinstance(x, tf.Tensor) else x for x in before]):
                return getattr(r, name + version)(handle=handle, **attrs)

        def taken(name: str, *before: Any, **attrs: Any) -> Any:
            found = op(name, *before, component_types=types, **attrs)
            return found[-1] if isinstance(found, (list, tuple)) else found

        put = op("QueueEnqueueMany", components=values)
        put = op("QueueEnqueueMany", put, components=values)
        put = op("QueueEnqueue", put, components=[v[0] for v in values])
        size = op("QueueSize", put)
        one = taken("QueueDequeue", size)
        many = taken("QueueDequeueMany", one, n=1)
        closed = op("QueueClose", many)
        rest = taken("QueueDequeueUpTo", closed, n=1)
        is_closed = op("QueueIsClosed", rest)
        return [(size, 3), (one, 7), (many, [7]), (rest, [7]), (is_closed, True)]

    return build


_STEPS = ("Enqueue", "EnqueueMany", "Dequeue", "DequeueMany", "DequeueUpTo", "Size", "Close")
for _version in ("", "V2"):
    for _kind in KINDS:
        INPUT_EXAMPLES[_kind + _version] = _queue(_kind, _version)
    for _step in (*_STEPS, "IsClosed"):
        INPUT_EXAMPLES[f"Queue{_step}{_version}"] = INPUT_EXAMPLES[f"FIFOQueue{_version}"]


def _reader(kind: str, version: str, expected: list[bytes], **attrs: Any) -> Example:
    """Reads three records of a file that holds `ab\\ncd\\n`."""

    def build() -> list[tuple[Any, Any]]:
        with NamedTemporaryFile(delete=False) as file:
            file.write(b"ab\ncd\n")
        queue = getattr(r, f"FIFOQueue{version}")(component_types=[tf.string], shapes=[[]])
        reader = getattr(r, kind + version)(**attrs)

        def op(name: str, *before: Any, **inputs: Any) -> Any:
            with tf.control_dependencies([x.op if isinstance(x, tf.Tensor) else x for x in before]):
                return getattr(r, name + version)(reader_handle=reader, **inputs)

        put = getattr(r, f"QueueEnqueueMany{version}")(handle=queue, components=[[file.name] * 4])
        first = op("ReaderRead", put, queue_handle=queue)
        more = op("ReaderReadUpTo", first.value, queue_handle=queue, num_records=1)
        produced = op("ReaderNumRecordsProduced", more.values)
        completed = op("ReaderNumWorkUnitsCompleted", produced)
        found = [(first.value, expected[0]), (more.values, [expected[1]]), (produced, 2)]
        if kind == "IdentityReader":
            state = op("ReaderSerializeState", completed)
            restored = op("ReaderRestoreState", state, state=state)
            found = [(produced, 2), (op("ReaderReset", restored), None)]
        return found

    return build


_RECORD = {"record_bytes": 2}
for _version in ("", "V2"):
    for _kind, _expected, _attrs in (
        ("TextLineReader", [b"ab", b"cd"], {}),
        ("FixedLengthRecordReader", [b"ab", b"\nc"], _RECORD),
        ("WholeFileReader", [b"ab\ncd\n", b"ab\ncd\n"], {}),
        ("IdentityReader", [b"", b""], {}),
    ):
        INPUT_EXAMPLES[_kind + _version] = _reader(_kind, _version, _expected, **_attrs)
    for _step in (
        "Read",
        "ReadUpTo",
        "NumRecordsProduced",
        "NumWorkUnitsCompleted",
        "SerializeState",
        "RestoreState",
        "Reset",
    ):
        INPUT_EXAMPLES[f"Reader{_step}{_version}"] = INPUT_EXAMPLES[f"IdentityReader{_version}"]


def _record_input() -> list[tuple[Any, Any]]:
    with NamedTemporaryFile(delete=False) as file:
        pass
    with tf.python_io.TFRecordWriter(file.name) as writer:
        writer.write(b"one")
    return [(r.RecordInput(file_pattern=file.name, batch_size=2), [b"one", b"one"])]


INPUT_EXAMPLES["RecordInput"] = _record_input


def _tf_records(version: str) -> Example:
    def build() -> list[tuple[Any, Any]]:
        with NamedTemporaryFile(delete=False) as file:
            pass
        with tf.python_io.TFRecordWriter(file.name) as writer:
            writer.write(b"one")
        queue = getattr(r, f"FIFOQueue{version}")(component_types=[tf.string], shapes=[[]])
        reader = getattr(r, f"TFRecordReader{version}")()
        put = getattr(r, f"QueueEnqueue{version}")(handle=queue, components=[file.name])
        with tf.control_dependencies([put]):
            found = getattr(r, f"ReaderRead{version}")(reader_handle=reader, queue_handle=queue)
        return [(found.value, b"one")]

    return build


INPUT_EXAMPLES["TFRecordReader"] = _tf_records("")
INPUT_EXAMPLES["TFRecordReaderV2"] = _tf_records("V2")


@example("MatchingFiles")
def _matching() -> list[tuple[Any, Any]]:
    with NamedTemporaryFile(delete=False) as file:
        pass
    return [(r.MatchingFiles(pattern=[file.name, file.name]), [file.name.encode()])]


@example("AddSparseToTensorsMap", "AddManySparseToTensorsMap", "TakeManySparseFromTensorsMap")
def _sparse_map() -> list[tuple[Any, Any]]:
    parts = {"sparse_values": [1, 2], "shared_name": "map"}
    sizes = tf.constant([3], tf.int64)
    places = tf.constant([[0], [2]], tf.int64)
    one = r.AddSparseToTensorsMap(sparse_indices=places, sparse_shape=sizes, **parts)
    sizes = tf.constant([2, 4], tf.int64)
    places = tf.constant([[0, 1], [1, 0]], tf.int64)
    with tf.control_dependencies([one]):
        many = r.AddManySparseToTensorsMap(sparse_indices=places, sparse_shape=sizes, **parts)
    handles = tf.concat([tf.expand_dims(one, 0), many], 0)
    handles.set_shape([3])
    found = r.TakeManySparseFromTensorsMap(
        sparse_handles=handles, dtype=tf.int32, shared_name="map"
    )
    return [
        (many, [1, 2]),
        (found.sparse_indices, [[0, 0], [0, 2], [1, 1], [2, 0]]),
        (found.sparse_values, [1, 2, 1, 2]),
        (found.sparse_shape, [3, 4]),
    ]


@example("Stage", "Unstage", "StagePeek", "StageSize", "StageClear")
def _staging() -> list[tuple[Any, Any]]:
    area = {"dtypes": [tf.float32, tf.int32], "shared_name": "area"}
    put = r.Stage(values=[[1.0, 2.0], 3], shared_name="area")
    with tf.control_dependencies([put]):
        seen = r.StagePeek(index=0, **area)
    with tf.control_dependencies([seen[0].op]):
        size = r.StageSize(**area)
    with tf.control_dependencies([size]):
        taken = r.Unstage(**area)
    with tf.control_dependencies([taken[0].op]):
        cleared = r.StageClear(**area)
    return [(seen[0], [1, 2]), (size, 1), (taken[1], 3), (cleared, None)]


def _accumulator(prefix: str) -> Example:
    """Two gradients of the step 1, and their mean."""

    def build() -> list[tuple[Any, Any]]:
        handle = getattr(r, f"{prefix}ConditionalAccumulator")(dtype=tf.float32, shape=[2])

        def op(name: str, *before: Any, **inputs: Any) -> Any:
            with tf.control_dependencies(before):
                return getattr(r, f"{prefix}Accumulator{name}")(handle=handle, **inputs)

        last: Any = op("SetGlobalStep", new_global_step=1)
        for step, gradient in ((0, [9.0, 9.0]), (1, [1.0, 2.0]), (1, [3.0, 6.0])):
            last = op("ApplyGradient", last, local_step=step, gradient=gradient)
        count = op("NumAccumulated", last)
        mean = op("TakeGradient", count, num_required=2, dtype=tf.float32)
        return [(count, 2), (mean, [2, 4])]

    return build


for _prefix in ("", "Resource"):
    INPUT_EXAMPLES[f"{_prefix}ConditionalAccumulator"] = _accumulator(_prefix)
    for _step in ("ApplyGradient", "TakeGradient", "NumAccumulated", "SetGlobalStep"):
        INPUT_EXAMPLES[f"{_prefix}Accumulator{_step}"] = _accumulator(_prefix)


@example(
    "SparseConditionalAccumulator",
    "SparseAccumulatorApplyGradient",
    "SparseAccumulatorTakeGradient",
)
def _sparse_accumulator() -> list[tuple[Any, Any]]:
    handle = r.SparseConditionalAccumulator(dtype=tf.float32, shape=[3, 1])
    parts = {"handle": handle, "local_step": 0, "has_known_shape": False}
    sizes = tf.zeros([0], tf.int64)
    put = r.SparseAccumulatorApplyGradient(
        gradient_indices=[2, 0], gradient_values=[[4.0], [1.0]], gradient_shape=sizes, **parts
    )
    with tf.control_dependencies([put]):
        put = r.SparseAccumulatorApplyGradient(
            gradient_indices=[2], gradient_values=[[2.0]], gradient_shape=sizes, **parts
        )
    with tf.control_dependencies([put]):
        found = r.SparseAccumulatorTakeGradient(handle=handle, num_required=2, dtype=tf.float32)
    return [(found.indices, [2, 0]), (found.values, [[3], [1]]), (found.shape, [3, 1])]


@example(
    "Barrier",
    "BarrierInsertMany",
    "BarrierTakeMany",
    "BarrierClose",
    "BarrierReadySize",
    "BarrierIncompleteSize",
)
def _barrier() -> list[tuple[Any, Any]]:
    types = [tf.float32, tf.int32]
    handle = r.Barrier(component_types=types, shapes=[[], [2]])
    put = r.BarrierInsertMany(handle=handle, keys=["a", "b"], values=[1.0, 2.0], component_index=0)
    with tf.control_dependencies([put]):
        put = r.BarrierInsertMany(handle=handle, keys=["b"], values=[[3, 4]], component_index=1)
    with tf.control_dependencies([put]):
        sizes = [r.BarrierReadySize(handle=handle), r.BarrierIncompleteSize(handle=handle)]
    with tf.control_dependencies(sizes):
        found = r.BarrierTakeMany(handle=handle, num_elements=1, component_types=types)
    with tf.control_dependencies([found.keys]):
        closed = r.BarrierClose(handle=handle)
    return [
        (sizes[0], 1),
        (sizes[1], 1),
        (found.indices, [-(2**63)]),
        (found.keys, [b"b"]),
        (found.values[1], [[3, 4]]),
        (closed, None),
    ]


def _keyed(kind: str) -> Example:
    """A tuple in two parts and another, of which one is looked at, and each taken in its way."""

    def build() -> list[tuple[Any, Any]]:
        area = {"dtypes": [tf.float32, tf.int32], "shared_name": f"area of {kind}"}
        last: list[Any] = []

        def step(name: str, **given: Any) -> Any:
            with tf.control_dependencies(last):
                found = getattr(r, kind + name)(**given, **area)
            last[:] = [found if isinstance(found, tf.Operation) else _first(found).op]
            return found

        def stage(key: int, places: list[int], *values: Any) -> None:
            step("Stage", key=tf.constant(key, tf.int64), indices=places, values=values)

        two = {"key": tf.constant(2, tf.int64), "indices": [0, 1]}
        stage(2, [1], tf.constant(20))
        sizes = [step("Size"), step("IncompleteSize")]
        stage(2, [0], tf.constant([2.0, 3.0]))
        seen = step("Peek", **two)
        stage(1, [0, 1], tf.constant(1.0), tf.constant(10))
        taken = step("Unstage", **two)
        first = step("UnstageNoKey", indices=[0, 1])
        stage(3, [0, 1], tf.constant(1.0), tf.constant(10))
        step("Clear")
        sizes += [step("Size")]
        wanted = [(sizes[0], 0), (sizes[1], 1), (seen[0], [2.0, 3.0]), (taken[1], 20)]
        return [*wanted, (first.key, 1), (first.values[0], 1.0), (sizes[2], 0)]

    return build


def _first(found: Any) -> Any:
    while not isinstance(found, tf.Tensor):
        found = found[0]
    return found


for _kind in ("Map", "OrderedMap"):
    for _name in ["Stage", "Unstage", "Peek", "UnstageNoKey", "Size", "IncompleteSize", "Clear"]:
        INPUT_EXAMPLES[_kind + _name] = _keyed(_kind)


@example("MutexV2", "MutexLock", "ConsumeMutexLock")
def _mutex() -> list[tuple[Any, Any]]:
    """A run that takes a lock twice."""
    mutex = r.MutexV2(shared_name="mutex")
    done: list[Any] = []
    for _ in range(2):
        with tf.control_dependencies(done):
            lock = r.MutexLock(mutex=mutex)
        with tf.control_dependencies([lock.op]):
            inside = tf.constant(3) + 4
        with tf.control_dependencies([inside.op]):
            done = [r.ConsumeMutexLock(mutex_lock=lock)]
    return [(done[0], None), (inside, 7)]
