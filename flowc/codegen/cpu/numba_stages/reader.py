"""Source of a kernel -> Numba's IR, without the way by bytecode.

In: a function, and its definition as a syntax tree. Out: the same IR as Numba reads from bytecode,
of fewer statements: functions and numbers that a kernel names are assigned once, in the first
block, and a condition is branched on as it is. Invariants: the IR is a pure function of the
source and of the globals that it names; what constants decide has one branch.
"""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from numba.core import bytecode, errors
from numba.core import ir as numba_ir

from flowc.codegen.cpu.numba_stages.constants import (
    BINARY,
    COMPARISONS,
    UNARY,
    UNKNOWN,
    KnownNumbers,
    literal,
)

_IN_PLACE: Mapping[type, Callable[..., Any]] = {
    ast.Add: operator.iadd,
    ast.Sub: operator.isub,
    ast.Mult: operator.imul,
    ast.Div: operator.itruediv,
    ast.FloorDiv: operator.ifloordiv,
    ast.Mod: operator.imod,
    ast.Pow: operator.ipow,
    ast.LShift: operator.ilshift,
    ast.RShift: operator.irshift,
    ast.BitAnd: operator.iand,
    ast.BitOr: operator.ior,
    ast.BitXor: operator.ixor,
}


def read_definition(function: Any, definition: ast.FunctionDef) -> Any:
    """Numba's IR of a function. Raises Numba's `UnsupportedError` for what kernels cannot have:
    containers, exceptions, functions of their own, assignments in expressions."""
    identity: Any = bytecode.FunctionIdentity.from_function(function)
    reader = _SourceReader(identity, definition)
    return numba_ir.FunctionIR(
        reader.read(), False, identity, reader.loc, {}, identity.arg_count, identity.arg_names
    )


class _Label:
    """A block to come: its number once it has begun, and the jumps to it until then."""

    def __init__(self) -> None:
        self.offset: int | None = None
        self.jumps: list[tuple[Any, str]] = []


class _SourceReader:
    """Statements of one function, in order, into blocks. `block` is None behind what never ends."""

    def __init__(self, identity: Any, definition: ast.FunctionDef) -> None:
        self.identity, self.definition = identity, definition
        self.names: Mapping[str, Any] = identity.func.__globals__
        self.loc = numba_ir.Loc.from_function_id(identity)
        self.scope = numba_ir.Scope(parent=None, loc=self.loc)
        self.blocks: dict[int, Any] = {}
        self.block: Any = None
        self.depth = 0  # of loops and branches
        self.loops: list[tuple[_Label, _Label]] = []  # where `continue` and `break` go
        self.shared: dict[Any, Any] = {}  # functions and numbers, by name or value
        self.head: list[Any] = []  # what assigns them
        self.temporaries = 0
        self.own = frozenset(identity.code.co_varnames)
        self.known = KnownNumbers(identity.func, definition)

    def read(self) -> dict[int, Any]:
        self._begin(_Label())
        first = self.block
        for index, name in enumerate(self.identity.arg_names):
            self._store(numba_ir.Arg(index=index, name=name, loc=self.loc), name)
        arguments = len(first.body)
        self._statements(self.definition.body)
        if self.block is not None:
            self._return(None)
        first.body[arguments:arguments] = self.head
        return self.blocks

    # Blocks

    def _begin(self, label: _Label) -> None:
        """Goes on in a block that earlier ones jump to."""
        if self.block is not None:
            self._jump(label)
        label.offset = len(self.blocks)
        for jump, place in label.jumps:
            setattr(jump, place, label.offset)
        self.block = self.blocks[label.offset] = numba_ir.Block(scope=self.scope, loc=self.loc)

    def _begin_if_reached(self, label: _Label) -> None:
        if self.block is not None or label.jumps:
            self._begin(label)

    def _jump(self, label: _Label) -> None:
        jump = numba_ir.Jump(label.offset, loc=self.loc)
        if label.offset is None:
            label.jumps.append((jump, "target"))
        self.block.append(jump)
        self.block = None

    def _branch(self, condition: Any, yes: _Label, no: _Label) -> None:
        branch = numba_ir.Branch(condition, None, None, loc=self.loc)
        yes.jumps.append((branch, "truebr"))
        no.jumps.append((branch, "falsebr"))
        self.block.append(branch)
        self.block = None

    # Variables

    def _store(self, value: Any, name: str) -> Any:
        """Outside of loops and branches each value of a variable is a variable of its own."""
        scope = self.scope
        take = scope.get_or_define if self.depth else scope.redefine
        target = take(name, loc=self.loc)
        self.block.append(numba_ir.Assign(value=value, target=target, loc=self.loc))
        return target

    def _temporary(self, value: Any) -> Any:
        target = self._fresh()
        self.block.append(numba_ir.Assign(value=value, target=target, loc=self.loc))
        return target

    def _fresh(self) -> Any:
        self.temporaries += 1
        return self.scope.define(f"${self.temporaries}", loc=self.loc)

    def _once(self, key: Any, value: Any) -> Any:
        """The variable of what is the same wherever it stands, assigned in the first block."""
        found = self.shared.get(key)
        if found is None:
            found = self.shared[key] = self._fresh()
            self.head.append(numba_ir.Assign(value=value, target=found, loc=self.loc))
        return found

    def _global(self, name: str) -> Any:
        value = self.names.get(name, getattr(builtins, name, numba_ir.UNDEFINED))
        return numba_ir.Global(name, value, loc=self.loc)

    def _refused(self, x: ast.AST) -> errors.NumbaError:
        return errors.UnsupportedError(f"a kernel has no {type(x).__name__}", self.loc)

    # Statements

    def _statements(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            if self.block is None:
                return  # what follows is never reached
            self.loc = self.loc.with_lineno(statement.lineno)
            self._statement(statement)

    def _statement(self, x: ast.stmt) -> None:
        match x:
            case ast.Assign(targets=[target], value=value):
                self._assign(target, value)
            case ast.Assign(targets=targets, value=value):
                given = self._temporary(self._right_side(value))
                for target in targets:
                    self._give_to(target, given)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assign(target, value)
            case ast.AugAssign():
                self._update(x)
            case ast.Expr(value=value):
                if not isinstance(value, ast.Constant):
                    self._value(value)
            case ast.For():
                self._for(x)
            case ast.While():
                self._while(x)
            case ast.If():
                self._if(x)
            case ast.Break():
                self._jump(self.loops[-1][1])
            case ast.Continue():
                self._jump(self.loops[-1][0])
            case ast.Return(value=value):
                self._return(value)
            case ast.Pass() | ast.Delete():
                pass
            case _:
                raise self._refused(x)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        match target, value:
            case ast.Name(id=name), _:
                self.known.assign(name, value)
                self._store(self._right_side(value), name)
            case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
                # All are read before one is assigned.
                parts = [self._temporary(self._right_side(x)) for x in values]
                for part, given in zip(targets, parts):
                    self._give_to(part, given)
            case _:
                self._give_to(target, self._value(value))

    def _give_to(self, target: ast.expr, value: Any) -> None:
        match target:
            case ast.Name(id=name):
                self._store(value, name)
            case ast.Subscript():
                self._set_item(target, value)
            case ast.Tuple(elts=targets):
                whole = self._temporary(
                    numba_ir.Expr.exhaust_iter(value, len(targets), loc=self.loc)
                )
                for i, part in enumerate(targets):
                    item = numba_ir.Expr.static_getitem(whole, i, None, loc=self.loc)
                    self._give_to(part, self._temporary(item))
            case _:
                raise self._refused(target)

    def _set_item(self, target: ast.Subscript, value: Any) -> None:
        place, index = self._value(target.value), self._value(target.slice)
        self.block.append(numba_ir.SetItem(place, index, value, loc=self.loc))

    def _update(self, x: ast.AugAssign) -> None:
        kind = type(x.op)
        if kind not in BINARY:
            raise self._refused(x.op)
        functions = _IN_PLACE[kind], BINARY[kind]
        match x.target:
            case ast.Name(id=name):
                old = self._value(ast.Name(name, ast.Load()))
                new = numba_ir.Expr.inplace_binop(*functions, old, self._value(x.value), self.loc)
                self._store(new, name)
            case ast.Subscript():
                place, index = self._value(x.target.value), self._value(x.target.slice)
                old = self._temporary(numba_ir.Expr.getitem(place, index, self.loc))
                new = numba_ir.Expr.inplace_binop(*functions, old, self._value(x.value), self.loc)
                item = self._temporary(new)
                self.block.append(numba_ir.SetItem(place, index, item, loc=self.loc))
            case _:
                raise self._refused(x.target)

    def _return(self, value: ast.expr | None) -> None:
        given = self._value(value if value is not None else ast.Constant(None))
        cast = self._temporary(numba_ir.Expr.cast(given, loc=self.loc))
        self.block.append(numba_ir.Return(cast, loc=self.loc))
        self.block = None

    # Control flow

    def _for(self, x: ast.For) -> None:
        iterator = self._temporary(numba_ir.Expr.getiter(self._value(x.iter), loc=self.loc))
        head, body, otherwise, end = (_Label() for _ in range(4))
        self._begin(head)
        self.depth += 1
        pair = self._temporary(numba_ir.Expr.iternext(iterator, loc=self.loc))
        item = self._temporary(numba_ir.Expr.pair_first(pair, loc=self.loc))
        self._branch(self._temporary(numba_ir.Expr.pair_second(pair, self.loc)), body, otherwise)
        self._begin(body)
        self._give_to(x.target, item)
        self._loop_body(x.body, head, end)
        self._begin(otherwise)
        self._statements(x.orelse)
        self._begin_if_reached(end)
        self.depth -= 1

    def _while(self, x: ast.While) -> None:
        head, body, otherwise, end = (_Label() for _ in range(4))
        self._begin(head)
        self.depth += 1
        self._test(x.test, body, otherwise)
        self._begin_if_reached(body)
        if self.block is not None:
            self._loop_body(x.body, head, end)
        self._begin_if_reached(otherwise)
        if self.block is not None:
            self._statements(x.orelse)
        self._begin_if_reached(end)
        self.depth -= 1

    def _loop_body(self, body: Sequence[ast.stmt], head: _Label, end: _Label) -> None:
        self.loops.append((head, end))
        self._statements(body)
        self.loops.pop()
        if self.block is not None:
            self._jump(head)

    def _if(self, x: ast.If) -> None:
        number = self.known.number(x.test)
        if number is not UNKNOWN:
            self._statements(x.body if number else x.orelse)
            return
        yes, no, end = (_Label() for _ in range(3))
        self._test(x.test, yes, no)
        self.depth += 1
        for label, body in ((yes, x.body), (no, x.orelse)):
            self._begin_if_reached(label)
            if self.block is not None:
                self._statements(body)
            if self.block is not None:
                self._jump(end)
        self.depth -= 1
        self._begin_if_reached(end)

    def _test(self, x: ast.expr, yes: _Label, no: _Label) -> None:
        """Goes to one of two blocks, neither of which has begun."""
        number = self.known.number(x)
        if number is not UNKNOWN:
            self._jump(yes if number else no)
            return
        match x:
            case ast.BoolOp(op=op, values=[*values]):
                for value in values[:-1]:
                    following = _Label()
                    ways = (following, no) if isinstance(op, ast.And) else (yes, following)
                    self._test(value, *ways)
                    self._begin_if_reached(following)
                    if self.block is None:
                        return
                self._test(values[-1], yes, no)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self._test(operand, no, yes)
            case _:
                self._branch(self._value(x), yes, no)

    # Expressions

    def _value(self, x: ast.expr) -> Any:
        """The variable that holds the value of an expression."""
        if isinstance(x, ast.Name):
            if x.id in self.own:
                return self.scope.get(x.id)  # raises for what is read before it is assigned
            return self._once(("name", x.id), self._global(x.id))
        number = literal(x)
        if number is not UNKNOWN:
            return self._once(
                (type(number), repr(number)),
                numba_ir.Const(number, self.loc, use_literal_type=False),
            )
        return self._temporary(self._expression(x))

    def _right_side(self, x: ast.expr) -> Any:
        """What can stand right of an assignment."""
        if isinstance(x, ast.Name):
            return self._value(x)
        number = literal(x)
        return self._expression(x) if number is UNKNOWN else numba_ir.Const(number, loc=self.loc)

    def _expression(self, x: ast.expr) -> Any:
        expr, loc = numba_ir.Expr, self.loc
        match x:
            case ast.BinOp():
                return self._operated(x)
            case ast.Call(func=function, args=args, keywords=keywords):
                called = self._value(function)
                given = tuple(map(self._value, args))
                if any(k.arg is None for k in keywords):
                    raise self._refused(x)
                named = tuple((k.arg, self._value(k.value)) for k in keywords)
                return expr.call(called, given, named, loc)
            case ast.Subscript(value=value, slice=index):
                return expr.getitem(self._value(value), self._value(index), loc)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARISONS:
                compare = COMPARISONS[type(op)]
                return expr.binop(compare, self._value(left), self._value(right), loc)
            case ast.UnaryOp(op=op, operand=operand):
                return expr.unary(UNARY[type(op)], self._value(operand), loc)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._either(test, body, orelse)
            case ast.BoolOp(values=values):
                return self._first_that_decides(x.op, [partial(self._value, v) for v in values])
            case ast.Compare():
                return self._first_that_decides(ast.And(), self._comparisons(x))
            case ast.Attribute(value=value, attr=attr):
                return expr.getattr(self._value(value), attr, loc)
            case ast.Tuple(elts=elements):
                return expr.build_tuple(list(map(self._value, elements)), loc)
            case _:
                raise self._refused(x)

    def _operated(self, x: ast.BinOp) -> Any:
        """Of a sum of many terms one operation after the other: it is nested as deep as it is
        long."""
        chain = [x]
        while isinstance(chain[-1].left, ast.BinOp) and literal(chain[-1].left) is UNKNOWN:
            chain.append(chain[-1].left)
        value = self._value(chain[-1].left)
        for link in reversed(chain):
            if type(link.op) not in BINARY:
                raise self._refused(link.op)
            right = self._value(link.right)
            found = numba_ir.Expr.binop(BINARY[type(link.op)], value, right, self.loc)
            if link is x:
                return found
            value = self._temporary(found)

    def _either(self, test: ast.expr, body: ast.expr, orelse: ast.expr) -> Any:
        number = self.known.number(test)
        if number is not UNKNOWN:
            return self._right_side(body if number else orelse)
        yes, no, end = (_Label() for _ in range(3))
        result = self._fresh()
        self._test(test, yes, no)
        self.depth += 1
        for label, value in ((yes, body), (no, orelse)):
            self._begin_if_reached(label)
            if self.block is not None:
                self._give(value, result, end)
        self.depth -= 1
        self._begin(end)
        return result

    def _comparisons(self, x: ast.Compare) -> list[Callable[[], Any]]:
        """What gives each comparison of a chain, in order; operands are read once."""
        read: list[Any] = [self._value(x.left)]

        def compared(op: ast.cmpop, right: ast.expr) -> Any:
            if type(op) not in COMPARISONS:
                raise self._refused(op)
            read.append(self._value(right))
            compare = numba_ir.Expr.binop(COMPARISONS[type(op)], *read[-2:], loc=self.loc)
            return self._temporary(compare)

        return [partial(compared, op, right) for op, right in zip(x.ops, x.comparators)]

    def _first_that_decides(self, op: ast.boolop, values: Sequence[Callable[[], Any]]) -> Any:
        """The value of `and` or `or`: that of the first operand that decides."""
        result, end = self._fresh(), _Label()
        self.depth += 1
        for value in values[:-1]:
            following = _Label()
            found = value()
            self.block.append(numba_ir.Assign(value=found, target=result, loc=self.loc))
            ways = (following, end) if isinstance(op, ast.And) else (end, following)
            self._branch(found, *ways)
            self._begin(following)
        last = values[-1]()  # which may begin blocks
        self.block.append(numba_ir.Assign(value=last, target=result, loc=self.loc))
        self._jump(end)
        self.depth -= 1
        self._begin(end)
        return result

    def _give(self, value: ast.expr, result: Any, end: _Label) -> None:
        given = self._right_side(value)
        self.block.append(numba_ir.Assign(value=given, target=result, loc=self.loc))
        self._jump(end)
