"""Public names of ops that are not flowc's own: `exports.py` says how to read it."""

from __future__ import annotations

TOP = {
    "flowc.extending.registration": "register_kernel register_op",
    "flowc.extending.resources": "register_resource",
    "flowc.extending.op_library": "load_library load_op_library",
}
NAMESPACES: dict[str, dict[str, str]] = {
    "graph_util": {"flowc.api.framework.graph_edits": "edit_graph"},
    "testing": {"flowc.extending.checking": "check_op"},
    "sysconfig": {
        "flowc.version": "CXX11_ABI_FLAG CXX_VERSION MONOLITHIC_BUILD",
        "flowc.extending.sysconfig": """get_build_info get_compile_flags get_include get_lib
            get_link_flags""",
    },
}
