"""Programs of rows 101 and 102: ops that are not the module's own. The form is that of
`row_program.py`; the library is built for the module that runs the program."""

# ruff: noqa: E501  (a program to a line)
from __future__ import annotations

from snippets.api_snippets import Snippet, read_snippets

EXTENDING_ROWS: tuple[Snippet, ...] = read_snippets(r"""
# 101_zero_out
from zero_out_library import zero_out_library
module = tf.load_op_library(zero_out_library(tf, folder)); zero_out = module.zero_out
y = zero_out([1, 2, 3, 4, 5]); z = zero_out(tf.placeholder_with_default([[7, 8], [9, 10]], [None, 2]), name="kept")
log += [[n.name, n.op, list(n.input)] for n in tf.get_default_graph().as_graph_def().node]
log += [y.shape.as_list(), z.shape.as_list(), y.dtype.name, z.name]
log += [raises("TypeError", "int32", lambda: zero_out([1.5])), raises("TypeError", "type float32 that does not match expected type of int32", lambda: zero_out(tf.constant([1.5])))]
with tf.Session() as s: log += [s.run(y), s.run(z), s.run(zero_out(y * 3 + 1))]
# 102_absent
log.append(raises("NotFoundError", "none.so: cannot open shared object file: No such file or directory", lambda: tf.load_op_library(folder + "none.so")))
open(folder + "text.so", "w").write("this is no library at all, however long it may be"); log.append(raises("NotFoundError", "text.so: ", lambda: tf.load_op_library(folder + "text.so")))
log.append(raises("AttributeError", "", lambda: tf.no_such_op))
""")
