"""Programs that ask for gradients of branches, loops and lists, as those of `gradient_snippets.py`.

In: nothing. Out: `CONTROL_FLOW_GRADIENT_SNIPPETS`.
"""

# ruff: noqa: E501  (a program to a line)
from __future__ import annotations

from snippets.api_snippets import Snippet, read_snippets

CONTROL_FLOW_GRADIENT_SNIPPETS: tuple[Snippet, ...] = read_snippets(
    """
# cond =
x = tf.placeholder(tf.float32, [], name="x")
y = tf.cond(x > 1.0, lambda: x * x, lambda: tf.exp(x))
out = tf.gradients(y, x)
feed = {x: 3.0}
# cond_other =
x = tf.placeholder(tf.float32, [2], name="x"); w = tf.constant([2.0, 5.0], name="w")
y = tf.cond(tf.reduce_sum(x) > 100.0, lambda: x * w, lambda: x + 1.0)
out = tf.gradients(y, [x, w])
feed = {x: [1.0, 2.0]}
# cond_unknown_sizes
x = tf.placeholder(tf.float32, [None], name="x")
y = tf.cond(tf.reduce_sum(x) > 100.0, lambda: tf.reduce_sum(x * x), lambda: 3.0)
out = tf.gradients(y, x)
feed = {x: [1.0, 2.0]}
# cond_nested
x = tf.placeholder(tf.float32, [], name="x"); p = tf.placeholder(tf.bool, [], name="p")
y = tf.cond(p, lambda: tf.cond(x > 1.0, lambda: x * x * x, lambda: x), lambda: tf.sin(x))
out = tf.gradients(y, x)
feed = {x: 3.0, p: True}
# cond_of_a_handle
v = tf.get_variable("v", initializer=[3.0, 4.0], use_resource=True)
y = tf.cond(tf.constant(True), lambda: v * v, lambda: tf.zeros([2]))
out = tf.gradients(y, v)
before = [tf.global_variables_initializer()]
# cond_gathered
v = tf.Variable(np.arange(12).reshape(4, 3).astype(np.float32), name="v")
y = tf.cond(tf.constant(True), lambda: tf.gather(v, [1, 2]), lambda: tf.gather(v, [0, 0]))
out = [tf.convert_to_tensor(g) for g in tf.gradients(y, v)]
before = [tf.global_variables_initializer()]
# case
x = tf.placeholder(tf.float32, [], name="x")
y = tf.case([(x < 1.0, lambda: x * 2.0), (x < 5.0, lambda: x * x)], default=lambda: tf.exp(x))
out = tf.gradients(y, x)
feed = {x: 3.0}
# while =
x = tf.constant(2.0, name="x")
_, y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x), [0, x])
out = tf.gradients(y, x)
# while_cubed
x = tf.constant(2.0, name="x")
_, y = tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a * x), [tf.constant(0), x])
out = tf.gradients(y, x)
# while_of_tensors =
x = tf.placeholder(tf.float32, [2, 2], name="x"); w = tf.constant([[1.0, 0.5], [0.2, 0.3]], name="w")
_, y = tf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, tf.tanh(tf.matmul(a, w))), [0, x])
out = tf.gradients(tf.reduce_sum(y), [x, w])
feed = {x: [[1.0, 2.0], [3.0, 4.0]]}
# while_no_back_prop
x = tf.constant(2.0, name="x")
y = tf.while_loop(lambda a: a < 100.0, lambda a: a * x, [x], back_prop=False)
assert tf.gradients(y, x) == [None]
out = tf.constant(0)
# while_maximum_iterations
x = tf.constant(2.0, name="x")
y = tf.while_loop(lambda a: a < 100.0, lambda a: a * x, [x], maximum_iterations=3)
out = tf.gradients(y, x)
# while_swap_memory
x = tf.constant(2.0, name="x")
y = tf.while_loop(lambda a: a < 100.0, lambda a: a * a * x, [x], swap_memory=True)
out = tf.gradients(y, x)
# while_one_at_a_time
x = tf.constant(2.0, name="x")
y = tf.while_loop(lambda a: a < 100.0, lambda a: a * a * x, [x], parallel_iterations=1)
out = tf.gradients(y, x)
# while_unused_variable
x = tf.constant(2.0, name="x"); y = tf.constant(3.0, name="y")
_, a, b = tf.while_loop(lambda i, a, b: i < 3, lambda i, a, b: (i + 1, a * b, b * 2.0), [0, x, y])
out = tf.gradients(a, [x, y])
# while_variable_without_a_path
x = tf.constant(2.0, name="x"); y = tf.constant(3.0, name="y")
_, a = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, y * tf.cast(i, tf.float32)), [0, x])
out = tf.gradients(a, [x, y])
# while_unknown_sizes
x = tf.placeholder(tf.float32, [None, 2], name="x"); v = tf.Variable([[1.0, 0.5], [0.2, 0.3]], name="v")
_, y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.sigmoid(tf.matmul(a, v)) + x), [0, x])
out = tf.gradients(y, [x, v])
feed = {x: [[1.0, 2.0], [3.0, 4.0], [0.5, 0.1]]}
before = [tf.global_variables_initializer()]
# while_of_a_handle
v = tf.get_variable("v", initializer=[0.5, 0.25], use_resource=True)
_, y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * v + v), [0, tf.ones([2])])
out = tf.gradients(y, v)
before = [tf.global_variables_initializer()]
# while_gathered
v = tf.Variable(np.arange(12).reshape(4, 3).astype(np.float32), name="v")
_, y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a + tf.reduce_sum(tf.gather(v, [i, 1]))), [0, 0.0])
(g,) = tf.gradients(y, v)
out = tf.convert_to_tensor(g)
before = [tf.global_variables_initializer()]
# while_gathered_of_a_handle
v = tf.get_variable("v", initializer=np.arange(12).reshape(4, 3).astype(np.float32), use_resource=True)
_, y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a + tf.reduce_sum(tf.square(tf.gather(v, [i, 1])))), [0, 0.0])
(g,) = tf.gradients(y, v)
out = tf.convert_to_tensor(g)
before = [tf.global_variables_initializer()]
# while_nested
x = tf.constant(1.1, name="x")
def inner(a):
    return tf.while_loop(lambda j, b: j < 2, lambda j, b: (j + 1, b * x), [0, a])[1]
_, y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, inner(a) + tf.sin(a)), [0, x])
out = tf.gradients(y, x)
# while_nested_and_counted
x = tf.constant(1.1, name="x")
def inner(i, a):
    return tf.while_loop(lambda j, b: j < i, lambda j, b: (j + 1, b * x + b * b), [0, a])[1]
_, y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, inner(i, a) + tf.sin(a)), [0, x])
out = tf.gradients(y, x)
# while_with_cond
x = tf.constant(1.1, name="x")
_, y = tf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, tf.cond(a < 2.0, lambda: a * x * a, lambda: tf.exp(-a) + x)), [0, x])
out = tf.gradients(y, x)
# while_with_cond_of_unknown_sizes
x = tf.placeholder(tf.float32, [None], name="x")
_, y = tf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, tf.cond(tf.reduce_sum(a) < 2.0, lambda: a * x * a, lambda: tf.exp(-a) + x)), [0, x])
out = tf.gradients(y, x)
feed = {x: [0.5, 0.75]}
# cond_with_while
x = tf.constant(1.1, name="x"); p = tf.placeholder(tf.bool, [], name="p")
y = tf.cond(p, lambda: tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x + a * a), [0, x])[1], lambda: x)
out = tf.gradients(y, x)
feed = {p: True}
# gradient_inside_a_loop
x = tf.constant(2.0, name="x")
def body(i, a):
    (g,) = tf.gradients(a * a * x, a)
    return i + 1, a - 0.1 * g
_, out = tf.while_loop(lambda i, a: i < 3, body, [0, tf.constant(1.0)])
# gradient_inside_a_loop_by_what_is_outside
x = tf.constant(2.0, name="x"); z = x * x
def body(i, a):
    (g,) = tf.gradients(a * z, x)
    return i + 1, a + g
_, out = tf.while_loop(lambda i, a: i < 3, body, [0, tf.constant(1.0)])
# gradient_inside_a_branch
x = tf.constant(2.0, name="x")
out = tf.cond(tf.constant(True), lambda: tf.gradients(x * x, x)[0], lambda: 0.0)
# gradient_by_the_start_of_a_loop_inside_it
x = tf.constant(2.0, name="x")
def body(i, a):
    (g,) = tf.gradients(a * a, x)
    return i + 1, a + g
tf.while_loop(lambda i, a: i < 3, body, [0, x])
# while_second_order
x = tf.constant(2.0, name="x")
_, y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x), [0, x])
(g,) = tf.gradients(y, x)
tf.gradients(g, x)
# tensor_array
x = tf.constant([1.0, 2.0, 3.0], name="x")
ta = tf.TensorArray(tf.float32, size=3).unstack(x)
_, y = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s * 2.0 + ta.read(i)), [0, tf.constant(1.0)])
out = tf.gradients(y, x)
# tensor_array_written
x = tf.constant([1.0, 2.0], name="x")
ta = tf.TensorArray(tf.float32, size=3)
_, _, ta = tf.while_loop(lambda i, a, t: i < 3, lambda i, a, t: (i + 1, a * x, t.write(i, a)), [0, x, ta])
out = tf.gradients(ta.stack() * [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], x)
# tensor_array_without_a_loop
x = tf.constant([[1.0, 2.0], [3.0, 4.0]], name="x")
ta = tf.TensorArray(tf.float32, size=3, clear_after_read=False).scatter([2, 0], x).write(1, x[0] * 2.0)
out = tf.gradients([ta.stack() * 2.0, ta.gather([1, 1]), ta.read(2), ta.concat()], x)
# tensor_array_split
x = tf.constant([1.0, 2.0, 3.0, 4.0], name="x")
ta = tf.TensorArray(tf.float32, size=2, infer_shape=False).split(x, [1, 3])
out = tf.gradients(ta.concat() * [1.0, 2.0, 3.0, 4.0], x)
# map_fn
x = tf.constant([1.0, 2.0, 3.0], name="x"); w = tf.constant(2.0, name="w")
out = tf.gradients(tf.map_fn(lambda a: a * a * w, x), [x, w])
# map_fn_in_a_branch_of_a_loop
x = tf.placeholder(tf.float64, [3], name="x"); w = tf.placeholder(tf.float64, [3], name="w")
def mapped(a):
    return tf.reduce_sum(tf.map_fn(lambda e: tf.sin(e) * w, tf.stack([a, a * w])), 0) * 0.9
_, y = tf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, tf.cond(tf.reduce_sum(a) < 1.5, lambda: mapped(a), lambda: a * 0.5 * w)), [0, x])
out = [y, *tf.gradients(y * [1.0, 0.5, -0.75], [x, w])]
feed = {x: [0.3, 0.6, 0.2], w: [0.9, 1.2, 0.7]}
# map_fn_of_rows_of_the_run_in_branches_of_a_loop
x = tf.placeholder(tf.float64, [3], name="x"); w = tf.placeholder(tf.float64, [3], name="w")
def mapped(a):
    rows = tf.map_fn(lambda e: tf.sin(e) * e, tf.boolean_mask(a, a > 0.05))
    return a * w * tf.reduce_sum(rows) * 0.9
def inner(a):
    return tf.cond(a[0] < 10.0, lambda: mapped(a), lambda: a)
_, y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.cond(tf.reduce_sum(a) < 15.0, lambda: inner(a), lambda: a * 0.5 * w)), [0, x])
out = [y, *tf.gradients(y, [x, w])]
feed = {x: [1.3, 1.6, 0.2], w: [0.9, 0.7, 1.7]}
# scan
x = tf.constant([1.0, 2.0, 3.0], name="x")
out = tf.gradients(tf.scan(lambda a, b: a * b + b, x), x)
# foldl
x = tf.constant([1.0, 2.0, 3.0], name="x")
out = tf.gradients(tf.foldl(lambda a, b: a * b + b, x), x)
"""
)
