"""All programs of the rows, by the parts that hold them."""

from __future__ import annotations

from snippets.api_snippets import Snippet
from snippets.row_snippets_arguments import ARGUMENT_ROWS
from snippets.row_snippets_barriers import BARRIER_ROWS
from snippets.row_snippets_datasets import DATASET_ROWS
from snippets.row_snippets_extending import EXTENDING_ROWS
from snippets.row_snippets_faults import FAULT_ROWS
from snippets.row_snippets_graphs import GRAPH_SNIPPETS
from snippets.row_snippets_images import IMAGE_ROWS
from snippets.row_snippets_inputs import INPUT_ROWS
from snippets.row_snippets_records import RECORD_ROWS
from snippets.row_snippets_saving import SAVING_ROWS
from snippets.row_snippets_strangers import STRANGER_ROWS
from snippets.row_snippets_tools import TOOL_ROWS
from snippets.row_snippets_training import TRAINING_ROWS
from snippets.row_snippets_values import VALUE_ROWS
from snippets.row_snippets_variables import VARIABLE_ROWS

ROW_SNIPPETS: tuple[Snippet, ...] = (
    *GRAPH_SNIPPETS,
    *VARIABLE_ROWS,
    *SAVING_ROWS,
    *TOOL_ROWS,
    *INPUT_ROWS,
    *TRAINING_ROWS,
    *RECORD_ROWS,
    *DATASET_ROWS,
    *EXTENDING_ROWS,
    *IMAGE_ROWS,
    *FAULT_ROWS,
    *BARRIER_ROWS,
    *VALUE_ROWS,
    *STRANGER_ROWS,
    *ARGUMENT_ROWS,
)

# Programs in which flowc is seen to differ from TensorFlow, and how.
DIFFERENCES: dict[str, str] = {}
