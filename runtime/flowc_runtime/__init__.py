"""What exists when a compiled program runs: `load("model.so")` needs NumPy and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowc_runtime.errors import (
    InvalidArgumentError,
    LoadError,
    ModelError,
    ResourceExhaustedError,
    UnavailableError,
)

if TYPE_CHECKING:
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


def __getattr__(name: str) -> Any:
    """The loader, when it is asked for: flowc itself needs only what runs take."""
    if name not in __all__:
        raise AttributeError(f"module 'flowc_runtime' has no attribute {name!r}")
    from flowc_runtime import loader

    return getattr(loader, name)
