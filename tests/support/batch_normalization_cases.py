"""Batch normalisation whose steps train, with arguments beyond the usual ones.

In: the module `tf`. Out: results, gradients and variables by their names after each step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

CASES = {
    "renorm": {"renorm": True, "renorm_momentum": 0.8, "momentum": 0.7},
    "clipped": {
        "renorm": True,
        "renorm_clipping": {"rmin": 0.8, "rmax": 1.1, "dmax": 0.05},
        "axis": 1,
        "scale": False,
    },
    "by_a_tensor": {"renorm": True, "center": False, "training": "placeholder"},
    "virtual": {"virtual_batch_size": 2, "momentum": 0.5},
    "virtual_renorm": {"virtual_batch_size": 2, "renorm": True, "axis": 1},
    "inference": {"virtual_batch_size": 2, "renorm": True, "training": False},
    "adjusted": {"adjustment": lambda sizes: ([2.0, 1.0, 3.0], [0.5, -0.5, 0.0])},
}
_STEPS = 3


def trained(tf: Any, name: str) -> dict[str, Any]:
    """After each of three steps, what the layer gave; at the end, its variables."""
    arguments: dict[str, Any] = {"training": True, **CASES[name]}
    shape = (4, 3, 2) if arguments.get("axis") == 1 else (4, 2, 3)
    generator = np.random.default_rng(5)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, (None, *shape[1:]))
        training = arguments["training"]
        if training == "placeholder":
            arguments["training"] = tf.placeholder(tf.bool, [])
        if "adjustment" in arguments:
            function = CASES[name]["adjustment"]
            arguments["adjustment"] = lambda sizes: [tf.constant(v) for v in function(sizes)]
        y = tf.layers.batch_normalization(x, **arguments)
        slope = tf.gradients(tf.reduce_sum(y * y * y), x)[0]
        updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
        session = tf.Session()
        session.run(tf.global_variables_initializer())
        found: dict[str, Any] = {}
        for step in range(_STEPS):
            feeds: dict[Any, Any] = {x: generator.normal(step, 1.5, shape).astype(np.float32)}
            if training == "placeholder":
                feeds[arguments["training"]] = step != 1
            values = session.run([y, slope, *updates], feeds)
            found[f"y {step}"], found[f"slope {step}"] = (v.tolist() for v in values[:2])
        for variable in tf.global_variables():
            found[variable.op.name] = session.run(variable).tolist()
    return found
