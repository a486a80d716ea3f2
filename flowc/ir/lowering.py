"""How an op becomes code: the closed union of lowerings. `match` on it; never ask an op's name.

A record gives functions; behind `lower` they are ScalarBodies and names of kernels, and the fields
of a lowering are the attrs of its core op (`flowc.ir.core_ops`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.ir.dims import Dim, ceildiv, maximum
from flowc.ir.layout import CHANNELS_LAST

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node, Value
    from flowc.ir.extraction import Bound, Extractor


Scalars = Callable[..., Any]  # what a ScalarBuilder is told to do; a ScalarBody, once recorded
NativeFunction = Callable[..., None]
KernelFunction = Callable[..., None] | str  # or its `module:name`, or a SYMBOL of C
SYMBOL = "symbol:"


@dataclass(frozen=True, slots=True)
class Elementwise:
    """One output element from the elements of all inputs at its index, inputs broadcast.

    `body(k, *elements)` builds it from the scalar primitives.
    """

    body: Scalars


@dataclass(frozen=True, slots=True)
class View:
    """One output element from input elements at other indices: `body(k, index)`.

    Reads with `k.load(operand, index)`, `k.load_if`, `k.checked_index`. `reshape` says that input 0
    holds the same elements in the same row-major order, so that no data need move.
    """

    body: Scalars
    reshape: bool = False


@dataclass(frozen=True, slots=True)
class Reduction:
    """A fold over `axes` of input 0 (kept as size 1 or dropped, as the output type says).

    `combine` is `add mul max min and or`. `prepare(k, *elements)` maps the inputs' elements (inputs
    beyond the first broadcast against input 0) before the fold; `finish(k, total, count)` maps the
    result, `count` being the number of folded elements as a scalar of the accumulator's dtype.
    `accumulator`: dtype of the running value; None means that of `prepare`'s result (f32 for
    f16 and bf16). The fold of nothing is the combine's neutral element.
    """

    axes: tuple[int, ...]
    combine: str
    prepare: Scalars | None = None
    finish: Scalars | None = None
    accumulator: DType | None = None


@dataclass(frozen=True, slots=True)
class MatMul:
    """`a @ b` over the last two axes, leading axes broadcast; conjugation is done before it.

    With several `pieces`, the inputs but the last are matrices that side by side are `a`.
    """

    transpose_a: bool = False
    transpose_b: bool = False
    pieces: int = 1


@dataclass(frozen=True, slots=True)
class Convolution:
    """Convolution: input [N, *spatial, C], weights [*window, C/groups, O].

    Depthwise is `groups == C`, weights [*window, 1, C*multiplier]. `pad` are the zeros before and
    after each spatial dim. `transposed` computes the gradient with respect to the input: input is
    the output's gradient [N, *spatial, O], weights are as above, the output is [N, *spatial', C].
    `layout` (`ir/layout.py`) is the order in which memory has the dims of the input and the output.
    """

    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pad: tuple[tuple[Dim, Dim], ...]
    groups: int = 1
    transposed: bool = False
    layout: str = CHANNELS_LAST


@dataclass(frozen=True, slots=True)
class FilterGradient:
    """The gradient of a convolution with respect to its weights: input [N, *spatial, C], the
    gradient of the result [N, *spatial', O]; the output is [*window, C, O], `swapped`
    [*window, O, C]. The others are as those of the convolution."""

    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pad: tuple[tuple[Dim, Dim], ...]
    swapped: bool = False


@dataclass(frozen=True, slots=True)
class Decompose:
    """Written in terms of other ops: `build(b, node)` returns the values of the outputs."""

    build: Callable[[Builder, Node], Value | Sequence[Value]]


@dataclass(frozen=True, slots=True)
class Native:
    """A hand-written loop kernel: a module-level Python function in Numba's nopython subset. Others
    that it calls are inlined (`codegen/cpu/kernel_inlining.py` says how).

    Called as `kernel(*inputs, *outputs, [sizes], [scratch], [status], *arguments, begin, end)`:
    typed pointers (row-major; bool as uint8), then int64 arguments (sizes and int attrs), then its
    share of the range [0, parallel). `constants` are globals that it sees as constants.
    `sizes` (int64*, present if the op has data-dependent sizes) receives them, in the order that
    `infer` made them in; `scratch` (uint8*, if `scratch` is not 0) is private to the worker;
    `status` (int64*, if there are `errors`) takes [1 + number of the message, a, b, c] to make the
    run fail; messages may use {a} {b} {c}; `fault` names the error's class, but for messages that
    begin with that of another one (`OutOfRangeError: ...`). f16 and bf16 inputs are
    widened to f32 around the kernel. A kernel that returns early on error must leave memory safe.
    Math functions of the scalar table may be called as globals named `exp_f32` and the like when
    listed in `functions`.

    `updates`: the input that output 0 is a changed copy of. The kernel finds the bytes of that
    input (as many as both hold) in output 0 already, and writes only what changes: where the plan
    can prove that nobody reads the input again, both are the same memory. `moves`: the kernel only
    moves elements, so that f16 and bf16 ones stay as they are. `handles`: the inputs (i64) that are
    addresses of objects, of which a kernel in C gets the objects. `persistent`: the last of them is
    no input of that kernel, but what its node keeps.
    """

    kernel: KernelFunction
    arguments: tuple[Dim, ...] = ()
    parallel: Dim = 1
    scratch: Dim = 0
    errors: tuple[str, ...] = ()
    fault: str = "InvalidArgumentError"
    constants: Mapping[str, Any] = field(default_factory=dict[str, Any])
    functions: tuple[str, ...] = ()
    updates: int | None = None
    moves: bool = False
    handles: tuple[int, ...] = ()
    persistent: bool = False

    @property
    def symbol(self) -> str | None:
        """What a linker finds the kernel by, where it is in C: `flowc_op_compute` of flowc/op.h,
        called once, with the dims of all inputs and outputs as `arguments`, attrs as `constants`.
        """
        is_c = isinstance(self.kernel, str) and self.kernel.startswith(SYMBOL)
        return str(self.kernel).removeprefix(SYMBOL) if is_c else None

    @property
    def function(self) -> Callable[..., None]:
        if not isinstance(self.kernel, str):
            return self.kernel
        module, _, name = self.kernel.partition(":")
        return getattr(import_module(module), name)


def plain_attr(value: Any) -> Any:
    """The value of an attr as code in C has it: of a dtype its number."""
    if isinstance(value, tuple | list):
        return tuple(map(plain_attr, cast(Sequence[Any], value)))
    return value.enum if isinstance(value, DType) else value


@dataclass(frozen=True, slots=True)
class ObjectFunctions:
    """The functions of a `flowc_resource_definition` (flowc/op.h), by what a linker finds them by;
    "" for those that it has not."""

    create: str
    destroy: str
    save: str
    restore: str

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the functions that there are."""
        return tuple(filter(None, (self.create, self.destroy, self.save, self.restore)))


# How a hand-written kernel becomes one of many threads, where its range is not the work of many: a
# decorator of the kernel says it, and no code for CPUs depends on it.


@dataclass(frozen=True, slots=True)
class ByColumns:
    """The loops `for ... in range(name)` run over columns, whose results do not depend on each
    other, and nothing but these loops writes: each thread takes one column of a step."""

    name: str


@dataclass(frozen=True, slots=True)
class ByThreads:
    """Another kernel does it. `change` gives its Native for that of the CPU,
    None where that one's own range is long enough. Where there are
    `lanes`, so many threads take a step of the range together, and share its scratch; a kernel
    that takes them gets `lane, lanes` behind `begin, end`, and they wait for each other in
    `barrier()`."""

    change: Callable[[Native], Native | None]
    lanes: int = 1


@dataclass(frozen=True, slots=True)
class ByOneThread:
    """One thread runs all of its range, which is short for any size of data."""


GpuForm = ByColumns | ByThreads | ByOneThread
LANES = 256  # threads that share memory
SHORT, MANY = 128, 4096  # elements that one thread folds as fast; threads that keep a GPU busy
OWNERS = 1 << 15  # threads that look at all indices for what they own


def by_owners(
    native: Native, kernel: NativeFunction, count: Dim, width: Dim, rows: Dim = 1
) -> Native:
    """What writes at computed places, by threads that own places: each looks at everything, in
    order, and writes one column of `band` neighbours of `count` places, `rows` times. The kernel
    gets `band` as its last argument."""
    columns = maximum(width, 1)
    band = maximum(ceildiv(count * columns * rows, OWNERS), 1)
    owners = maximum(ceildiv(count, band), 1)
    return replace(
        native,
        kernel=kernel,
        arguments=(*native.arguments, band),
        parallel=owners * columns * rows,
    )


_GPU_FORM = "__flowc_gpu_form__"


def on_gpu(form: GpuForm) -> Callable[[NativeFunction], NativeFunction]:
    """Decorates a kernel with its form for GPUs."""

    def decorate(kernel: NativeFunction) -> NativeFunction:
        setattr(kernel, _GPU_FORM, form)
        return kernel

    return decorate


def gpu_form(kernel: Any) -> GpuForm | None:
    """What a kernel is decorated with."""
    return getattr(kernel, _GPU_FORM, None)


def own_class(message: str) -> tuple[str, str]:
    """The class of its own that a message of a kernel names, if any, and the rest of it."""
    found = re.match(r"([A-Z]\w+Error): ", message)
    return (found[1], message[found.end() :]) if found else ("", message)


@dataclass(frozen=True, slots=True)
class Host:
    """Python on the host, for what only it can do: a run in a Session calls it, and no library can.

    `function(inputs, dtypes, **settings)` gets arrays of its own (scalars where the rank is 0) and
    the dtypes of the outputs, and returns one row-major array for each of them. `settings`: the
    attrs that it wants, which are texts, numbers, dtypes (which it gets by name) or lists of those.
    Sizes that `infer` made are those of the arrays that it returns; where the others do not hold,
    the run fails. What it raises ends the run; a FlowcError is told the node. `shown`: the op of
    which messages speak.
    `linked`: the op that does the same by a kernel of an archive, for libraries; `unlinked`: where
    there could be one, what a library lacks, and how it is made. `object`: of a
    step that gives the handle of the object `id`, what makes that object where instances hold it.
    `may_block`: the function gets `run`, too, the `HostRun` with which it waits, or which gives it
    kernels. `only_reads`: it
    neither changes nor keeps its inputs, so that they may be what others hold.
    """

    function: Callable[..., Sequence[Any]]
    shown: str
    settings: tuple[str, ...] = ()
    may_block: bool = False
    only_reads: bool = False
    linked: str = ""
    unlinked: str = ""
    object: ObjectFunctions | None = None


@dataclass(frozen=True, slots=True)
class Extracted:
    """Written in terms of values when a graph is extracted: state, lists, handles, calls.

    `emit(x, inputs, attrs)` returns what the outputs are bound to: no Computation holds the node.
    `host`: the step that computes it where Python runs the node alone (`run/python_segments.py`);
    of its settings, `name` is that of the node.
    """

    emit: Callable[[Extractor, Sequence[Bound], Mapping[str, Any]], Sequence[Bound]]
    host: Host | None = None


@dataclass(frozen=True, slots=True)
class Structural:
    """Handled by the compiler itself: parameters, constants, sizes, clusters, calls, state."""


Lowering = (
    Elementwise
    | View
    | Reduction
    | MatMul
    | Convolution
    | FilterGradient
    | Decompose
    | Native
    | Host
    | Extracted
    | Structural
)
