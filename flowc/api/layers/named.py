"""Activations and initializers by name: `activation="relu"`, as layers take them too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flowc.api.math.elementwise import exp
from flowc.api.nn import activations
from flowc.api.variables import initializers as i

_ACTIVATIONS: dict[str, Callable[..., Any] | None] = {
    "linear": None,
    "exponential": exp,
    **{
        name: getattr(activations, name)
        for name in ("elu", "gelu", "relu", "relu6", "selu", "sigmoid", "softmax", "softplus")
    },
    **{name: getattr(activations, name) for name in ("leaky_relu", "softsign", "swish", "tanh")},
}
_INITIALIZERS: dict[str, Callable[[], Any]] = {
    "constant": i.Constant,
    "glorot_normal": i.GlorotNormal,
    "glorot_uniform": i.GlorotUniform,
    "he_normal": i.he_normal,
    "he_uniform": i.he_uniform,
    "identity": i.Identity,
    "lecun_normal": i.lecun_normal,
    "lecun_uniform": i.lecun_uniform,
    "ones": i.Ones,
    "orthogonal": i.Orthogonal,
    "truncated_normal": i.TruncatedNormal,
    "uniform_unit_scaling": i.UniformUnitScaling,
    "variance_scaling": i.VarianceScaling,
    "zeros": i.Zeros,
}


def activation_of(given: Any) -> Callable[..., Any] | None:
    """The function that a name stands for; functions and None are themselves. Raises `ValueError`
    for another name."""
    return _found(given, _ACTIVATIONS, "activation function") if isinstance(given, str) else given


def activation_name(given: Any) -> Any:
    """The name of an activation that has one; any other function is itself."""
    return next((name for name, found in _ACTIVATIONS.items() if found is given), given)


def initializer_of(given: Any) -> Any:
    """The initializer that a name stands for; everything else is itself. Raises `ValueError` for
    another name."""
    return _found(given, _INITIALIZERS, "initializer")() if isinstance(given, str) else given


def _found(name: str, table: dict[str, Any], what: str) -> Any:
    if name not in table:
        raise ValueError(f"Unknown {what}: {name!r}. The names are {', '.join(sorted(table))}.")
    return table[name]
