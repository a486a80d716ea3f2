"""Numba's IR of a kernel, typed -> LLVM instructions.

In: blocks of Numba's IR whose variables have types. Out: the same instructions as of Numba's own
lowering, fewer of them. Numba keeps in memory every variable that two blocks name, and every part
of a loop over a range, for LLVM to find out that it need not: more than half of a kernel's text.
Here a variable is a value where it is assigned once and that assignment comes first on every way to
where it is read. Invariant: kernels hold scalars and pointers, which nobody counts the references
of.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, cast

from llvmlite import ir
from numba.core import cgutils, errors, types
from numba.core import ir as numba_ir
from numba.core.imputils import Registry
from numba.core.lowering import Lower

from flowc.dataclass import dataclass

LOWERINGS = Registry("kernels")


@dataclass(frozen=True, slots=True)
class Parts:
    """Values of which Numba makes one: a range, an iterator, or what an iterator gives. They become
    an LLVM value where a variable in memory holds them."""

    values: tuple[Any, ...]

    def joined(self, builder: ir.IRBuilder) -> ir.Value:
        kind = ir.LiteralStructType([v.type for v in self.values])
        value: Any = ir.Constant(kind, ir.Undefined)
        for i, part in enumerate(self.values):
            value = builder.insert_value(value, part, i)
        return value


def parts_of(builder: ir.IRBuilder, value: Any) -> Sequence[Any]:
    if isinstance(value, Parts):
        return value.values
    return [builder.extract_value(value, i) for i in range(len(value.type.elements))]


@LOWERINGS.lower(operator.mul, types.complex64, types.complex64)
@LOWERINGS.lower(operator.imul, types.complex64, types.complex64)
@LOWERINGS.lower(operator.mul, types.complex128, types.complex128)
@LOWERINGS.lower(operator.imul, types.complex128, types.complex128)
def _complex_product(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
    """By parts: Numba's own is Python that needs the typing of NumPy's and Python's functions."""
    a, b, c, d = (builder.extract_value(z, part) for z in args for part in (0, 1))
    real = builder.fsub(builder.fmul(a, c), builder.fmul(b, d))
    imag = builder.fadd(builder.fmul(a, d), builder.fmul(b, c))
    return builder.insert_value(builder.insert_value(args[0], real, 0), imag, 1)


@LOWERINGS.lower(range, types.int64)
@LOWERINGS.lower(range, types.int64, types.int64)
@LOWERINGS.lower(range, types.int64, types.int64, types.int64)
def _range(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Parts:
    """start, stop, step"""
    int64 = ir.IntType(64)
    return Parts((int64(0), *args, int64(1)) if len(args) == 1 else (*args, int64(1))[:3])


@LOWERINGS.lower("getiter", types.range_state64_type)
def _range_begin(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Parts:
    """The address of the next value, stop, step; and where Numba has what is left, nothing new."""
    start, stop, step = parts_of(builder, args[0])
    place = cgutils.alloca_once(builder, start.type)
    builder.store(start, place)
    if not _known(step):
        with cgutils.if_unlikely(builder, builder.icmp_unsigned("==", step, start.type(0))):
            context.call_conv.return_user_exc(builder, ValueError, ("a step of 0",))
    return Parts((place, stop, step, place))


@LOWERINGS.lower("iternext", types.range_iter64_type)
def _range_next(context: Any, builder: Any, signature: Any, args: Any) -> Parts:
    """A value, and whether there is one. LLVM looks for loops of one counter that is compared with
    an end; of Numba's, which also counts down what is left, it takes a sixth longer to find out
    that they are such. No end is within a step of the largest integer."""
    place, stop, step, _ = parts_of(builder, args[0])
    value = builder.load(place)
    builder.store(builder.add(value, step, flags=["nsw"]), place)
    if _known(step):
        return Parts((value, builder.icmp_signed("<" if step.constant > 0 else ">", value, stop)))
    forward = builder.icmp_signed(">", step, step.type(0))
    below, above = (builder.icmp_signed(sign, value, stop) for sign in "<>")
    return Parts((value, builder.select(forward, below, above)))


def _known(step: Any) -> bool:
    return isinstance(step, ir.Constant) and step.constant != 0


class KernelLower(Lower):
    """Numba's, without what it does for debuggers, references and exceptions."""

    _in_block: dict[str, Any]  # values of variables in memory, where the block has them

    def _find_singly_assigned_variable(self) -> None:
        self._singly_assigned_vars = values_of(self.blocks)
        self._blk_local_varmap = {}

    def pre_block(self, block: Any) -> None:
        """Kernels have no `try`, and get memory for variables as they are assigned."""

    def lower_block(self, block: Any) -> None:
        self._in_block = {}
        at_fault = partial(errors.LoweringError, loc=block.loc)
        named = cast(Any, errors).new_error_context
        with named("lowering a block at {at}", at=block.loc, errcls_=at_fault):
            for inst in block.body:
                self.loc = inst.loc
                self.lower_inst(inst)

    def lower_inst(self, inst: Any) -> None:
        match inst:
            case numba_ir.Assign():
                value = self.lower_assign(self.typeof(inst.target.name), inst)
                self.storevar(value, inst.target.name)
            case numba_ir.Jump():
                self.builder.branch(self.blkmap[inst.target])
            case _:
                super().lower_inst(inst)

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        if name in self._singly_assigned_vars:
            self._blk_local_varmap[name] = value
            return
        if isinstance(value, Parts):
            value = value.joined(self.builder)
        self.builder.store(value, self.getvar(name))
        self._in_block[name] = value

    def loadvar(self, name: str) -> Any:
        found = self._blk_local_varmap.get(name) or self._in_block.get(name)
        if found is None:
            found = self._in_block[name] = self.builder.load(self.getvar(name))
        return found

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:
        """Operands known to Python are none of ours: no pass that finds them has run."""
        function = self.context.typing_context.resolve_value_type(op)
        wanted = self.fndesc.calltypes[expr]
        operands = [self._cast_var(v, t) for v, t in zip((expr.lhs, expr.rhs), wanted.args)]
        found = function.get_call_type(self.context.typing_context, wanted.args, {})
        result = self.context.get_function(function, found)(self.builder, operands)
        return self.context.cast(self.builder, result, wanted.return_type, resty)


def values_of(blocks: Mapping[int, Any]) -> set[str]:
    """The variables that need no memory: assigned once, in a block that is on every way to those
    that read them and stands before them, as blocks are lowered in the order in which they stand.
    """
    dominators = dominators_of(blocks)
    assigned: dict[str, int] = {}
    values: set[str] = set()
    for offset in sorted(blocks):
        for inst in blocks[offset].body:
            target = inst.target.name if isinstance(inst, numba_ir.Assign) else None
            for variable in inst.list_vars() if target is None else _operands(inst.value):
                place = assigned.get(variable.name)
                if place is None or place not in dominators[offset]:
                    values.discard(variable.name)
                    assigned.setdefault(variable.name, -1)  # whatever assigns it comes too late
            if target is not None:
                if target in assigned:
                    values.discard(target)
                else:
                    values.add(target)
                assigned[target] = offset if target in values else -1
    return values


def _operands(value: Any) -> Sequence[Any]:
    match value:
        case numba_ir.Var():
            return (value,)
        case numba_ir.Inst():
            return value.list_vars()
        case _:
            return ()


def dominators_of(blocks: Mapping[int, Any]) -> dict[int, frozenset[int]]:
    """For each block, those that are on every way to it from the first, itself included."""
    before: dict[int, list[int]] = {offset: [] for offset in blocks}
    for offset, block in blocks.items():
        for target in block.terminator.get_targets():
            before[target].append(offset)
    order = sorted(blocks)
    every = frozenset(order)
    found = {offset: every for offset in order}
    found[order[0]] = frozenset(order[:1])
    changed = True
    while changed:
        changed = False
        for offset in order[1:]:
            common = every.intersection(*(found[b] for b in before[offset])) | {offset}
            if common != found[offset]:
                found[offset], changed = common, True
    return found
