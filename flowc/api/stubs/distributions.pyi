# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "Bernoulli",
    "Beta",
    "Categorical",
    "Dirichlet",
    "DirichletMultinomial",
    "Distribution",
    "Exponential",
    "FULLY_REPARAMETERIZED",
    "Gamma",
    "Laplace",
    "Multinomial",
    "NOT_REPARAMETERIZED",
    "Normal",
    "RegisterKL",
    "ReparameterizationType",
    "StudentT",
    "Uniform",
    "kl_divergence",
]
import builtins
from typing import Any
from flowc.graph import Operation, Tensor
from flowc.graph.indexed_slices import IndexedSlices
from flowc.api.distributions.distribution import ReparameterizationType
from flowc.api.distributions.bernoulli import Bernoulli as Bernoulli
from flowc.api.distributions.beta import Beta as Beta
from flowc.api.distributions.categorical import Categorical as Categorical
from flowc.api.distributions.dirichlet import Dirichlet as Dirichlet
from flowc.api.distributions.dirichlet import DirichletMultinomial as DirichletMultinomial
from flowc.api.distributions.distribution import Distribution as Distribution
from flowc.api.distributions.distribution import ReparameterizationType as ReparameterizationType
from flowc.api.distributions.divergences import RegisterKL as RegisterKL
from flowc.api.distributions.divergences import kl_divergence as kl_divergence
from flowc.api.distributions.gamma import Exponential as Exponential
from flowc.api.distributions.gamma import Gamma as Gamma
from flowc.api.distributions.location_scale import Laplace as Laplace
from flowc.api.distributions.location_scale import Normal as Normal
from flowc.api.distributions.multinomial import Multinomial as Multinomial
from flowc.api.distributions.student_t import StudentT as StudentT
from flowc.api.distributions.uniform import Uniform as Uniform

FULLY_REPARAMETERIZED: ReparameterizationType
NOT_REPARAMETERIZED: ReparameterizationType
