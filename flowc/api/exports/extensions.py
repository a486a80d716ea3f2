"""Public names of ops that are not flowc's own: `exports` says how to read it."""

from __future__ import annotations

TOP = {
    "flowc.extending.registration": "register_kernel register_op",
    "flowc.extending.resources": "register_resource",
    "flowc.extending.op_library": "load_library load_op_library",
}
_SETTINGS = "flowc.api.framework.device_settings"
_DEVICES = """get_visible_devices list_logical_devices list_physical_devices set_visible_devices"""
NAMESPACES: dict[str, dict[str, str]] = {
    "config": {
        _SETTINGS: f"""LogicalDevice LogicalDeviceConfiguration PhysicalDevice
            experimental_functions_run_eagerly=functions_run_eagerly
            experimental_run_functions_eagerly=run_functions_eagerly functions_run_eagerly
            get_logical_device_configuration get_soft_device_placement run_functions_eagerly
            set_logical_device_configuration set_soft_device_placement {_DEVICES}"""
    },
    "config.experimental": {
        _SETTINGS: f"""VirtualDeviceConfiguration=LogicalDeviceConfiguration get_device_details
            get_memory_growth
            get_virtual_device_configuration=get_logical_device_configuration set_memory_growth
            set_virtual_device_configuration=set_logical_device_configuration {_DEVICES}"""
    },
    "config.optimizer": {
        _SETTINGS: "get_experimental_options get_jit set_experimental_options set_jit"
    },
    "config.threading": {
        _SETTINGS: """get_inter_op_parallelism_threads get_intra_op_parallelism_threads
            set_inter_op_parallelism_threads set_intra_op_parallelism_threads"""
    },
    "graph_util": {"flowc.api.framework.graph_edits": "edit_graph"},
    "testing": {"flowc.extending.checking": "check_op"},
    "sysconfig": {
        "flowc.version": "CXX11_ABI_FLAG CXX_VERSION MONOLITHIC_BUILD",
        "flowc.extending.sysconfig": """get_build_info get_compile_flags get_include get_lib
            get_link_flags""",
    },
}
