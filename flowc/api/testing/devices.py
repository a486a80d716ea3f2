"""`tf.test.is_gpu_available` and its like: what runs may compute on.

In: the default session. Out: what it says of GPUs. Invariant: a Session has a GPU only if it was
made for one, so that a program that asks before it makes its Session trains on the CPU.
"""

from __future__ import annotations

from typing import Any

from flowc.graph.default import get_default_session


def is_gpu_available(cuda_only: bool = False, min_cuda_compute_capability: Any = None) -> bool:
    """Whether the default session has a GPU, which is one of CUDA. `min_cuda_compute_capability` is
    what its target was chosen by. Raises `RuntimeError` for a session that is closed."""
    session = get_default_session()
    return session is not None and any(d.device_type == "GPU" for d in session.list_devices())


def gpu_device_name() -> str:
    """The device string of the default session's GPU, or an empty one. Raises `RuntimeError` for a
    session that is closed."""
    return "/device:GPU:0" if is_gpu_available() else ""


def is_built_with_cuda() -> bool:
    """Whether flowc makes kernels for CUDA: it does. Raises nothing."""
    return True


def is_built_with_rocm() -> bool:
    """Whether flowc makes kernels for ROCm: it does not. Raises nothing."""
    return False


def is_built_with_gpu_support() -> bool:
    """Whether flowc makes kernels for any GPU: it does. Raises nothing."""
    return True


def is_built_with_xla() -> bool:
    """Whether XLA is there: it is not, flowc compiles by itself. Raises nothing."""
    return False
