"""Programs with what a run computes in Python (functions, strings), as those of `api_snippets.py`."""

# ruff: noqa: E501  (a program to a line)
from __future__ import annotations

import re
from typing import Any

from api_program import nodes_of
from snippets.api_snippets import Snippet, read_snippets

PYTHON_FUNCTION_SNIPPETS: tuple[Snippet, ...] = read_snippets("""
# unknown_shape =
x = tf.placeholder(tf.float32, [None], name="x")
out = tf.py_func(lambda a: np.outer(a, a), [x], tf.float32)
feed = {x: [1.0, 2.0]}
# stateless =
out = tf.py_func(lambda a, b: a + b, [tf.constant([1.0, 2.0]), 3.0], tf.float32, stateful=False, name="pure")
# several_outputs =
x = tf.placeholder(tf.int32, [], name="x")
out = tf.py_func(lambda n: (np.arange(n), np.float64(n) / 3, n > 2), [x], [tf.int64, tf.float64, tf.bool])
feed = {x: 4}
# no_outputs =
with tf.name_scope("outer"):
    done = tf.py_func(lambda a: None, [tf.constant(1)], [], name="effect")
with tf.control_dependencies([done]):
    out = [tf.constant(2) * 3, done]
# numpy_function =
out = tf.numpy_function(lambda a: a.T, [tf.constant([[1.0, 2.0, 3.0]])], tf.float32)
# one_output_in_a_list =
out = tf.numpy_function(lambda a: [a], [tf.constant([1, 2])], [tf.int32])
# py_function =
x = tf.placeholder(tf.int32, [None], name="x")
out = tf.py_function(lambda a, n, s: [a.numpy()[::-1] * n.numpy(), 3, [1.5, 2], s.numpy() + b"!", a.shape[0]], [x, 2, "word"], [tf.int32, tf.float32, tf.float64, tf.string, tf.int64], name="eager")
feed = {x: [1, 2, 3]}
# py_function_one =
out = tf.py_function(lambda a: a.numpy().sum(), [tf.constant([[1.0, 2.0]])], tf.float32)
# py_function_effect =
seen = []
with tf.control_dependencies([tf.py_function(lambda a: seen.append(a.numpy()), [tf.constant(5)], [])]):
    out = tf.constant(1)
# py_function_counts =
out = tf.py_function(lambda: [1, 2, 3], [], [tf.int32, tf.int32])
# in_a_loop =
def body(i, a):
    grown = tf.py_func(lambda a, i: np.append(a, np.float32(i)), [a, i], tf.float32)
    grown.set_shape([None])
    return i + 1, grown
out = tf.while_loop(lambda i, a: i < 4, body, [0, tf.zeros([1])], [tf.TensorShape([]), tf.TensorShape([None])])
# in_branches =
calls = []
p = tf.placeholder(tf.bool, [], name="p")
def one():
    y = tf.py_func(lambda: (calls.append(1), np.float32(1))[1], [], tf.float32); y.set_shape([]); return y
def two():
    y = tf.py_func(lambda: (calls.append(2), np.float32(2))[1], [], tf.float32); y.set_shape([]); return y
chosen = tf.cond(p, one, two)
with tf.control_dependencies([chosen]):
    said = tf.py_func(lambda: np.array(calls), [], tf.int64)
out = [chosen, said]
feed = {p: False}
# on_a_variable =
v = tf.get_variable("v", initializer=tf.constant([1.0, 2.0]))
with tf.control_dependencies([tf.assign(v, tf.py_func(lambda a: a * 3, [v], tf.float32))]):
    out = tf.identity(v)
before = [tf.global_variables_initializer()]
# scalar_type =
out = tf.py_func(lambda a, b: [np.bool_(type(a) is np.float32), np.bool_(type(b) is np.ndarray)], [1.0, [2.0]], [tf.bool, tf.bool])
# python_numbers =
out = tf.py_func(lambda a: [3.5, 7, True], [1.0], [tf.float64, tf.int64, tf.bool])
# halves =
out = tf.py_func(lambda a: a.astype(np.float16) / 3, [tf.constant([1.0, 2.0])], tf.float16)
# not_contiguous =
out = tf.py_func(lambda a: a[::-1, ::2], [tf.reshape(tf.range(12), [3, 4])], tf.int32)
# empty =
out = tf.py_func(lambda a: a[5:], [tf.constant([1.0, 2.0])], tf.float32)
# wrong_dtype =
out = tf.py_func(lambda a: a.astype(np.float64), [tf.constant([1.0])], tf.float32, name="mine")
# wrong_count =
out = tf.py_func(lambda a: (a, a), [tf.constant([1.0])], tf.float32)
# nothing =
out = tf.py_func(lambda a: None, [tf.constant([1.0])], tf.float32)
# something_for_nothing =
out = tf.py_func(lambda a: a, [tf.constant([1.0])], [])
# value_error
def f(a): raise ValueError("not today")
out = tf.py_func(f, [tf.constant([1.0])], tf.float32)
# type_error
def f(a): raise TypeError("what is this")
out = tf.py_func(f, [tf.constant([1.0])], tf.float32)
# stop_iteration
def f(a): raise StopIteration("the end")
out = tf.py_func(f, [tf.constant([1.0])], tf.float32)
# memory_error
def f(a): raise MemoryError("too much")
out = tf.py_func(f, [tf.constant([1.0])], tf.float32)
# not_implemented
def f(a): raise NotImplementedError("later")
out = tf.py_func(f, [tf.constant([1.0])], tf.float32)
# other_error
class Odd(Exception): pass
def f(a): raise Odd("how odd")
out = tf.py_func(f, [tf.constant([1.0])], tf.float32)
# strings_in_and_out =
x = tf.placeholder(tf.string, [None], name="x")
out = tf.py_func(lambda a: np.array([v.upper() + b"\0" for v in a], object), [x], tf.string)
feed = {x: ["ab", b"c"]}
# strings_of_python =
out = tf.py_func(lambda a: ["é", np.array(["a", "bc"]), np.array([b"x", b"yz"]), b"q"], [1], [tf.string] * 4)
# strings_move =
x = tf.placeholder(tf.string, [None], name="x")
both = tf.concat([x, tf.constant(["k", ""])], 0)
out = [tf.gather(both, [3, 0, 2]), tf.reshape(both, [2, 2])[1], tf.stack([both, both])[0], tf.size(both)]
feed = {x: ["ab", b"c"]}
# strings_move_in_all_ways
s = tf.placeholder(tf.string, [2, 3], name="s")
feed = {s: [["a", "b", "c"], ["d", "", "f"]]}
out = [tf.transpose(s), tf.tile(s, [1, 2]), tf.reverse(s, [1]), tf.pad(s, [[0, 1], [0, 0]]), tf.split(s, 3, 1)[1], tf.unstack(s)[0], tf.slice(s, [0, 1], [2, 2])]
out += [tf.gather_nd(s, [[1, 1]]), tf.broadcast_to(s[0], [2, 3]), tf.where(tf.constant([[True, False, True]] * 2), s, tf.tile(s[:1], [2, 1])), tf.boolean_mask(s, [True, False])]
out += [tf.fill([2], "x"), tf.zeros_like(s), tf.zeros([2], tf.string), tf.dynamic_partition(s, [0, 1], 2), tf.dynamic_stitch([[0], [1]], [["a"], ["b"]]), tf.squeeze(s[:1]), tf.stack([s[0], s[1]], 1)]
out += [tf.reverse_sequence(s, [2, 1], seq_axis=1, batch_axis=0), tf.expand_dims(s, 1), tf.roll(s, 1, 1), s[:, ::-1], tf.shape(s), tf.nn.embedding_lookup(s, [1, 0])]
out += [tf.equal(s, "b"), tf.not_equal(s, ["a", "", "f"]), tf.map_fn(lambda r: tf.string_join([r, "!"]), s), tf.ensure_shape(s, [2, 3])]
# strings_in_a_loop =
out = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.string_join([a, tf.as_string(i)], "/")), [0, tf.constant("go")])
# strings_in_branches =
p = tf.placeholder(tf.bool, [], name="p"); x = tf.constant(["a", "b"])
out = tf.cond(p, lambda: x, lambda: tf.string_join([x, "!"]))
feed = {p: False}
# strings_in_a_tensor_array =
array = tf.TensorArray(tf.string, 3, element_shape=[])
out = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a.write(i, tf.as_string(i * 10))), [0, array])[1].stack()
# strings_in_a_variable =
v = tf.get_variable("v", initializer=tf.constant(["a", "b"]))
before = [tf.global_variables_initializer(), tf.assign(v, tf.string_join([v, ["1", "2"]]))]
out = v
# strings_scattered_over_a_variable =
v = tf.get_variable("v", initializer=tf.constant(["a", "b", "c", "d", "e"]))
before = [tf.global_variables_initializer(), tf.scatter_update(v, [1, 3], ["x", "y"]), tf.scatter_update(v, [0], tf.string_join([v[:1], "!"]))]
out = v
# join_scalars =
out = [tf.string_join(["a", tf.constant([["b", "c"]])], "--"), tf.string_join(["x", "y", "z"])]
# join_wrong
out = tf.raw_ops.StringJoin(inputs=[tf.constant(["a", "b"]), tf.constant(["a", "b", "c"])])
# as_string_floats =
x = [1.5, 0.1, 1e20, np.nan, np.inf, -np.inf, -0.0, 1 / 3, 123456789.0]
kinds = [{}, {"precision": 2}, {"scientific": True}, {"shortest": True}, {"shortest": True, "precision": 3}]
kinds += [{"width": 12, "precision": 1, "fill": c} for c in "0- +#"]
out = [tf.as_string(tf.constant(x, t), **k) for t in (tf.float32, tf.float64) for k in kinds]
# as_string_halves =
out = [tf.as_string(tf.constant([1.5, 0.1, 65504.0], t)) for t in (tf.float16, tf.bfloat16)]
# as_string_others =
out = [tf.as_string(tf.constant([1, 0, 100], t), width=6, fill=c) for t in (tf.int8, tf.int32, tf.int64, tf.uint8) for c in ("", "0", "-", "+")]
out += [tf.as_string([-5, 3], width=5, fill="0"), tf.as_string([True, False], width=8), tf.as_string(tf.constant([1.5 - 2j]), precision=1)]
out += [tf.as_string(tf.constant(["abc"]), width=6), tf.as_string(tf.constant(["abc"]), width=6, fill="-")]
# as_string_both
out = tf.as_string(tf.constant(1.0), scientific=True, shortest=True)
# as_string_precision
out = tf.as_string(tf.constant(1), precision=2)
# as_string_scientific
out = tf.as_string(tf.constant(True), scientific=True)
# as_string_long_fill
out = tf.as_string(tf.constant(1.0), fill="ab")
# as_string_odd_fill
out = tf.as_string(tf.constant(1.0), fill="x")
# format_shapes
shapes = [(), (1,), (10,), (2, 3, 4), (3, 4, 5), (0, 3), (3, 0), (4, 0, 2), (0,), (10, 10), (8, 1), (2, 2, 2, 2)]
out = [tf.strings.format("{}", tf.reshape(tf.range(int(np.prod(s))), s), summarize=n) for s in shapes for n in (3, 1, 0, -1, 100)]
# format_kinds =
x = [np.float32([1 / 7, 1e20, np.nan, -np.inf, -0.0]), np.float64([1 / 7]), np.float16(0.1), np.array([True, False]), np.int8(-3)]
x += [np.array(["a\nb", 'q"x', "it's", "é"]), np.array("s"), np.array([1j, 2])]
out = [tf.strings.format("<{}>", tf.constant(v), summarize=-1) for v in x]
# format_several =
x = tf.placeholder(tf.float32, [None], name="x")
out = tf.strings.format("a % b % c", (x, tf.constant("s")), placeholder="%")
feed = {x: [1.0, 2.5]}
# format_none =
out = tf.strings.format("nothing", [])
# format_wrong
out = tf.strings.format("{} {}", [tf.constant(1)])
# format_wrong_node
out = tf.raw_ops.StringFormat(inputs=[tf.constant(1)], template="{} {}", placeholder="{}")
# no_function
out = tf.py_func(3, [tf.constant([1.0])], tf.float32)
""")


def numbered(text: str) -> str:
    """Tokens count the functions of a process: here, those of the text."""
    seen: dict[str, str] = {}
    return re.sub(r"pyfunc_\d+", lambda m: seen.setdefault(m[0], f"pyfunc_#{len(seen)}"), text)


def as_json(item: Any) -> Any:
    """Values with texts of a character a byte, as JSON has no bytes."""
    if isinstance(item, list):
        return [as_json(x) for x in item]
    return item.decode("latin-1") if isinstance(item, bytes) else item


def nodes_text(graph_def: Any) -> str:
    return numbered(repr(nodes_of(graph_def)))
