# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "load",
    "maybe_saved_model_directory",
]
from flowc.api.saving.saved_model_loader import contains_saved_model as maybe_saved_model_directory
from flowc.api.saving.saved_model_loader import load as load

