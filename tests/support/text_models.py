"""Models with functions, as TensorFlow writes them: one that reads text, the words of which are
hashed by a function that another one calls, and one that adds to a variable."""

from __future__ import annotations

_PLACEHOLDER = """
node { name: "text" op: "Placeholder" attr { key: "dtype" value { type: DT_STRING } }
       attr { key: "shape" value { shape { dim { size: -1 } } } } }
"""
_CALL = """
node { name: "call" op: "StatefulPartitionedCall" input: "text"
       attr { key: "Tin" value { list { type: DT_STRING } } }
       attr { key: "Tout" value { list { type: DT_STRING type: DT_FLOAT } } }
       attr { key: "f" value { func { name: "outer" } } } }
node { name: "words" op: "Identity" input: "call" attr { key: "T" value { type: DT_STRING } } }
node { name: "scores" op: "Identity" input: "call:1" attr { key: "T" value { type: DT_FLOAT } } }
"""
_OUTER = """
function {
  signature { name: "outer" input_arg { name: "text" type: DT_STRING }
              output_arg { name: "words" type: DT_STRING }
              output_arg { name: "scores" type: DT_FLOAT } is_stateful: true
              control_output: "inner_call" }
  node_def { name: "inner_call" op: "StatefulPartitionedCall" input: "text"
             attr { key: "Tin" value { list { type: DT_STRING } } }
             attr { key: "Tout" value { list { type: DT_STRING type: DT_FLOAT } } }
             attr { key: "f" value { func { name: "inner" } } } }
  node_def { name: "NoOp" op: "NoOp" input: "^inner_call" }
  node_def { name: "Identity" op: "Identity" input: "inner_call:output:0" input: "^NoOp"
             attr { key: "T" value { type: DT_STRING } } }
  node_def { name: "Identity_1" op: "Identity" input: "inner_call:output:1" input: "^NoOp"
             attr { key: "T" value { type: DT_FLOAT } } }
  ret { key: "words" value: "Identity:output:0" }
  ret { key: "scores" value: "Identity_1:output:0" }
  control_ret { key: "inner_call" value: "inner_call" }
}
"""
_INNER = """
function {
  signature { name: "inner" input_arg { name: "text" type: DT_STRING }
              output_arg { name: "words" type: DT_STRING }
              output_arg { name: "scores" type: DT_FLOAT } is_stateful: true }
  node_def { name: "Lower" op: "StringLower" input: "text" }
  node_def { name: "Hash" op: "StringToHashBucketFast" input: "Lower:output:0"
             attr { key: "num_buckets" value { i: 10 } } }
  node_def { name: "Cast" op: "Cast" input: "Hash:output:0"
             attr { key: "SrcT" value { type: DT_INT64 } }
             attr { key: "DstT" value { type: DT_FLOAT } } }
  node_def { name: "Scores" op: "Exp" input: "Cast:y:0"
             attr { key: "T" value { type: DT_FLOAT } } }
  ret { key: "words" value: "Lower:output:0" }
  ret { key: "scores" value: "Scores:y:0" }
}
"""
TEXT_MODEL = f"{_PLACEHOLDER}{_CALL}library {{ {_OUTER} {_INNER} }}"

ADDING_MODEL = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { } } } }
node { name: "v" op: "VarHandleOp" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { } } } attr { key: "shared_name" value { s: "v" } } }
node { name: "start" op: "AssignVariableOp" input: "v" input: "x"
       attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "call" op: "StatefulPartitionedCall" input: "v" input: "x"
       attr { key: "Tin" value { list { type: DT_RESOURCE type: DT_FLOAT } } }
       attr { key: "Tout" value { list { type: DT_FLOAT } } }
       attr { key: "f" value { func { name: "add" } } } }
node { name: "y" op: "Identity" input: "call" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "read" op: "ReadVariableOp" input: "v" input: "^call"
       attr { key: "dtype" value { type: DT_FLOAT } } }
library { function {
  signature { name: "add" input_arg { name: "v" type: DT_RESOURCE }
              input_arg { name: "x" type: DT_FLOAT } output_arg { name: "y" type: DT_FLOAT }
              is_stateful: true control_output: "assign" }
  node_def { name: "assign" op: "AssignAddVariableOp" input: "v" input: "x"
             attr { key: "dtype" value { type: DT_FLOAT } } }
  node_def { name: "same" op: "Identity" input: "x"
             attr { key: "T" value { type: DT_FLOAT } } }
  ret { key: "y" value: "same:output:0" }
  control_ret { key: "assign" value: "assign" }
} }
"""
