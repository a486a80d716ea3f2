# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "main_op",
]
from flowc.api.saving.saved_model_loader import initialize_all as main_op

