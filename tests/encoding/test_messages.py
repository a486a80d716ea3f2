"""Messages that flowc writes as bytes, or reads, beside protobuf's own."""

from __future__ import annotations

import numpy as np
import pytest

from flowc import dtypes
from flowc.encoding import fields
from flowc.encoding.context_names import MAX_DEPTH, MESSAGES, first_name, renamed
from flowc.encoding.json_examples import example_of_json
from flowc.encoding.step_stats import NodeTimes, run_metadata
from flowc.encoding.summary_messages import number_summary, text_metadata
from flowc.encoding.tensor_message import array_of, tensor_bytes
from flowc.encoding.tensor_proto import data_type
from flowc.errors import InvalidModelError
from flowc.proto.control_flow_pb2 import CondContextDef, WhileContextDef
from flowc.proto.example_pb2 import Example
from flowc.proto.graph_pb2 import GraphDef
from flowc.proto.queue_runner_pb2 import QueueRunnerDef
from flowc.proto.step_stats_pb2 import RunMetadata
from flowc.proto.summary_pb2 import HistogramProto, Summary
from flowc.proto.tensor_pb2 import TensorProto

# -- tensors alone


@pytest.mark.parametrize("dtype", ["<f4", "<f8", "<f2", "i1", "<i8", "u1", "<u4", "?", "<c8"])
def test_arrays_become_messages_and_come_back(dtype: str) -> None:
    for shape in ((), (0,), (3,), (2, 0, 1), (2, 3)):
        array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
        written = tensor_bytes(array)
        message = TensorProto.FromString(written)
        assert message.HasField("tensor_shape")
        assert [d.size for d in message.tensor_shape.dim] == list(shape)
        assert message.tensor_content == array.tobytes()
        found = array_of(written)
        assert found.dtype == array.dtype and found.shape == shape
        np.testing.assert_array_equal(found, array)


def test_strings_become_messages_and_come_back() -> None:
    array = np.array([[b"a", b""], [b"\0\xff", b"long" * 100]], object)
    message = TensorProto.FromString(tensor_bytes(array))
    assert list(message.string_val) == array.reshape(-1).tolist() and not message.tensor_content
    assert array_of(tensor_bytes(array)).tolist() == array.tolist()


def test_bytes_that_are_no_tensor_are_an_error() -> None:
    short = TensorProto(dtype=data_type(dtypes.f32), tensor_content=b"123")
    short.tensor_shape.dim.add(size=2)
    for damaged in (b"\x0a\xff", short.SerializeToString(), TensorProto().SerializeToString()):
        with pytest.raises(ValueError, match=r"\S"):
            array_of(damaged)


# -- names in contexts


def _cond(name: str) -> CondContextDef:
    found = CondContextDef(
        context_name=name, pred_name=f"{name}/p:0", pivot_name=f"{name}/v:0", branch=1
    )
    found.values_def.values.append(f"{name}/x:0")
    found.values_def.external_values[f"{name}/y:0"] = f"{name}/z:0"
    return found


def test_names_in_contexts_are_changed_and_nothing_else() -> None:
    loop = WhileContextDef(
        context_name="w", parallel_iterations=7, back_prop=True, swap_memory=False,
        pivot_name="w/p:0", pivot_for_pred_name="w/q:0", pivot_for_body_name="w/b:0",
        maximum_iterations_name="w/m:0",
    )  # fmt: skip
    loop.loop_exit_names.append("w/Exit")
    loop.loop_enter_names.append("w/Enter")
    loop.values_def.values.append("w/v:0")
    loop.nested_contexts.add().cond_ctxt.CopyFrom(_cond("w/c"))

    written = renamed("while_context", loop.SerializeToString(), lambda name: f"scope/{name}")
    found = WhileContextDef.FromString(written)
    assert found.context_name == "scope/w" and found.maximum_iterations_name == "scope/w/m:0"
    assert found.pivot_name == "scope/w/p:0" and found.pivot_for_pred_name == "scope/w/q:0"
    assert found.pivot_for_body_name == "scope/w/b:0"
    assert list(found.loop_exit_names) == ["scope/w/Exit"]
    assert list(found.loop_enter_names) == ["scope/w/Enter"]
    assert list(found.values_def.values) == ["scope/w/v:0"]
    assert (found.parallel_iterations, found.back_prop) == (7, True)
    (nested,) = found.nested_contexts
    inner = nested.cond_ctxt
    assert inner.context_name == "scope/w/c" and inner.pred_name == "scope/w/c/p:0"
    assert inner.pivot_name == "scope/w/c/v:0" and inner.branch == 1
    assert dict(inner.values_def.external_values) == {"scope/w/c/y:0": "scope/w/c/z:0"}
    # What no name changes in goes back byte for byte.
    message = loop.SerializeToString()
    assert renamed("while_context", message, lambda name: name) == message
    assert first_name(message) == "w" and first_name(b"") == ""


def test_names_of_queue_runners_are_changed() -> None:
    runner = QueueRunnerDef(
        queue_name="q", enqueue_op_name=["a", "b"], close_op_name="c", cancel_op_name=""
    )
    message = runner.SerializeToString() + fields.varint_field(5, 3)
    written = renamed("queue_runners", message, str.upper)
    found = QueueRunnerDef.FromString(written)
    assert (found.queue_name, list(found.enqueue_op_name)) == ("Q", ["A", "B"])
    assert (found.close_op_name, found.cancel_op_name) == ("C", "")
    assert list(found.queue_closed_exception_types) == [3]


def test_contexts_that_are_no_messages_or_too_deep_are_refused() -> None:
    with pytest.raises(InvalidModelError):
        renamed("cond_context", b"\x0a\xff", str.upper)

    def nested(depth: int) -> bytes:
        message = CondContextDef(context_name="c").SerializeToString()
        for _ in range(depth):
            message = fields.bytes_field(6, fields.bytes_field(1, message))
        return message

    assert renamed("cond_context", nested(MAX_DEPTH // 2), str.upper)
    with pytest.raises(InvalidModelError, match="nested more than"):
        renamed("cond_context", nested(MAX_DEPTH // 2 + 1), str.upper)
    assert set(MESSAGES) == {"cond_context", "while_context", "queue_runners"}


# -- fields


def test_fields_are_what_protobuf_writes() -> None:
    wanted = HistogramProto(min=-1.5, max=2.5, num=3.0, bucket=[1.0, 2.0])
    doubles = (1, -1.5), (2, 2.5), (3, 3.0)
    written = b"".join(fields.double_field(n, v) for n, v in doubles)
    assert written + fields.doubles_field(7, [1.0, 2.0]) == wanted.SerializeToString()
    assert fields.doubles_field(7, []) == b"" == fields.given(b"x", 0)
    assert fields.given(b"x", 1) == b"x"
    value = fields.bytes_field(1, b"t") + fields.float_field(2, 0.5)
    assert (
        fields.bytes_field(1, value)
        == Summary(value=[Summary.Value(tag="t", simple_value=0.5)]).SerializeToString()
    )
    loop = WhileContextDef(parallel_iterations=-2)  # an int32: ten bytes of a varint
    assert fields.varint_field(2, -2) == loop.SerializeToString()


def test_summaries() -> None:
    (value,) = number_summary("loss", 0.25).value
    assert (value.tag, value.simple_value) == ("loss", 0.25)
    assert text_metadata().plugin_data.plugin_name == "text"


def test_examples_in_json() -> None:
    written = example_of_json(b'{"features": {"feature": {"a": {"int64List": {"value": ["5"]}}}}}')
    assert Example.FromString(written).features.feature["a"].int64_list.value == [5]
    for damaged in (b"{", b'{"other": 1}', b"\xff", b"[" * 100_000):
        with pytest.raises(ValueError, match=r"\S"):
            example_of_json(damaged)


# -- what a run tells of itself


def test_a_run_as_a_message() -> None:
    graph = GraphDef(node=[{"name": "y", "op": "Neg"}])
    nodes = [
        NodeTimes("y", "y = Neg(x)", 5_000, 8_500, [(dtypes.f32, (2, 3)), (dtypes.i64, None)]),
        NodeTimes("z", "z = NoOp()", 9_000, 9_001, []),
    ]
    found = RunMetadata.FromString(run_metadata("/cpu:0", nodes, [graph.SerializeToString()]))
    (device,) = found.step_stats.dev_stats
    assert device.device == "/cpu:0" and dict(device.thread_names) == {0: "flowc"}
    first, second = device.node_stats
    assert (first.node_name, first.timeline_label) == ("y", "y = Neg(x)")
    assert (first.scheduled_nanos, first.all_start_nanos) == (5_000, 5_000)
    assert (first.scheduled_micros, first.all_start_micros) == (5, 5)
    assert (first.op_end_rel_nanos, first.all_end_rel_nanos) == (3_500, 3_500)
    assert (first.op_end_rel_micros, first.all_end_rel_micros) == (3, 3)
    one, two = first.output
    assert (one.slot, two.slot) == (0, 1)
    assert [d.size for d in one.tensor_description.shape.dim] == [2, 3]
    assert one.tensor_description.dtype == dtypes.f32.enum
    allocated = one.tensor_description.allocation_description
    assert (allocated.requested_bytes, allocated.allocated_bytes) == (24, 24)
    assert two.tensor_description.shape.unknown_rank
    assert not two.tensor_description.allocation_description.allocated_bytes
    (memory,) = first.memory
    assert (memory.total_bytes, memory.peak_bytes, memory.allocator_name) == (24, 24, "cpu")
    assert second.memory[0].total_bytes == 0 and not second.output
    assert found.partition_graphs[0] == graph
    assert not RunMetadata.FromString(run_metadata("/cpu:0", [], [])).step_stats.dev_stats
