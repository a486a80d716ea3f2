# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "accuracy",
    "auc",
    "average_precision_at_k",
    "false_negatives",
    "false_negatives_at_thresholds",
    "false_positives",
    "false_positives_at_thresholds",
    "mean",
    "mean_absolute_error",
    "mean_cosine_distance",
    "mean_iou",
    "mean_per_class_accuracy",
    "mean_relative_error",
    "mean_squared_error",
    "mean_tensor",
    "percentage_below",
    "precision",
    "precision_at_k",
    "precision_at_thresholds",
    "precision_at_top_k",
    "recall",
    "recall_at_k",
    "recall_at_thresholds",
    "recall_at_top_k",
    "root_mean_squared_error",
    "sensitivity_at_specificity",
    "sparse_average_precision_at_k",
    "sparse_precision_at_k",
    "specificity_at_sensitivity",
    "true_negatives",
    "true_negatives_at_thresholds",
    "true_positives",
    "true_positives_at_thresholds",
]
import builtins
from typing import Any
from flowc.graph import Operation, Tensor
from flowc.graph.indexed_slices import IndexedSlices
from flowc.api.metrics.confusion import mean_iou as mean_iou
from flowc.api.metrics.confusion import mean_per_class_accuracy as mean_per_class_accuracy
from flowc.api.metrics.means import accuracy as accuracy
from flowc.api.metrics.means import mean as mean
from flowc.api.metrics.means import mean_absolute_error as mean_absolute_error
from flowc.api.metrics.means import mean_cosine_distance as mean_cosine_distance
from flowc.api.metrics.means import mean_relative_error as mean_relative_error
from flowc.api.metrics.means import mean_squared_error as mean_squared_error
from flowc.api.metrics.means import mean_tensor as mean_tensor
from flowc.api.metrics.means import percentage_below as percentage_below
from flowc.api.metrics.means import root_mean_squared_error as root_mean_squared_error
from flowc.api.metrics.ranking import average_precision_at_k as average_precision_at_k
from flowc.api.metrics.ranking import precision_at_k as precision_at_k
from flowc.api.metrics.ranking import precision_at_top_k as precision_at_top_k
from flowc.api.metrics.ranking import recall_at_k as recall_at_k
from flowc.api.metrics.ranking import recall_at_top_k as recall_at_top_k
from flowc.api.metrics.thresholds import auc as auc
from flowc.api.metrics.thresholds import sensitivity_at_specificity as sensitivity_at_specificity
from flowc.api.metrics.thresholds import specificity_at_sensitivity as specificity_at_sensitivity

def false_negatives(labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None) -> Any:
    """How often a true label is missed, a float32 scalar, of labels and predictions (bools, or 0 and other numbers) of one shape. Gives (value, update). Raises `ValueError` where the shapes differ."""
def false_positives(labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None) -> Any:
    """How often a false label is missed, a float32 scalar, of labels and predictions (bools, or 0 and other numbers) of one shape. Gives (value, update). Raises `ValueError` where the shapes differ."""
def precision(labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None) -> Any:
    """The share of right ones among what is found, a float32 scalar, of labels and predictions (bools, or 0 and other numbers) of one shape. Gives (value, update). Raises `ValueError` where the shapes differ."""
def recall(labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None) -> Any:
    """The share of true labels that are found, a float32 scalar, of labels and predictions (bools, or 0 and other numbers) of one shape. Gives (value, update). Raises `ValueError` where the shapes differ."""
def true_negatives(labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None) -> Any:
    """How often a false label is found, a float32 scalar, of labels and predictions (bools, or 0 and other numbers) of one shape. Gives (value, update). Raises `ValueError` where the shapes differ."""
def true_positives(labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None) -> Any:
    """How often a true label is found, a float32 scalar, of labels and predictions (bools, or 0 and other numbers) of one shape. Gives (value, update). Raises `ValueError` where the shapes differ."""
def sparse_average_precision_at_k(labels: Any, predictions: Any, k: int, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None) -> Any:
    """(value, update): the mean over rows of the average precision of the k classes of the highest
    scores: the precision of the best i classes, summed over each i whose class is right, divided by
    the number of labels (by k where they are more). Float64 scalars; NaN from a row without labels.
    
    `labels`: int64[...] or [..., n], also as a `SparseTensor`; negative ones and those that are no
    class of `predictions` [..., classes] do not count. `weights`: [...]. Raises `ValueError` for k
    less than 1 and shapes that do not fit, `TypeError` for labels of other dtypes."""
def sparse_precision_at_k(labels: Any, predictions: Any, k: int, class_id: int | None = None, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None) -> Any:
    """(value, update): the share of right ones among the k classes of the highest scores. Arguments
    as those of `recall_at_k`. Raises as it does."""
def false_negatives_at_thresholds(labels: Any, predictions: Any, thresholds: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None) -> Any:
    """(value, update): the false negatives at each of `thresholds`, float32[thresholds]. Labels (true or not) and predictions in [0, 1] have one shape. Raises `ValueError` where the shapes differ; a run raises `InvalidArgumentError` for other predictions."""
def false_positives_at_thresholds(labels: Any, predictions: Any, thresholds: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None) -> Any:
    """(value, update): the false positives at each of `thresholds`, float32[thresholds]. Labels (true or not) and predictions in [0, 1] have one shape. Raises `ValueError` where the shapes differ; a run raises `InvalidArgumentError` for other predictions."""
def precision_at_thresholds(labels: Any, predictions: Any, thresholds: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None) -> Any:
    """(value, update): the precision at each of `thresholds`, float32[thresholds]. Labels (true or not) and predictions in [0, 1] have one shape. Raises `ValueError` where the shapes differ; a run raises `InvalidArgumentError` for other predictions."""
def recall_at_thresholds(labels: Any, predictions: Any, thresholds: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None) -> Any:
    """(value, update): the recall at each of `thresholds`, float32[thresholds]. Labels (true or not) and predictions in [0, 1] have one shape. Raises `ValueError` where the shapes differ; a run raises `InvalidArgumentError` for other predictions."""
def true_negatives_at_thresholds(labels: Any, predictions: Any, thresholds: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None) -> Any:
    """(value, update): the true negatives at each of `thresholds`, float32[thresholds]. Labels (true or not) and predictions in [0, 1] have one shape. Raises `ValueError` where the shapes differ; a run raises `InvalidArgumentError` for other predictions."""
def true_positives_at_thresholds(labels: Any, predictions: Any, thresholds: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None) -> Any:
    """(value, update): the true positives at each of `thresholds`, float32[thresholds]. Labels (true or not) and predictions in [0, 1] have one shape. Raises `ValueError` where the shapes differ; a run raises `InvalidArgumentError` for other predictions."""
