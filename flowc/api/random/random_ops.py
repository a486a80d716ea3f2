"""Random tensors: nodes with a state, whose seeds follow from the graph's, and stateless ones.

In: shapes, parameters of distributions, seeds. Out: tensors. Invariant: the nodes, their names and
seeds are those that TensorFlow makes, so programs with seeds get TensorFlow's numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from flowc import dtypes
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.framework.raw_ops import call, named
from flowc.api.framework.scopes import name_scope
from flowc.api.math.elementwise import add
from flowc.dtypes import DType
from flowc.graph import Dimension, Graph, Tensor, get_default_graph
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output

DEFAULT_GRAPH_SEED = 87654321
SEED_LIMIT = 2**31 - 1
# The smallest normal numbers.
TINY = {dtypes.f16: 2.0**-14, dtypes.f32: 2.0**-126, dtypes.f64: 2.0**-1022}
ALGORITHMS = {"philox": 1, "threefry": 2, "auto_select": 3}
_drawn: WeakKeyDictionary[Graph, int] = WeakKeyDictionary()


def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """The two seeds of a random node: the graph's, and its own, or how many nodes without one of
    their own came before. (None, None): other numbers in every session. Raises nothing."""
    graph = get_default_graph()
    if graph.seed is None and op_seed is None:
        return None, None
    if graph.seed is None:
        first, second = DEFAULT_GRAPH_SEED, op_seed
    else:
        first, second = graph.seed, op_seed
        if second is None:
            second = _drawn.setdefault(graph, 0)
            _drawn[graph] += 1
    assert second is not None
    seeds = first % SEED_LIMIT, second % SEED_LIMIT
    return (0, SEED_LIMIT) if seeds == (0, 0) else seeds


def seeds_of(op_seed: int | None) -> dict[str, Any]:
    """The attrs of a random node."""
    first, second = get_seed(op_seed)
    return {"seed": first or 0, "seed2": second or 0}


def _shape_tensor(shape: Any) -> Tensor:
    dtype = None
    if isinstance(shape, list | tuple):
        dtype = None if shape else dtypes.i32
        shape = [s.value if isinstance(s, Dimension) else s for s in shape]
    return as_tensor(shape, dtype, name="shape")


def _is_int(value: Any, number: int) -> bool:
    return isinstance(value, int) and value == number


def _accepted(dtype: Any, accepted: tuple[DType, ...]) -> DType:
    found = dtypes.as_dtype(dtype)
    if found not in accepted:
        names = ", ".join(repr(d) for d in accepted)
        raise ValueError(
            f"Argument `dtype` got invalid value {found!r}. Accepted dtypes are ({names})."
        )
    return found


_FLOATS = (dtypes.f16, dtypes.bf16, dtypes.f32, dtypes.f64)


def random_uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = dtypes.f32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers from [minval, maxval), which is [0, 1) for floats unless given: of `shape`, a list or
    a vector of integers, as floats, int32 or int64. A `seed` gives the same numbers in every
    session.

    Raises `ValueError` for an integer dtype without `maxval`, and for other dtypes."""
    kind = _accepted(dtype, (*_FLOATS, dtypes.i32, dtypes.i64))
    if maxval is None:
        if kind.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {kind!r}")
        maxval = 1
    with name_scope(name, "random_uniform", [shape, minval, maxval]) as scope:
        dims = _shape_tensor(shape)
        from_zero, to_one = _is_int(minval, 0), _is_int(maxval, 1)
        if not from_zero or not to_one or kind.is_integer:
            minval = as_tensor(minval, kind, name="min")
            maxval = as_tensor(maxval, kind, name="max")
        seeds = seeds_of(seed)
        if kind.is_integer:
            return output("RandomUniformInt", dims, minval, maxval, name=scope, **seeds)
        drawn = output("RandomUniform", dims, dtype=kind, **seeds)
        if not from_zero:
            return add(drawn * (maxval - minval), minval, name=scope)
        return drawn if to_one else output("Mul", drawn, maxval)


def _scaled(
    draw: Callable[[Tensor, DType], Tensor],
    shape: Any,
    mean: Any,
    stddev: Any,
    dtype: Any,
    scopes: tuple[str | None, str],
) -> Tensor:
    """Numbers of the standard normal distribution as those of another one. `scopes`: the name that
    the caller gave, and the default."""
    kind = dtypes.as_dtype(dtype)
    with name_scope(*scopes, [shape, mean, stddev]) as scope:
        dims = _shape_tensor(shape)
        middle = as_tensor(mean, kind, name="mean")
        spread = as_tensor(stddev, kind, name="stddev")
        return add(draw(dims, kind) * spread, middle, name=scope)


def _normal(op_type: str, function_name: str, doc: str) -> Callable[..., Tensor]:
    def function(
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = dtypes.f32,
        seed: int | None = None,
        name: str | None = None,
    ) -> Tensor:
        def draw(dims: Tensor, kind: DType) -> Tensor:
            return output(op_type, dims, dtype=kind, **seeds_of(seed))

        return _scaled(draw, shape, mean, stddev, dtype, (name, function_name))

    return named(function, function_name, doc)


random_normal = _normal(
    "RandomStandardNormal",
    "random_normal",
    "Numbers of the normal distribution: floats of `shape`, a list or a vector of integers. "
    "`mean` and `stddev` broadcast to it; a `seed` gives the same numbers in every session. "
    "Raises `TypeError` for other dtypes, `ValueError` for a `shape` that is no vector.",
)
truncated_normal = _normal(
    "TruncatedNormal",
    "truncated_normal",
    "Numbers of the normal distribution, drawn again until they lie within two `stddev`. "
    "Arguments as those of `random_normal`, and raises as it does.",
)


def random_shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """The rows of `value` (along its first dimension) in a random order. Of any dtype, with at
    least one dimension. Raises nothing for others: a scalar stays."""
    return output("RandomShuffle", value, name=name, **seeds_of(seed))


def random_crop(value: Any, size: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """A slice of `size` (one integer for each dimension) at a random place. A run raises
    `InvalidArgumentError` where the value is smaller."""
    with name_scope(name, "random_crop", [value, size]) as scope:
        tensor = as_tensor(value, name="value")
        wanted = as_tensor(size, dtypes.i32, "size")
        sizes = output("Shape", tensor)
        fits = output("All", output("GreaterEqual", sizes, wanted), [0])
        check = call("Assert", fits, ["Need value.shape >= size, got ", sizes, wanted])
        with tensor.graph.control_dependencies([check]):
            room = sizes - wanted + 1
        drawn = random_uniform(
            output("Shape", sizes), maxval=dtypes.i32.max, dtype=dtypes.i32, seed=seed
        )
        found = output("Slice", tensor, output("FloorMod", drawn, room), wanted, name=scope)
        if isinstance(size, list | tuple):
            found.set_shape(size)
        return found


def multinomial(
    logits: Any,
    num_samples: Any,
    seed: int | None = None,
    name: str | None = None,
    output_dtype: Any = None,
) -> Tensor:
    """Class numbers [batch, num_samples], drawn by the unnormalised logarithms of probabilities
    `logits` [batch, classes]. Raises `ValueError` for another rank, `TypeError` for other dtypes.
    """
    kind = _accepted(output_dtype or dtypes.i64, (dtypes.i32, dtypes.i64))
    with name_scope(name, "multinomial", [logits]):
        given = as_tensor(logits, name="logits")
        return output("Multinomial", given, num_samples, output_dtype=kind, **seeds_of(seed))


def categorical(
    logits: Any,
    num_samples: Any,
    dtype: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """As `multinomial`, under its newer name. Raises as it does."""
    with name_scope(name, "categorical", [logits]):
        kind = _accepted(dtype or dtypes.i64, (dtypes.i32, dtypes.i64))
        given = as_tensor(logits, name="logits")
        return output("Multinomial", given, num_samples, output_dtype=kind, **seeds_of(seed))


def random_gamma(
    shape: Any,
    alpha: Any,
    beta: Any = None,
    dtype: Any = dtypes.f32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers of gamma distributions, as float16, float32 or float64: `shape`, then the dims that
    `alpha` (shape parameters) and `beta` (rates, 1 unless given) broadcast to.

    Raises `ValueError` for other dtypes."""
    with name_scope(name, "random_gamma", [shape, alpha, beta]):
        dims = as_tensor(shape, dtypes.i32, name="shape")

        def draw(kinds: Tensor) -> Tensor:
            return output("RandomGamma", dims, kinds, **seeds_of(seed))

        return _gamma(draw, alpha, beta, dtype)


def _gamma(draw: Callable[[Tensor], Tensor], alpha: Any, beta: Any, dtype: Any) -> Tensor:
    kind = _accepted(dtype, (dtypes.f16, dtypes.f32, dtypes.f64))
    kinds = as_tensor(alpha, kind, name="alpha")
    rates = as_tensor(1 if beta is None else beta, kind, name="beta")
    dims = output("BroadcastArgs", shape_of(kinds), shape_of(rates))
    drawn = draw(output("BroadcastTo", kinds, dims))
    least = as_tensor(TINY[kind], kind, name="Maximum/x")
    return output("Maximum", least, output("RealDiv", drawn, rates, name="truediv"))


def random_poisson(
    lam: Any,
    shape: Any,
    dtype: Any = dtypes.f32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers of Poisson distributions: `shape`, then the dims of `lam`, their rates; as floats,
    int32 or int64 (`dtype`). Raises `TypeError` for other dtypes."""
    with name_scope(name, "random_poisson", [lam, shape]):
        dims = as_tensor(shape, dtypes.i32, name="shape")
        kind = dtypes.as_dtype(dtype)
        return output("RandomPoissonV2", dims, lam, dtype=kind, **seeds_of(seed))


# -- stateless


def _algorithm(alg: Any) -> Any:
    if alg is None:
        return ALGORITHMS["auto_select"]
    if isinstance(alg, str):
        if alg not in ALGORITHMS:
            raise ValueError(f"Argument `alg` got unsupported string value {alg}.")
        return ALGORITHMS[alg]
    return alg


def _stateless(
    op_type: str, dims: Tensor, seed: Any, alg: Any, *more: Any, **keywords: Any
) -> Tensor:
    key, counter = call("StatelessRandomGetKeyCounter", seed)
    return output(op_type, dims, key, counter, _algorithm(alg), *more, **keywords)


def stateless_random_uniform(
    shape: Any,
    seed: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = dtypes.f32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Numbers from [minval, maxval) that the two integers of `seed` decide; of integer dtypes
    without either, all there are.

    Raises `ValueError` for integer dtypes with only one of them, and for other dtypes."""
    unsigned = (dtypes.u32, dtypes.u64)
    kind = _accepted(dtype, (*_FLOATS, dtypes.i32, dtypes.i64, *unsigned))
    if kind.is_integer:
        if (minval is None) != (maxval is None):
            raise ValueError(
                f"For integer `dtype` argument {kind!r}, argument `minval` and `maxval` must be "
                f"both None or not None. Got `minval`={minval} and `maxval`={maxval}."
            )
        if minval is not None and kind in unsigned:
            raise ValueError(
                f"Argument `dtype` got invalid value {kind!r} when argument `minval` is not None. "
                "Please don't use unsigned integers in this case."
            )
    elif maxval is None:
        maxval = 1
    with name_scope(name, "stateless_random_uniform", [shape, seed, minval, maxval]) as scope:
        dims = _shape_tensor(shape)
        if kind.is_integer and minval is None:
            op_type = "StatelessRandomUniformFullIntV2"
            return _stateless(op_type, dims, seed, alg, dtype=kind, name=scope)
        low, high = as_tensor(minval, kind, name="min"), as_tensor(maxval, kind, name="max")
        if kind.is_integer:
            return _stateless("StatelessRandomUniformIntV2", dims, seed, alg, low, high, name=scope)
        drawn = _stateless("StatelessRandomUniformV2", dims, seed, alg, dtype=kind)
        return add(drawn * (high - low), low, name=scope)


def _stateless_normal(op_type: str, function_name: str, doc: str) -> Callable[..., Tensor]:
    def function(
        shape: Any,
        seed: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = dtypes.f32,
        name: str | None = None,
        alg: Any = "auto_select",
    ) -> Tensor:
        def draw(dims: Tensor, kind: DType) -> Tensor:
            return _stateless(op_type, dims, seed, alg, dtype=kind)

        return _scaled(draw, shape, mean, stddev, dtype, (name, function_name))

    return named(function, function_name, doc)


stateless_random_normal = _stateless_normal(
    "StatelessRandomNormalV2",
    "stateless_random_normal",
    "Numbers of the normal distribution that the two integers of `seed` decide: floats of `shape`. "
    "Raises `TypeError` for other dtypes, `ValueError` for other shapes of `seed`.",
)
stateless_truncated_normal = _stateless_normal(
    "StatelessTruncatedNormalV2",
    "stateless_truncated_normal",
    "As `truncated_normal`, decided by the two integers of `seed`, raises as `stateless_normal`.",
)


def stateless_parameterized_truncated_normal(
    shape: Any,
    seed: Any,
    means: Any = 0.0,
    stddevs: Any = 1.0,
    minvals: Any = -2.0,
    maxvals: Any = 2.0,
    name: str | None = None,
) -> Tensor:
    """Numbers of normal distributions between `minvals` and `maxvals` that the two integers of
    `seed` decide: of `shape`, which ends with the dims that the four parameters broadcast to, and
    of their dtype, a float. `seed`: int32[2] or int64[2]. Raises `TypeError` for parameters of
    several dtypes, `ValueError` for shapes that do not fit; a run raises `InvalidArgumentError`
    for a `minvals` that is not below its `maxvals`, and a deviation that is not positive."""
    given = {"means": means, "stddevs": stddevs, "minvals": minvals, "maxvals": maxvals}
    scope = "stateless_parameterized_truncated_normal"
    with name_scope(name, scope, [shape, *given.values()]):
        dims = _shape_tensor(shape)
        parameters = [as_tensor(value, name=key) for key, value in given.items()]
        return output("StatelessParameterizedTruncatedNormal", dims, seed, *parameters)


def stateless_multinomial(
    logits: Any,
    num_samples: Any,
    seed: Any,
    output_dtype: Any = dtypes.i64,
    name: str | None = None,
) -> Tensor:
    """As `multinomial`, decided by the two integers of `seed`. `seed`: int32[2] or int64[2]. Raises
    `TypeError` for other dtypes, `ValueError` for shapes that do not fit."""
    with name_scope(name, "stateless_multinomial", [logits, seed]):
        kind = _accepted(output_dtype, (dtypes.i32, dtypes.i64))
        return output("StatelessMultinomial", logits, num_samples, seed, output_dtype=kind)


def stateless_categorical(
    logits: Any, num_samples: Any, seed: Any, dtype: Any = dtypes.i64, name: str | None = None
) -> Tensor:
    """As `categorical`, decided by the two integers of `seed`. `seed`: int32[2] or int64[2]. Raises
    `TypeError` for other dtypes, `ValueError` for shapes that do not fit."""
    return stateless_multinomial(logits, num_samples, seed, dtype, name or "stateless_categorical")


def stateless_random_gamma(
    shape: Any,
    seed: Any,
    alpha: Any,
    beta: Any = None,
    dtype: Any = dtypes.f32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Numbers of gamma distributions that the two integers of `seed` decide: of `shape`, which ends
    with the dims that `alpha` and `beta` broadcast to. dtypes as those of `random_gamma`. Raises
    `TypeError` for other dtypes, `ValueError` for shapes that do not fit."""
    with name_scope(name, "stateless_random_gamma", [shape, seed, alpha, beta]):
        dims = as_tensor(shape, dtypes.i32, name="shape")

        def draw(kinds: Tensor) -> Tensor:
            return _stateless("StatelessRandomGammaV3", dims, seed, alg, kinds)

        return _gamma(draw, alpha, beta, dtype)


def stateless_random_poisson(
    shape: Any, seed: Any, lam: Any, dtype: Any = dtypes.i32, name: str | None = None
) -> Tensor:
    """Numbers of Poisson distributions that the two integers of `seed` decide: of `shape`, which
    ends with the dims of the rates `lam`; as floats, int32 or int64 (`dtype`). Raises `TypeError`
    for other dtypes, `ValueError` for shapes that do not fit."""
    with name_scope(name, "stateless_random_poisson", [shape, seed, lam]):
        dims = as_tensor(shape, dtypes.i32, name="shape")
        kind = dtypes.as_dtype(dtype)
        return output("StatelessRandomPoisson", dims, seed, lam, dtype=kind)


def stateless_shuffle(
    value: Any, seed: Any, alg: Any = "auto_select", name: str | None = None
) -> Tensor:
    """The rows of `value` in an order that the two integers of `seed` decide. Of any dtype, with at
    least one dimension; `seed`: int32[2] or int64[2]. Raises `ValueError` for shapes that do not
    fit."""
    with name_scope(name, "stateless_shuffle", [value, seed]):
        rows = as_tensor(value, name="value")
        key, counter = call("StatelessRandomGetKeyCounter", seed)
        return output("StatelessShuffle", rows, key, counter, _algorithm(alg))
