"""`tf.data.Options` and what they hold: how TensorFlow computes a dataset.

In: settings. Out: objects that keep them. Invariant: they change no element: flowc takes them, and
computes as it does.
"""

from __future__ import annotations

from typing import Any


class _Settings:
    """Attributes that a program sets; None where it did not. Setting another one raises
    `AttributeError`."""

    _names: tuple[str, ...] = ()
    _types: dict[str, type] = {}

    def __init__(self) -> None:
        for name in self._names:
            object.__setattr__(self, name, None)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._names:
            raise AttributeError(f"Cannot set the property {name} on {type(self).__name__}.")
        wanted = self._types.get(name, object)
        if not isinstance(value, wanted):
            raise TypeError(
                f'Property "{name}" must be of type {wanted}, got: {value!r} (type: {type(value)})'
            )
        object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    __hash__ = None  # type: ignore[assignment]


class ThreadingOptions(_Settings):
    """How many threads TensorFlow uses. Setting another name raises `AttributeError`, another type
    `TypeError`."""

    _names = ("max_intra_op_parallelism", "private_threadpool_size")
    _types = dict.fromkeys(_names, int)


class OptimizationOptions(_Settings):
    """What TensorFlow rewrites. Setting another name raises `AttributeError`, another type
    `TypeError`."""

    _names = (
        "apply_default_optimizations",
        "autotune",
        "autotune_buffers",
        "autotune_cpu_budget",
        "autotune_ram_budget",
        "filter_fusion",
        "filter_parallelization",
        "inject_prefetch",
        "map_and_batch_fusion",
        "map_and_filter_fusion",
        "map_fusion",
        "map_parallelization",
        "map_vectorization",
        "noop_elimination",
        "parallel_batch",
        "seq_interleave_prefetch",
        "shuffle_and_repeat_fusion",
    )
    _types = dict.fromkeys(_names, bool) | {"autotune_cpu_budget": int, "autotune_ram_budget": int}


class DistributeOptions(_Settings):
    """How TensorFlow shares elements among workers. Setting another name raises `AttributeError`,
    another type `TypeError`."""

    _names = ("auto_shard_policy", "num_devices")
    _types = {"num_devices": int}


class DatasetOptions(_Settings):
    """Options of a dataset, for `Dataset.with_options`. Setting another name than those of its
    options raises `AttributeError`, another type `TypeError`."""

    _names = (
        "autotune",
        "dataset_name",
        "deterministic",
        "distribute",
        "experimental_deterministic",
        "experimental_distribute",
        "experimental_external_state_policy",
        "experimental_numa_aware",
        "experimental_optimization",
        "experimental_slack",
        "experimental_stats",
        "experimental_threading",
        "experimental_warm_start",
        "external_state_policy",
        "framework_type",
        "optimization",
        "slack",
        "symbolic_checkpoint",
        "threading",
        "warm_start",
    )
    _types = {
        "dataset_name": str,
        "deterministic": bool,
        "distribute": DistributeOptions,
        "experimental_deterministic": bool,
        "experimental_distribute": DistributeOptions,
        "experimental_numa_aware": bool,
        "experimental_optimization": OptimizationOptions,
        "experimental_slack": bool,
        "experimental_threading": ThreadingOptions,
        "experimental_warm_start": bool,
        "optimization": OptimizationOptions,
        "slack": bool,
        "symbolic_checkpoint": bool,
        "threading": ThreadingOptions,
        "warm_start": bool,
    }

    def __init__(self) -> None:
        super().__init__()
        self.threading = self.experimental_threading = ThreadingOptions()
        self.experimental_optimization = OptimizationOptions()
        self.distribute = self.experimental_distribute = DistributeOptions()

    def merge(self, options: DatasetOptions) -> DatasetOptions:
        """These options with those that another one sets."""
        found = DatasetOptions()
        for given in (self, options):
            for name in self._names:
                value = getattr(given, name)
                if value is not None:
                    setattr(found, name, value)
        return found
