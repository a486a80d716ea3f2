# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "get_experimental_options",
    "get_jit",
    "set_experimental_options",
    "set_jit",
]
from flowc.api.framework.device_settings import get_experimental_options as get_experimental_options
from flowc.api.framework.device_settings import get_jit as get_jit
from flowc.api.framework.device_settings import set_experimental_options as set_experimental_options
from flowc.api.framework.device_settings import set_jit as set_jit

