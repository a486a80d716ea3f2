"""Programs of row 50 with files: `tools.freeze_graph`. The form is that of `row_program.py`."""

# ruff: noqa: E501  (a program to a line)
from __future__ import annotations

from snippets.api_snippets import Snippet, read_snippets

TOOL_ROWS: tuple[Snippet, ...] = read_snippets(r"""
# 50_freeze_graph
from importlib import import_module
fz = import_module(("flowc.tools" if "flowc" in tf.__name__ else "tensorflow.python.tools") + ".freeze_graph")
x = tf.placeholder(tf.float32, [2], name="x"); v = tf.Variable([2.0, 3.0], name="v"); w = tf.Variable(1.0, name="w")
with tf.device("/cpu:0"): y = tf.multiply(x, v, name="y")
z = tf.add(y, w, name="z"); t = tf.Variable(5.0, name="t"); later = tf.assign(t, v[0], name="later"); u = tf.add(z, t, name="u")
for name, as_text in (("g.pbtxt", True), ("g.pb", False)): tf.train.write_graph(tf.get_default_graph(), folder, name, as_text)
with tf.Session() as s: s.run(tf.global_variables_initializer()); p = tf.train.Saver().save(s, folder + "m"); d = {"x": x}; tf.saved_model.simple_save(s, folder + "saved", d, {"z": z})
def run(graph, binary, checkpoint, outputs, out="", clear=False, first="", *more):
    with tf.Graph().as_default(): g = fz.freeze_graph(graph, "", binary, checkpoint, outputs, "save/restore_all", "save/Const:0", out, clear, first, *more)
    log.append([[n.name, n.op, n.device] for n in g.node])
    return g
def value(g, name):
    with tf.Graph().as_default(), tf.Session() as s: tf.import_graph_def(g, name=""); return s.run(name, {"x:0": [1.0, 2.0]})
log.append(value(run(folder + "g.pbtxt", False, p, "z", folder + "out.pb"), "z:0")); log.append(value(run(folder + "g.pb", True, p, "z, y", "", True), "y:0")); log.append(value(run(folder + "g.pb", True, p, "u", "", False, "later"), "u:0"))
g = tf.GraphDef(); g.ParseFromString(open(folder + "out.pb", "rb").read()); log.append([value(g, "z:0"), os.path.exists(folder + "out.pb")])
run(folder + "g.pb", True, p, "z", "", False, "", "v"); run(folder + "g.pb", True, p, "z", "", False, "", "", "v")
log.append(value(run("", True, p, "z", "", False, "", "", "", p + ".meta"), "z:0")); log.append(value(run("", True, "", "z", "", False, "", "", "", "", folder + "saved"), "z:0"))
for words, kind, call in (("doesn't exist!", "ValueError", lambda: run(folder + "g.pb", True, folder + "none", "z")), ("supply the name of a node", "ValueError", lambda: run(folder + "g.pb", True, p, "")), ("nothing is not in graph", "AssertionError", lambda: run(folder + "g.pb", True, p, "nothing"))): log.append(raises(kind, words, call))
for words, call in (("Input graph file", lambda: run(folder + "none.pb", True, p, "z")), ("Input meta graph file", lambda: run("", True, p, "z", "", False, "", "", "", folder + "none.meta")), ("Input saver file", lambda: fz.freeze_graph(folder + "g.pb", folder + "none", True, p, "z", "", "", "", False, ""))): log.append(raises("OSError", words, call))
""")
