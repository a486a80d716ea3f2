"""What the launches of products and of convolutions have in common.

In: a `ContractionSource`, operands and sizes by the names of its arguments. Out: a launch; and one
that packs a right operand which the run computes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flowc import dtypes
from flowc.codegen.cpu.blocked import (
    Argument,
    ContractionSource,
    EpilogueLines,
    no_epilogue,
    parts_of_blocks,
    per_axis,
)
from flowc.codegen.cpu.loop_choices import CPU_CHOICES, MULTIPLICATIONS
from flowc.codegen.cpu.products.gemm import pack_source
from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.kernels.kernel import (
    EPILOGUE,
    EPILOGUE_BUFFERS,
    EPILOGUE_INTS,
    WORKSPACE,
    Epilogue,
    Fault,
    Launch,
    Operand,
)
from flowc.codegen.kernels.loop_choices import grain_of
from flowc.dataclass import dataclass
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim, maximum, product
from flowc.ir.lowering import Convolution, FilterGradient, MatMul
from flowc.ir.text.dim_parsing import parse_dim

ALIGNMENT = 64
AXES = {1: "w", 2: "hw", 3: "dhw"}
NARROW = 32  # columns: fewer of them take about as long


@dataclass(frozen=True, slots=True)
class BlockFinish:
    """What follows a finished block: an epilogue and the faults it may report."""

    epilogue: Epilogue | None = None
    errors: tuple[Fault, ...] = ()

    @property
    def hook(self) -> EpilogueLines:
        return no_epilogue if self.epilogue is None else _call_lines

    @property
    def extra(self) -> tuple[Argument, ...]:
        return () if self.epilogue is None else _EPILOGUE_ARGUMENTS


_EPILOGUE_ARGUMENTS = tuple(
    Argument(name, dtypes.u8) for name in (EPILOGUE, EPILOGUE_BUFFERS, EPILOGUE_INTS)
)


def _call_lines(indent: int, rows: tuple[str, str], columns: tuple[str, str]) -> Sequence[str]:
    """The one line that calls the epilogue: a contraction's code does not depend on what it is."""
    tables = ", ".join(a.name for a in _EPILOGUE_ARGUMENTS)
    return [f"{' ' * indent}call_epilogue({tables}, {', '.join((*rows, *columns))})"]


def product_in(body: Computation) -> Node:
    products = (MatMul, Convolution, FilterGradient)
    return next(n for n in body.nodes if isinstance(n.lowering, products))


def axis_sizes(
    lowering: Convolution | FilterGradient,
    image: Sequence[Dim],
    result: Sequence[Dim],
    window: Sequence[Dim],
) -> dict[str, Dim]:
    """The batch and, for each axis of space, the sizes of an image, of the result of its
    convolution and of the window, strides, dilations and what is padded before. An image is a
    volume of one slice, a sequence an image of one line."""
    ints: dict[str, Dim] = {"batch": image[0], "pad_d": 0, "pad_h": 0}
    for axis in "dh":
        ints |= dict.fromkeys(per_axis(axis, "in", "out", "kernel", "stride", "dilation"), 1)
    for i, axis in enumerate(AXES[len(lowering.strides)]):
        ints |= {
            f"in_{axis}": image[1 + i],
            f"out_{axis}": result[1 + i],
            f"kernel_{axis}": window[i],
            f"stride_{axis}": lowering.strides[i],
            f"dilation_{axis}": lowering.dilations[i],
            f"pad_{axis}": lowering.pad[i][0],
        }
    return ints


def launch_of(
    node: Node,
    source: ContractionSource,
    operands: dict[str, Operand],
    ints: dict[str, Dim],
    finish: BlockFinish | None,
    workspace: Dim = 0,
) -> Launch:
    """A launch from operands and ints by argument name. `parts` of blocks are what is best for
    them, where that is not given."""
    names = [a.name for a in source.arguments[:-2]]
    ints = {"parts": parts_of_blocks(source, ints), **ints}
    operands |= {a.name: a.name for a in _EPILOGUE_ARGUMENTS}
    tasks = parse_dim(source.tasks, ints)
    return Launch(
        source.kernel,
        tuple(operands[a.name] for a in source.arguments if a.is_pointer),
        tuple(ints[n] for n, a in zip(names, source.arguments) if not a.is_pointer),
        tasks,
        tasks_worth_a_thread(node, tasks),
        scratch=source.scratch_bytes,
        workspace=workspace,
        errors=finish.errors if finish is not None else (),
        nodes=node.origin,
        epilogue=finish.epilogue if finish is not None else None,
    )


def launch_if(is_wanted: Dim, launch: Launch) -> Launch:
    """A launch that does nothing where a number is 0 instead of 1."""
    return replace(launch, total=is_wanted * launch.total)


def tasks_worth_a_thread(node: Node, tasks: Dim) -> Dim:
    """The grain of a launch's tasks: a small product is not shared among threads. To
    read a byte of weights takes as long as a multiplication: few rows wait for them."""
    inner = product_in(node.attrs["body"])
    weights = inner.inputs[-1]
    match inner.lowering:
        case MatMul(transpose_b=transposed):
            depth = weights.dims[-1 if transposed else -2]
        case Convolution(transposed=True):
            depth = product(weights.dims[:-2]) * weights.dims[-1]
        case _:
            depth = product(weights.dims[:-1])
    *rows, columns = inner.output.dims
    least_rows = inner.output.type.dtype.size
    work = maximum(product(rows), least_rows) * maximum(columns, NARROW) * depth
    return grain_of(tasks * CPU_CHOICES.chunk_nanoseconds * MULTIPLICATIONS, work)


def pack_launch(
    node: Node,
    b: Value,
    shape: TileShape,
    sizes: tuple[Dim, Dim, Dim],
    steps: tuple[Dim, Dim],
    workspace: Dim,
    *,
    rest: Dim = 0,
    transposed: bool = False,
) -> Launch:
    """Packs a right operand that the run computes. `rest`: the columns of its last panel, if they
    are not as many as those of others."""
    ints: dict[str, Dim] = dict(zip(("batch", "k", "n"), sizes))
    ints["rest"] = rest or shape.columns
    ints |= {"b_stride": steps[0], "b_batch": steps[1]}
    source = pack_source(shape, transpose_b=transposed)
    operands: dict[str, Operand] = {"b": b, "packed": WORKSPACE}
    return launch_of(node, source, operands, ints, None, workspace)
