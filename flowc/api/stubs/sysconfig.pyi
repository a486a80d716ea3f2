# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "CXX11_ABI_FLAG",
    "CXX_VERSION",
    "MONOLITHIC_BUILD",
    "get_build_info",
    "get_compile_flags",
    "get_include",
    "get_lib",
    "get_link_flags",
]
import builtins
from typing import Any
from flowc.graph import Operation, Tensor
from flowc.graph.indexed_slices import IndexedSlices
from flowc.extending.sysconfig import get_build_info as get_build_info
from flowc.extending.sysconfig import get_compile_flags as get_compile_flags
from flowc.extending.sysconfig import get_include as get_include
from flowc.extending.sysconfig import get_lib as get_lib
from flowc.extending.sysconfig import get_link_flags as get_link_flags

CXX11_ABI_FLAG: int
CXX_VERSION: int
MONOLITHIC_BUILD: int
