"""flowc: TensorFlow graphs to fused native code, with TensorFlow 1's Python names.

`import flowc as tf` costs NumPy and little more: every name is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_MODULES = ("compat", "dtypes", "errors", "extending")


def __getattr__(name: str) -> Any:
    if name == "__all__":  # asked for by `from flowc import *`
        return [n for n in __dir__() if not n.startswith("_")]
    if name.startswith("__") and name != "__version__":
        raise AttributeError(f"module 'flowc' has no attribute {name!r}")
    found = _find(name)
    globals()[name] = found
    return found


def _find(name: str) -> Any:
    from flowc.codegen.forks import watch_forks

    watch_forks()  # a name may be asked for while another thread forks
    if name in _MODULES:
        return import_module(f"flowc.{name}")
    if name == "raw_ops":
        import_module("flowc.api")
        return import_module("flowc.api.framework.raw_ops")
    from flowc.api import exports
    from flowc.api.namespaces import find

    return exports.NAMESPACES.get(name) or find(exports.TOP, name, "flowc")


def __dir__() -> list[str]:
    from flowc.api import exports

    return sorted({*exports.TOP, *exports.NAMESPACES, *_MODULES, "raw_ops"})
