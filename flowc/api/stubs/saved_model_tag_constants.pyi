# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "GPU",
    "SERVING",
    "TPU",
    "TRAINING",
]
from flowc.api.stubs.saved_model import GPU as GPU
from flowc.api.stubs.saved_model import SERVING as SERVING
from flowc.api.stubs.saved_model import TPU as TPU
from flowc.api.stubs.saved_model import TRAINING as TRAINING

