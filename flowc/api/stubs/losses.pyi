# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "Reduction",
    "absolute_difference",
    "add_loss",
    "compute_weighted_loss",
    "cosine_distance",
    "get_losses",
    "get_regularization_loss",
    "get_regularization_losses",
    "get_total_loss",
    "hinge_loss",
    "huber_loss",
    "log_loss",
    "mean_pairwise_squared_error",
    "mean_squared_error",
    "sigmoid_cross_entropy",
    "softmax_cross_entropy",
    "sparse_softmax_cross_entropy",
]
from flowc.api.losses.collection import add_loss as add_loss
from flowc.api.losses.collection import get_losses as get_losses
from flowc.api.losses.collection import get_regularization_loss as get_regularization_loss
from flowc.api.losses.collection import get_regularization_losses as get_regularization_losses
from flowc.api.losses.collection import get_total_loss as get_total_loss
from flowc.api.losses.losses import absolute_difference as absolute_difference
from flowc.api.losses.losses import cosine_distance as cosine_distance
from flowc.api.losses.losses import hinge_loss as hinge_loss
from flowc.api.losses.losses import huber_loss as huber_loss
from flowc.api.losses.losses import log_loss as log_loss
from flowc.api.losses.losses import mean_pairwise_squared_error as mean_pairwise_squared_error
from flowc.api.losses.losses import mean_squared_error as mean_squared_error
from flowc.api.losses.losses import sigmoid_cross_entropy as sigmoid_cross_entropy
from flowc.api.losses.losses import softmax_cross_entropy as softmax_cross_entropy
from flowc.api.losses.losses import sparse_softmax_cross_entropy as sparse_softmax_cross_entropy
from flowc.api.losses.weighting import LossReduction as Reduction
from flowc.api.losses.weighting import compute_weighted_loss as compute_weighted_loss

