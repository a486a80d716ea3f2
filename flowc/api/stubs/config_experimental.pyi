# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "VirtualDeviceConfiguration",
    "get_device_details",
    "get_memory_growth",
    "get_virtual_device_configuration",
    "get_visible_devices",
    "list_logical_devices",
    "list_physical_devices",
    "set_memory_growth",
    "set_virtual_device_configuration",
    "set_visible_devices",
]
from flowc.api.framework.device_settings import LogicalDeviceConfiguration as VirtualDeviceConfiguration
from flowc.api.framework.device_settings import get_device_details as get_device_details
from flowc.api.framework.device_settings import get_logical_device_configuration as get_virtual_device_configuration
from flowc.api.framework.device_settings import get_memory_growth as get_memory_growth
from flowc.api.framework.device_settings import get_visible_devices as get_visible_devices
from flowc.api.framework.device_settings import list_logical_devices as list_logical_devices
from flowc.api.framework.device_settings import list_physical_devices as list_physical_devices
from flowc.api.framework.device_settings import set_logical_device_configuration as set_virtual_device_configuration
from flowc.api.framework.device_settings import set_memory_growth as set_memory_growth
from flowc.api.framework.device_settings import set_visible_devices as set_visible_devices

