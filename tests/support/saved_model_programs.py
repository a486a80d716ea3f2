"""Programs that write and load SavedModels, freeze and cut graphs, and begin from checkpoints: as
those of `saver_programs.py`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from saver_programs import Program, base, kind, listed, raised, started

MODEL_PROGRAMS: dict[str, Program] = {}


def program(function: Program) -> Program:
    MODEL_PROGRAMS[function.__name__] = function
    return function


def adder(tf: Any) -> tuple[Any, Any, Any]:
    v = tf.Variable([1.0, 2.0], name="v")
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    return v, x, tf.add(x, v, name="y")


def inputs_of(info: Any) -> list[Any]:
    return [[name, info[name].name, info[name].dtype] for name in sorted(info)]


@program
def signatures(tf: Any, folder: str) -> Any:
    utils, defs = tf.saved_model.utils, tf.saved_model.signature_def_utils
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    y = tf.identity(x, name="y")
    s = tf.placeholder(tf.string, [None], name="s")
    every = [
        defs.predict_signature_def({"a": x}, {"b": y}),
        defs.regression_signature_def(s, y),
        defs.classification_signature_def(s, s, y),
        defs.classification_signature_def(s, None, y),
        defs.build_signature_def({"a": utils.build_tensor_info(x)}, None, "m"),
        defs.build_signature_def(),
    ]
    info = utils.build_tensor_info(tf.sparse_placeholder(tf.float32, name="sp"))
    return [
        [[inputs_of(e.inputs), inputs_of(e.outputs), e.method_name] for e in every],
        [defs.is_valid_signature(e) for e in every],
        str(utils.build_tensor_info(x)),
        str(info),
        utils.get_tensor_from_tensor_info(utils.build_tensor_info(x)) is x,
        raised(lambda: defs.regression_signature_def(x, y)),
        raised(lambda: defs.regression_signature_def(s, s)),
        raised(lambda: defs.regression_signature_def(None, None)),
        raised(lambda: defs.classification_signature_def(s, None, None)),
        raised(lambda: defs.predict_signature_def({}, {})),
        raised(lambda: defs.predict_signature_def({"a": x}, {})),
    ]


@program
def saved_simply(tf: Any, folder: str) -> Any:
    _, x, y = adder(tf)
    with started(tf) as session:
        tf.saved_model.simple_save(session, folder + "m", {"in": x}, {"out": y})
    found: list[Any] = []
    for scope in (None, "sc"):
        with tf.Session(graph=tf.Graph()) as session:
            meta = tf.saved_model.loader.load(session, ["serve"], folder + "m", import_scope=scope)
            signature = meta.signature_def["serving_default"]
            at = f"{scope}/" if scope else ""
            feeds = {at + signature.inputs["in"].name: [[1.0, 1.0]]}
            value = session.run(at + signature.outputs["out"].name, feeds)
            with session.graph.as_default():
                names = [v.name for v in tf.global_variables()]
            found.append([value.tolist(), names, list(meta.meta_info_def.tags)])
            if scope is None:
                found.append([sorted(meta.collection_def), str(meta.saver_def)])
    loader = tf.saved_model.loader
    return [
        found,
        listed(folder + "m"),
        [loader.maybe_saved_model_directory(folder + f) for f in ("m", "no")],
        raised(lambda: tf.saved_model.Builder(folder + "m"), folder),
        raised(lambda: loader.load(tf.Session(), ["serve"], folder + "no"), folder),
        raised(lambda: loader.load(tf.Session(), ["train"], folder + "m"), folder),
    ]


@program
def several_graphs(tf: Any, folder: str) -> Any:
    v, x, y = adder(tf)
    Path(folder, "vocab.txt").write_text("a b")
    asset = tf.constant(folder + "vocab.txt", name="asset")
    tf.add_to_collection(tf.GraphKeys.ASSET_FILEPATHS, asset)
    where = tf.Variable("", name="where", trainable=False)
    start = tf.group(v.assign([7.0, 8.0]), where.assign(asset), name="start")
    defs = tf.saved_model.signature_def_utils
    builder = tf.saved_model.builder.SavedModelBuilder(folder + "m")
    signature = {"add": defs.predict_signature_def({"x": x}, {"y": y})}
    found: list[Any] = [raised(lambda: builder.add_meta_graph(["x"]))]
    with started(tf) as session:
        builder.add_meta_graph_and_variables(
            session,
            ["serve"],
            signature,
            tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS),
            main_op=start,
        )
        found.append(raised(lambda: builder.add_meta_graph_and_variables(session, ["other"])))
    builder.add_meta_graph(["serve", "gpu"], clear_devices=True)
    found.append([os.fsdecode(builder.save(as_text)).replace(folder, "D/") for as_text in (0, 1)])
    found += [listed(folder + "m"), listed(folder + "m/assets")]
    os.remove(folder + "vocab.txt")
    for form in ("binary", "text"):
        if form == "text":
            os.remove(folder + "m/saved_model.pb")
        for tags in (["serve"], ["serve", "gpu"], ["gpu"]):
            with tf.Session(graph=tf.Graph()) as session:
                try:
                    meta = tf.saved_model.loader.load(session, tags, folder + "m")
                except RuntimeError as error:
                    found.append(type(error).__name__)
                    continue
                value = session.run("y:0", {"x:0": [[0.0, 1.0]]})
                place = os.fsdecode(session.run("where:0")).replace(folder, "D/")
                found.append([value.tolist(), place, sorted(meta.signature_def)])
                found.append([len(meta.asset_file_def), sorted(meta.collection_def)])
    return found


@program
def frozen(tf: Any, folder: str) -> Any:
    v, x, y = adder(tf)
    r = tf.get_variable("r", initializer=[3.0, 4.0], use_resource=True)
    z = tf.identity(y * r, name="z")
    unused = tf.identity(z, name="unused")
    assert unused is not z
    util, graph_def = tf.graph_util, tf.get_default_graph().as_graph_def()
    found: list[Any] = []

    def shown(message: Any) -> list[Any]:
        return [[n.name, n.op, list(n.input)] for n in message.node]

    convert = util.convert_variables_to_constants
    with started(tf) as session:
        session.run(v.assign([5.0, 6.0]))
        for settings in (
            {},
            {"variable_names_blacklist": ["v"]},
            {"variable_names_whitelist": ["v"]},
        ):
            made = convert(session, graph_def, ["z"], **settings)
            found.append(shown(made))
            if not settings:
                with tf.Graph().as_default(), tf.Session() as other:
                    tf.import_graph_def(made, name="")
                    found.append(other.run("z:0", {"x:0": [[1.0, 1.0]]}).tolist())
        for names in (["nope"], "z"):
            found.append(raised(lambda n=names: convert(session, graph_def, n)))
    found.append(shown(util.extract_sub_graph(graph_def, ["y"])))
    found.append(raised(lambda: util.extract_sub_graph(graph_def, ["nope"])))
    found.append(kind(lambda: util.extract_sub_graph(3, ["z"])))
    shape = util.tensor_shape_from_node_def_name(tf.get_default_graph(), "y:0")
    found.append([None if d is None else int(d) for d in shape.as_list()])
    ops = [x.op, tf.constant("s").op, tf.constant(3).op, tf.constant(3.0).op, v.op]
    found.append([[util.must_run_on_cpu(op, pin) for op in ops] for pin in (False, True)])
    return found


@program
def without_training(tf: Any, folder: str) -> Any:
    x = tf.placeholder(tf.float32, [2], name="x")
    a = tf.identity(x, name="a")
    b = tf.identity(a, name="b")
    with tf.control_dependencies([b]):
        c = tf.identity(a, name="c")
    d = tf.identity(tf.identity(c, name="e") + b, name="d")
    assert d is not c
    found = []
    graph_def = tf.get_default_graph().as_graph_def()
    for kept in (None, ["d", "a"]):
        made = tf.graph_util.remove_training_nodes(graph_def, kept)
        found.append([[n.name, n.op, list(n.input)] for n in made.node])
    return found


@program
def begun_from_a_checkpoint(tf: Any, folder: str) -> Any:
    base(tf)
    tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], name="sc/p")
    with started(tf) as session:
        tf.train.Saver().save(session, folder + "m")

    def values(assignments: Any, make: Any) -> Any:
        with tf.Graph().as_default():
            made = make()
            wanted = assignments(made) if callable(assignments) else assignments
            tf.train.init_from_checkpoint(folder, wanted)
            with started(tf) as session:
                return [np.asarray(v).tolist() for v in session.run(tf.global_variables())]

    def two() -> Any:
        return tf.Variable(9.0, name="zz/a"), tf.get_variable("s/b", initializer=[5, 6])

    def parts() -> Any:
        with tf.variable_scope("new", partitioner=tf.fixed_size_partitioner(2)):
            return tf.get_variable("p", [3, 2], initializer=tf.zeros_initializer())

    return [
        values(lambda made: {"a": made[0], "b": "s/b"}, two),
        values({"/": "s/"}, lambda: tf.get_variable("s/b", [2], tf.int32, use_resource=True)),
        values({"sc/": "new/"}, parts),
        *(
            raised(lambda a=assignments: values(a, two))[0]
            for assignments in ({"nope": "zz/a"}, {"b": "zz/a"}, {"a": "none"}, {"no/": "s/"})
        ),
    ]


@program
def constants(tf: Any, folder: str) -> Any:
    model = tf.saved_model
    spaces = (model.signature_constants, model.tag_constants, model.constants)
    names = [{k: getattr(s, k) for k in dir(s) if k.isupper()} for s in spaces]
    with tf.Graph().as_default() as graph:
        base(tf)
        model.main_op.main_op()
        nodes = [[op.name, op.type] for op in graph.get_operations()][-4:]
    return [names, nodes]
