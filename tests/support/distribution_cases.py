"""Expressions of `tf.distributions`, evaluated by flowc and, for the recording, by TensorFlow.

In: the module `tf`. Out: values by the text of the expression; shapes and dtypes as far as they are
known, and what errors say.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

DISTRIBUTIONS = {
    "normal": "d.Normal([0.5, -1.0, 3.0], [[0.5], [2.0]])",
    "normal64": "d.Normal(tf.constant(1.0, tf.float64), tf.constant(2.0, tf.float64))",
    "uniform": "d.Uniform([0.0, -1.0], [[1.0], [3.0]])",
    "laplace": "d.Laplace([0.5, -1.0, 3.0], [[0.5], [2.0]])",
    "student": "d.StudentT([0.5, 1.5, 5.0], [0.0, 1.0, -1.0], 2.0)",
    "gamma": "d.Gamma([0.5, 2.0, 7.5], [[1.0], [3.0]])",
    "exponential": "d.Exponential([0.5, 4.0])",
    "beta": "d.Beta([0.5, 2.0, 3.0], [[1.5], [4.0]])",
    "bernoulli": "d.Bernoulli(logits=[-2.0, 0.0, 1.5])",
    "bernoulli_probs": "d.Bernoulli(probs=[0.2, 0.7], dtype=tf.float32)",
    "categorical": "d.Categorical(logits=[[0.1, 2.0, -1.0], [0.0, 0.5, 0.2]])",
    "categorical_probs": "d.Categorical(probs=[0.1, 0.6, 0.3], dtype=tf.int64)",
    "dirichlet": "d.Dirichlet([[1.5, 2.0, 3.0], [1.2, 4.0, 2.5]])",
    "dirichlet_multinomial": "d.DirichletMultinomial(5.0, [[1.5, 2.0, 3.0], [0.2, 4.0, 2.5]])",
    "multinomial": "d.Multinomial([4.0, 6.0], probs=[[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]])",
    "unknown": "d.Normal(tf.placeholder_with_default([0.5, -1.0], [None]), 2.0)",
    "other_normal": "d.Normal(0.25, 1.5)",
    "other_gamma": "d.Gamma(1.5, 2.0)",
    "other_beta": "d.Beta(1.5, 2.0)",
    "other_bernoulli": "d.Bernoulli(probs=0.4)",
    "other_categorical": "d.Categorical(logits=[0.3, 0.2, 0.1])",
    "other_dirichlet": "d.Dirichlet([2.0, 2.5, 0.5])",
}
_STATISTICS = [
    "mean",
    "variance",
    "stddev",
    "entropy",
    "mode",
    "batch_shape_tensor",
    "event_shape_tensor",
]
_OF_VALUES = ["prob", "log_prob", "cdf", "log_cdf", "survival_function", "log_survival_function"]
_VALUES = {
    "normal": "[[0.1], [40.0]]",
    "normal64": "[-30.0, -3.0, 0.3, 30.0]",
    "uniform": "0.75",
    "laplace": "[[-1.5], [2.5]]",
    "student": "[0.7, -2.0, 1.5]",
    "gamma": "[0.3, 1.0, 2.5]",
    "exponential": "[0.3, 1.0]",
    "beta": "[0.2, 0.5, 0.9]",
    "unknown": "[0.1, 2.0]",
}
_LOG_PROBS = {
    "bernoulli": "[[0], [1]]",
    "bernoulli_probs": "[1.0, 0.0]",
    "categorical": "[[0, 1], [2, 2], [1, 0]]",
    "categorical_probs": "[2, 0, 1, 1]",
    "dirichlet": "[0.2, 0.5, 0.3]",
    "dirichlet_multinomial": "[1.0, 3.0, 1.0]",
    "multinomial": "[[1.0, 2.0, 1.0], [4.0, 0.0, 2.0]]",
}
# A batch of multinomials draws in a loop, whose steps TensorFlow runs in any order.
_UNSAMPLED = ("normal64", "multinomial")
_SAMPLED = [n for n in DISTRIBUTIONS if not n.startswith("other") and n not in _UNSAMPLED]
_DIVERGENCES = ["normal", "gamma", "beta", "bernoulli", "categorical", "dirichlet"]
_VECTORS = ["dirichlet", "dirichlet_multinomial", "multinomial"]
_REPARAMETERISED = {
    "normal": "loc scale",
    "uniform": "low high",
    "laplace": "loc scale",
    "exponential": "rate",
    "gamma": "concentration rate",
    "student": "loc scale",
    "dirichlet": "concentration",
}
_PARAMETER = {
    "normal": "scale",
    "normal64": "loc",
    "uniform": "high",
    "laplace": "scale",
    "student": "df",
    "gamma": "concentration",
    "exponential": "rate",
    "beta": "concentration0",
    "unknown": "loc",
}


def expressions() -> list[str]:
    """What is evaluated, by the names in `DISTRIBUTIONS`."""
    first = [n for n in DISTRIBUTIONS if not n.startswith("other")]
    found = [f"{n}.{what}()" for n in first for what in _STATISTICS]
    found += [f"{n}.{what}({x})" for n, x in _VALUES.items() for what in _OF_VALUES]
    found += [f"{n}.{what}({x})" for n, x in _LOG_PROBS.items() for what in ("prob", "log_prob")]
    found += [f"{n}.cdf({_LOG_PROBS[n]})" for n in ("categorical", "categorical_probs")]
    found += [f"{n}.sample([2, 2], seed=7)" for n in _SAMPLED]
    found += ["normal.sample(seed=3)", "categorical.sample(4, seed=3)"]
    found.append("d.Multinomial(6.0, logits=[0.5, 0.2, 1.0]).sample([2, 2], seed=7)")
    found += [
        f"{n}.{w}(other_{n})" for n in _DIVERGENCES for w in ("kl_divergence", "cross_entropy")
    ]
    found += [f"{n}.covariance()" for n in _VECTORS]
    found += ["normal.quantile([[0.01], [0.6]])", "uniform.range()"]
    found += [
        f"{n}.is_scalar_{w}()"
        for n in ("other_normal", "normal", "dirichlet", "unknown")
        for w in ("batch", "event")
    ]
    for name, parameters in _REPARAMETERISED.items():
        for p in parameters.split():
            found.append(f"grad({name}.sample(3, seed=5), {name}.{p})")
    for name, x in _VALUES.items():
        found.append(f"grad({name}.log_prob({x}), {name}.{_PARAMETER[name]})")
    found += [
        "grad(normal.log_cdf([[0.1], [40.0]]), normal.loc)",
        "grad(multinomial.log_prob([1.0, 2.0, 1.0]), multinomial.logits)",
    ]
    return found


# What is known without a run.
STATIC = [
    "repr(normal)",
    "str(normal)",
    "str(dirichlet)",
    "normal.name",
    "normal.dtype.name",
    "str(normal.batch_shape)",
    "str(dirichlet.event_shape)",
    "unknown.batch_shape.as_list()",
    "unknown.sample(3).shape.as_list()",
    "str(multinomial.sample([2, 3]).shape)",
    "sorted(gamma.parameters)",
    "str(normal.reparameterization_type)",
    "categorical.reparameterization_type == d.NOT_REPARAMETERIZED",
    "str(bernoulli_probs.parameters)",
    "other_normal.copy(scale=9.0).parameters['scale']",
    "{n: s.as_list() for n, s in d.Normal.param_static_shapes([2, 3]).items()}",
    "{n: s.as_list() for n, s in d.Beta.param_static_shapes([2]).items()}",
    "d.Exponential([0.5]).parameters['name']",
    "normal.allow_nan_stats",
    "bernoulli_probs.sample(2).dtype.name",
    "categorical_probs.sample(2).dtype.name",
    "normal.log_prob(0.5).op.name",
    "d.Categorical(tf.placeholder(tf.float32, [None, 3])).batch_shape.as_list()",
]

# What fails when it is built, or when it runs.
FAULTS = [
    "d.Normal(0, 1)",
    "d.Normal(tf.constant(0.0, tf.float64), 1.0)",
    "d.Bernoulli()",
    "d.Bernoulli(0.5, probs=0.5)",
    "d.Categorical(logits=[1, 2])",
    "d.Categorical(logits=1.0)",
    "other_normal.kl_divergence(other_gamma)",
    "other_normal.cross_entropy(other_gamma)",
    "other_gamma.quantile(0.5)",
    "dirichlet.cdf([0.2, 0.3, 0.5])",
    "categorical.mean()",
    "d.RegisterKL(d.Normal, d.Normal)(len)",
    "d.RegisterKL(d.Normal, d.Normal)(1)",
    "d.Distribution(tf.float32, d.NOT_REPARAMETERIZED, False, True, name='x').sample()",
    "d.Distribution(tf.float32, d.NOT_REPARAMETERIZED, False, True, graph_parents=[1])",
    "d.Dirichlet(1.0)",
    "run(d.Normal(0.0, tf.placeholder_with_default(-1.0, []), validate_args=True).sample())",
    "run(d.Bernoulli(probs=tf.placeholder_with_default(1.5, []), validate_args=True).mean())",
    "run(d.Categorical(probs=unsummed, validate_args=True).mode())",
    "run(d.StudentT(tf.placeholder_with_default(0.5, []), 0.0, 1.0, allow_nan_stats=False).mean())",
    "run(d.Multinomial(3.0, probs=[0.5, 0.5], validate_args=True).prob(unsummed))",
    "d.Categorical(logits=[1.0], validate_args=True)",
    "d.Normal.param_static_shapes(tf.TensorShape([None]))",
    "d.Gamma(1.0, 2.0).prob(tf.constant(0.5, tf.float64))",
]


def evaluated(tf: Any, step: int = 1) -> dict[str, Any]:
    """Every `step`-th expression and all else, as JSON would give it back."""
    found: dict[str, Any] = {}
    # A graph of their own: what they print of its names depends on no expression before.
    with tf.Graph().as_default():
        names = _names(tf)
        found.update({text: eval(text, names) for text in STATIC})
        for text in FAULTS:
            assert _built(text, names, found) is None, text
    with tf.Graph().as_default():
        tf.set_random_seed(11)
        names = _names(tf)
        fetches: dict[str, Any] = {}
        for text in expressions()[::step]:
            made = _built(text, names, found)
            if made is not None:
                fetches[text] = made if isinstance(made, list) else [made]
        for text, values in names["run"](fetches).items():
            found[text] = [_plain(value) for value in values]
    return found


def _names(tf: Any) -> dict[str, Any]:
    names: dict[str, Any] = {"tf": tf, "d": tf.distributions, "run": tf.Session().run}
    names["grad"] = tf.gradients
    names["unsummed"] = tf.placeholder_with_default([1.0, 1.0], [2])
    for name, text in DISTRIBUTIONS.items():
        names[name] = eval(text, names)
    return names


def _built(text: str, names: dict[str, Any], found: dict[str, Any]) -> Any:
    try:
        return eval(text, names)
    except Exception as error:
        # flowc's InvalidArgumentError is a ValueError, too.
        is_value = isinstance(error, ValueError) or type(error).__name__ == "InvalidArgumentError"
        kind = "ValueError" if is_value else type(error).__name__
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        said = next((line for line in lines if line.startswith("assertion failed")), lines[0])
        # flowc prints dtypes as TensorFlow 1 did; what follows is of each one's own functions.
        said = re.sub(r"<dtype: '(\w+)'>", r"tf.\1", said)
        said = said.split(" <function")[0].split(" with input shapes")[0].replace('\\"', '"')
        found[text] = f"{kind}: {said}"
        return None


def _plain(value: Any) -> dict[str, Any]:
    array = np.asarray(value)
    return {
        "dtype": str(array.dtype),
        "shape": list(array.shape),
        "values": array.reshape(-1).tolist(),
    }
