# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "TestCase",
    "compute_gradient",
    "compute_gradient_error",
    "main",
]
from flowc.api.testing.cases import TestCase as TestCase
from flowc.api.testing.cases import main as main
from flowc.api.testing.gradient_checker import compute_gradient as compute_gradient
from flowc.api.testing.gradient_checker import compute_gradient_error as compute_gradient_error

