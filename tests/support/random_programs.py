"""Programs of random nodes, run in TensorFlow once and in flowc by the tests.

In: nothing. Out: `PROGRAMS`, name -> text of a program over `tf` and `np` that sets `out`, a list of
tensors, and perhaps `feed`. Each is run three times in one session: the states of nodes move on.
"""

# ruff: noqa: E501  (a program to a line)
from __future__ import annotations

RUNS = 3
_DRAWS = """
r = tf.raw_ops; d = tf.{dtype}
out = [r.RandomUniform(shape=[3, 5], dtype=d, seed=7, seed2=9), r.RandomStandardNormal(shape=[31], dtype=d, seed=-7, seed2=2**40),
       r.TruncatedNormal(shape=[67], dtype=d, seed=0, seed2=1), r.RandomUniform(shape=[0, 5], dtype=d, seed=1, seed2=1)]
"""
PROGRAMS: dict[str, str] = {
    **{f"draws_{d}": _DRAWS.format(dtype=d) for d in ("float16", "bfloat16", "float32", "float64")},
    "integers": """
r = tf.raw_ops
out = [r.RandomUniformInt(shape=[11], minval=-5, maxval=90, seed=1, seed2=2),
       r.RandomUniformInt(shape=[3, 3], minval=np.int64(-2**62), maxval=np.int64(2**62), seed=1, seed2=2),
       r.RandomUniformInt(shape=[4], minval=-2**31, maxval=2**31 - 1, seed=1, seed2=2)]
""",
    "gamma_and_poisson": """
r = tf.raw_ops; x = tf.placeholder(tf.float64, [None], name="x"); feed = {"x:0": np.array([0.2, 1.0, 30.0])}
out = [r.RandomGamma(shape=[4], alpha=x, seed=3, seed2=4), r.RandomGamma(shape=[2, 2], alpha=np.float32(2.5), seed=5),
       r.RandomPoissonV2(shape=[5], rate=x, seed=6, dtype=tf.int32), r.RandomPoissonV2(shape=np.zeros(0, np.int32), rate=[[2, 90]], seed=7, dtype=tf.float32),
       r.RandomGamma(shape=[0], alpha=x, seed=9),
       tf.random_gamma([3], [1.5, 0.5], 2.0, seed=3), tf.random_poisson(4.0, [3], seed=4), tf.random.stateless_gamma([4], [1, 2], 3.0),
       tf.random.stateless_poisson([4], [1, 2], 3.0, tf.int64), tf.random.experimental.stateless_shuffle(tf.range(9), [1, 2])]
""",
    "shuffles": """
r = tf.raw_ops
out = [r.RandomShuffle(value=np.arange(13), seed=5, seed2=6), r.RandomShuffle(value=np.arange(12.0).reshape(4, 3), seed=5, seed2=6),
       r.RandomShuffle(value=[3], seed=5, seed2=6), r.RandomShuffle(value=np.zeros((0, 2)), seed=5, seed2=6), r.RandomShuffle(value=2.5, seed=1)]
""",
    "graph_seed": """
tf.set_random_seed(1234)
out = [tf.random_uniform([3]), tf.random_normal([2, 2], 3.0, 0.5), tf.truncated_normal([5], dtype=tf.float64),
       tf.random_uniform([3], seed=77), tf.random_shuffle(tf.constant([1, 2, 3, 4])),
       tf.random_uniform([4], -1.0, 2.5), tf.random_uniform([4], maxval=9, dtype=tf.int32)]
""",
    "op_seeds": """
out = [tf.random_uniform([3], seed=0), tf.random_uniform([3], 0, 2, seed=2**33), tf.random_normal([3], seed=-1)]
""",
    "both_seeds_zero": """
tf.set_random_seed(0)
out = [tf.random_uniform([3], seed=0)]
""",
    "stateless": """
out = [tf.random.stateless_uniform([5], [1, 2]), tf.random.stateless_normal([5], [3, -4], dtype=tf.float64),
       tf.random.stateless_truncated_normal([9], tf.constant([5, 6], tf.int64)), tf.random.stateless_uniform([5], [1, 2], 3, 90, tf.int64),
       tf.random.stateless_uniform([5], [1, 2], None, None, tf.int32)]
""",
    "sizes_of_the_run": """
x = tf.placeholder(tf.float32, [None, 3], name="x"); feed = {"x:0": np.zeros((5, 3), np.float32)}
out = [tf.random_uniform(tf.shape(x), seed=3), x + tf.random_normal(tf.shape(x), seed=3), tf.random_shuffle(x[:, 0] + [1.0, 2.0, 3.0, 4.0, 5.0], seed=4)]
""",
    "classes": """
x = tf.placeholder(tf.float32, [None, 4], name="x"); feed = {"x:0": np.array([[0, 1, 2, -1], [9, -np.inf, 9, np.nan], [-90, 0, 0, 90]], np.float32)}
r = tf.raw_ops
out = [r.Multinomial(logits=x, num_samples=5, seed=3, seed2=1), r.Multinomial(logits=x, num_samples=1, seed=4, output_dtype=tf.int32),
       r.Multinomial(logits=tf.cast(x[:1], tf.float64), num_samples=33, seed=5),
       r.StatelessMultinomial(logits=x, num_samples=3, seed=[1, 2])]
""",
    "generators": """
def after(op, make):
    with tf.control_dependencies([op]): return make()
r = tf.raw_ops; C = np.float32([4, 5, 100, 1e6, 0, -1]); P = np.float32([.3, .75, .4, .3, .5, .5])
h = r.VarHandleOp(dtype=tf.int64, shape=[3], shared_name="h"); now = [r.AssignVariableOp(resource=h, value=np.array([-700, 7, 11], np.int64))]
out = []
for make in (lambda: r.StatefulUniform(resource=h, algorithm=1, shape=[3, 2]), lambda: r.StatefulUniform(resource=h, algorithm=3, shape=[3], dtype=tf.float64),
             lambda: r.StatefulStandardNormalV2(resource=h, algorithm=1, shape=[5], dtype=tf.float16), lambda: r.StatefulTruncatedNormal(resource=h, algorithm=1, shape=[5], dtype=tf.float16),
             lambda: r.StatefulUniformFullInt(resource=h, algorithm=1, shape=[3]), lambda: r.StatefulUniformInt(resource=h, algorithm=1, shape=[3], minval=np.int64(-5), maxval=np.int64(90)),
             lambda: r.StatefulRandomBinomial(resource=h, algorithm=1, shape=[9, 6], counts=C, probs=P, dtype=tf.int64), lambda: r.RngReadAndSkip(resource=h, alg=1, delta=tf.constant(2**40, tf.uint64)),
             lambda: r.StatefulRandomBinomial(resource=h, algorithm=1, shape=[4], counts=np.float64(7), probs=np.float64(0.5), dtype=tf.float32),
             lambda: after(r.RngSkip(resource=h, algorithm=1, delta=3), lambda: r.ReadVariableOp(resource=h, dtype=tf.int64))):
    with tf.control_dependencies(now): out.append(make())
    now = [out[-1]]
""",
    "in_a_loop": """
i, s = tf.while_loop(lambda i, s: i < 5, lambda i, s: (i + 1, s + tf.random_uniform([4], seed=8)), [0, tf.zeros([4])], parallel_iterations=1)
out = [s, i]
""",
    "in_a_branch": """
x = tf.placeholder(tf.bool, [], name="x"); feed = {"x:0": True}
out = [tf.cond(x, lambda: tf.random_uniform([3], seed=4), lambda: tf.zeros([3])), tf.cond(x, lambda: tf.ones([3]), lambda: tf.random_uniform([3], seed=4))]
""",
    "used_twice": """
u = tf.random_uniform([3], seed=4); v = tf.random_uniform([3], seed=4)
out = [u, u + 1.0, v, u - v]
""",
    "many": """
out = [tf.random_uniform([70001], seed=4), tf.random_normal([70001], seed=4), tf.truncated_normal([70001], seed=4)]
""",
}
