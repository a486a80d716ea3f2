"""`tf.compat`: strings and bytes, numbers and paths, as TensorFlow converts them; and `v1`, which
is flowc itself: `import flowc.compat.v1 as tf` is `import flowc as tf`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from flowc.api.namespaces import not_provided

_NAMES = (
    *("as_bytes", "as_str", "as_str_any", "as_text", "bytes_or_text_types", "complex_types"),
    *("dimension_at_index", "dimension_value", "forward_compatible", "integral_types"),
    *("path_to_str", "real_types"),
)


def __getattr__(name: str) -> Any:
    if name == "v1":
        return import_module("flowc.compat.v1")
    if name in _NAMES:
        return getattr(import_module("flowc.compat.conversions"), name)
    if name.startswith("__"):
        raise AttributeError(f"module 'flowc.compat' has no attribute {name!r}")
    raise AttributeError(not_provided(dict.fromkeys(_NAMES), name, "flowc.compat"))


def __dir__() -> list[str]:
    return [*_NAMES, "v1"]
