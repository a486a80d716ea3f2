# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "all_candidate_sampler",
    "categorical",
    "experimental",
    "fixed_unigram_candidate_sampler",
    "gamma",
    "get_seed",
    "learned_unigram_candidate_sampler",
    "log_uniform_candidate_sampler",
    "multinomial",
    "normal",
    "poisson",
    "set_random_seed",
    "shuffle",
    "stateless_categorical",
    "stateless_gamma",
    "stateless_multinomial",
    "stateless_normal",
    "stateless_parameterized_truncated_normal",
    "stateless_poisson",
    "stateless_truncated_normal",
    "stateless_uniform",
    "truncated_normal",
    "uniform",
    "uniform_candidate_sampler",
]
import builtins
from typing import Any
from flowc.graph import Operation, Tensor
from flowc.graph.indexed_slices import IndexedSlices
from flowc.api.framework.scopes import set_random_seed as set_random_seed
from flowc.api.nn.candidates import all_candidate_sampler as all_candidate_sampler
from flowc.api.nn.candidates import fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler
from flowc.api.nn.candidates import learned_unigram_candidate_sampler as learned_unigram_candidate_sampler
from flowc.api.nn.candidates import log_uniform_candidate_sampler as log_uniform_candidate_sampler
from flowc.api.nn.candidates import uniform_candidate_sampler as uniform_candidate_sampler
from flowc.api.random.random_ops import categorical as categorical
from flowc.api.random.random_ops import get_seed as get_seed
from flowc.api.random.random_ops import multinomial as multinomial
from flowc.api.random.random_ops import random_gamma as gamma
from flowc.api.random.random_ops import random_poisson as poisson
from flowc.api.random.random_ops import random_shuffle as shuffle
from flowc.api.random.random_ops import random_uniform as uniform
from flowc.api.random.random_ops import stateless_categorical as stateless_categorical
from flowc.api.random.random_ops import stateless_multinomial as stateless_multinomial
from flowc.api.random.random_ops import stateless_parameterized_truncated_normal as stateless_parameterized_truncated_normal
from flowc.api.random.random_ops import stateless_random_gamma as stateless_gamma
from flowc.api.random.random_ops import stateless_random_poisson as stateless_poisson
from flowc.api.random.random_ops import stateless_random_uniform as stateless_uniform

def normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = ..., seed: int | None = None, name: str | None = None) -> Tensor:
    """Numbers of the normal distribution: floats of `shape`, a list or a vector of integers. `mean` and `stddev` broadcast to it; a `seed` gives the same numbers in every session. Raises `TypeError` for other dtypes, `ValueError` for a `shape` that is no vector."""
def stateless_normal(shape: Any, seed: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = ..., name: str | None = None, alg: Any = 'auto_select') -> Tensor:
    """Numbers of the normal distribution that the two integers of `seed` decide: floats of `shape`. Raises `TypeError` for other dtypes, `ValueError` for other shapes of `seed`."""
def stateless_truncated_normal(shape: Any, seed: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = ..., name: str | None = None, alg: Any = 'auto_select') -> Tensor:
    """As `truncated_normal`, decided by the two integers of `seed`, raises as `stateless_normal`."""
def truncated_normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = ..., seed: int | None = None, name: str | None = None) -> Tensor:
    """Numbers of the normal distribution, drawn again until they lie within two `stddev`. Arguments as those of `random_normal`, and raises as it does."""
from flowc.api.stubs import random_experimental as experimental
