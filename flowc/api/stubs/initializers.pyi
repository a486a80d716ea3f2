# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "constant",
    "global_variables",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "identity",
    "lecun_normal",
    "lecun_uniform",
    "local_variables",
    "ones",
    "orthogonal",
    "random_normal",
    "random_uniform",
    "tables",
    "tables_initializer",
    "truncated_normal",
    "uniform_unit_scaling",
    "variables",
    "variance_scaling",
    "zeros",
]
import builtins
from typing import Any
from flowc.graph import Operation, Tensor
from flowc.graph.indexed_slices import IndexedSlices
from flowc.api.lookup.table import tables_initializer as tables
from flowc.api.lookup.table import tables_initializer as tables_initializer
from flowc.api.variables.initializers import he_normal as he_normal
from flowc.api.variables.initializers import he_uniform as he_uniform
from flowc.api.variables.initializers import lecun_normal as lecun_normal
from flowc.api.variables.initializers import lecun_uniform as lecun_uniform
from flowc.api.variables.variable_ops import global_variables_initializer as global_variables
from flowc.api.variables.variable_ops import local_variables_initializer as local_variables
from flowc.api.variables.variable_ops import variables_initializer as variables

from flowc.api.variables.initializers import Constant as constant
from flowc.api.variables.initializers import GlorotNormal as glorot_normal
from flowc.api.variables.initializers import GlorotUniform as glorot_uniform
from flowc.api.variables.initializers import Identity as identity
from flowc.api.variables.initializers import Ones as ones
from flowc.api.variables.initializers import Orthogonal as orthogonal
from flowc.api.variables.initializers import RandomNormal as random_normal
from flowc.api.variables.initializers import RandomUniform as random_uniform
from flowc.api.variables.initializers import TruncatedNormal as truncated_normal
from flowc.api.variables.initializers import UniformUnitScaling as uniform_unit_scaling
from flowc.api.variables.initializers import VarianceScaling as variance_scaling
from flowc.api.variables.initializers import Zeros as zeros
