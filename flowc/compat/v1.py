"""flowc under the name that programs of TensorFlow 2 know TensorFlow 1 by: the same objects."""

from __future__ import annotations

from typing import Any

import flowc


def __getattr__(name: str) -> Any:
    if name.startswith("__") and name not in ("__all__", "__version__"):
        raise AttributeError(f"module 'flowc.compat.v1' has no attribute {name!r}")
    return getattr(flowc, name)


def __dir__() -> list[str]:
    return dir(flowc)
