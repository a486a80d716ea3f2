# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "SavedModelBuilder",
]
from flowc.api.saving.saved_model_builder import SavedModelBuilder as SavedModelBuilder

