"""The driver: one native function that runs a whole Plan.

In: a Plan and the launches of its clusters. Out: LLVM IR text that exports `flowc_program_run`,
`flowc_program_output_dims` and `flowc_program_output_bounds`, and the table of errors. It is
emitted with llvmlite directly: a straight line of kernel calls costs milliseconds to compile.

    i32 flowc_program_run(i8** inputs, i8** outputs, i64* sizes, i8* weights, i64 threads,
                          i64* status)

`sizes` holds the inputs' sizes when it is called and all sizes when it returns. An output of
unbounded size is allocated with malloc by the run, which stores its address in `outputs`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from llvmlite import ir

from flowc.codegen.kernel import Launch, Operand
from flowc.errors import InternalError
from flowc.ir.computation import Node, Value
from flowc.ir.dims import Dim, Extremum, FloorDiv, Symbol, ceildiv, symbols_of
from flowc.plan.plan import (
    ALIGNMENT,
    Arena,
    Constant,
    Copy,
    Heap,
    Input,
    Output,
    Place,
    Plan,
    ReadSizes,
    Run,
    WriteSizes,
    bytes_of,
    root_of,
)

I1, I8, I32, I64 = ir.IntType(1), ir.IntType(8), ir.IntType(32), ir.IntType(64)
BYTES = I8.as_pointer()
STATUS_INVALID = 3
STATUS_MEMORY = 5

KERNEL_TYPE = ir.FunctionType(ir.VoidType(), [BYTES.as_pointer(), I64.as_pointer(), I64, I64, I64])

EPILOGUE_TYPE = ir.FunctionType(
    ir.VoidType(), [BYTES.as_pointer(), I64.as_pointer(), I64, I64, I64, I64]
)


@dataclass(slots=True)
class Driver:
    """`text`: LLVM IR. `errors`: rows of the error table, in the order of their numbers."""

    text: str
    errors: list[dict[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Interface:
    """What the driver needs to know beside the plan: the size symbols in table order, how many of
    them the inputs define, and where each constant's bytes stand among the weights."""

    sizes: tuple[str, ...]
    input_sizes: int
    weight_offset: Callable[[Any], int]


class _Function:
    """A function under construction that computes with sizes."""

    def __init__(self, function: ir.Function, env: Mapping[str, ir.Value]) -> None:
        self.function = function
        # llvmlite's decorators hide from a type checker what the builder's methods return.
        self.b = cast(Any, ir.IRBuilder(function.append_basic_block("entry")))
        self.env: dict[str, ir.Value] = dict(env)
        self.known: dict[Dim, ir.Value] = {}

    def dim(self, dim: Dim) -> ir.Value:
        """A size as i64; computed once."""
        if isinstance(dim, int):
            return ir.Constant(I64, dim)
        if dim not in self.known:
            total: ir.Value | None = None
            for monomial, coefficient in dim.terms:
                term: ir.Value | None = None
                for atom in monomial:
                    value = self.atom(atom)
                    term = value if term is None else self.b.mul(term, value)
                if term is None:
                    term = ir.Constant(I64, coefficient)
                elif coefficient != 1:
                    term = self.b.mul(term, ir.Constant(I64, coefficient))
                total = term if total is None else self.b.add(total, term)
            assert total is not None
            self.known[dim] = total
        return self.known[dim]

    def atom(self, atom: Symbol | FloorDiv | Extremum) -> ir.Value:
        match atom:
            case Symbol(name):
                return self.env[name]
            case FloorDiv(top, bottom):
                return self.floordiv(self.dim(top), self.dim(bottom))
            case Extremum(kind, left, right):
                a, b = self.dim(left), self.dim(right)
                sign = ">" if kind == "max" else "<"
                return self.b.select(self.b.icmp_signed(sign, a, b), a, b)

    def floordiv(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """Rounds to minus infinity; a divisor of 0 gives 0 rather than a trap."""
        zero, one = ir.Constant(I64, 0), ir.Constant(I64, 1)
        safe = self.b.select(self.b.icmp_signed("==", b, zero), one, b)
        quotient = self.b.sdiv(a, safe)
        rest = self.b.srem(a, safe)
        below = self.b.icmp_signed("<", rest, zero)
        return self.b.select(below, self.b.sub(quotient, one), quotient)


class _Emitter:
    def __init__(
        self, plan: Plan, launches: Mapping[Node, Sequence[Launch]], interface: Interface
    ) -> None:
        self.plan = plan
        self.launches = launches
        self.interface = interface
        self.module = ir.Module("flowc_driver")
        self.errors: list[dict[str, str]] = []

    def emit(self) -> Driver:
        self.parallel_for = self._declare(
            "flowc_parallel_for",
            ir.VoidType(),
            [BYTES, BYTES.as_pointer(), I64.as_pointer(), I64, I64, I64],
        )
        self.acquire = self._declare("flowc_arena_acquire", BYTES, [I64])
        self.release = self._declare("flowc_arena_release", ir.VoidType(), [BYTES])
        self.malloc = self._declare("malloc", BYTES, [I64])
        self._emit_run()
        self._emit_dims("flowc_program_output_dims", lambda d: d)
        self._emit_dims("flowc_program_output_bounds", self.plan.bounded)
        return Driver(str(self.module), self.errors)

    def _declare(self, name: str, result: ir.Type, arguments: Sequence[ir.Type]) -> ir.Function:
        return ir.Function(self.module, ir.FunctionType(result, arguments), name)

    # -- the run

    def _emit_run(self) -> None:
        signature = ir.FunctionType(
            I32,
            [
                BYTES.as_pointer(),
                BYTES.as_pointer(),
                I64.as_pointer(),
                BYTES,
                I64,
                I64.as_pointer(),
            ],
        )
        run = ir.Function(self.module, signature, "flowc_program_run")
        names = ("inputs", "outputs", "sizes", "weights", "threads", "status")
        for argument, name in zip(run.args, names):
            argument.name = name
        self.inputs, self.outputs, self.sizes, self.weights, self.threads, self.status = run.args
        self.f = _Function(run, {})
        b = self.b = self.f.b
        self.exit = run.append_basic_block("exit")
        self.code = b.alloca(I32, name="code")
        b.store(ir.Constant(I32, 0), self.code)
        every = [x for launches in self.launches.values() for x in launches]
        most_buffers = max((len(x.operands) for x in every), default=1)
        most_ints = max((len(x.ints) + 1 for x in every), default=1)
        self.buffers = b.alloca(BYTES, most_buffers + 1, name="buffers")
        self.ints = b.alloca(I64, most_ints, name="ints")
        after = [x.epilogue for x in every if x.epilogue is not None]
        self.late_buffers = b.alloca(
            BYTES, max((len(e.operands) for e in after), default=0) + 1, name="late_buffers"
        )
        self.late_ints = b.alloca(
            I64, max((len(e.ints) for e in after), default=0) + 1, name="late_ints"
        )
        self.kernel_status = b.alloca(I64, 4, name="kernel_status")
        for i in range(4):
            b.store(ir.Constant(I64, 0), b.gep(self.kernel_status, [ir.Constant(I64, i)]))
        self.blocks = b.alloca(BYTES, len(self.plan.heap) + 1, name="blocks")
        for i in range(len(self.plan.heap) + 1):
            b.store(ir.Constant(BYTES, None), b.gep(self.blocks, [ir.Constant(I64, i)]))
        for i, name in enumerate(self.interface.sizes[: self.interface.input_sizes]):
            self.f.env[name] = b.load(b.gep(self.sizes, [ir.Constant(I64, i)]))
        self.pending = list(self.plan.computation.constraints)
        self._check_constraints()
        self._acquire_arena()
        for step in self.plan.steps:
            match step:
                case Run(node):
                    self._acquire_outputs(node)
                    for launch in self.launches[node]:
                        self._emit_launch(node, launch)
                case ReadSizes(node):
                    self._emit_read_sizes(node)
                case WriteSizes(node):
                    self._emit_write_sizes(node)
                case Copy(value, output):
                    self._emit_copy(value, output)
        b.branch(self.exit)
        b.position_at_end(self.exit)
        for i in range(len(self.plan.heap) + 1):
            b.call(self.release, [b.load(b.gep(self.blocks, [ir.Constant(I64, i)]))])
        b.ret(b.load(self.code))

    def _acquire_arena(self) -> None:
        """The arena is block 0: its slots one after another, then each worker's scratch."""
        b = self.b
        self.slot_offsets: list[ir.Value] = []
        total: Dim = 0
        for slot in self.plan.slots:
            self.slot_offsets.append(self.f.dim(total))
            total = total + ceildiv(slot.size, ALIGNMENT) * ALIGNMENT
        self.arena = ir.Constant(BYTES, None)
        bytes_needed = self.f.dim(total)
        self.scratch_offset = bytes_needed
        if self.plan.scratch != 0:
            scratch = b.mul(self._workers(), self.f.dim(self.plan.scratch))
            bytes_needed = b.add(bytes_needed, scratch)
        if total != 0 or self.plan.scratch != 0:
            self.arena = self._acquire(0, bytes_needed)

    def _workers(self) -> ir.Value:
        """How many workers may need scratch."""
        one = ir.Constant(I64, 1)
        return self.b.select(self.b.icmp_signed(">", self.threads, one), self.threads, one)

    def _acquire(self, block: int, size: ir.Value) -> ir.Value:
        b = self.b
        pointer = b.call(self.acquire, [size])
        b.store(pointer, b.gep(self.blocks, [ir.Constant(I64, block)]))
        missing = b.icmp_unsigned("==", pointer, ir.Constant(BYTES, None))
        self._leave_if(missing, STATUS_MEMORY, None, [size])
        return pointer

    def _leave_if(
        self,
        condition: ir.Value,
        code: int,
        error: ir.Value | dict[str, str] | None,
        values: Sequence[ir.Value],
    ) -> None:
        """Ends the run with a status where the condition holds."""
        b = self.b
        if isinstance(error, dict):
            self.errors.append(error)
            error = ir.Constant(I64, len(self.errors) - 1)
        leave = self.f.function.append_basic_block("leave")
        stay = self.f.function.append_basic_block("stay")
        b.cbranch(condition, leave, stay)
        b.position_at_end(leave)
        slots = [ir.Constant(I64, code), error or ir.Constant(I64, -1), *values]
        for i, value in enumerate(slots):
            b.store(value, b.gep(self.status, [ir.Constant(I64, i)]))
        b.store(ir.Constant(I32, code), self.code)
        b.branch(self.exit)
        b.position_at_end(stay)

    def _check_constraints(self) -> None:
        """Sizes that must be equal, as soon as both are known."""
        left: list[tuple[Dim, Dim]] = []
        for x, y in self.pending:
            names = {*symbols_of(x), *symbols_of(y)}
            if not names <= self.f.env.keys():
                left.append((x, y))
                continue
            a, c = self.f.dim(x), self.f.dim(y)
            message = f"sizes {x} and {y} must be equal, found {{a}} and {{b}}"
            row = {"message": message, "node": "", "class": "InvalidArgumentError"}
            self._leave_if(self.b.icmp_signed("!=", a, c), STATUS_INVALID, row, [a, c])
        self.pending = left

    # -- steps

    def _pointer(self, place: Place, value: Value | None) -> ir.Value:
        b = self.b
        match place:
            case Input(i):
                return b.load(b.gep(self.inputs, [ir.Constant(I64, i)]))
            case Output(i):
                return self._output_pointer(i)
            case Arena(slot):
                return b.gep(self.arena, [self.slot_offsets[slot]])
            case Heap(block):
                return b.load(b.gep(self.blocks, [ir.Constant(I64, block + 1)]))
            case Constant(array):
                return self._weight(array)

    def _weight(self, array: Any) -> ir.Value:
        offset = self.interface.weight_offset(array)
        return self.b.gep(self.weights, [ir.Constant(I64, offset)])

    def _output_pointer(self, i: int) -> ir.Value:
        """The caller's buffer; where its size is not bounded, one from malloc, made once."""
        b = self.b
        slot = b.gep(self.outputs, [ir.Constant(I64, i)])
        result = self.plan.computation.results[i]
        if self.plan.bounded(bytes_of(result)) is not None:
            return b.load(slot)
        null = ir.Constant(BYTES, None)
        size = b.add(self.f.dim(bytes_of(result)), ir.Constant(I64, ALIGNMENT))
        with b.if_then(b.icmp_unsigned("==", b.load(slot), null)):
            b.store(b.call(self.malloc, [size]), slot)
        pointer = b.load(slot)
        self._leave_if(b.icmp_unsigned("==", pointer, null), STATUS_MEMORY, None, [])
        return pointer

    def _place_of(self, value: Value) -> Place:
        return self.plan.places[root_of(value)]

    def _acquire_outputs(self, node: Node) -> None:
        """Blocks for outputs whose size no bound foretold."""
        for value in node.outputs:
            place = self.plan.places[value]
            if isinstance(place, Heap):
                self._acquire(place.block + 1, self.f.dim(self.plan.heap[place.block]))
        shared = self.plan.workspace.get(node)
        if isinstance(shared, Heap):
            self._acquire(shared.block + 1, self.f.dim(self.plan.heap[shared.block]))
        private = self.plan.late_scratch.get(node)
        if private is not None:
            size = self.b.mul(self._workers(), self.f.dim(self.plan.heap[private.block]))
            self._acquire(private.block + 1, size)

    def _emit_launch(self, node: Node, launch: Launch) -> None:
        b = self.b
        late = b.alloca(I64, len(launch.sizes)) if launch.sizes else None
        self.epilogue = launch.epilogue
        if launch.epilogue is not None:
            pointers = [self._operand(node, o, None) for o in launch.epilogue.operands]
            self._fill(self.late_buffers, pointers, self.late_ints, launch.epilogue.ints)
        pointers = [self._operand(node, operand, late) for operand in launch.operands]
        assert len(pointers) == len(launch.kernel.buffers), launch.kernel.source
        ints = [*launch.ints, ceildiv(launch.scratch, ALIGNMENT) * ALIGNMENT]
        self._fill(self.buffers, pointers, self.ints, ints)
        self._call(launch)
        self._after_launch(launch, late)

    def _fill(
        self,
        buffers: ir.Value,
        pointers: Sequence[ir.Value],
        ints: ir.Value,
        dims: Sequence[Dim],
    ) -> None:
        """Writes the two tables of a kernel."""
        b = self.b
        for i, pointer in enumerate(pointers):
            b.store(pointer, b.gep(buffers, [ir.Constant(I64, i)]))
        for i, dim in enumerate(dims):
            b.store(self.f.dim(dim), b.gep(ints, [ir.Constant(I64, i)]))

    def _operand(self, node: Node, operand: Operand, late: ir.Value | None) -> ir.Value:
        if isinstance(operand, Value):
            return self._pointer(self._place_of(operand), operand)
        if isinstance(operand, np.ndarray):
            return self._weight(operand)
        match operand:
            case "scratch" if node in self.plan.late_scratch:
                return self._pointer(self.plan.late_scratch[node], None)
            case "scratch":
                return self.b.gep(self.arena, [self.scratch_offset])
            case "workspace":
                return self._pointer(self.plan.workspace[node], None)
            case "status":
                return self.b.bitcast(self.kernel_status, BYTES)
            case "sizes" if late is not None:
                return self.b.bitcast(late, BYTES)
            case "epilogue" if self.epilogue is not None:
                key = self.epilogue.kernel.key
                found = self.module.globals.get(key)
                function = found or ir.Function(self.module, EPILOGUE_TYPE, key)
                return self.b.bitcast(function, BYTES)
            case "epilogue_buffers":
                return self.b.bitcast(self.late_buffers, BYTES)
            case "epilogue_ints":
                return self.b.bitcast(self.late_ints, BYTES)
        raise InternalError(f"a kernel of {node!r} has no such operand: {operand}")

    def _call(self, launch: Launch) -> None:
        b = self.b
        key = launch.kernel.key
        kernel = self.module.globals.get(key) or ir.Function(self.module, KERNEL_TYPE, key)
        total, grain = launch.total, launch.grain
        if isinstance(total, int) and isinstance(grain, int) and total <= grain:
            arguments = [ir.Constant(I64, 0), ir.Constant(I64, total), ir.Constant(I64, 0)]
            b.call(kernel, [self.buffers, self.ints, *arguments])
            return
        pointer = b.bitcast(kernel, BYTES)
        arguments = [self.f.dim(total), self.f.dim(grain), self.threads]
        b.call(self.parallel_for, [pointer, self.buffers, self.ints, *arguments])

    def _after_launch(self, launch: Launch, late: ir.Value | None) -> None:
        b = self.b
        if launch.errors:
            number = b.load(self.kernel_status)
            first = len(self.errors)
            node = launch.nodes[0] if launch.nodes else ""
            for message in launch.errors:
                row = {"message": message, "node": node, "class": "InvalidArgumentError"}
                self.errors.append(row)
            error = b.add(number, ir.Constant(I64, first - 1))
            values = [b.load(b.gep(self.kernel_status, [ir.Constant(I64, i)])) for i in (1, 2, 3)]
            failed = b.icmp_signed("!=", number, ir.Constant(I64, 0))
            self._leave_if(failed, STATUS_INVALID, error, values)
        if late is not None:
            for i, name in enumerate(launch.sizes):
                self._bind(name, b.load(b.gep(late, [ir.Constant(I64, i)])))
            self._check_constraints()

    def _bind(self, name: str, value: ir.Value) -> None:
        self.f.env[name] = value
        index = self.interface.sizes.index(name)
        self.b.store(value, self.b.gep(self.sizes, [ir.Constant(I64, index)]))

    def _emit_read_sizes(self, node: Node) -> None:
        b = self.b
        (value,) = node.inputs
        dtype = value.type.dtype
        element = ir.IntType(8 * dtype.size)
        base = b.bitcast(self._pointer(self._place_of(value), value), element.as_pointer())
        for i, (name, _) in enumerate(node.sizes):
            raw = b.load(b.gep(base, [ir.Constant(I64, i)]))
            wide = raw
            if dtype.size < 8:
                wide = b.sext(raw, I64) if dtype.kind == "int" else b.zext(raw, I64)
            row = {
                "message": f"a size must not be negative, found {{a}} at position {i}",
                "node": node.name,
                "class": "InvalidArgumentError",
            }
            bad = b.icmp_signed("<", wide, ir.Constant(I64, 0))
            self._leave_if(bad, STATUS_INVALID, row, [wide])
            self._bind(name, wide)
        self._check_constraints()

    def _emit_write_sizes(self, node: Node) -> None:
        b = self.b
        element = ir.IntType(8 * node.attrs["dtype"].size)
        base = b.bitcast(self._pointer(self.plan.places[node.output], None), element.as_pointer())
        for i, dim in enumerate(node.attrs["dims"]):
            value = self.f.dim(dim)
            narrow = b.trunc(value, element) if element.width < 64 else value
            b.store(narrow, b.gep(base, [ir.Constant(I64, i)]))

    def _emit_copy(self, value: Value, output: int) -> None:
        b = self.b
        place = self._place_of(value)
        if isinstance(place, Output) and place.index == output:
            return
        source = self._pointer(place, value)
        target = self._output_pointer(output)
        name = "llvm.memcpy.p0i8.p0i8.i64"
        kind = ir.FunctionType(ir.VoidType(), [BYTES, BYTES, I64, I1])
        memcpy = self.module.globals.get(name) or ir.Function(self.module, kind, name)
        b.call(memcpy, [target, source, self.f.dim(bytes_of(value)), ir.Constant(I1, 0)])

    # -- dims of the outputs

    def _emit_dims(self, name: str, known: Callable[[Dim], Dim | None]) -> None:
        """`void name(i64* sizes, i64* dims)`: dims of all outputs, one after another."""
        signature = ir.FunctionType(ir.VoidType(), [I64.as_pointer(), I64.as_pointer()])
        function = ir.Function(self.module, signature, name)
        f = _Function(function, {})
        sizes, dims = function.args
        for i, size in enumerate(self.interface.sizes):
            f.env[size] = f.b.load(f.b.gep(sizes, [ir.Constant(I64, i)]))
        position = 0
        for value in self.plan.computation.results:
            for dim in value.dims:
                found = known(dim)
                shown = ir.Constant(I64, -1) if found is None else f.dim(found)
                f.b.store(shown, f.b.gep(dims, [ir.Constant(I64, position)]))
                position += 1
        f.b.ret_void()


def emit_driver(
    plan: Plan, launches: Mapping[Node, Sequence[Launch]], interface: Interface
) -> Driver:
    """The driver of a plan. `launches`: for each cluster node the uses of its kernels."""
    return _Emitter(plan, launches, interface).emit()


def size_symbols(plan: Plan) -> tuple[tuple[str, ...], int]:
    """All size symbols in table order, those of the inputs first, and how many those are."""
    first: dict[str, None] = {}
    for parameter in plan.computation.parameters:
        for dim in parameter.output.dims:
            first.update(dict.fromkeys(symbols_of(dim)))
    late = [name for name in plan.bounds if name not in first]
    return (*first, *late), len(first)
