"""Programs with loops, conditionals, TensorArrays and variables, as those of `api_snippets.py`.

TensorFlow builds them with control flow of version 1.
"""

# ruff: noqa: E501  (a program to a line)
from __future__ import annotations

from api_snippets import Snippet, read_snippets

CONTROL_FLOW_SNIPPETS: tuple[Snippet, ...] = read_snippets("""
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
# 16_variable =
v = tf.Variable([1.0, 2.0], name="v"); w = tf.Variable(tf.zeros([2]))
total = v + w * 2.0
init = tf.global_variables_initializer()
before = [init]
out = [total, v, v.value(), v.read_value(), 1.0 - v, v[0], tf.reduce_sum(v), -v]
# 16_variable_from_function =
v = tf.Variable(lambda: tf.ones([2]) * 3.0, name="v", trainable=False)
before = [tf.variables_initializer([v], name="start")]
out = v + 1.0
# 16_variable_dtype =
v = tf.Variable(3, dtype=tf.int64, name="v")
before = [tf.global_variables_initializer()]
out = v + 1
# 16_initialized_value =
v = tf.Variable([1.0, 2.0], name="v"); w = tf.Variable(v.initialized_value() * 2.0, name="w")
before = [v.initializer, w.initializer]
out = w.value()
# 16_initial_value_of_another_variable =
v = tf.Variable([1.0, 2.0], name="v")
with tf.name_scope("s"):
    w = tf.Variable(tf.tanh(v * 2.0) + v, name="w")
before = [tf.global_variables_initializer()]
out = [v.value(), w.value()]
# 16_initial_value_from_a_loop
w = tf.Variable(tf.while_loop(lambda i: i < 3.0, lambda i: i + 1.0, [tf.constant(0.0)]), name="w")
before = [tf.global_variables_initializer()]
out = w.value()
# 17_assign =
v = tf.Variable([1.0, 2.0], name="v")
a = v.assign([3.0, 4.0]); b = tf.assign_add(v, [1.0, 1.0]); c = v.assign_sub([0.5, 0.5], use_locking=True); d = tf.assign(v, [9.0, 9.0], name="last")
before = [tf.global_variables_initializer(), a, b, c]
out = v
# 17_assign_returns_the_new_value
v = tf.Variable([1.0, 2.0], name="v")
before = [tf.global_variables_initializer()]
out = [v.assign_add([3.0, 4.0]), v.assign_sub([1.0, 1.0], read_value=False)][0]
# 17_assign_another_shape
v = tf.Variable([1.0, 2.0], name="v")
v.assign([1.0])
# 17_assign_without_validation
v = tf.Variable([1.0, 2.0], name="v", validate_shape=False)
before = [tf.global_variables_initializer(), tf.assign(v, [1.0], validate_shape=False)]
out = v + 1.0
# 17_uninitialized
v = tf.Variable([1.0, 2.0], name="v")
out = v + 1.0
# 17_no_initial_value
tf.Variable()
# 17_collections_no_list
tf.Variable(1.0, collections=3)
# 17_initial_value_from_a_loop
def body(i):
    tf.Variable(tf.constant(1.0))
    return i + 1
tf.while_loop(lambda i: i < 2, body, [0])
# 17_variable_made_in_a_loop =
kept = []
def body(i, x):
    kept.append(tf.Variable(lambda: tf.constant(2.0), name="v"))
    return i + 1, x * kept[0]
loop = tf.while_loop(lambda i, x: i < 3, body, [0, 1.0])
before = [tf.global_variables_initializer()]
out = loop
# 29_get_variable =
with tf.variable_scope("outer"):
    with tf.variable_scope("inner"):
        v = tf.get_variable("v", [2, 3], initializer=tf.zeros_initializer())
        w = tf.get_variable("w", [2], tf.int32)
    u = tf.get_variable("u", initializer=tf.constant([1.0, 2.0]))
    t = tf.get_variable("t", [2], initializer=tf.constant_initializer(3.0))
with tf.variable_scope("outer", reuse=True):
    again = tf.get_variable("inner/v", [2, 3])
assert again is v
before = [tf.global_variables_initializer()]
out = [v + 1.0, w, u * t]
# 29_get_variable_twice
tf.get_variable("v", [1], initializer=tf.zeros_initializer())
tf.get_variable("v", [1], initializer=tf.zeros_initializer())
# 29_get_variable_that_does_not_exist
with tf.variable_scope("s", reuse=True):
    tf.get_variable("v", [1])
# 29_get_variable_of_another_shape
tf.get_variable("v", [1], initializer=tf.zeros_initializer())
with tf.variable_scope("", reuse=True):
    tf.get_variable("v", [2])
# 29_get_variable_without_shape
tf.get_variable("v")
# 29_bad_reuse
with tf.variable_scope("s", reuse=3):
    pass
# 29_bad_scope
with tf.variable_scope(3):
    pass
# 29_scopes_reopened =
with tf.variable_scope("s") as s:
    a = tf.get_variable("a", [], initializer=tf.ones_initializer()) + 1.0
with tf.variable_scope("s", reuse=tf.AUTO_REUSE):
    b = tf.get_variable("b", [], initializer=tf.ones_initializer()) + 1.0
with tf.variable_scope(s):
    c = tf.get_variable("c", [], initializer=tf.ones_initializer()) + 1.0
with tf.variable_scope(None, "s"):
    d = tf.get_variable("d", [], initializer=tf.ones_initializer()) + 1.0
before = [tf.global_variables_initializer()]
out = [a, b, c, d]
# 32_resource_variable =
v = tf.Variable([1.0, 2.0], name="v", use_resource=True)
before = [tf.global_variables_initializer()]
out = [v + 1.0, v.read_value(), v.value(), v]
# 32_resource_assign =
v = tf.Variable([1.0, 2.0], name="v", use_resource=True)
init = tf.global_variables_initializer()
before = [init, v.assign([3.0, 4.0]), v.assign_add([1.0, 2.0]), v.assign_sub([0.5, 0.5], read_value=False)]
out = v * 1.0
# 32_resource_assignments_in_a_group =
v = tf.Variable([1.0, 2.0], name="v", use_resource=True)
init = tf.global_variables_initializer()
both = tf.group(v.assign_add([1.0, 1.0]), v.read_value())
with tf.control_dependencies([v.assign_sub([0.25, 0.25])]):
    after = tf.identity(v)
before = [init, both]
out = after
# 32_resource_get_variable =
with tf.variable_scope("s", use_resource=True):
    v = tf.get_variable("v", [2], initializer=tf.ones_initializer())
before = [tf.global_variables_initializer()]
out = v + 1.0
# 32_resource_assign_another_shape
v = tf.Variable([1.0, 2.0], use_resource=True)
v.assign([1.0])
# 33_scatter =
v = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], name="v")
before = [tf.global_variables_initializer(), tf.scatter_update(v, [0, 2], [[9.0, 9.0], [8.0, 8.0]]), tf.scatter_add(v, [1, 1], [[1.0, 1.0], [2.0, 2.0]]), tf.scatter_sub(v, 0, [0.5, 0.5])]
out = v
# 33_scatter_resource =
v = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], name="v", use_resource=True)
before = [tf.global_variables_initializer(), tf.scatter_update(v, [0, 2], [[9.0, 9.0], [8.0, 8.0]]), tf.scatter_add(v, [1, 1], [[1.0, 1.0], [2.0, 2.0]])]
out = v.value()
# 33_scatter_another_shape
v = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="v")
tf.scatter_add(v, [0], [[1.0]])
# 33_scatter_another_dtype
v = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="v")
tf.scatter_add(v, [0], tf.constant([[1, 2]]))
# 33_scatter_out_of_range
v = tf.Variable([1.0, 2.0, 3.0, 4.0], name="v")
before = [tf.global_variables_initializer()]
out = tf.scatter_update(v, [4], [1.0])
# 79_only_the_branch_taken_assigns =
v = tf.Variable(1.0, name="v"); p = tf.placeholder(tf.bool, [], name="p")
init = tf.global_variables_initializer()
changed = tf.cond(p, lambda: v.assign_add(1.0), lambda: v.assign_add(10.0))
before = [init, (changed, {p: True})]
out = v
# 79_a_branch_of_effects =
v = tf.Variable(1.0, name="v"); p = tf.placeholder(tf.bool, [], name="p")
init = tf.global_variables_initializer()
changed = tf.cond(p, lambda: tf.group(v.assign_add(1.0)), lambda: tf.no_op())
before = [init, (changed, {p: True}), (changed, {p: False})]
out = v
# 79_resource_variable_in_a_branch =
v = tf.Variable([1.0, 2.0], name="v", use_resource=True); p = tf.placeholder(tf.bool, [], name="p")
init = tf.global_variables_initializer()
def taken():
    with tf.control_dependencies([v.assign([5.0, 6.0])]):
        return v.read_value() * 2.0
chosen = tf.cond(p, taken, lambda: v + 1.0)
before = [init, (chosen, {p: True})]
out = chosen
feed = {p: False}
# 71_assign_in_a_loop =
v = tf.Variable(1.0, name="v")
init = tf.global_variables_initializer()
def body(i):
    with tf.control_dependencies([v.assign_add(tf.cast(i, tf.float32))]):
        return i + 1
loop = tf.while_loop(lambda i: i < 5, body, [0])
before = [init, loop]
out = v
# 71_resource_variable_in_a_loop =
v = tf.Variable(1.0, name="v", use_resource=True)
init = tf.global_variables_initializer()
def body(i, x):
    with tf.control_dependencies([v.assign_add(1.0).op]):
        return i + 1, x + v.read_value()
loop = tf.while_loop(lambda i, x: i < 3, body, [0, 0.0], parallel_iterations=1)
before = [init]
out = loop
# 71_scatter_in_a_loop =
v = tf.Variable(tf.zeros([4]), name="v")
init = tf.global_variables_initializer()
def body(i):
    with tf.control_dependencies([tf.scatter_add(v, i, tf.cast(i, tf.float32) + 1.0)]):
        return i + 1
loop = tf.while_loop(lambda i: i < 4, body, [0])
before = [init, loop]
out = v
# 3_rnn_lstm
def weights(shape, dtype=None, partition_info=None):
    n = int(np.prod(shape))
    return tf.constant(np.sin(np.arange(n) * 0.7).reshape(shape) * 0.4, tf.float32)
x = tf.placeholder(tf.float32, [None, None, 3], name="x")
with tf.variable_scope("m", initializer=weights):
    outputs, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicLSTMCell(4), x, dtype=tf.float32)
assert [v.name for v in tf.global_variables()] == ["m/rnn/basic_lstm_cell/kernel:0", "m/rnn/basic_lstm_cell/bias:0"]
before = [tf.global_variables_initializer()]
out = [outputs, state.c, state.h]
feed = {x: np.cos(np.arange(30, dtype=np.float32)).reshape(2, 5, 3)}
# 3_rnn_gru_with_lengths
def weights(shape, dtype=None, partition_info=None):
    n = int(np.prod(shape))
    return tf.constant(np.sin(np.arange(n) * 0.7).reshape(shape) * 0.4, tf.float32)
x = tf.placeholder(tf.float32, [None, 5, 3], name="x"); n = tf.placeholder(tf.int32, [None], name="n")
with tf.variable_scope("m", initializer=weights):
    outputs, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(4), x, sequence_length=n, dtype=tf.float32)
assert [v.name for v in tf.global_variables()] == ["m/rnn/gru_cell/gates/kernel:0", "m/rnn/gru_cell/gates/bias:0", "m/rnn/gru_cell/candidate/kernel:0", "m/rnn/gru_cell/candidate/bias:0"]
before = [tf.global_variables_initializer()]
out = [outputs, state]
feed = {x: np.cos(np.arange(30, dtype=np.float32)).reshape(2, 5, 3), n: [2, 4]}
# 3_rnn_stacked
def weights(shape, dtype=None, partition_info=None):
    n = int(np.prod(shape))
    return tf.constant(np.sin(np.arange(n) * 0.7).reshape(shape) * 0.4, tf.float32)
x = tf.placeholder(tf.float32, [6, 2, 3], name="x")
cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.BasicRNNCell(4), tf.nn.rnn_cell.BasicLSTMCell(2, forget_bias=0.5)])
with tf.variable_scope("m", initializer=weights):
    outputs, state = tf.nn.dynamic_rnn(cell, x, initial_state=cell.zero_state(2, tf.float32), time_major=True)
assert [v.name for v in tf.global_variables()][0] == "m/rnn/multi_rnn_cell/cell_0/basic_rnn_cell/kernel:0"
before = [tf.global_variables_initializer()]
out = [outputs, state[0], state[1].c]
feed = {x: np.cos(np.arange(36, dtype=np.float32)).reshape(6, 2, 3)}
# 3_rnn_both_ways
def weights(shape, dtype=None, partition_info=None):
    n = int(np.prod(shape))
    return tf.constant(np.sin(np.arange(n) * 0.7).reshape(shape) * 0.4, tf.float32)
x = tf.placeholder(tf.float32, [2, 4, 3], name="x")
with tf.variable_scope("m", initializer=weights):
    outputs, states = tf.nn.bidirectional_dynamic_rnn(tf.nn.rnn_cell.GRUCell(2), tf.nn.rnn_cell.BasicRNNCell(3), x, sequence_length=[4, 2], dtype=tf.float32)
before = [tf.global_variables_initializer()]
out = [outputs[0], outputs[1], states[0], states[1]]
feed = {x: np.cos(np.arange(24, dtype=np.float32)).reshape(2, 4, 3)}
# 3_rnn_static
def weights(shape, dtype=None, partition_info=None):
    n = int(np.prod(shape))
    return tf.constant(np.sin(np.arange(n) * 0.7).reshape(shape) * 0.4, tf.float32)
x = tf.placeholder(tf.float32, [2, 3], name="x")
cell = tf.nn.rnn_cell.BasicLSTMCell(2)
with tf.variable_scope("m", initializer=weights):
    outputs, state = tf.nn.static_rnn(cell, [x, x * 2.0], dtype=tf.float32)
before = [tf.global_variables_initializer()]
out = [outputs[1], state.c]
feed = {x: np.cos(np.arange(6, dtype=np.float32)).reshape(2, 3)}
# 3_rnn_no_state_and_no_dtype
tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicRNNCell(2), tf.zeros([2, 3, 4]))
# 3_rnn_unknown_depth
tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicRNNCell(2), tf.placeholder(tf.float32, [2, 3, None]), dtype=tf.float32)
# 3_rnn_no_cell
tf.nn.dynamic_rnn(3, tf.zeros([2, 3, 4]), dtype=tf.float32)
# 3_rnn_lengths_of_another_rank
tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicRNNCell(2), tf.zeros([2, 3, 4]), sequence_length=[[2, 3]], dtype=tf.float32)
# 75_sparse_tensor =
s = tf.SparseTensor([[0, 0], [1, 2]], [1.0, 2.0], [3, 4])
out = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, tf.SparseTensor(s.indices, s.values * 2.0, s.dense_shape)), [0, s])
# 75_sparse_tensor_that_grows =
s = tf.SparseTensor([[0, 0], [1, 2]], [1.0, 2.0], [3, 4])
def body(i, s):
    return i + 1, tf.SparseTensor(tf.concat([s.indices, s.indices], 0), tf.concat([s.values, s.values], 0), s.dense_shape)
out = tf.while_loop(lambda i, s: i < 2, body, [0, s], shape_invariants=[tf.TensorShape([]), tf.TensorShape([2])])
# 75_sparse_tensor_bad_invariant
s = tf.SparseTensor([[0, 0], [1, 2]], [1.0, 2.0], [3, 4])
tf.while_loop(lambda i, s: i < 2, lambda i, s: (i + 1, s), [0, s], shape_invariants=[tf.TensorShape([]), tf.TensorShape([2, 2])])
# 75_sparse_tensor_of_contradicting_shapes
tf.SparseTensor([[0, 0], [1, 2]], [1.0, 2.0, 3.0], [3, 4])
# 75_indexed_slices =
x = tf.IndexedSlices(tf.constant([[1.0, 2.0]]), tf.constant([1]), tf.constant([3, 2]))
out = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, tf.IndexedSlices(x.values + 1.0, x.indices, x.dense_shape)), [0, x])
# 75_indexed_slices_that_grow =
x = tf.IndexedSlices(tf.constant([[1.0, 2.0]]), tf.constant([1]))
def body(i, x):
    return i + 1, tf.IndexedSlices(tf.concat([x.values, x.values * 2.0], 0), tf.concat([x.indices, x.indices + 1], 0))
_, last = tf.while_loop(lambda i, x: i < 2, body, [0, x], shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 2])])
out = [last.values, last.indices]
# 34_indexed_slices_as_a_tensor
x = tf.IndexedSlices(tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([2, 2]), tf.constant([3, 2]))
out = tf.convert_to_tensor(x)
# 34_indexed_slices_without_dense_shape
tf.convert_to_tensor(tf.IndexedSlices(tf.constant([[1.0, 2.0]]), tf.constant([1])))
# 79_sparse_tensor =
s = tf.SparseTensor([[0, 0], [1, 2]], [1.0, 2.0], [3, 4])
out = tf.cond(tf.constant(False), lambda: s, lambda: tf.SparseTensor(s.indices[:1], s.values[:1] * 3.0, s.dense_shape))
# 7_sparse_placeholder =
s = tf.sparse_placeholder(tf.float32, name="s")
out = [s, s.values * 2.0]
feed = {s: tf.SparseTensorValue(np.array([[0, 1]], np.int64), np.array([3.0], np.float32), np.array([2, 2], np.int64))}
""")
