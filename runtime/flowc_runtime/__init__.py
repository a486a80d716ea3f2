"""What exists when a compiled program runs: `load("model.so")` needs NumPy and nothing else."""

from __future__ import annotations

from flowc_runtime.errors import (
    InvalidArgumentError,
    LoadError,
    ModelError,
    ResourceExhaustedError,
    UnavailableError,
)
from flowc_runtime.loader import Instance, Model, Port, load

__all__ = [
    "Instance",
    "InvalidArgumentError",
    "LoadError",
    "Model",
    "ModelError",
    "Port",
    "ResourceExhaustedError",
    "UnavailableError",
    "load",
]
