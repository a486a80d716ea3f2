# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "main_op",
    "main_op_with_restore",
]
from flowc.api.saving.saved_model_loader import initialize_all as main_op
from flowc.api.saving.saved_model_loader import main_op_with_restore as main_op_with_restore

