"""Which function is the gradient of an operation.

In: op types and functions that a program registers; operations. Out: a function of an operation
and the gradients of its outputs, which gives those of its inputs; None where nothing flows back.
Invariant: an op type has one gradient and keeps it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

from flowc.graph.gradients.control_flow import CONTROL_FLOW_GRADIENTS
from flowc.graph.gradients.operation import no_gradient_defined, record_gradient
from flowc.graph.operation import Operation
from flowc.ops import tf_op

GradientFunction = Callable[..., Any]

# What gives no gradient in TensorFlow either: state, randomness, queries, decoders.
_WITHOUT = """
    ArgMax ArgMin AsString Assert Assign AssignAdd AssignSub AudioSummary AudioSummaryV2
    BroadcastGradientArgs CTCBeamSearchDecoder CTCGreedyDecoder ConcatOffset Const DecodeBase64
    DecodePaddedRaw DecodeRaw DeleteSessionTensor DenseToDenseSetOperation DenseToSparseSetOperation
    DrawBoundingBoxes EditDistance EncodeBase64 ExtractGlimpse FakeQuantWithMinMaxArgsGradient
    FakeQuantWithMinMaxVarsGradient FakeQuantWithMinMaxVarsPerChannelGradient
    FixedLengthRecordReader GenerateVocabRemapping GetSessionHandle GetSessionTensor HSVToRGB
    HashTable HashTableV2 HistogramSummary IdentityReader ImageSummary InitializeTable
    InitializeTableFromTextFile InitializeTableFromTextFileV2 InitializeTableV2 InvertPermutation
    LinSpace LoadAndRemapMatrix LookupTableFind LookupTableFindV2 LookupTableInsert
    LookupTableInsertV2 LookupTableSize LookupTableSizeV2 LoopCond MergeSummary Multinomial
    ParameterizedTruncatedNormal
    MutableDenseHashTable MutableDenseHashTableV2 MutableHashTable MutableHashTableOfTensors
    MutableHashTableOfTensorsV2 MutableHashTableV2 NonMaxSuppression NonMaxSuppressionV2
    NonMaxSuppressionWithOverlaps ParseTensor PyFunc PyFuncStateless QueueClose QueueDequeue
    QueueDequeueMany QueueDequeueUpTo QueueEnqueue QueueEnqueueMany QueueSize RaggedRange
    RandomIndexShuffle RandomShuffle RandomStandardNormal RandomUniform ReaderNumRecordsProduced
    ReaderNumWorkUnitsCompleted ReaderRead ReaderReadUpTo ReaderReset ReaderRestoreState
    ReaderSerializeState ReduceDataset ReduceJoin RegexReplace SampleDistortedBoundingBox
    SampleDistortedBoundingBoxV2 ScalarSummary ScatterAdd ScatterDiv ScatterMul ScatterNdAdd
    ScatterNdSub ScatterNdUpdate ScatterSub SerializeTensor SetSize SparseAddGrad SparseConcat
    SparseMatrixNNZ SparseMatrixZeros SparseToSparseSetOperation Stack StackClose StackPop StackPush
    StatelessMultinomial StatelessRandomBinomial StatelessRandomNormal StatelessRandomNormalV2
    StatelessRandomPoisson StatelessRandomUniform StatelessRandomUniformFullInt
    StatelessRandomUniformFullIntV2 StatelessRandomUniformInt StatelessRandomUniformIntV2
    StatelessRandomUniformV2 StatelessTruncatedNormal StatelessTruncatedNormalV2 StringJoin
    StringSplit StringToHashBucket StringToHashBucketFast StringToHashBucketStrong StringToNumber
    TFRecordReader TensorArray TensorArrayClose TensorArrayCloseV2 TensorArrayCloseV3
    TensorArrayGrad TensorArrayGradV2 TensorArrayGradV3 TensorArrayGradWithShape TensorArraySize
    TensorArraySizeV2 TensorArraySizeV3 TensorArrayV2 TensorArrayV3 TensorListConcatLists
    TensorListElementShape TensorListLength TensorSummary TensorSummaryV2 TextLineReader Timestamp
    TruncatedNormal VarIsInitializedOp VariableShape WholeFileReader XlaVariadicReduce
"""
NOT_DIFFERENTIABLE = frozenset(_WITHOUT.split())
# What has one in TensorFlow that does nothing but say so.
_UNIMPLEMENTED = (
    "SparseDenseCwiseAdd",
    "SparseMatrixMul",
    "SparseSparseMaximum",
    "SparseSparseMinimum",
)


class GradientRegistry:
    """The gradients of op types: those of programs, then flowc's own: `built_in`, those of control
    flow and of records."""

    def __init__(self, built_in: Mapping[str, GradientFunction]) -> None:
        self._own: dict[str, GradientFunction | None] = {}
        refused = {"PreventGradient": _refused, **dict.fromkeys(_UNIMPLEMENTED, _unimplemented)}
        self._built_in = {**CONTROL_FLOW_GRADIENTS, **refused, **built_in}
        self._custom = itertools.count()

    def add(self, name: str, function: GradientFunction | None) -> None:
        """Registers a gradient under an op type, or a name that `gradient_override_map` names.

        None: nothing flows back. Raises `TypeError` for a name that is no string, `KeyError` where
        the name has a gradient."""
        if not isinstance(name, str):
            raise TypeError("op_type must be a string")
        if self.knows(name):
            raise KeyError(f"Registering two gradient with name '{name}'!")
        self._own[name] = function

    def knows(self, name: str) -> bool:
        """Whether a name has a gradient, or is known to have none."""
        return name in self._own or name in NOT_DIFFERENTIABLE or self._function(name) is not None

    def add_custom(self, function: GradientFunction) -> str:
        """Registers a gradient under a new name, which it gives."""
        name = f"CustomGradient-{next(self._custom)}"
        self.add(name, function)
        return name

    def find(self, operation: Operation) -> GradientFunction | None:
        """Raises `LookupError` where the op has no gradient."""
        override = operation.attrs.get("_gradient_op_type")
        name = operation.type if override is None else override.decode()
        if name in self._own:
            return self._own[name]
        if name in NOT_DIFFERENTIABLE:
            return None
        found = self._function(name)
        if found is None and name in operation.graph.functions:
            found = self._built_in.get("PartitionedCall")
        if found is None:
            raise no_gradient_defined(operation)
        return found

    def _function(self, name: str) -> GradientFunction | None:
        if name in self._built_in:
            return self._built_in[name]
        record = tf_op(name)
        return None if record is None or record.gradient is None else record_gradient


def _refused(operation: Operation, *_: Any) -> Any:
    message = operation.attrs.get("message", b"")
    raise LookupError(f"Gradient explicitly disabled. Reason: {message}")


def _unimplemented(operation: Operation, *_: Any) -> Any:
    raise NotImplementedError(f"Gradient for {operation.type} is not implemented.")
