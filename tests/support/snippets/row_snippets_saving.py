"""Programs of rows 36 to 50: checkpoints, MetaGraphs, SavedModels. The form is that of
`row_program.py`."""

# ruff: noqa: E501  (a program to a line)
from __future__ import annotations

from snippets.api_snippets import Snippet, read_snippets

SAVING_ROWS: tuple[Snippet, ...] = read_snippets(r"""
# 36_arguments
log.append(raises("ValueError", "No variables to save", lambda: tf.train.Saver()))
a = tf.Variable(1.0, name="a"); b = tf.Variable([1, 2], name="b")
log.append(raises("ValueError", "", lambda: tf.train.Saver([a, b, a]))); log.append(raises("TypeError", "", lambda: tf.train.Saver({1: a}))); log.append(raises("TypeError", "", lambda: tf.train.Saver({"x": 3}))); log.append(raises("TypeError", "", lambda: tf.train.Saver(3))); log.append(raises("TypeError", "", lambda: tf.train.Saver([tf.constant(1.0)])))
s1, s2, s3 = tf.train.Saver(), tf.train.Saver([a]), tf.train.Saver({"other": a, "b": b}, max_to_keep=3, keep_checkpoint_every_n_hours=2.0, name="mine")
log.append([[x.saver_def.filename_tensor_name, x.saver_def.save_tensor_name, x.saver_def.restore_op_name, x.saver_def.max_to_keep, x.saver_def.sharded, x.saver_def.keep_checkpoint_every_n_hours, x.saver_def.version] for x in (s1, s2, s3)])
with tf.Session() as s: s.run(tf.global_variables_initializer()); log.append([s1.save(s, folder + "1"), s2.save(s, folder + "2"), s3.save(s, folder + "3"), tf.train.list_variables(folder + "3"), tf.train.list_variables(folder + "2")])
# 36_nodes
a = tf.Variable(1.0, name="a"); tf.train.Saver(); log.append([[n.name, n.op, list(n.input)] for n in tf.get_default_graph().as_graph_def().node if n.name.startswith("save/")])
# 37_paths
a = tf.Variable(1.0, name="a"); g = tf.Variable(7, name="g"); saver = tf.train.Saver()
with tf.Session() as s:
    log.append(raises("FailedPreconditionError", "uninitialized value", lambda: saver.save(s, folder + "m"))); s.run(tf.global_variables_initializer())
    log.append([saver.save(s, folder + "my-model", global_step=1000), saver.save(s, folder + "my-model", global_step=g), saver.save(s, folder + "my-model", global_step="g:0"), saver.save(s, folder + "my-model"), saver.save(s, folder + "x", latest_filename="mine", write_meta_graph=False)])
    log.append(sorted(f for f in os.listdir(folder) if ".data" not in f))
    log.append(raises("TypeError", "'sess' must be a Session", lambda: saver.save("s", folder + "m"))); log.append(raises("ValueError", "", lambda: saver.save(s, folder + "m", latest_filename="a/b"))); log.append(raises("ValueError", "Parent directory of", lambda: saver.save(s, folder + "no/dir/m")))
# 37_sharded
a = tf.Variable(1.0, name="a")
with tf.Session() as s: s.run(a.initializer); log.append([tf.train.Saver(sharded=True).save(s, folder + "two"), tf.train.Saver(sharded=True, write_version=tf.train.SaverDef.V1).save(s, folder + "one")]); log.append(sorted(f for f in os.listdir(folder) if ".data" not in f))
# 38_restore
a = tf.Variable([1.0, 2.0], name="a"); b = tf.Variable(3, name="b"); saver = tf.train.Saver()
with tf.Session() as s: s.run(tf.global_variables_initializer()); p = saver.save(s, folder + "m")
with tf.Session() as s: saver.restore(s, p); log.append(s.run([a, b])); log.append(raises("ValueError", "Can't load save_path when it is None.", lambda: saver.restore(s, None))); log.append(raises("ValueError", "The passed save_path is not a valid checkpoint", lambda: saver.restore(s, folder + "none")))
with tf.Session() as s: tf.train.Saver([a]).restore(s, p); s.run(b.assign(9)); log.append(s.run([a, b]))
# 38_what_does_not_fit
a = tf.Variable([1.0, 2.0], name="a")
with tf.Session() as s: s.run(a.initializer); p = tf.train.Saver().save(s, folder + "m")
def restored(make, **kw):
    with tf.Graph().as_default(), tf.Session() as s: v = make(); tf.train.Saver(**kw).restore(s, p); return s.run(v).tolist()
log.append(raises("NotFoundError", "Key zz not found in checkpoint", lambda: restored(lambda: tf.Variable(1.0, name="zz")))); log.append(raises("InvalidArgumentError", "", lambda: restored(lambda: tf.Variable([1.0, 2.0, 3.0], name="a")))); log.append(raises("InvalidArgumentError", "", lambda: restored(lambda: tf.Variable([1, 2], name="a"))))
log.append(restored(lambda: tf.Variable([[0.0], [0.0]], name="a"), reshape=True)); log.append(raises("InvalidArgumentError", "", lambda: restored(lambda: tf.Variable([[0.0], [0.0]], name="a"))))
# 39_retention
a = tf.Variable(1.0, name="a"); saver = tf.train.Saver(); two = tf.train.Saver(max_to_keep=2); every = tf.train.Saver(max_to_keep=0)
with tf.Session() as s:
    s.run(a.initializer); [saver.save(s, folder + "m", global_step=k) for k in range(6)]; log.append([saver.last_checkpoints, sorted(f for f in os.listdir(folder) if f.endswith("index"))])
    [every.save(s, folder + "e", global_step=k) for k in range(7)]; log.append([every.last_checkpoints, len([f for f in os.listdir(folder) if f.startswith("e") and f.endswith("index")])])
    two.set_last_checkpoints([folder + "m-4", folder + "m-5"]); two.save(s, folder + "m", global_step=9); log.append([two.last_checkpoints, sorted(f for f in os.listdir(folder) if f.startswith("m") and f.endswith("index"))]); log.append(raises("AssertionError", "", lambda: two.set_last_checkpoints("x")))
log.append([saver.as_saver_def().max_to_keep, saver.to_proto().max_to_keep, tf.train.Saver(saver_def=saver.as_saver_def()).as_saver_def() == saver.as_saver_def()])
# 40_states
log.append([tf.train.latest_checkpoint(folder), tf.train.get_checkpoint_state(folder)]); tf.train.update_checkpoint_state(folder, folder + "b", [folder + "a"]); c = tf.train.get_checkpoint_state(folder); log.append([c.model_checkpoint_path, list(c.all_model_checkpoint_paths)])
tf.train.update_checkpoint_state(folder, folder + "c", latest_filename="mine"); log.append([tf.train.get_checkpoint_state(folder, "mine").model_checkpoint_path, sorted(os.listdir(folder))])
log.append(raises("RuntimeError", "", lambda: tf.train.update_checkpoint_state(folder, folder + "checkpoint")))
# 40_a_folder_that_moves
a = tf.Variable(1.0, name="a"); saver = tf.train.Saver(save_relative_paths=True); os.mkdir(folder + "one")
with tf.Session() as s: s.run(a.initializer); saver.save(s, folder + "one/m", global_step=3)
os.rename(folder + "one", folder + "two"); log.append(tf.train.latest_checkpoint(folder + "two")); log.append(open(folder + "two/checkpoint").read())
with tf.Session() as s: saver.restore(s, tf.train.latest_checkpoint(folder + "two")); log.append(s.run(a))
# 41_formats
a = tf.Variable(np.arange(6, dtype=np.float32).reshape(2, 3), name="a"); t = tf.Variable(["x", "yz"], name="t"); n = tf.Variable([1, 2**40], dtype=tf.int64, name="n")
for k, v in (("two", tf.train.SaverDef.V2), ("one", tf.train.SaverDef.V1)):
    saver = tf.train.Saver(write_version=v)
    with tf.Session() as s: s.run(tf.global_variables_initializer()); p = saver.save(s, folder + k)
    with tf.Session() as s: saver.restore(s, p); log.append(s.run([a, t, n]))
    r = tf.train.NewCheckpointReader(p); log.append([sorted(r.get_variable_to_shape_map().items()), sorted((k, d.name) for k, d in r.get_variable_to_dtype_map().items()), r.has_tensor("a"), r.has_tensor("z"), r.get_tensor("a")])
# 41_damage
a = tf.Variable(np.arange(64, dtype=np.float32), name="a"); saver = tf.train.Saver()
with tf.Session() as s: s.run(a.initializer); p = saver.save(s, folder + "m")
f = p + ".data-00000-of-00001"; b = bytearray(open(f, "rb").read()); b[100] ^= 1; open(f, "wb").write(b)
with tf.Session() as s: log.append(raises("DataLossError", "", lambda: saver.restore(s, p)))
b = bytearray(open(p + ".index", "rb").read()); b[10] ^= 255; open(p + ".index", "wb").write(b)
with tf.Session() as s: log.append(raises("DataLossError", "", lambda: saver.restore(s, p)))
# 42_meta_graph
a = tf.Variable(1.0, name="a"); saver = tf.train.Saver(); m = saver.export_meta_graph(folder + "g.meta"); log.append(sorted(f[0].name for f in m.ListFields())); log.append(sorted(m.collection_def)); m.meta_info_def.tags.append("mine")
n = tf.MetaGraphDef(); n.ParseFromString(open(folder + "g.meta", "rb").read()); log.append([n.saver_def == m.saver_def, len(n.graph_def.node) == len(m.graph_def.node), n.graph_def.versions.min_consumer])
# 42_unknown_fields_stay
a = tf.Variable(1.0, name="a"); data = tf.train.export_meta_graph().SerializeToString() + bytes([0xF2, 0x3F, 2, 65, 66]); m = tf.MetaGraphDef.FromString(data); log.append(m.SerializeToString().count(bytes([0xF2, 0x3F, 2, 65, 66])))
# 43_text_and_import
a = tf.Variable(2.0, name="a"); y = tf.multiply(a, 3.0, name="y"); saver = tf.train.Saver(); saver.export_meta_graph(folder + "t", as_text=True); saver.export_meta_graph(folder + "b.meta"); log.append(open(folder + "t").read().startswith("meta_info_def {"))
with tf.Session() as s: s.run(a.assign(5.0)); p = saver.save(s, folder + "m")
for f in ("t", "b.meta", "m.meta"):
    with tf.Graph().as_default(), tf.Session() as s: r = tf.train.import_meta_graph(folder + f); r.restore(s, p); log.append([s.run("y:0"), [v.name for v in tf.global_variables()], [v.name for v in tf.trainable_variables()]])
with tf.Graph().as_default(), tf.Session() as s: tf.train.import_meta_graph(folder + "b.meta", import_scope="in").restore(s, p); log.append([s.run("in/y:0"), [v.name for v in tf.global_variables()]])
log.append(raises("OSError", "", lambda: tf.train.import_meta_graph(folder + "none.meta")))
# 43_without_a_saver
tf.constant(1.0); tf.train.export_meta_graph(folder + "g.meta")
with tf.Graph().as_default(): log.append(tf.train.import_meta_graph(folder + "g.meta"))
# 44_stripped_op_list
a = tf.Variable(1.0); b = tf.Variable(2.0); c = a + b; tf.train.Saver(); m = tf.train.export_meta_graph(meta_info_def=None); log.append([o.name for o in m.meta_info_def.stripped_op_list.op])
# 45_op_def
x = tf.add(1.0, 2.0); d = x.op.op_def; log.append([d.name, [a.name for a in d.input_arg], [a.type_attr for a in d.input_arg], [a.name for a in d.output_arg], [[a.name, a.type, len(a.allowed_values.list.type) > 5] for a in d.attr], d.is_stateful]); d = tf.add_n([x, x]).op.op_def; log.append([d.is_commutative, d.is_aggregate, d.input_arg[0].number_attr, [[a.name, a.has_minimum, a.minimum] for a in d.attr]]); d = tf.Variable(1.0).initializer.op_def; log.append([d.allows_uninitialized_input, d.input_arg[0].is_ref, d.name])
# 45_attrs_not_allowed
g = tf.GraphDef(); g.versions.producer = 21; n = g.node.add(name="x", op="Placeholder"); n.attr["dtype"].type = 7; n = g.node.add(name="y", op="Sqrt", input=["x"]); n.attr["T"].type = 7
log.append(raises("ValueError", "attr 'T'", lambda: tf.import_graph_def(g))); log.append(raises("ValueError", "Sqrt", lambda: tf.import_graph_def(g)))
# 46_names_and_arguments
def graph_of(name): d = tf.GraphDef(); d.node.add(name=name, op="NoOp"); return d
log.append(raises("ValueError", "Node 'x y': Node name contains invalid characters", lambda: tf.import_graph_def(graph_of("x y"), name=""))); log.append(raises("TypeError", "Argument `input_map` must be a dictionary. Obtained int", lambda: tf.import_graph_def(graph_of("x"), input_map=3))); log.append(raises("TypeError", "Argument `return_elements` must be a list of strings. Obtained [3].", lambda: tf.import_graph_def(graph_of("x"), return_elements=[3]))); tf.import_graph_def(graph_of("x.-/y_"), name="p"); log.append([o.name for o in tf.get_default_graph().get_operations()]); log.append(tf.OpError is tf.errors.OpError)
# 46_import_errors
def imported(**kw):
    g = tf.GraphDef(); g.versions.producer = 21; n = g.node.add(name="x", op="Placeholder"); n.attr["dtype"].type = 1; n = g.node.add(name="y", op=kw.get("op", "Neg"), input=kw.get("input", ["x"])); n.attr["T"].type = kw.get("T", 1)
    if "min_consumer" in kw: g.versions.min_consumer = kw["min_consumer"]
    if "bad" in kw: g.versions.bad_consumers.append(kw["bad"])
    with tf.Graph().as_default() as graph: tf.import_graph_def(g, name=""); return [o.name for o in graph.get_operations()]
log.append(imported()); log.append(raises("NotFoundError", "Op type not registered 'NoSuchOp'", lambda: imported(op="NoSuchOp"))); log.append(raises("ValueError", "", lambda: imported(input=[]))); log.append(raises("ValueError", "", lambda: imported(input=["x", "x"]))); log.append(raises("ValueError", "", lambda: imported(input=["z"]))); log.append(raises("ValueError", "", lambda: imported(T=2))); log.append(raises("ValueError", "", lambda: imported(min_consumer=10**6)))
# 46_inputs_and_attrs
x = tf.placeholder(tf.float32, [2, 3], name="x"); a, b, c = tf.split(x, 3, 1, name="s")
with tf.control_dependencies([a.op]): y = tf.add(b, c, name="y")
g = tf.get_default_graph().as_graph_def(); log.append([[n.name, n.op, list(n.input), sorted(k for k in n.attr if not k.startswith("_"))] for n in g.node]); g = tf.get_default_graph().as_graph_def(add_shapes=True); log.append([[d.size for d in n.attr["_output_shapes"].list.shape[0].dim] for n in g.node])
with tf.Graph().as_default(): r = tf.import_graph_def(g, {"x": tf.ones([2, 3])}, ["y", "s:1"], name="in"); log.append([r[0].name, r[1].name, r[1].shape.as_list(), tf.Session().run(r[1])])
# 47_saver_def
d = tf.train.SaverDef; log.append([d.LEGACY, d.V1, d.V2]); a = tf.Variable(1.0); s = tf.train.Saver(max_to_keep=7, sharded=True, keep_checkpoint_every_n_hours=1.5).as_saver_def(); log.append(str(s)); log.append(tf.train.Saver.from_proto(s).as_saver_def() == s)
# 48_kinds
v = tf.Variable(1.0, name="v1"); tf.add_to_collection("n", v.op); tf.add_to_collection("i", 5); tf.add_to_collection("f", 1.5); tf.add_to_collection("b", "text"); m = tf.train.export_meta_graph().collection_def
log.append([[k, m[k].WhichOneof("kind"), str(m[k])] for k in ("n", "i", "f", "b")]); log.append(m["variables"].bytes_list.value[0].startswith(b"\n\x04v1:0\x12\tv1/Assign\x1a\tv1/read:0"))
# 48_rebuilt
v = tf.Variable(1.0, name="v"); p = tf.placeholder(tf.bool, [], name="p"); c = tf.cond(p, lambda: v + 1.0, lambda: v * 2.0); w = tf.while_loop(lambda i: i < 3.0, lambda i: i + c, [c], name="w"); tf.add_to_collection("out", w); tf.train.export_meta_graph(folder + "g.meta")
with tf.Graph().as_default(), tf.Session() as s:
    tf.train.import_meta_graph(folder + "g.meta"); w, = tf.get_collection("out"); s.run(tf.global_variables_initializer()); log.append([s.run(w, {"p:0": q}) for q in (True, False)])
# 48_contexts
p = tf.placeholder(tf.bool, [], name="p"); x = tf.constant(2.0); c = tf.cond(p, lambda: x + 1.0, lambda: x * 2.0); w = tf.while_loop(lambda i: i < 3.0, lambda i: i + c, [c], name="w"); tf.add_to_collection("out", w); tf.train.export_meta_graph(folder + "g.meta")
with tf.Graph().as_default(), tf.Session() as s: tf.train.import_meta_graph(folder + "g.meta"); log.append(sorted(tf.get_default_graph().get_all_collection_keys())); w, = tf.get_collection("out"); log.append(len(tf.gradients(w, ["Const:0"] and tf.get_default_graph().get_tensor_by_name("Const:0"))))
# 48_gradients
x = tf.placeholder(tf.float32, [], name="x"); c = tf.cond(x > 0, lambda: x * x, lambda: x); w = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x + c), [0, x])[1]; y = tf.identity(w, name="y"); z = tf.identity(c, name="z"); tf.train.export_meta_graph(folder + "g.meta"); d = tf.get_default_graph().as_graph_def()
for scope in (None, "s"):
    with tf.Graph().as_default() as g, tf.Session() as s:
        tf.train.import_meta_graph(folder + "g.meta", import_scope=scope); p = scope + "/" if scope else ""; log.append([s.run(tf.gradients(g.get_tensor_by_name(p + "y:0"), g.get_tensor_by_name(p + "x:0")), {p + "x:0": q}) for q in (2.0, -2.0)])
with tf.Graph().as_default() as g, tf.Session() as s: tf.import_graph_def(d, name=""); log.append([s.run(tf.gradients(g.get_tensor_by_name("z:0"), g.get_tensor_by_name("x:0")), {"x:0": q}) for q in (2.0, -2.0)])
# 48_forms
v = tf.Variable(1.0, name="v"); c = tf.constant(1.0, name="c"); given = {"own": [v, c], "metric_variables": [v], "eval_step": [v], "local_variables": [c], "model_variables": ["text"], "ends": [c.op], "mixed": [c, "text"], "texts": ["a", b"b"], "yes": [True], "large": [2**70], "nothing": [None], "object": [object()]}
[tf.add_to_collection(k, i) for k, items in given.items() for i in items]; m = tf.train.export_meta_graph(); log.append({k: str(m.collection_def[k]) if k in m.collection_def else None for k in given})
with tf.Graph().as_default(): tf.train.import_meta_graph(m); log.append([[getattr(i, "name", i) for i in tf.get_collection(k)] for k in given])
# 49_main_op_with_restore
v = tf.Variable(1.0, name="v"); o = tf.no_op(name="r"); m = tf.saved_model.main_op_with_restore(o); log.append([m.type, tf.saved_model.main_op.main_op_with_restore is tf.saved_model.main_op_with_restore])
with tf.Session() as s: s.run(m); log.append(s.run(v))
log.append(raises("TypeError", "", lambda: tf.saved_model.main_op_with_restore("r")))
# 49_simple_save
x = tf.placeholder(tf.float32, [None], name="x"); v = tf.Variable(2.0, name="v"); y = tf.multiply(x, v, name="y")
with tf.Session() as s: s.run(v.assign(4.0)); tf.saved_model.simple_save(s, folder + "m", {"a": x}, {"b": y})
with tf.Graph().as_default(), tf.Session() as s:
    m = tf.saved_model.loader.load(s, [tf.saved_model.tag_constants.SERVING], folder + "m"); d = m.signature_def["serving_default"]; log.append([d.inputs["a"].name, d.outputs["b"].name, d.method_name, s.run(d.outputs["b"].name, {d.inputs["a"].name: [1.0, 2.0]})])
    log.append(raises("RuntimeError", "", lambda: tf.saved_model.loader.load(s, ["other"], folder + "m"))); log.append(raises("OSError", "", lambda: tf.saved_model.loader.load(s, ["serve"], folder + "none")))
log.append([tf.saved_model.maybe_saved_model_directory(folder + "m"), tf.saved_model.maybe_saved_model_directory(folder)])
# 49_builder
x = tf.placeholder(tf.float32, [None], name="x"); v = tf.Variable(2.0, name="v"); y = x * v; u = tf.saved_model; sig = u.signature_def_utils; asset = tf.constant(folder + "words"); open(folder + "words", "w").write("a b"); tf.add_to_collection(tf.GraphKeys.ASSET_FILEPATHS, asset); init = tf.assign(v, 10.0).op
b = u.builder.SavedModelBuilder(folder + "m"); s1 = sig.predict_signature_def({"x": x}, {"y": y}); s2 = sig.build_signature_def({"x": u.utils.build_tensor_info(x)}, {"z": u.utils.build_tensor_info(v)}, "mine"); log.append([sig.is_valid_signature(s1), sig.is_valid_signature(s2)])
with tf.Session() as s: s.run(v.initializer); b.add_meta_graph_and_variables(s, ["serve"], {"one": s1, "two": s2}, assets_collection=tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS), main_op=init); b.add_meta_graph(["other", "tags"]); b.save()
log.append(sorted(os.path.relpath(os.path.join(d, f), folder + "m") for d, _, fs in os.walk(folder + "m") for f in fs))
with tf.Graph().as_default(), tf.Session() as s: m = u.load(s, ["serve"], folder + "m"); log.append([sorted(m.signature_def), s.run("v:0"), [a.filename for a in m.asset_file_def]])
with tf.Graph().as_default(), tf.Session() as s: log.append(sorted(u.load(s, ["tags", "other"], folder + "m").meta_info_def.tags))
# 50_graph_util
x = tf.placeholder(tf.float32, [2], name="x"); v = tf.Variable([2.0, 3.0], name="v"); y = tf.multiply(x, v, name="y"); z = tf.identity(tf.identity(y, name="mid"), name="z"); other = tf.constant(1.0, name="other")
with tf.Session() as s: s.run(v.initializer); g = tf.graph_util.convert_variables_to_constants(s, tf.get_default_graph().as_graph_def(), ["z"])
log.append(sorted(n.name for n in g.node)); log.append(sorted(n.name for n in tf.graph_util.extract_sub_graph(g, ["y"]).node)); log.append(sorted(n.name for n in tf.graph_util.remove_training_nodes(g, ["z"]).node))
for n in g.node:
    if n.op == "Mul": n.op = "Add"
with tf.Graph().as_default(), tf.Session() as s: tf.import_graph_def(g, name=""); log.append(s.run("z:0", {"x:0": [1.0, 1.0]}))
# 50_frozen_from_files
from importlib import import_module
x = tf.placeholder(tf.float32, [2], name="x"); v = tf.Variable([2.0, 3.0], name="v"); y = tf.multiply(x, v, name="y"); tf.train.write_graph(tf.get_default_graph(), folder, "g.pbtxt")
with tf.Session() as s: s.run(v.initializer); p = tf.train.Saver().save(s, folder + "m")
g = tf.GraphDef(); log.append(sorted(f for f in os.listdir(folder)))
with tf.Graph().as_default(), tf.Session() as s: tf.train.import_meta_graph(p + ".meta").restore(s, p); g = tf.graph_util.convert_variables_to_constants(s, s.graph.as_graph_def(), ["y"])
with tf.Graph().as_default(), tf.Session() as s: log.append(s.run(tf.import_graph_def(g, return_elements=["y:0"])[0], {"import/x:0": [1.0, 2.0]}))
""")
