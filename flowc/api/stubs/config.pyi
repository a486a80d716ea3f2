# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "LogicalDevice",
    "LogicalDeviceConfiguration",
    "PhysicalDevice",
    "experimental",
    "experimental_functions_run_eagerly",
    "experimental_run_functions_eagerly",
    "functions_run_eagerly",
    "get_logical_device_configuration",
    "get_soft_device_placement",
    "get_visible_devices",
    "list_logical_devices",
    "list_physical_devices",
    "optimizer",
    "run_functions_eagerly",
    "set_logical_device_configuration",
    "set_soft_device_placement",
    "set_visible_devices",
    "threading",
]
from flowc.api.framework.device_settings import LogicalDevice as LogicalDevice
from flowc.api.framework.device_settings import LogicalDeviceConfiguration as LogicalDeviceConfiguration
from flowc.api.framework.device_settings import PhysicalDevice as PhysicalDevice
from flowc.api.framework.device_settings import functions_run_eagerly as experimental_functions_run_eagerly
from flowc.api.framework.device_settings import functions_run_eagerly as functions_run_eagerly
from flowc.api.framework.device_settings import get_logical_device_configuration as get_logical_device_configuration
from flowc.api.framework.device_settings import get_soft_device_placement as get_soft_device_placement
from flowc.api.framework.device_settings import get_visible_devices as get_visible_devices
from flowc.api.framework.device_settings import list_logical_devices as list_logical_devices
from flowc.api.framework.device_settings import list_physical_devices as list_physical_devices
from flowc.api.framework.device_settings import run_functions_eagerly as experimental_run_functions_eagerly
from flowc.api.framework.device_settings import run_functions_eagerly as run_functions_eagerly
from flowc.api.framework.device_settings import set_logical_device_configuration as set_logical_device_configuration
from flowc.api.framework.device_settings import set_soft_device_placement as set_soft_device_placement
from flowc.api.framework.device_settings import set_visible_devices as set_visible_devices

from flowc.api.stubs import config_experimental as experimental
from flowc.api.stubs import config_optimizer as optimizer
from flowc.api.stubs import config_threading as threading
