# Made by `make stub` from the tables of exports: not to be edited.
from flowc.api.saving.saved_model_loader import initialize_all as main_op

