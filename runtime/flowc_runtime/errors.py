"""What the runtime raises: TensorFlow's names where it has one, and the fitting Python built-in."""

from __future__ import annotations


class ModelError(Exception):
    """The root of all errors of loading and running a compiled model."""


class LoadError(ModelError, OSError):
    """A file that is not a compiled model, or not one that this version can run."""


class InvalidArgumentError(ModelError, ValueError):
    """Inputs that the model does not take, or whose values made a run fail."""


class ResourceExhaustedError(ModelError, MemoryError):
    """A run that needs more memory than there is."""


class UnavailableError(ModelError):
    """A run of a model for a GPU where there is none, or no driver of it, or another one."""
