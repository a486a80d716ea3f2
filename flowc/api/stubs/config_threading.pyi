# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "get_inter_op_parallelism_threads",
    "get_intra_op_parallelism_threads",
    "set_inter_op_parallelism_threads",
    "set_intra_op_parallelism_threads",
]
from flowc.api.framework.device_settings import get_inter_op_parallelism_threads as get_inter_op_parallelism_threads
from flowc.api.framework.device_settings import get_intra_op_parallelism_threads as get_intra_op_parallelism_threads
from flowc.api.framework.device_settings import set_inter_op_parallelism_threads as set_inter_op_parallelism_threads
from flowc.api.framework.device_settings import set_intra_op_parallelism_threads as set_intra_op_parallelism_threads

