"""Programs with loops, conditionals, TensorArrays and variables, as those of `api_snippets.py`.

TensorFlow builds them with control flow of version 1.
"""

# ruff: noqa: E501  (a program to a line)
from __future__ import annotations

from snippets.api_snippets import Snippet, read_snippets
from snippets.variable_snippets import VARIABLE_SNIPPETS

_SNIPPETS = read_snippets("""
# 71_counter =
i = tf.constant(0)
out = tf.while_loop(lambda i: tf.less(i, 10), lambda i: [tf.add(i, 1)], [i])
# 71_two_variables =
out = tf.while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x * 2.0), [tf.constant(0), tf.constant([1.0, 2.0])])
# 71_named_and_inside_a_scope =
with tf.name_scope("outer"):
    out = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x + 1.5), (0, 0.5), name="count")
# 71_captures =
x = tf.placeholder(tf.float32, [2], name="x"); w = tf.constant([[1.0, 2.0], [3.0, 4.0]], name="w")
out = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.tanh(a + tf.reduce_sum(w * x, 1))), [0, tf.zeros([2])])
feed = {x: [0.1, -0.2]}
# 71_traced_once
calls = {"cond": 0, "body": 0}
def cond(i):
    calls["cond"] += 1
    return i < 4
def body(i):
    calls["body"] += 1
    return i + 1
loop = tf.while_loop(cond, body, [tf.constant(0)])
out = [loop, tf.constant([calls["cond"], calls["body"]])]
# 71_never_runs =
out = tf.while_loop(lambda i, x: i < 0, lambda i, x: (i + 1, x * 2.0), [0, tf.constant(3.0)])
# 71_constant_body =
out = tf.while_loop(lambda i, x: i < 2, lambda i, x: (i + 1, tf.constant(7.0)), [0, tf.constant(3.0)])
# 71_body_returns_what_is_outside =
y = tf.constant(5.0, name="y")
out = tf.while_loop(lambda i, x: i < 2, lambda i, x: (i + 1, y), [0, tf.constant(3.0)])
# 71_swapped_variables =
out = tf.while_loop(lambda i, a, b: i < 3, lambda i, a, b: (i + 1, b, a), [0, tf.constant(1.0), tf.constant(2.0)])
# 71_condition_from_outside =
p = tf.placeholder(tf.bool, [], name="p"); n = tf.constant(3, name="n")
out = tf.while_loop(lambda i: tf.logical_and(i < n, p), lambda i: i + 1, [0])
feed = {p: True}
# 71_control_dependencies_around =
a = tf.constant(1.0, name="a")
with tf.control_dependencies([a]):
    out = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x + 1.0), [0, tf.constant(0.0)])
# 71_control_dependencies_inside =
a = tf.constant(1.0, name="a")
def body(i, x):
    with tf.control_dependencies([a]):
        return i + 1, tf.identity(x) + 1.0
out = tf.while_loop(lambda i, x: i < 3, body, [0, tf.constant(0.0)])
# 71_control_dependencies_on_a_loop =
loop = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
with tf.control_dependencies([loop]):
    out = tf.identity(tf.constant(2.0))
# 71_control_dependencies_among_body_nodes =
def body(i, x):
    y = x * 2.0
    with tf.control_dependencies([y]):
        z = tf.constant(1.0)
        w = x + z
    return i + 1, w
out = tf.while_loop(lambda i, x: i < 3, body, [0, tf.constant(0.0)])
# 71_two_loops_one_after_the_other =
a = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
out = tf.while_loop(lambda i: i < 20, lambda i: i + a, [a])
# 72_cond_not_callable
tf.while_loop(3, lambda i: i, [0])
# 72_body_not_callable
tf.while_loop(lambda i: i < 2, 3, [0])
# 72_no_variables
tf.while_loop(lambda: True, lambda: [], [])
# 72_fewer_results
tf.while_loop(lambda i, j: i < 2, lambda i, j: [i + 1], [0, 0])
# 72_more_results
tf.while_loop(lambda i: i < 2, lambda i: [i + 1, i], [0])
# 72_another_structure
tf.while_loop(lambda i, p: i < 2, lambda i, p: (i + 1, p[0]), [0, (tf.constant(1), tf.constant(2))])
# 72_another_type_of_structure
tf.while_loop(lambda i, p: i < 2, lambda i, p: (i + 1, [p[0], p[1]]), [0, (tf.constant(1), tf.constant(2))])
# 72_parallel_iterations_0
tf.while_loop(lambda i: i < 2, lambda i: i + 1, [0], parallel_iterations=0)
# 72_parallel_iterations_negative
tf.while_loop(lambda i: i < 2, lambda i: i + 1, [0], parallel_iterations=-1)
# 72_condition_no_bool
tf.while_loop(lambda i: i + 1, lambda i: i + 1, [0])
# 72_condition_no_scalar
tf.while_loop(lambda i: tf.less(i, [1, 2]), lambda i: i + 1, [0])
# 72_inside_used_outside
kept = []
def body(i):
    kept.append(i + 1)
    return i + 1
tf.while_loop(lambda i: i < 3, body, [0])
tf.identity(kept[0])
# 72_inside_fetched
kept = []
def body(i):
    kept.append(i + 1)
    return i + 1
tf.while_loop(lambda i: i < 3, body, [0])
out = kept[0]
# 72_inside_fed
loop = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
out = loop
feed = {"while/Enter:0": 3}
# 79_inside_fetched
kept = []
def taken():
    kept.append(tf.constant(1.0))
    return kept[0]
tf.cond(tf.constant(True), taken, lambda: 2.0)
out = kept[0]
# 72_inside_used_in_another_loop
kept = []
def body(i):
    kept.append(i + 1)
    return i + 1
tf.while_loop(lambda i: i < 3, body, [0])
tf.while_loop(lambda i: i < 3, lambda i: i + kept[0], [0])
# 73_pair =
import collections
Pair = collections.namedtuple("Pair", "j, k")
i = tf.constant(0)
out = tf.while_loop(lambda i, p: i < 10, lambda i, p: (i + 1, Pair(p.j + p.k, p.j - p.k)), (i, Pair(tf.constant(1), tf.constant(2))))
# 73_nested =
out = tf.while_loop(lambda i, s: i < 4, lambda i, s: (i + 1, {"b": [s["b"][0] + 1.0, s["a"]], "a": s["b"][1] * 2.0}), (0, {"b": [tf.constant(1.0), tf.constant(2.0)], "a": tf.constant(3.0)}))
# 73_numpy =
out = tf.while_loop(lambda i, x: i < 4, lambda i, x: (i + 1, x * x), [np.int32(0), np.array([1.0, 2.0])])
# 73_one_variable_is_bare =
out = tf.while_loop(lambda x: x[0] < 4.0, lambda x: x * 2.0, [tf.constant([1.0, 3.0])])
# 73_one_nested_variable
out = tf.while_loop(lambda p: p[0] < 4.0, lambda p: ((p[0] * 2.0, p[1] + 1.0),), [(tf.constant(1.0), tf.constant(3.0))])
# 73_same_structure
out = tf.while_loop(lambda x: x < 4.0, lambda x: x * 2.0, [tf.constant(1.0)], return_same_structure=True)
assert isinstance(out, list)
# 74_shape_changes
m = tf.ones([2, 2])
tf.while_loop(lambda i, m: i < 10, lambda i, m: [i + 1, tf.concat([m, m], axis=0)], [tf.constant(0), m])
# 74_concat =
m = tf.ones([2, 2])
out = tf.while_loop(lambda i, m: i < 3, lambda i, m: [i + 1, tf.concat([m, m], axis=0)], [tf.constant(0), m], shape_invariants=[tf.constant(0).get_shape(), tf.TensorShape([None, 2])])
# 74_incompatible_invariant
tf.while_loop(lambda i, m: i < 3, lambda i, m: [i + 1, m], [tf.constant(0), tf.ones([2, 2])], shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 3])])
# 74_less_specific_result
x = tf.placeholder(tf.float32, [None, 2])
tf.while_loop(lambda i, m: i < 3, lambda i, m: [i + 1, x], [tf.constant(0), tf.ones([2, 2])])
# 74_set_shape
x = tf.placeholder(tf.float32, [None, 2])
def body(i, m):
    y = x * 2.0
    y.set_shape([2, 2])
    return i + 1, y
out = tf.while_loop(lambda i, m: i < 3, body, [tf.constant(0), tf.ones([2, 2])])
feed = {x: [[1.0, 2.0], [3.0, 4.0]]}
# 74_unknown_rank =
out = tf.while_loop(lambda i, m: i < 3, lambda i, m: [i + 1, tf.expand_dims(m, 0)], [tf.constant(0), tf.ones([2])], shape_invariants=[tf.TensorShape([]), tf.TensorShape(None)])
# 74_no_shape
tf.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)], shape_invariants=[3])
# 74_another_structure
tf.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)], shape_invariants=[tf.TensorShape([]), tf.TensorShape([])])
# 75_tensor_array =
ta = tf.TensorArray(tf.float32, size=4)
_, ta = tf.while_loop(lambda i, t: i < 4, lambda i, t: (i + 1, t.write(i, tf.cast(i, tf.float32) * [1.0, 2.0])), [0, ta])
out = ta.stack()
# 75_tensor_array_read_in_a_loop =
x = tf.placeholder(tf.float32, [None, 3], name="x")
ta = tf.TensorArray(tf.float32, size=tf.shape(x)[0]).unstack(x)
out = tf.while_loop(lambda i, s: i < ta.size(), lambda i, s: (i + 1, s + ta.read(i)), [0, tf.zeros([3])])
feed = {x: [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]}
# 75_tensor_array_of_dynamic_size =
ta = tf.TensorArray(tf.int32, size=0, dynamic_size=True, element_shape=[])
_, ta = tf.while_loop(lambda i, t: i < 5, lambda i, t: (i + 1, t.write(i, i * i)), [0, ta])
out = [ta.stack(), ta.size()]
# 75_tensor_array_methods =
ta = tf.TensorArray(tf.float32, size=3, clear_after_read=False, name="ta")
ta = ta.scatter([2, 0, 1], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
out = [ta.read(0), ta.gather([1, 2]), ta.concat(), ta.stack(), ta.size(), ta.identity().read(2)]
# 75_tensor_array_split =
ta = tf.TensorArray(tf.float32, size=3, infer_shape=False)
ta = ta.split([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]], [1, 2, 3])
out = [ta.concat(), ta.size()]
# 75_tensor_array_split_evenly =
ta = tf.TensorArray(tf.float32, size=3, clear_after_read=False)
ta = ta.split([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 2, 2])
out = [ta.concat(), ta.stack()]
# 75_tensor_array_close =
ta = tf.TensorArray(tf.float32, size=1).write(0, 2.0)
r = ta.read(0)
with tf.control_dependencies([r]):
    out = [r, ta.close()]
# 75_tensor_array_grad =
ta = tf.TensorArray(tf.float32, size=2, clear_after_read=False).unstack([1.0, 2.0])
g = ta.grad("g")
g = g.write(0, 3.0).write(1, 4.0)
out = [g.stack()]
# 75_tensor_array_element_shape =
ta = tf.TensorArray(tf.float32, size=2, element_shape=[None, 2], infer_shape=False)
ta = ta.write(0, [[1.0, 2.0]]).write(1, [[3.0, 4.0], [5.0, 6.0]])
out = [ta.read(0), ta.read(1)]
# 75_tensor_array_without_colocation =
ta = tf.TensorArray(tf.float32, size=2, colocate_with_first_write_call=False, tensor_array_name="named")
out = ta.write(0, 1.0).write(1, 2.0).stack()
# 75_tensor_array_no_size
tf.TensorArray(tf.float32)
# 75_tensor_array_handle_and_size
ta = tf.TensorArray(tf.float32, size=2)
tf.TensorArray(tf.float32, size=2, handle=ta.handle, flow=ta.flow)
# 75_tensor_array_handle_without_flow
ta = tf.TensorArray(tf.float32, size=2)
tf.TensorArray(tf.float32, handle=ta.handle)
# 75_tensor_array_handle_no_tensor
tf.TensorArray(tf.float32, handle=3, flow=tf.constant(0.0))
# 75_tensor_array_inconsistent_shapes
ta = tf.TensorArray(tf.float32, size=2)
ta.write(0, [1.0]).write(1, [1.0, 2.0])
# 75_tensor_array_read_past_the_end
out = tf.TensorArray(tf.float32, size=2).unstack([1.0, 2.0]).read(2)
# 75_tensor_array_read_before_write
out = tf.TensorArray(tf.float32, size=2).write(0, 1.0).read(1)
# 75_tensor_array_written_twice
out = tf.TensorArray(tf.float32, size=2).write(0, 1.0).write(0, 2.0).read(0)
# 75_tensor_array_read_twice
ta = tf.TensorArray(tf.float32, size=2).unstack([1.0, 2.0])
a = ta.read(0)
with tf.control_dependencies([a]):
    out = ta.read(0)
# 75_tensor_array_written_past_the_end
out = tf.TensorArray(tf.float32, size=2).write(2, 1.0).flow
# 76_parallel_iterations =
out = [tf.while_loop(lambda i, x: i < 6, lambda i, x: (i + 1, x * 1.5 + tf.cast(i, tf.float32)), [0, 1.0], parallel_iterations=n) for n in (1, 10, 32)]
# 77_maximum_iterations =
out = tf.while_loop(lambda i, x: i < 10, lambda i, x: (i + 1, x + 1.0), (0, 0.5), maximum_iterations=3)
# 77_maximum_iterations_one_variable =
out = tf.while_loop(lambda x: x < 10.0, lambda x: x + 1.0, [tf.constant(0.5)], maximum_iterations=3)
# 77_maximum_iterations_not_reached =
out = tf.while_loop(lambda i: i < 2, lambda i: i + 1, [0], maximum_iterations=tf.constant(5, tf.int64))
# 77_maximum_iterations_no_scalar
tf.while_loop(lambda i: i < 2, lambda i: i + 1, [0], maximum_iterations=[1, 2])
# 77_other_options =
out = tf.while_loop(lambda i: i < 2, lambda i: i + 1, [0], back_prop=False, swap_memory=True)
# 78_nested_loops =
x = tf.placeholder(tf.float32, [], name="x")
def body(i, a):
    b = tf.while_loop(lambda j, b: j < i, lambda j, b: (j + 1, b + x * tf.cast(i, tf.float32)), [0, a])[1]
    return i + 1, b
out = tf.while_loop(lambda i, a: i < 4, body, [0, 0.0])
feed = {x: 0.5}
# 78_loop_in_cond =
x = tf.placeholder(tf.float32, [], name="x")
out = tf.cond(x > 0.0, lambda: tf.while_loop(lambda v: v < 100.0, lambda v: v * 2.0 + x, [x]), lambda: -x)
feed = {x: 3.0}
# 78_cond_in_loop =
x = tf.placeholder(tf.float32, [], name="x")
def body(i, a):
    return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: a + x, lambda: a * 2.0)
out = tf.while_loop(lambda i, a: i < 5, body, [0, 1.0])
feed = {x: 3.0}
# 78_three_deep =
x = tf.placeholder(tf.float32, [2], name="x"); k = tf.constant(2.0, name="k")
def inner(i, a):
    def last(j, b):
        return j + 1, tf.cond(j < i, lambda: b + x, lambda: tf.while_loop(lambda c: c[0] < 10.0, lambda c: c * k + 1.0, [b]))
    return i + 1, tf.while_loop(lambda j, b: j < 3, last, [0, a])[1]
out = tf.while_loop(lambda i, a: i < 3, inner, [0, x])
feed = {x: [0.25, 0.5]}
# 78_cond_in_cond =
x = tf.placeholder(tf.float32, [], name="x"); y = tf.constant(2.0, name="y")
out = tf.cond(x > 0.0, lambda: tf.cond(x > 1.0, lambda: x * y, lambda: x - y), lambda: tf.cond(x < -1.0, lambda: y, lambda: x))
feed = {x: 0.5}
# 79_taken =
out = tf.cond(tf.constant(True), lambda: tf.constant(1.0), lambda: tf.constant(2.0))
# 79_structures =
p = tf.placeholder(tf.bool, [], name="p"); x = tf.constant([1.0, 2.0], name="x")
out = tf.cond(p, lambda: (x + 1.0, {"a": x}), lambda: (x, {"a": x * 3.0}))
feed = {p: False}
# 79_shapes_differ =
p = tf.placeholder(tf.bool, [], name="p")
out = tf.cond(p, lambda: tf.ones([2, 3]), lambda: tf.zeros([4, 3]))
feed = {p: True}
# 79_list_of_one =
out = tf.cond(tf.constant(False), lambda: [tf.constant(1.0)], lambda: [tf.constant(2.0)], name="choose")
# 79_strict
out = tf.cond(tf.constant(False), lambda: [tf.constant(1.0)], lambda: [tf.constant(2.0)], strict=True)
assert isinstance(out, list)
# 79_python_values =
out = tf.cond(tf.constant(True), lambda: 1, lambda: 2)
# 79_what_is_made_outside_runs =
x = tf.constant(2.0, name="x"); y = x * 2.0
out = tf.cond(x < 1.0, lambda: y, lambda: x)
# 79_operations =
p = tf.placeholder(tf.bool, [], name="p")
out = tf.cond(p, lambda: tf.no_op("nothing"), lambda: tf.group(tf.constant(1.0).op))
feed = {p: True}
# 79_tensor_array =
ta = tf.TensorArray(tf.float32, size=2).write(0, 1.0)
out = tf.cond(tf.constant(True), lambda: ta.write(1, 2.0), lambda: ta.write(1, 3.0)).stack()
# 79_older_names =
out = tf.cond(tf.constant(True), fn1=lambda: tf.constant(1), fn2=lambda: tf.constant(2))
# 79_control_dependencies =
a = tf.constant(1.0, name="a"); p = tf.constant(True)
def taken():
    with tf.control_dependencies([a]):
        return tf.constant(3.0)
with tf.control_dependencies([tf.constant(0.0, name="before")]):
    out = tf.cond(p, taken, lambda: tf.identity(a))
# 79_python_bool
tf.cond(True, lambda: 1, lambda: 2)
# 79_no_function
tf.cond(tf.constant(True), 1, lambda: 2)
# 79_no_second_function
tf.cond(tf.constant(True), lambda: 2)
# 79_both_names
tf.cond(tf.constant(True), lambda: 1, lambda: 2, fn1=lambda: 3)
# 79_dtypes_differ
tf.cond(tf.constant(True), lambda: 1, lambda: 2.0)
# 79_structures_differ
tf.cond(tf.constant(True), lambda: (1, 2), lambda: 2)
# 79_numbers_differ
tf.cond(tf.constant(True), lambda: (1, 2), lambda: (2, 3, 4))
# 79_types_of_structure_differ
tf.cond(tf.constant(True), lambda: (1, 2), lambda: [2, 3])
# 79_none
tf.cond(tf.constant(True), lambda: None, lambda: 2)
# 79_empty
tf.cond(tf.constant(True), lambda: [], lambda: [])
# 79_no_bool_tensor
tf.cond(tf.constant(1), lambda: 1, lambda: 2)
# 79_no_scalar
tf.cond(tf.constant([True, False]), lambda: 1, lambda: 2)
# 80_case =
x = tf.placeholder(tf.float32, [], name="x")
out = tf.case([(x < 0.0, lambda: tf.constant(-1)), (x < 10.0, lambda: tf.constant(1))], default=lambda: tf.constant(10))
feed = {x: -3.0}
# 80_exclusive =
x = tf.placeholder(tf.float32, [], name="x")
out = tf.case([(x < 0.0, lambda: tf.constant(-1)), (x > 10.0, lambda: tf.constant(1))], default=lambda: tf.constant(0), exclusive=True)
feed = {x: 13.0}
# 80_exclusive_with_two_true
x = tf.placeholder(tf.float32, [], name="x")
out = tf.case([(x < 0.0, lambda: tf.constant(-1)), (x < 10.0, lambda: tf.constant(1))], default=lambda: tf.constant(0), exclusive=True)
feed = {x: -13.0}
# 80_no_default =
x = tf.placeholder(tf.float32, [], name="x")
out = tf.case([(x < 0.0, lambda: tf.constant(-1)), (x > 10.0, lambda: tf.constant(1))])
feed = {x: 13.0}
# 80_no_default_none_true
x = tf.placeholder(tf.float32, [], name="x")
out = tf.case([(x < 0.0, lambda: tf.constant(-1)), (x > 10.0, lambda: tf.constant(1))])
feed = {x: 3.0}
# 80_dict =
x = tf.placeholder(tf.float32, [], name="x")
out = tf.case({x < 0.0: lambda: tf.constant(-1), x > 10.0: lambda: tf.constant(1)}, default=lambda: tf.constant(0), exclusive=True)
feed = {x: 3.0}
# 80_bad_pair
tf.case([(tf.constant(True), lambda: 1, 3)], default=lambda: 1)
# 80_bad_pairs
tf.case(3, default=lambda: 1)
# 80_python_predicate
tf.case([(True, lambda: 1)], default=lambda: 1)
# 80_no_bool
tf.case([(tf.constant(1), lambda: 1)], default=lambda: 1)
# 80_no_function
tf.case([(tf.constant(True), 1)], default=lambda: 1)
# 80_switch_case
x = tf.placeholder(tf.int32, [], name="x")
out = tf.switch_case(x, [lambda: tf.constant(10), lambda: tf.constant(20), lambda: tf.constant(30)])
feed = {x: 1}
# 80_switch_case_out_of_range
x = tf.placeholder(tf.int32, [], name="x")
out = tf.switch_case(x, {1: lambda: tf.constant(10), 0: lambda: tf.constant(20)}, default=lambda: tf.constant(30))
feed = {x: -1}
# 80_switch_case_bad_keys
tf.switch_case(tf.constant(1), {1: lambda: tf.constant(10), 3: lambda: tf.constant(20)})
# 80_switch_case_no_integer
tf.switch_case(tf.constant(1.0), [lambda: tf.constant(10)])
# 80_switch_case_no_functions
tf.switch_case(tf.constant(1), [])
# 3_map_fn =
x = tf.placeholder(tf.float32, [None, 2], name="x")
out = tf.map_fn(lambda r: r * 2.0 + 1.0, x)
feed = {x: [[1.0, 2.0], [3.0, 4.0]]}
# 3_map_fn_of_known_rows =
out = tf.map_fn(lambda r: tf.reduce_sum(r), tf.constant([[1.0, 2.0], [3.0, 4.0]]))
# 3_map_fn_structures =
x = tf.constant([1, 2, 3], name="x"); y = tf.constant([1.0, 2.0, 3.0], name="y")
out = tf.map_fn(lambda r: {"s": tf.cast(r[0], tf.float32) + r[1], "p": r[0]}, (x, y), dtype={"s": tf.float32, "p": tf.int32}, parallel_iterations=1)
# 3_map_fn_shapes_from_fn =
out = tf.map_fn(lambda r: tf.range(3) + r, tf.constant([1, 2]), infer_shape=False)
# 3_map_fn_scalars_in_a_list
tf.map_fn(lambda r: r, [1, 2])
# 3_map_fn_scalars
tf.map_fn(lambda r: r, tf.constant(1))
# 3_map_fn_nothing
tf.map_fn(lambda r: r, [])
# 3_map_fn_another_structure
tf.map_fn(lambda r: (r, r), tf.constant([1]))
# 3_map_fn_rows_differ
tf.map_fn(lambda r: r[0], (tf.constant([1, 2]), tf.constant([1, 2, 3])), dtype=tf.int32)
# 3_scan =
x = tf.placeholder(tf.float32, [None], name="x")
out = tf.scan(lambda a, r: a * 0.5 + r, x)
feed = {x: [1.0, 2.0, 3.0]}
# 3_scan_from_initializer =
out = tf.scan(lambda a, r: a + r, tf.constant([1.0, 2.0, 3.0]), initializer=tf.constant(10.0))
# 3_scan_reverse =
out = [tf.scan(lambda a, r: a - r, tf.constant([1.0, 2.0, 4.0]), reverse=True), tf.scan(lambda a, r: a - r, tf.constant([1.0, 2.0, 4.0]), initializer=0.5, reverse=True)]
# 3_scan_structures =
out = tf.scan(lambda a, r: (a[1], a[0] + r), tf.constant([1, 2, 3]), initializer=(tf.constant(0), tf.constant(1)))
# 3_scan_another_structure
tf.scan(lambda a, r: (a, r), tf.constant([1, 2, 3]))
# 3_foldl =
out = [tf.foldl(lambda a, r: a - r, tf.constant([1.0, 2.0, 4.0])), tf.foldl(lambda a, r: a * r, tf.constant([1.0, 2.0, 4.0]), initializer=0.5)]
# 3_foldr =
x = tf.placeholder(tf.float32, [None, 2], name="x")
out = [tf.foldr(lambda a, r: a - r, x), tf.foldr(lambda a, r: a + r, x, initializer=tf.constant([0.5, 1.0]))]
feed = {x: [[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]]}
# 3_foldl_structures =
out = tf.foldl(lambda a, r: a + r[0] * r[1], (tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])), initializer=tf.constant(0.0))
# 3_assert =
x = tf.placeholder(tf.float32, [2], name="x")
check = tf.Assert(tf.reduce_all(x > 0.0), [x, "positive"], summarize=2)
with tf.control_dependencies([check]):
    out = tf.identity(x)
feed = {x: [1.0, 2.0]}
# 3_assert_fails
x = tf.placeholder(tf.float32, [2], name="x")
check = tf.Assert(tf.reduce_all(x > 0.0), [x])
with tf.control_dependencies([check]):
    out = tf.identity(x)
feed = {x: [1.0, -2.0]}
# 3_assert_of_numbers =
out = tf.Assert(tf.constant(True), ["fine", tf.constant(3)], name="check")
# 3_assert_in_a_loop =
def body(i, x):
    with tf.control_dependencies([tf.Assert(x < 10.0, [x])]):
        return i + 1, tf.identity(x) * 2.0
out = tf.while_loop(lambda i, x: i < 3, body, [0, 1.0])
# 3_print =
x = tf.constant([1.0, 2.0], name="x")
out = tf.Print(x, [x, tf.constant(3)], "x is ", first_n=2, summarize=5)
# 3_print_line =
import sys
x = tf.constant([1.0, 2.0], name="x")
out = tf.print("x is", x, {"a": tf.constant(3), "b": "b"}, [x, 7], output_stream=sys.stdout, summarize=1, name="show")
# 3_print_string =
out = tf.print(tf.constant("line"), end="")
# 3_print_bad_stream
tf.print("x", output_stream=3)
""")
CONTROL_FLOW_SNIPPETS: tuple[Snippet, ...] = (*_SNIPPETS, *VARIABLE_SNIPPETS)
