"""Programs that print and assert, run in TensorFlow once and in flowc by the tests.

In: nothing. Out: `PROGRAMS`, name -> text of a program over `tf` and `np` that sets `out`, what is
fetched, and perhaps `feed`. Each is run three times in one session.
"""

# ruff: noqa: E501  (a program to a line)
from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Any

RUNS = 3
_DTYPES = "float16 bfloat16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool"
PROGRAMS: dict[str, str] = {
    "dtypes": f"""
feed = {{}}; out = []
for name in "{_DTYPES}".split():
    dtype = getattr(tf, name); x = tf.placeholder(dtype, [None], name=name)
    feed[name + ":0"] = (np.array([0, 1, 3, 100, 90, 7]) * (0.1 if dtype.is_floating else 1)).astype(dtype.as_numpy_dtype)
    with tf.control_dependencies(out):
        out.append(tf.raw_ops.Print(input=x, data=[x], message=name + " ", summarize=5))
""",
    "shapes": """
feed = {}; out = []
for shape in ((), (4,), (3, 4), (2, 3, 4), (1, 1, 2), (0, 3), (2, 0), (0,), (2, 1, 2, 3)):
    name = "x" + "_".join(map(str, shape)); x = tf.placeholder(tf.int32, [None] * len(shape), name=name)
    feed[name + ":0"] = np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape) - 3
    for limit in (3, 0, 4, 5, 8, -1, 100):
        with tf.control_dependencies(out):
            out.append(tf.raw_ops.Print(input=x, data=[x], message=f"{shape} {limit}: ", summarize=limit))
""",
    "floats": """
x = tf.placeholder(tf.float32, [None], name="x"); y = tf.placeholder(tf.float64, [None], name="y")
odd = [1e20, 1e-7, np.nan, -np.nan, np.inf, -np.inf, -0.0, 123456789, 1/3, 3.4028235e38, 16777217, 0.1, 1e15, 1e16, 2.5e-5]
feed = {"x:0": np.array(odd, np.float32), "y:0": np.array(odd)}
out = tf.raw_ops.Print(input=x, data=[x, y], summarize=-1)
""",
    "known_data": """
x = tf.placeholder(tf.float32, [2], name="x"); feed = {"x:0": [1.5, 2.5]}
out = tf.Print(x, [tf.constant("a b"), tf.constant([0.1, 2.0]), x, tf.constant(["p", "q"]), tf.shape(x), tf.constant(True)], "100% {x}: ")
""",
    "first_n": """
x = tf.placeholder(tf.float32, [2], name="x"); feed = {"x:0": [1.5, 2.5]}
out = tf.Print(x, [x], "some ", first_n=2)
""",
    "in_a_loop": """
i, s = tf.while_loop(lambda i, s: i < 4, lambda i, s: (i + 1, tf.Print(s + i, [i, s], "step ", first_n=6)), [0, 10], parallel_iterations=1)
out = s
""",
    "in_branches": """
x = tf.placeholder(tf.int32, [], name="x"); feed = {"x:0": 5}
out = tf.cond(x > 3, lambda: tf.Print(x, [x], "large "), lambda: tf.Print(x, [x], "small "))
""",
    "in_order": """
x = tf.placeholder(tf.int32, [], name="x"); feed = {"x:0": 5}
a = tf.Print(x, [x], "first ")
with tf.control_dependencies([a]):
    b = tf.Print(x, [x], "second ")
with tf.control_dependencies([b]):
    out = tf.raw_ops.PrintV2(input="third", end="!\\n")
""",
    "strings": """
s = tf.placeholder(tf.string, [None, 2], name="s"); feed = {"s:0": [["a\\nb", 'q"'], ["it's", "\u00e9"], ["", "z"]]}
a = tf.Print(s, [s, s[0, 0], tf.constant(["k\\t", "l"]), tf.shape(s)], "known {} ", summarize=5)
with tf.control_dependencies([a]):
    b = tf.print("line", s, s[1, 1], 3, {"n": tf.size(s)}, summarize=2)
with tf.control_dependencies([b]):
    c = tf.raw_ops.PrintV2(input=s[0, 0])
with tf.control_dependencies([c]):
    out = tf.identity(s)
""",
    "strings_in_a_loop": """
def body(i, s):
    s = tf.string_join([s, tf.as_string(i)], ",")
    with tf.control_dependencies([tf.print("at", i, s)]):
        return i + 1, tf.Print(s, [s, i], "then ")
out = tf.while_loop(lambda i, s: i < 3, body, [0, tf.constant("go")], parallel_iterations=1)
""",
    "assert_strings": """
s = tf.placeholder(tf.string, [None], name="s"); feed = {"s:0": ["a", "b c"]}
a = tf.raw_ops.Assert(condition=tf.size(s) < 2, data=["too many:", s, tf.strings.format("{}", s)], summarize=3)
with tf.control_dependencies([a]):
    out = tf.identity(s)
""",
    "assert_data": """
x = tf.placeholder(tf.float32, [None, 2], name="x"); feed = {"x:0": [[1, 2], [3, 4]]}
a = tf.raw_ops.Assert(condition=tf.reduce_all(x < 4), data=["values too large:", x, tf.shape(x), 4], summarize=3)
with tf.control_dependencies([a]):
    out = tf.identity(x)
""",
    "assert_all": """
x = tf.placeholder(tf.float32, [None, 2], name="x"); feed = {"x:0": [[1, 2], [3, 4]]}
a = tf.raw_ops.Assert(condition=tf.reduce_all(x < 4), data=[x, x[0], x[0, 0] / 3], summarize=-1)
with tf.control_dependencies([a]):
    out = tf.identity(x)
""",
    "assert_in_a_loop": """
def body(i):
    with tf.control_dependencies([tf.raw_ops.Assert(condition=i < 3, data=["at", i])]):
        return i + 1
out = tf.while_loop(lambda i: i < 9, body, [0], parallel_iterations=1)
""",
    "assert_holds": """
x = tf.placeholder(tf.float32, [None, 2], name="x"); feed = {"x:0": [[1, 2], [3, 4]]}
with tf.control_dependencies([tf.raw_ops.Assert(condition=tf.reduce_all(x < 5), data=[x])]):
    out = tf.identity(x)
""",
}


def written(stream: int, action: Callable[[], Any]) -> str:
    """What an action, native code too, writes to a stream of the process."""
    kept = os.dup(stream)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), stream)
        try:
            action()
        finally:
            os.dup2(kept, stream)
            os.close(kept)
        file.seek(0)
        return file.read().decode()


def outcomes(tf: Any, np: Any, name: str) -> list[str]:
    """What each run of a program writes, or the message of its error."""
    found: list[str] = []
    with tf.Graph().as_default() as graph:
        program: dict[str, Any] = {"tf": tf, "np": np}
        exec(compile(PROGRAMS[name], name, "exec"), program)
        with tf.Session(graph=graph) as session:

            def run() -> None:
                session.run(program["out"], program.get("feed"))

            for _ in range(RUNS):
                try:
                    found.append(written(2, run))
                except Exception as error:
                    lines = [line for line in str(error).splitlines() if "assertion failed" in line]
                    found.append(lines[0].removeprefix("(0) INVALID_ARGUMENT: "))
    return found
