# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "convert_variables_to_constants",
    "edit_graph",
    "extract_sub_graph",
    "import_graph_def",
    "must_run_on_cpu",
    "remove_training_nodes",
    "tensor_shape_from_node_def_name",
]
from flowc.api.framework.graph_edits import edit_graph as edit_graph
from flowc.api.framework.models import import_graph_def as import_graph_def
from flowc.graph.edits.graph_def_edits import convert_variables_to_constants as convert_variables_to_constants
from flowc.graph.edits.graph_def_edits import extract_sub_graph as extract_sub_graph
from flowc.graph.edits.graph_def_edits import must_run_on_cpu as must_run_on_cpu
from flowc.graph.edits.graph_def_edits import remove_training_nodes as remove_training_nodes
from flowc.graph.edits.graph_def_edits import tensor_shape_from_node_def_name as tensor_shape_from_node_def_name

