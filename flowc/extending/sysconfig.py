"""`tf.sysconfig`: what a C or C++ compiler needs for op libraries.

In: nothing. Out: folders and flags. Invariant: what is built with them needs no library of flowc's:
a kernel is given all that it calls.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import flowc.cc.build
from flowc.codegen.targets import target_named


def get_include() -> str:
    """The folder with `flowc/op.h` and `flowc/op_kernel.h`. Raises nothing."""
    return str(flowc.cc.build.INCLUDE)


def get_lib() -> str:
    """The folder that flowc is installed in; op libraries link nothing of it. Raises nothing."""
    return str(Path(flowc.cc.build.__file__).parents[1])


def get_compile_flags() -> list[str]:
    """Flags to compile an op library with: where the headers are, and the standard of C++. Raises
    nothing."""
    return [f"-I{get_include()}", "--std=c++17"]


def get_link_flags() -> list[str]:
    """Flags to link an op library with: there are none. Raises nothing."""
    return []


def get_build_info() -> dict[str, Any]:
    """What flowc was built for. A dict. Raises nothing."""
    target = target_named("native").key.split("/")
    return {"is_cuda_build": False, "is_rocm_build": False, "is_tensorrt_build": False,
            "cpu_compiler": "llvm", "target": target[0]}  # fmt: skip
