"""A graph with a table as a variable, whose rows are read and changed in place.

In: rows `at`. Out: the graph, and what the table holds at first.
"""

from __future__ import annotations

import numpy as np
from google.protobuf import text_format

import flowc
from flowc.proto.graph_pb2 import GraphDef

TABLE = np.arange(24, dtype=np.float32).reshape(6, 4)
TABLE.flags.writeable = False
AT = np.array([4, 1], np.int32)


def table_graph() -> flowc.Graph:
    """`v` of 6 rows of 4; `read` gathers the rows `at`, and then `add` adds 1 to them; `old` is the
    whole of `v` before that."""
    text = """
      node { name: "at" op: "Placeholder" attr { key: "dtype" value { type: DT_INT32 } }
             attr { key: "shape" value { shape { dim { size: 2 } } } } }
      node { name: "v" op: "VariableV2" attr { key: "dtype" value { type: DT_FLOAT } }
             attr { key: "shape" value { shape { dim { size: 6 } dim { size: 4 } } } } }
      node { name: "axis" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
             attr { key: "value"
                    value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 0 } } } }
      node { name: "read" op: "GatherV2" input: "v" input: "at" input: "axis"
             attr { key: "Tparams" value { type: DT_FLOAT } }
             attr { key: "Tindices" value { type: DT_INT32 } }
             attr { key: "Taxis" value { type: DT_INT32 } } }
      node { name: "one" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
             attr { key: "value"
                    value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 } } } }
      node { name: "old" op: "Abs" input: "v" attr { key: "T" value { type: DT_FLOAT } } }
      node { name: "add" op: "ScatterAdd" input: "v" input: "at" input: "one" input: "^read"
             attr { key: "T" value { type: DT_FLOAT } }
             attr { key: "Tindices" value { type: DT_INT32 } } }
      node { name: "after" op: "ScatterAdd" input: "v" input: "at" input: "one" input: "^old"
             attr { key: "T" value { type: DT_FLOAT } }
             attr { key: "Tindices" value { type: DT_INT32 } } }
      node { name: "step" op: "NoOp" input: "^add" }
    """
    graph = flowc.Graph()
    with graph.as_default():
        flowc.import_graph_def(text_format.Parse(text, GraphDef()), name="")
    graph.variable_values = {"v": TABLE}
    return graph
