# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "TestCase",
    "assert_equal_graph_def",
    "compute_gradient",
    "compute_gradient_error",
    "get_temp_dir",
    "gpu_device_name",
    "is_built_with_cuda",
    "is_built_with_gpu_support",
    "is_built_with_rocm",
    "is_built_with_xla",
    "is_gpu_available",
    "main",
    "mock",
]
from absl.testing.absltest import mock as mock
from flowc.api.testing.cases import TestCase as TestCase
from flowc.api.testing.cases import assert_equal_graph_def as assert_equal_graph_def
from flowc.api.testing.cases import get_temp_dir as get_temp_dir
from flowc.api.testing.cases import main as main
from flowc.api.testing.devices import gpu_device_name as gpu_device_name
from flowc.api.testing.devices import is_built_with_cuda as is_built_with_cuda
from flowc.api.testing.devices import is_built_with_gpu_support as is_built_with_gpu_support
from flowc.api.testing.devices import is_built_with_rocm as is_built_with_rocm
from flowc.api.testing.devices import is_built_with_xla as is_built_with_xla
from flowc.api.testing.devices import is_gpu_available as is_gpu_available
from flowc.api.testing.gradient_checker import compute_gradient as compute_gradient
from flowc.api.testing.gradient_checker import compute_gradient_error as compute_gradient_error

