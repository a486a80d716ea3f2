"""Programs with summaries, in the form of `row_program.py`."""

# ruff: noqa: E501  (a program to a line)
from __future__ import annotations

from snippets.api_snippets import Snippet, read_snippets

# PNG files are compared by their sizes; the pixels are, too, in test_summary_values.py.
_BEGIN = """
def shown(data):
    found = []
    for v in tf.Summary.FromString(data).value:
        item = [v.tag, v.node_name, v.WhichOneof("value"), str(v.metadata)]
        kind = v.WhichOneof("value")
        if kind == "image": item += [v.image.height, v.image.width, v.image.colorspace, v.image.encoded_image_string[:24]]
        elif kind == "simple_value": item.append(v.simple_value)
        else: item.append(str(getattr(v, kind)))
        found.append(item)
    return found
def run(t, feed=None):
    with tf.Session() as s: return shown(s.run(t, feed))
def nodes(): return [[n.name, n.op, list(n.input)] for n in tf.get_default_graph().as_graph_def().node]
c = tf.constant
"""
_PROGRAMS = r"""
# nodes
tf.summary.histogram("h", c([1.0, 2.0])); tf.summary.image("a b", tf.ones([1, 2, 2, 1])); tf.summary.audio("s", tf.ones([1, 2]), 8000.0, family="fam"); tf.summary.text("t", c(["x"])); tf.summary.tensor_summary("ts", c([1.0]), family="f")
with tf.name_scope("in"): tf.summary.scalar("sc", 1.0); tf.summary.histogram("sc", c([3]), family="of")
log += [nodes(), [t.name for t in tf.get_collection("summaries")], tf.summary.merge_all().name]
tf.summary.histogram("mine", c([1.0]), collections=["other"]); tf.summary.scalar("none", 1.0, collections=[]); log += [[t.name for t in tf.get_collection("other")], len(tf.get_collection("summaries"))]
# histograms
for x in ([1.0, 2.0, 3.0, -1.0], [1e30, -1e30], [1e-13, 0.0, -1e-13, 5e-324], [[0.5] * 3] * 4, list(range(-50, 50))): log.append(run(tf.summary.histogram("h", c(x))))
log += [run(tf.summary.histogram("h", tf.zeros([0]))), run(tf.summary.histogram("i", c([0, 0, 5]))), run(tf.summary.histogram("u", c([250, 3], tf.uint8))), run(tf.summary.histogram("d", c([1e200, 1.0], tf.float64)))]
with tf.Session() as s:
    log += [raises("InvalidArgumentError", "Nan in summary histogram for: n", lambda: s.run(tf.summary.histogram("n", c([float("nan")])))), raises("InvalidArgumentError", "Infinity in", lambda: s.run(tf.summary.histogram("m", c([1.0, float("inf")]))))]
log.append(raises("TypeError", "", lambda: tf.summary.histogram("t", c(["a"]))))
# images
x = np.arange(2 * 2 * 3 * 3).reshape(2, 2, 3, 3)
log += [run(tf.summary.image("f", c(x, tf.float32), max_outputs=1)), run(tf.summary.image("u", c(x, tf.uint8))), run(tf.summary.image("g", tf.ones([5, 1, 2, 1]), max_outputs=2)), run(tf.summary.image("a", tf.ones([1, 2, 1, 4])))]
log += [raises("InvalidArgumentError", "Tensor must be 4-D with last dim 1, 3, or 4", lambda: run(tf.summary.image("t", tf.placeholder_with_default(c([1.0]), None)))), raises("TypeError", "", lambda: tf.summary.image("t", tf.ones([1, 1, 1, 1], tf.int32)))]
# sounds
log += [run(tf.summary.audio("a", c(np.linspace(-1, 1.2, 8)[None], tf.float32), 8000.0)), run(tf.summary.audio("b", c(np.linspace(-1, 1, 8).reshape(2, 2, 2), tf.float32), 44100, max_outputs=2)), run(tf.summary.audio("c", tf.ones([3, 4]) / 3.0, 11.0, max_outputs=1)), raises("InvalidArgumentError", "Tensor must be 3-D or 2-D", lambda: run(tf.summary.audio("t", tf.placeholder_with_default(c([1.0]), None), 8000)))]
# tensors
log += [run(tf.summary.text("t", c(["a", "b"]))), run(tf.summary.tensor_summary("ts", c([[1.0, 2.0]]), display_name="shown", summary_description="said")), run(tf.summary.tensor_summary("i", c(7))), run(tf.summary.tensor_summary("e", tf.zeros([0, 2], tf.int64)))]
log.append(raises("ValueError", "to have dtype string, got <dtype: 'int32'>", lambda: tf.summary.text("t", c([1]))))
# merged
log.append(run(tf.summary.merge([tf.summary.scalar("a b", 1.0, family="fam"), tf.summary.histogram("x", [1.0])])))
log.append(tf.summary.merge_all(key="nothing"))
x = tf.placeholder(tf.float32, [None]); log.append(run(tf.summary.merge([tf.summary.histogram("p", x), tf.summary.histogram("q", x * 2.0)]), {x: [1.0, 2.0]})); z = tf.placeholder(tf.string, []); log.append(str(tf.Session().run(tf.strings.join([z, z]), {z: b"a\0\0"})))
# files
with tf.Session() as s:
    w = tf.summary.FileWriter(folder + "logs"); h = tf.summary.histogram("h", c([1.0, 2.0])); w.add_summary(s.run(h), 5); w.add_summary(tf.Summary(value=[tf.Summary.Value(tag="own", simple_value=2.5)]), 6); w.add_session_log(tf.SessionLog(status=tf.SessionLog.STOP, checkpoint_path="p"), 7); w.close()
path = folder + "logs/" + os.listdir(folder + "logs")[0]
for e in tf.train.summary_iterator(path): log.append([e.step, e.WhichOneof("what"), e.file_version, str(e.summary), str(e.session_log)])
with open(path, "r+b") as f: f.seek(60); f.write(b"\xff\xff\xff")
log += [raises("DataLossError", "corrupted record", lambda: list(tf.train.summary_iterator(path))), raises("NotFoundError", "", lambda: list(tf.train.summary_iterator(folder + "none")))]
"""
SUMMARY_SNIPPETS = tuple(Snippet(s.name, _BEGIN + s.code) for s in read_snippets(_PROGRAMS))
