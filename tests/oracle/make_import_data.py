"""Records the small models and checkpoints that the import tests read.

Run in an environment with TensorFlow: `python tests/oracle/make_import_data.py`. It writes
tests/data/import/, the same bytes each time. What the tests compare with comes from TensorFlow's
own readers and Sessions.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import ml_dtypes
import numpy as np
import tensorflow as tf2
import tensorflow.compat.v1 as tf
from google.protobuf import json_format
from tensorflow.core.protobuf import control_flow_pb2

OUT = Path(__file__).resolve().parent.parent / "data" / "import"

NUMBERS = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64,
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
    "bool": np.bool_, "c64": np.complex64, "c128": np.complex128,
}  # fmt: skip

CONTEXTS = {
    "cond_context": control_flow_pb2.CondContextDef,
    "while_context": control_flow_pb2.WhileContextDef,
}


def samples() -> dict[str, np.ndarray]:
    """A scalar, a vector and a matrix of each dtype, with the values at its ends."""
    found: dict[str, np.ndarray] = {}
    for name, dtype in NUMBERS.items():
        kind = np.dtype(dtype).kind
        base = np.array([0, 1, 2, 3, 100, 7], np.int64)
        if kind == "i":
            base[1:3] = -1, np.iinfo(dtype).min
            base[4] = np.iinfo(dtype).max
        values = base.astype(dtype)
        if kind == "u":
            values[4] = np.iinfo(dtype).max
        if kind == "f" or name == "bf16":
            values[3:5] = np.array([np.nan, -np.inf]).astype(dtype)
        if kind == "c":
            values[1] = 1 - 2j
        found[f"{name}_matrix"] = values.reshape(2, 3)
        found[f"{name}_vector"] = values[:2]
        found[f"{name}_scalar"] = values[4]
        found[f"{name}_empty"] = np.zeros((0, 3), dtype)
    return found


def record_tensors() -> None:
    """Constants of every dtype as TensorFlow writes them, and in the typed fields as well."""
    graph = tf.GraphDef()
    expected: dict[str, np.ndarray] = {}

    def add(name: str, proto) -> None:
        node = graph.node.add(name=name, op="Const")
        node.attr["dtype"].type = proto.dtype
        node.attr["value"].tensor.CopyFrom(proto)
        value = tf.make_ndarray(proto)
        expected[name] = value.view(np.uint16) if value.dtype == ml_dtypes.bfloat16 else value

    fields = {"f16": "half_val", "bf16": "half_val", "f32": "float_val", "f64": "double_val",
              "i64": "int64_val", "u32": "uint32_val", "u64": "uint64_val", "bool": "bool_val",
              "c64": "scomplex_val", "c128": "dcomplex_val"}  # fmt: skip
    for name, value in samples().items():
        add(name, tf.make_tensor_proto(value))
        if name.endswith("_matrix"):
            kind = name.removesuffix("_matrix")
            proto = tf.make_tensor_proto(value)
            for field in ("tensor_content", fields.get(kind, "int_val")):
                proto.ClearField(field)
            flat = value.reshape(-1)[:2]  # the last of them is repeated
            if kind in ("f16", "bf16"):
                plain = flat.view(np.uint16).tolist()
            elif kind in ("c64", "c128"):
                plain = [p for v in flat for p in (float(v.real), float(v.imag))]
            else:
                plain = flat.tolist()
            getattr(proto, fields.get(kind, "int_val")).extend(plain)
            add(f"{kind}_short", proto)
    zeros = tf.make_tensor_proto(np.zeros((2, 2), np.float32))
    zeros.ClearField("tensor_content")
    add("f32_none", zeros)
    graph.versions.producer = 2474
    strings = np.array([[b"a", b""], [b"\xff\x00", "é".encode()]], object)
    node = graph.node.add(name="strings", op="Const")
    node.attr["dtype"].type = tf.string.as_datatype_enum
    node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(strings))
    (OUT / "tensors.pb").write_bytes(graph.SerializeToString(deterministic=True))
    np.savez_compressed(OUT / "tensors.npz", **expected)


def record_meta_graph() -> None:
    """Reference, resource, partitioned and string variables, a loop, a condition; two shards."""
    folder = OUT / "tf1"
    folder.mkdir(parents=True)
    values: dict[str, np.ndarray] = {}
    rng = np.random.default_rng(3)
    with tf.Graph().as_default():
        tf.disable_control_flow_v2()
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        with tf.device("/cpu:0"):
            w = tf.get_variable("dense/w", initializer=rng.random((4, 3)).astype("f"))
            r = tf.get_variable("dense/b", initializer=np.arange(3, dtype="f"), use_resource=True)
        with tf.device("/cpu:1"):
            parts = tf.get_variable(
                "emb",
                shape=[10, 2],
                initializer=tf.random_normal_initializer(seed=5),
                partitioner=tf.fixed_size_partitioner(3),
            )
            tf.get_variable("halves", initializer=np.arange(5).astype(np.float16))
            tf.Variable(np.array(["one", "", "three" * 50], object), name="words")
            step = tf.Variable(np.int64(12), name="step", trainable=False)
        with tf.name_scope("head"):
            y = tf.nn.relu(tf.matmul(x, w) + r, name="y")
        z = tf.cond(step > 3, lambda: y * 2.0, lambda: y - 1.0, name="choice")
        total = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a + z), [0, z], name="loop")
        with tf.control_dependencies([total[1]]):
            tf.identity(total[1], name="out")
        tf.identity(tf.convert_to_tensor(parts), name="emb_whole")
        saver = tf.train.Saver(sharded=True)
        v1_saver = tf.train.Saver(write_version=tf.train.SaverDef.V1, name="save_v1")
        config = tf.ConfigProto(device_count={"CPU": 2})
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            saver.save(session, str(folder / "model"))
            v1_saver.save(session, str(folder / "old.ckpt"), write_meta_graph=False)
            for variable in tf.global_variables():
                values[variable.op.name] = session.run(variable)
            values["halves"] = values["halves"].astype(np.float32)
            values["words"] = values["words"].astype("S")
            values["emb"] = session.run("emb_whole:0")
    np.savez_compressed(
        folder / "values.npz", **{k.replace("/", "|"): v for k, v in values.items()}
    )
    meta = tf.MetaGraphDef.FromString((folder / "model.meta").read_bytes())
    meta.meta_info_def.stripped_op_list.Clear()
    for node in meta.graph_def.node:
        node.attr.pop("_output_shapes", None)
    for name, kind in CONTEXTS.items():  # messages in bytes, with maps in no order
        entries = meta.collection_def[name].bytes_list.value
        entries[:] = [kind.FromString(e).SerializeToString(deterministic=True) for e in entries]
    (folder / "model.meta").write_bytes(meta.SerializeToString(deterministic=True))
    graph = json_format.MessageToDict(meta.graph_def)
    (folder / "graph.json").write_text(json.dumps(graph, sort_keys=True))
    (folder / "checkpoint").unlink()


def record_functions() -> None:
    """A TF2 module: functions that call each other, two variables of one name."""

    class Model(tf2.Module):
        def __init__(self) -> None:
            self.w = tf2.Variable(np.arange(6, dtype="f").reshape(3, 2), name="same")
            self.b = tf2.Variable(np.array([5, 6], "f"), name="same")

        @tf2.function(input_signature=[tf2.TensorSpec([None, 3], tf2.float32, name="x")])
        def scale(self, x):
            inner = tf2.function(lambda a: tf2.matmul(a, self.w))
            return {"y": inner(x) + self.b}

    model = Model()
    tf2.saved_model.save(model, str(OUT / "tf2"), signatures={"serving_default": model.scale})
    shutil.rmtree(OUT / "tf2" / "assets", ignore_errors=True)
    (OUT / "tf2" / "fingerprint.pb").unlink(missing_ok=True)


def record_two_graphs() -> None:
    """A TF1 export, as text, with two graphs of different tags."""
    builder = tf.saved_model.Builder(str(OUT / "two_graphs"))
    for tags, scale in ((["serve"], 2.0), (["serve", "gpu"], 3.0)):
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float32, [None], name="x")
            v = tf.Variable(7.0, name="v")
            y = tf.multiply(x, v * scale, name="y")
            signature = tf.saved_model.predict_signature_def({"x": x}, {"y": y})
            session.run(tf.global_variables_initializer())
            maps = {"serving_default": signature, "other": signature}
            if "gpu" in tags:
                builder.add_meta_graph(tags, signature_def_map=maps)
            else:
                builder.add_meta_graph_and_variables(session, tags, signature_def_map=maps)
    builder.save(as_text=True)


def main() -> None:
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    record_functions()
    tf.disable_eager_execution()
    tf.disable_resource_variables()
    record_tensors()
    record_meta_graph()
    record_two_graphs()


if __name__ == "__main__":
    main()
