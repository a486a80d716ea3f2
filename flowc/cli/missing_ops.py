"""`flowc ops --missing`: what of TensorFlow's ops flowc does not have, and why.

In: the names of TensorFlow's ops, and the records. Out: (name, reason). Invariant: every op that is
missing has one reason: that of the first line whose pattern its name matches.
"""

from __future__ import annotations

import re

# (reason, what the names match), the more particular ones first.
REASONS: tuple[tuple[str, str], ...] = (
    (
        "TPUs: embeddings, feeds and partitions of their programs",
        r".*TPU.*|.*Tpu.*|UpdateTaskIdAnd.*|.*DedupData.*|.*SparseCore.*|XlaSparse.*|.*(XlaConcatND|XlaSplitND)$|Infeed.*|Outfeed.*"
        r"|KthOrderStatistic|MakeUnique|TopK(With)?Unique|Prelinearize.*|.*PhysicalReplica|StoreMinibatch.*|ConvertToCooTensor|GlobalIterId",
    ),
    (
        "several machines or devices: collectives, transfers",
        r"Collective.*|Nccl.*|Send|Recv|Xla(AllReduce|ReduceScatter|ReplicaId|Spmd.*|Send.*|Recv.*"
        r"|HostCompute)|AllToAll|CrossReplicaSum|WorkerHeartbeat"
        r"|DataService.*|DistributedSave|SyncDevice|DeviceIndex|.*MultiDeviceIterator.*"
        r"|.*IteratorGetDevice|Rpc.*|DTensor.*|CopyToMesh.*|Relayout.*|DeleteRpc.*",
    ),
    (
        "GPUs: TensorFlow has no kernel for CPUs",
        r"Cudnn.*|GenerateBoundingBoxProposals|BatchI?FFT.*|I?R?FFTND|CTCLossV2"
        r"|MaxPoolGradGradWithArgmax",
    ),
    ("boosted trees, which TensorFlow 2.21 has no kernels of", r".*BoostedTrees.*"),
    ("the debugger, copies for it, and tests of the runtime", r"Debug.*|Copy|CopyHost|Abort|Fact"),
    ("linear models trained by dual coordinate ascent", r"Sdca.*"),
    (
        "summaries of TensorFlow 2, written by resources; FileWriter writes those of TensorFlow 1",
        r"Write.*Summary|(Close|Flush)SummaryWriter|CreateSummary.*|SummaryWriter|ImportEvent"
        r"|SummaryDb.*",
    ),
    (
        "datasets that measure, tune, share or save themselves",
        r".*Stats.*|.*ThreadPool.*|.*ChooseFastest.*|.*AutoShard.*|.*Snapshot.*|.*Rebatch.*"
        r"|(Save|Load|Global|List|Index|Window|Weighted|Sampling|Finalize|Register|Sliding|Shuffle"
        r"|Random|ParallelFilter|ParseExample).*Dataset.*|.*DatasetFromGraph|.*DatasetTo.*"
        r"|DatasetFingerprint|Experimental.*Dataset.*|AssertPrevDataset|.*MemoryCache|.*Iterator.*"
        r"|.*SeedGenerator|WindowOp|ComputeBatchSize|(Unc|C)ompressElement|GetOptions"
        r"|RegisterDataset.*|GetElementAtIndex|DummyIterationCounter",
    ),
    ("other formats of data files", r".*LMDB.*|(De|En)code.*Proto.*"),
    (
        "pictures and sound",
        r".*(Jpeg|Png|Gif|Bmp|WebP|Jxl|Image|Wav|Spectrogram|Mfcc|Hue|Saturation|Contrast|HSV|RGB"
        r"|BoundingBox|Glimpse|ScaleAndTranslate).*|FusedResize.*|FusedPadConv2D|AudioMicrofrontend",
    ),
    (
        "fused ops on quantized elements: TensorFlow's own kernels do nothing, oneDNN's take their"
        " place",
        r"Quantized(Conv2D|DepthwiseConv2D|MatMul).*|QuantizedConcatV2",
    ),
    (
        "ops that quantize, and observe values for it, as StableHLO does",
        r"Uniform(Q|De|Re).*|CalibrationStatisticsSaver|CustomAggregator",
    ),
    (
        "structures held as variants, and factors of sparse matrices",
        r"SparseMatrix.*|.*CompositeTensorVariant.*",
    ),
    (
        "batches across calls, and handles of sessions",
        r"Batch|Unbatch|UnbatchGrad|FakeQueue|FileSystemSet.*"
        r"|.*Session(Handle.*|Tensor)",
    ),
    (
        "only within TensorFlow's runtime",
        r"FakeParam|CheckPinned|ImmutableConst|MapDefun|RefSelect",
    ),
    (
        "random numbers from other distributions, and ops that TensorFlow took away",
        r"StatefulStandardNormal|RandomCrop|Risc.*|SobolSample|TileGrad"
        r"|NegTrain|Skipgram",
    ),
    ("a reduced set of ops that no runtime executes", r"Risc.*"),
    (
        "ops of TensorFlow's own tests",
        r"A|B|Attr.*|Binary|Complex?Struct|ConstructionFails|CopyOp|DefaultAttrs|DevicePlacementOp"
        r"|DtypeWithDefaultOp|DumpTensor|Five.*|Float(In|Out).*|Foo\d|Func(List)?Attr|GetDeadline"
        r"|GraphDefVersion|HostConst|In(Out)?Polymorphic.*|Int(64|Attr|In|Out).*|KernelLabel.*"
        r"|List(In|Out)put|MakeWeakResourceHandle|Mi(xed|lirPassthrough).*|N(In|Ints|Poly).*"
        r"|Namespace>.*|None|Old|OpWith.*|Out(T|Type.*)|Polymorphic.*|Ref(In|Out).*"
        r"|RequiresOlderGraphVersion|Reserved.*|Resource(Create|Initialized|Using)Op|Restrict"
        r"|Simple(Struct)?|Sleep.*|StringListAttr|StubResourceHandleOp|Test.*|Two.*|TypeList.*"
        r"|Unary|IsResourceHandleRefCounting|IsTensorFloat32Enabled",
    ),
    (
        "XLA's programs as text or by name, and sizes that only XLA pads",
        r"XlaCallModule|XlaCustomCall.*|MlirPassthroughOp|Xla(Set|Remove)DynamicDimensionSize",
    ),
    (
        "tensors of several lists, as TensorFlow's vectorized loops make them",
        r"TensorListPushBackBatch",
    ),
    ("not built yet", r".*"),
)


def missing_ops() -> list[tuple[str, str]]:
    """TensorFlow's ops that flowc does not compile or run, each with the reason."""
    from flowc.encoding.tensorflow_ops import tensorflow_ops
    from flowc.extract.unsupported_ops import is_supported

    return [(name, reason_of(name)) for name in sorted(tensorflow_ops()) if not is_supported(name)]


def reason_of(name: str) -> str:
    """Why an op is missing."""
    return next(reason for reason, pattern in REASONS if re.fullmatch(pattern, name))
