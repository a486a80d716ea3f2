"""Programs that save and restore, for TensorFlow and flowc alike.

In: the module (`tensorflow.compat.v1` or flowc) and an empty folder. Out: `PROGRAMS`, name -> a
function of the two that returns what it saw, as JSON holds it; `GRAPHS`, name -> a function that
builds a graph whose nodes must be TensorFlow's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Program = Callable[[Any, str], Any]
PROGRAMS: dict[str, Program] = {}
GRAPHS: dict[str, Callable[[Any], Any]] = {}


def program(function: Program) -> Program:
    PROGRAMS[function.__name__] = function
    return function


def graph(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    GRAPHS[function.__name__] = function
    return function


def raised(function: Callable[[], Any], folder: str = "") -> list[str]:
    """The class and the message of what a call raises, less the folder and stack traces."""
    try:
        found = function()
    except Exception as error:
        message = _core(str(error))
        return [type(error).__name__, message.replace(folder, "D/") if folder else message]
    return ["nothing", repr(found)]


def kind(function: Callable[[], Any]) -> str:
    """The class alone, where the message may be another."""
    return raised(function)[0]


def _core(text: str) -> str:
    """The line that says what is wrong."""
    text = re.sub(r" at 0x[0-9a-f]+>", ">", text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    at = next((i for i, line in enumerate(lines) if line.startswith("[[{{node")), None)
    if at is not None:
        return lines[at - 1]
    if not lines:
        return ""
    if "Original error:" in lines[0]:
        return lines[1]
    return lines[0]


def base(tf: Any) -> tuple[Any, Any]:
    return tf.Variable(1.0, name="a"), tf.Variable([1, 2], name="b")


def started(tf: Any) -> Any:
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session


def listed(folder: str) -> list[str]:
    return sorted(os.listdir(folder))


def said_of(tf: Any, folder: str) -> str:
    return Path(folder, "checkpoint").read_text().replace(folder, "D/")


# -- graphs


@graph
def plain(tf: Any) -> None:
    base(tf)
    tf.train.Saver()
    tf.train.Saver({"other": tf.global_variables()[0]}, name="mine", filename="where")


@graph
def reshaped(tf: Any) -> None:
    a, b = base(tf)
    r = tf.get_variable("r", initializer=np.zeros((2, 3), np.float32), use_resource=True)
    tf.train.Saver({"x": a, "y": b, "r": r}, reshape=True, restore_sequentially=True)


@graph
def sharded(tf: Any) -> None:
    base(tf)
    tf.train.Saver(sharded=True)


@graph
def sharded_on_devices(tf: Any) -> None:
    with tf.device("/cpu:0"):
        tf.Variable(1.0, name="a")
    with tf.device("/job:ps/task:1/cpu:1"):
        tf.Variable([1, 2], name="b")
    tf.train.Saver(sharded=True)


@graph
def tensor_slices(tf: Any) -> None:
    base(tf)
    tf.train.Saver(write_version=1)
    tf.train.Saver(sharded=True, write_version=1)


@graph
def partitioned(tf: Any) -> None:
    with tf.variable_scope("s", partitioner=tf.fixed_size_partitioner(2)):
        tf.get_variable("p", [5, 3], initializer=tf.zeros_initializer())
    tf.get_variable("q", [2], initializer=tf.zeros_initializer(), use_resource=True)
    tf.train.Saver()


# -- what a Saver takes


@program
def arguments(tf: Any, folder: str) -> Any:
    def with_two(make: Callable[[Any, Any], Any]) -> list[str]:
        with tf.Graph().as_default():
            return raised(lambda: make(*base(tf)))

    x = tf.constant(1)
    return [
        raised(lambda: tf.train.Saver()),
        raised(lambda: tf.train.Saver([])),
        raised(lambda: tf.train.Saver(defer_build=True).build()),
        raised(lambda: tf.train.Saver(3)),
        raised(lambda: tf.train.Saver([x])),
        raised(lambda: tf.train.Saver({"x": x})),
        with_two(lambda a, b: tf.train.Saver([a, b, a])),
        with_two(lambda a, b: tf.train.Saver({1: a})),
        with_two(lambda a, b: kind(lambda: tf.train.Saver({"x": a, "y": a}))),
        kind(lambda: tf.train.Saver(saver_def=3)),
        raised(lambda: tf.train.Saver(saver_def=tf.train.SaverDef())),
        kind(lambda: tf.train.Saver([x], defer_build=True)),
    ]


@program
def messages(tf: Any, folder: str) -> Any:
    base(tf)
    saver = tf.train.Saver(max_to_keep=3, keep_checkpoint_every_n_hours=2.5)
    definition = saver.as_saver_def()
    other = tf.train.Saver.from_proto(saver.to_proto())
    with tf.name_scope("sc"):
        inner = tf.train.Saver(max_to_keep=None)
    return [
        str(definition),
        other.saver_def.restore_op_name,
        saver.to_proto(export_scope="sc") is None,
        str(inner.to_proto(export_scope="sc")),
    ]


@program
def paths(tf: Any, folder: str) -> Any:
    base(tf)
    step = tf.Variable(5, name="g", dtype=tf.int64)
    saver = tf.train.Saver()
    os.makedirs(folder + "own")
    with started(tf) as session:
        seen = [
            saver.save(session, folder + "m"),
            saver.save(session, folder + "m", global_step=7),
            saver.save(session, folder + "m", global_step=np.int64(9)),
            saver.save(session, folder + "m", global_step=step),
            saver.save(session, folder + "m", global_step="g:0"),
            saver.save(session, folder + "m", global_step=step + 1, write_meta_graph=False),
            saver.save(session, folder + "own/x", latest_filename="mine"),
            saver.save(session, folder + "new/x", meta_graph_suffix="graph", write_state=False),
            tf.train.Saver(pad_step_number=True).save(session, folder + "p", global_step=3),
            [p.replace(folder, "D/") for p in saver.last_checkpoints],
        ]
        errors = [
            raised(lambda: saver.save(session, folder + "a/b/x"), folder),
            raised(lambda: saver.save(session, folder + "x", latest_filename="a/b"), folder),
            raised(lambda: saver.save(session, folder + "checkpoint"), folder),
            raised(lambda: saver.save(None, folder + "x"), folder),
            kind(lambda: saver.save(session, folder + "x", global_step=7.5)),
        ]
    late = tf.train.Saver(defer_build=True)
    errors.append(raised(lambda: late.save(tf.Session(), folder + "x"), folder))
    with tf.Session() as session:
        errors.append(kind(lambda: saver.save(session, folder + "x")))
    files = [[n for n in listed(folder + f) if "data" not in n] for f in ("", "own", "new")]
    shown = [p.replace(folder, "D/") if isinstance(p, str) else p for p in seen]
    return [shown, errors, files, said_of(tf, folder)]


@program
def restoring(tf: Any, folder: str) -> Any:
    base(tf)
    with started(tf) as session:
        tf.train.Saver().save(session, folder + "m")

    def restored(path: str | None, make: Callable[[], Any], **settings: Any) -> Any:
        with tf.Graph().as_default():
            make()
            saver = tf.train.Saver(**settings)
            with tf.Session() as session:
                saver.restore(session, path)
                return [np.asarray(v).tolist() for v in session.run(tf.global_variables())]

    def fails(path: str | None, make: Callable[[], Any], **settings: Any) -> list[str]:
        return raised(lambda: restored(path, make, **settings), folder)

    m = folder + "m"
    return [
        restored(m, lambda: base(tf)),
        restored(m, lambda: tf.Variable([[1], [2]], name="b"), reshape=True),
        restored(m, lambda: tf.Variable([[0, 0]], name="b", use_resource=True), reshape=True),
        fails(None, lambda: base(tf)),
        fails("", lambda: base(tf)),
        fails(folder + "none", lambda: base(tf)),
        fails(m, lambda: tf.Variable(1, name="a")),
        fails(m, lambda: tf.Variable([1, 2, 3], name="b")),
        fails(m, lambda: tf.Variable([1, 2, 3], name="b"), reshape=True)[0],
        fails(m, lambda: tf.Variable(1.0, name="zz"))[0],
    ]


@program
def formats(tf: Any, folder: str) -> Any:
    a, _ = base(tf)
    found = []
    with started(tf) as session:
        for number, settings in enumerate(
            (
                {},
                {"sharded": True},
                {"write_version": tf.train.SaverDef.V1},
                {"write_version": tf.train.SaverDef.V1, "sharded": True},
            )
        ):
            saver = tf.train.Saver(**settings)
            session.run(a.assign(float(number)))
            path = saver.save(session, f"{folder}m{number}")
            session.run(a.assign(-1.0))
            saver.restore(session, path)
            reader = tf.train.NewCheckpointReader(path)
            values = [float(session.run(a)), float(reader.get_tensor("a"))]
            found.append([path.replace(folder, "D/"), values, tf.train.checkpoint_exists(path)])
            tf.train.remove_checkpoint(path, saver.saver_def.version)
            found.append(listed(folder))
    return found


# -- which checkpoints stay


@program
def retention(tf: Any, folder: str) -> Any:
    base(tf)
    found: list[Any] = []
    with started(tf) as session:
        for keep in (2, 0, None):
            saver = tf.train.Saver(max_to_keep=keep)
            for step in range(4):
                saver.save(session, f"{folder}k{keep}", global_step=step)
            found.append([p.replace(folder, "D/") for p in saver.last_checkpoints])
            found.append(said_of(tf, folder))
        found.append([name for name in listed(folder) if name.endswith(".index")])
        other = tf.train.Saver(max_to_keep=2)
        other.set_last_checkpoints([folder + "k2-2", folder + "k2-3"])
        found.append(kind(lambda: other.set_last_checkpoints("x")))
        other.save(session, folder + "k2", global_step=4)
        found.append([p.replace(folder, "D/") for p in other.last_checkpoints])
        other.set_last_checkpoints_with_time([(folder + "k2-3", 5.0)])
        found.append(kind(lambda: other.set_last_checkpoints_with_time("x")))
        other.recover_last_checkpoints([folder + "k2-3", folder + "none", folder + "k2-4"])
        found.append([p.replace(folder, "D/") for p in other.last_checkpoints])
    found.append(len(tf.train.get_checkpoint_mtimes([folder + "k2-3", folder + "none"])))
    return found


@program
def states(tf: Any, folder: str) -> Any:
    def state(name: str | None = None) -> Any:
        found = tf.train.get_checkpoint_state(folder[:-1], name)
        return None if found is None else str(found).replace(folder, "D/")

    found = [tf.train.latest_checkpoint(folder), state()]
    tf.train.update_checkpoint_state(folder, folder + "m1", [folder + "m0"])
    found += [said_of(tf, folder), state(), tf.train.latest_checkpoint(folder)]
    found.append(
        raised(lambda: tf.train.update_checkpoint_state(folder, folder + "checkpoint"), folder)
    )
    two = [folder + "m0", folder + "m1"]
    times = {"all_model_checkpoint_timestamps": [1.0, 2.0], "last_preserved_timestamp": 3.0}
    tf.train.update_checkpoint_state(folder, two[1], two, **times)
    found.append(said_of(tf, folder))
    short = {"all_model_checkpoint_timestamps": [1.0]}
    found.append(
        raised(lambda: tf.train.update_checkpoint_state(folder, two[1], two, **short), folder)
    )
    for name, text in (
        ("bad", "garbage {{{"),
        ("empty", ""),
        ("rel", 'model_checkpoint_path: "x"'),
    ):
        Path(folder, name).write_text(text)
    found += [state("bad"), state("rel"), raised(lambda: state("empty"), folder)[0]]
    found.append(str(tf.train.generate_checkpoint_state_proto("some", "some/m1", ["some/m0"])))
    return found


@program
def relative_paths(tf: Any, folder: str) -> Any:
    base(tf)
    os.makedirs(folder + "one")
    saver = tf.train.Saver(save_relative_paths=True)
    with started(tf) as session:
        for step in range(2):
            saver.save(session, folder + "one/m", global_step=step)
    said = Path(folder, "one/checkpoint").read_text()
    os.rename(folder + "one", folder + "two")
    latest = tf.train.latest_checkpoint(folder + "two")
    return [said, None if latest is None else latest.replace(folder, "D/")]


@program
def readers(tf: Any, folder: str) -> Any:
    base(tf)
    tf.Variable(["x", "y"], name="s")
    tf.Variable(np.arange(6, dtype=np.float64).reshape(2, 3), name="sc/d")
    tf.Variable(tf.zeros([2], tf.bfloat16), name="h")
    with started(tf) as session:
        tf.train.Saver().save(session, folder + "m", global_step=3)
    reader = tf.train.NewCheckpointReader(folder + "m-3")
    types = reader.get_variable_to_dtype_map()
    return [
        sorted(reader.debug_string().decode().splitlines()),
        sorted(reader.get_variable_to_shape_map().items()),
        sorted((name, dtype.name) for name, dtype in types.items()),
        [reader.has_tensor("a"), reader.has_tensor("zz")],
        [type(reader.get_tensor("a")).__name__, reader.get_tensor("s").tolist()[0].decode()],
        tf.train.list_variables(folder),
        np.asarray(tf.train.load_variable(folder, "sc/d:0")).tolist(),
        sorted(tf.train.load_checkpoint(folder + "m-3").get_variable_to_shape_map()),
        kind(lambda: reader.get_tensor("zz")),
        raised(lambda: tf.train.NewCheckpointReader(folder + "no"), folder),
        kind(lambda: tf.train.load_checkpoint(folder + "no")),
        kind(lambda: tf.train.load_variable(folder, "zz")),
    ]


# -- MetaGraphs


@program
def collections(tf: Any, folder: str) -> Any:
    base(tf)
    saver = tf.train.Saver()
    for name, value in (("i", 3), ("s", "text"), ("b", b"zz"), ("f", 2.5), ("t", tf.constant(1))):
        tf.add_to_collection(name, value)
    tf.add_to_collection("o", object())
    found = saver.export_meta_graph(folder + "m.meta")
    kept = sorted((k, str(v)) for k, v in found.collection_def.items() if k != "o")
    some = tf.train.export_meta_graph(collection_list=["i", "variables"])
    names = [op.name for op in found.meta_info_def.stripped_op_list.op]
    return [kept, sorted(some.collection_def), names, str(found.saver_def)]


@program
def importing(tf: Any, folder: str) -> Any:
    base(tf)
    saver = tf.train.Saver()
    saver.export_meta_graph(folder + "m.meta")
    saver.export_meta_graph(folder + "t.meta", as_text=True)
    with started(tf) as session:
        saver.save(session, folder + "m")
    found: list[Any] = []
    for name, scope in (("m.meta", None), ("t.meta", None), ("m.meta", "x")):
        with tf.Graph().as_default() as graph:
            other = tf.train.import_meta_graph(folder + name, import_scope=scope)
            variables = tf.global_variables()
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                session.run(variables[0].assign(9.0))
                other.restore(session, folder + "m")
                values = [np.asarray(v).tolist() for v in session.run(variables)]
            found.append(
                [
                    [v.name for v in variables],
                    variables[0] is tf.trainable_variables()[0],
                    values,
                    other.saver_def.restore_op_name,
                    [op.name for op in graph.get_operations()][-3:],
                ]
            )
    found.append(raised(lambda: tf.train.import_meta_graph(folder + "no.meta"), folder))
    with tf.Graph().as_default():
        tf.constant(1)
        tf.train.export_meta_graph(folder + "e.meta")
    with tf.Graph().as_default():
        found.append(tf.train.import_meta_graph(folder + "e.meta") is None)
    return found


@program
def a_scope(tf: Any, folder: str) -> Any:
    outside = tf.constant(2.0, name="outside")
    with tf.name_scope("sc"):
        a, _ = base(tf)
        tf.add(a, outside, name="sum")
    found = tf.train.export_meta_graph(export_scope="sc")
    nodes = [[n.name, list(n.input)] for n in found.graph_def.node]
    groups = [
        str(list(n.attr["_class"].list.s)) for n in found.graph_def.node if "_class" in n.attr
    ]
    kept = sorted((k, str(v)) for k, v in found.collection_def.items())
    with tf.Graph().as_default():
        tf.constant(1)
        unbound = raised(lambda: tf.train.import_meta_graph(found))
        with_map = {"$unbound_inputs_outside": tf.constant(5.0)}
        tf.train.import_meta_graph(found, input_map=with_map)
        with started(tf) as session:
            total = float(session.run("sum:0"))
    with tf.device("/cpu:0"):
        tf.Variable(1.0, name="placed")
    clear = tf.train.export_meta_graph(clear_devices=True, strip_default_attrs=True)
    assign = next(n for n in clear.graph_def.node if n.name == "placed/Assign")
    return [
        unbound,
        total,
        nodes,
        groups,
        kept,
        assign.device,
        sorted(k for k in assign.attr if k[0] != "_"),
    ]
