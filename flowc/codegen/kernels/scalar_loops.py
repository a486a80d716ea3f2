"""A loop over scalars as one kernel: `while`, `if` and arithmetic on locals.

In: a cluster of kind `scalar`, whose body holds a `while` node with bodies of its own. Out: a
Launch. LLVM keeps the locals in registers; one of them counts iterations down to the next poll for
signals.
"""

from __future__ import annotations

from collections.abc import Sequence

from flowc import dtypes
from flowc.codegen.kernels.builder import compare, int_name, int_number, int_sum, negation
from flowc.codegen.kernels.cluster import ClusterLowering
from flowc.codegen.kernels.kernel import Launch
from flowc.codegen.kernels.nest import Address, Apply, Break, Expression, If, Load, Scalar
from flowc.codegen.target import Target
from flowc.errors import InternalError
from flowc.ir.computation import Computation, Node, Value

ITERATIONS = 1 << 14  # between two polls for signals


def scalar_launch(node: Node, target: Target) -> Launch:
    """The kernel of a cluster of kind `scalar`."""
    body: Computation = node.attrs["body"]
    c = ClusterLowering(body, node.inputs)
    c.nest.declare("left", int_number(ITERATIONS))
    _Lines(c).nodes(body)
    for value in body.results:
        c.store(value, (), c.element(value, ()))
    return c.launch(target, node.outputs, 1, 1, 0, node, polls=True)


class _Lines:
    """Writes the lines of a body and of the bodies in it."""

    def __init__(self, c: ClusterLowering) -> None:
        self.c = c

    def nodes(self, c: Computation) -> None:
        """In order, so that no expression is deep."""
        for node in c.nodes:
            if node.op.name == "while":
                self.loop(node)
            elif node.op.name == "if":
                self.branch(node)
            elif node.op.name == "cluster":
                self.cluster(node)
            elif node.op.name not in ("parameter", "const") and not node.output.type.rank:
                self.c.element(node.output, ())

    def bind(self, inputs: Sequence[Value], body: Computation) -> None:
        """Parameters that are only read: scalars as they are, tensors under their names."""
        parameters = body.parameters[len(body.parameters) - len(inputs) :]
        for value, parameter in zip(inputs, parameters):
            if value in self.c.names and value not in self.c.rows and value.type.rank:
                self.c.names[parameter.output] = self.c.names[value]
            else:
                self.know(parameter.output, self.c.element(value, ()))

    def know(self, value: Value, scalar: Scalar) -> None:
        self.c.rows[value] = ((), scalar)

    def results(self, body: Computation) -> list[Scalar]:
        self.nodes(body)
        return [self.c.element(v, ()) for v in body.results]

    def loop(self, node: Node) -> None:
        nest = self.c.nest
        carried: int = node.attrs["carried"]
        condition, body = node.attrs["condition"], node.attrs["body"]
        variables = [nest.variable(self.c.element(v, ())) for v in node.inputs[:carried]]
        rest = node.inputs[carried:]
        for value in rest:
            if not value.type.rank:
                self.c.element(value, ())
        with nest.forever():
            for inner in (condition, body):
                for parameter, variable in zip(inner.parameters, variables):
                    self.know(parameter.output, variable)
                self.bind(rest, inner)
            (holds,) = self.results(condition)
            self.leave_if(negation(holds))
            after = self.results(body)
            # What one variable becomes may be another one: all are read before any is written.
            values = [nest.let(x) if x in variables else x for x in after]
            for variable, x in zip(variables, values):
                nest.assign(variable.name, x)
            if nest.faults:
                # What a fault leaves behind may keep the condition true for ever.
                status = Load("status", int_number(0), dtypes.i64)
                self.leave_if(compare("ne", status, int_number(0)))
            nest.assign("left", int_sum("left", -1))
            with nest.when(compare("le", int_name("left"), int_number(0))):
                # Loops round this one find nothing left, ask again, and end too.
                polled = Apply("poll", (Address("interpreter"),), dtypes.i64)
                self.leave_if(compare("ne", polled, int_number(0)))
                nest.assign("left", int_number(ITERATIONS))
        for value, variable in zip(node.outputs, variables):
            self.know(value, variable)

    def leave_if(self, condition: Expression) -> None:
        self.c.nest.body.append(If(condition, (Break(),)))

    def branch(self, node: Node) -> None:
        nest = self.c.nest
        condition, *inputs = node.inputs
        holds = self.c.element(condition, ())
        found = [nest.variable(self.c.k.const(0, v.type.dtype)) for v in node.outputs]
        for value in inputs:
            if not value.type.rank:
                self.c.element(value, ())
        for block, attr in ((nest.when(holds), "then"), (nest.otherwise(), "otherwise")):
            with block:
                self.bind(inputs, node.attrs[attr])
                for variable, x in zip(found, self.results(node.attrs[attr])):
                    nest.assign(variable.name, x)
        for value, variable in zip(node.outputs, found):
            self.know(value, variable)

    def cluster(self, node: Node) -> None:
        if node.attrs["kind"] != "scalar":
            raise InternalError(f"a cluster of kind {node.attrs['kind']} in a scalar loop")
        body: Computation = node.attrs["body"]
        self.bind(node.inputs, body)
        for value, scalar in zip(node.outputs, self.results(body)):
            self.know(value, scalar)
