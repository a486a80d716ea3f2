"""Which module holds which public name of `tf.distributions`.

In: nothing. Out: `TOP` and `NAMESPACES`, tables of the form that `exports` reads.
"""

from __future__ import annotations

from collections.abc import Mapping

TOP: Mapping[str, str] = {}
NAMESPACES: Mapping[str, Mapping[str, str]] = {
    "distributions": {
        "flowc.api.distributions.bernoulli": "Bernoulli",
        "flowc.api.distributions.beta": "Beta",
        "flowc.api.distributions.categorical": "Categorical",
        "flowc.api.distributions.dirichlet": "Dirichlet DirichletMultinomial",
        "flowc.api.distributions.distribution": """Distribution FULLY_REPARAMETERIZED
            NOT_REPARAMETERIZED ReparameterizationType""",
        "flowc.api.distributions.divergences": "RegisterKL kl_divergence",
        "flowc.api.distributions.gamma": "Exponential Gamma",
        "flowc.api.distributions.location_scale": "Laplace Normal",
        "flowc.api.distributions.multinomial": "Multinomial",
        "flowc.api.distributions.student_t": "StudentT",
        "flowc.api.distributions.uniform": "Uniform",
    },
}
