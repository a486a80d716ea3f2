"""The cases of op records: which of them are compiled, where they stand in a graph, what the
reference gives for them, and how near to that a result must be.

In: Cases, made from the examples of a record. Out: nodes, arrays, and assertions.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace

import ml_dtypes
import numpy as np
from calls.op_examples import Case, allowed_dtypes, cases_of
from closeness import Closeness, difference
from op_tolerances import EXAMPLES_BESIDE, NO_KERNEL
from tensor_types import tensor_type

from flowc import dtypes
from flowc.dtypes import DType
from flowc.ir.builder import Builder
from flowc.ir.computation import Node, Value
from flowc.ir.inference import NeedsContent
from flowc.ir.lowering import Decompose
from flowc.ir.op import Op, bind_types, call_reference, input_spans
from flowc.ops import all_ops

EXACT = Closeness(4)
FEW_DTYPES = (dtypes.f32, dtypes.i32, dtypes.bool_, dtypes.c64, dtypes.f16, dtypes.i64)
# The ops made of others that only compiled code computes: of native kernels, or of sizes that a run
# reads.
COMPILED_IN_ALL_DTYPES = frozenset("""
    avg_pool_3d_grad avg_pool_grad ctc_beam_search_decoder edit_distance empty
    fused_resize_and_pad_conv2d log_matrix_determinant lu matrix_determinant matrix_inverse
    matrix_solve matrix_solve_ls matrix_square_root matrix_triangular_solve max_pool_grad_grad_v2
    max_pool_grad_v2 non_max_suppression_v2 non_max_suppression_v3 non_max_suppression_v4
    random_index_shuffle scale_and_translate self_adjoint_eig_v1 sparse_segment_mean_grad_v2
    sparse_segment_sqrt_n_grad_v2 sparse_segment_sum_grad_v2
    stateless_parameterized_truncated_normal stateless_random_gamma_v3
    stateless_random_normal_v1 stateless_random_poisson stateless_random_uniform_full_int
    stateless_random_uniform_full_int_v1 stateless_random_uniform_int
    stateless_random_uniform_int_v1 stateless_random_uniform_v1
    stateless_sample_distorted_bounding_box stateless_truncated_normal_v1 xla_self_adjoint_eig
""".split())  # fmt: skip  # noqa: SIM905
TESTED = sorted(
    (op for op in all_ops() if op.examples and op.reference is not None), key=lambda op: op.name
)


def reference(case: Case, inputs: Sequence[np.ndarray] | None = None) -> list[np.ndarray]:
    assert case.op.reference is not None
    arrays = list(case.inputs if inputs is None else inputs)
    found = call_reference(case.op, case.op.reference, arrays, case.attrs, case.dtypes)
    return [np.asarray(x) for x in found]


def assert_near(
    case: Case, found: Sequence[np.ndarray], expected: Sequence[np.ndarray], near: Closeness
) -> None:
    assert len(found) == len(expected), f"{case.name}: {len(found)} outputs"
    for i, (x, y) in enumerate(zip(found, expected)):
        wrong = difference(x, y, near)
        assert wrong is None, f"{case.name} ({case.text}) output {i}: {wrong}"


def chosen_cases(op: Op) -> list[Case]:
    """What is compiled or at least lowered: every example in f32, the first one in FEW_DTYPES, and
    for each dtype of the signature that is then left, the smallest case; with
    `FLOWC_ALL_DTYPES=1` everything."""
    first = _first_cases(op)
    return [*first, *_in_further_dtypes(op, first)]


def lowered_cases(op: Op) -> list[Case]:
    """Those of them that are not compiled: further dtypes of an op that is made of others, which
    are compiled in these dtypes themselves."""
    first = _first_cases(op)
    return _in_further_dtypes(op, first) if is_made_of_others(op) and first else []


def is_made_of_others(op: Op) -> bool:
    return isinstance(op.lowering, Decompose) and op.name not in COMPILED_IN_ALL_DTYPES


def compiled_cases(op: Op) -> list[Case]:
    return _first_cases(op) if lowered_cases(op) else chosen_cases(op)


def _first_cases(op: Op) -> list[Case]:
    found = list(cases_of(op))
    if os.environ.get("FLOWC_ALL_DTYPES"):
        return found
    if op.name == "cast":
        return found[::7]  # of all pairs of dtypes
    few = [c for c in found if c.number == 0 and all(d in FEW_DTYPES for d in c.bound.values())]
    return list(dict.fromkeys([*few, *_in_f32(found)]))


def _in_further_dtypes(op: Op, first: Sequence[Case]) -> list[Case]:
    seen = {bound for c in first for bound in types_of(c)}
    found: list[Case] = []
    for c in [*sorted(cases_of(op), key=_size), *cases_in_other_dtypes(op)]:
        if not seen.issuperset(types_of(c)):
            found.append(c)
            seen.update(types_of(c))
    return found


def _in_f32(cases: Sequence[Case]) -> list[Case]:
    return [c for c in cases if all(d is dtypes.f32 for d in c.bound.values())]


def plain_cases(op: Op) -> list[Case]:
    """Every example once, in f32 where it has a choice, else the first one in what there is."""
    found = list(cases_of(op))
    return _in_f32(found) or found[:1]


def types_of(case: Case) -> set[tuple[str, DType]]:
    """The type attrs of a call with their dtypes."""
    attrs = bind_types(case.op, case.dtypes, case.attrs)
    return {(n, attrs[n]) for n, a in case.op.signature.attrs.items() if a.kind == "type"}


def signature_types(op: Op) -> set[tuple[str, DType]]:
    """The same of all calls that the signature allows, but for NO_KERNEL."""
    return {
        (n, d)
        for n, a in op.signature.attrs.items()
        if a.kind == "type"
        for d in allowed_dtypes(a)
        if (op.name, n, d.short) not in NO_KERNEL
    }


def cases_in_other_dtypes(op: Op) -> Iterator[Case]:
    """The examples that name a dtype where the signature allows several, in each of these."""
    beside = list(cases_of(replace(op, examples=EXAMPLES_BESIDE.get(op.name, ()))))
    yield from (replace(c, op=op) for c in beside)
    known = {bound for c in (*cases_of(op), *beside) for bound in types_of(c)}
    missing = signature_types(op) - known
    for case in sorted(cases_of(op), key=_size) if missing else ():
        for name in sorted({n for n, _ in missing}):
            wanted = {d for n, d in missing if n == name}
            text = _with_free_dtype(case, name)
            if text is None:
                attr_only = (replace(case, attrs=case.attrs | {name: d}) for d in wanted)
                yield from attr_only if not _takes(op, name) else ()
                continue
            for c in cases_of(replace(op, examples=(text,))):
                if c.bound[name] in wanted and c.bound.items() >= case.bound.items():
                    attrs = {n: v for n, v in c.attrs.items() if n != name}
                    yield replace(c, op=op, number=case.number, attrs=attrs)


def _takes(op: Op, attr: str) -> bool:
    return any(a.type_attr == attr for a in op.signature.inputs)


def _with_free_dtype(case: Case, attr: str) -> str | None:
    """The text of a case with `attr` in place of the dtypes that stand for it."""
    spans = input_spans(case.op, len(case.operands), case.attrs)
    freed = {
        i
        for arg, (start, stop) in zip(case.op.signature.inputs, spans)
        if arg.type_attr == attr and not arg.is_list
        for i in range(start, stop)
        if case.operands[i].kind != attr
    }
    words: list[str] = []
    for i, x in enumerate(case.operands):
        rest = f"~{x.domain}" if x.values is None else f"={x.values!r}"
        words.append(f"{attr if i in freed else x.kind}[{','.join(map(str, x.dims))}]{rest}")
    _, semicolon, attrs = case.text.partition(";")
    return " ".join(words) + semicolon + attrs if freed else None


def _size(case: Case) -> int:
    """Fewer elements are compared sooner, but of no elements nothing is learnt."""
    return sum(a.size for a in case.inputs) + 1000 * any(not a.size for a in case.inputs)


def is_constant(case: Case) -> list[bool]:
    """The inputs that are constants, as in real graphs: whole numbers that the example gives,
    unless then nothing is left to compute at run time."""
    given = [x.given and a.dtype.kind in "iub" for x, a in zip(case.operands, case.inputs)]
    return given if not all(given) else [False] * len(given)


def placed(b: Builder, case: Case, feeds: dict[Value, np.ndarray]) -> Node:
    """The op in a graph, with parameters for what is fed; floats are constants where it insists."""
    try:
        return _placed(b, case, feeds, is_constant(case))
    except NeedsContent:
        return _placed(b, case, feeds, [x.given for x in case.operands])


def _placed(
    b: Builder, case: Case, feeds: dict[Value, np.ndarray], constant: Sequence[bool]
) -> Node:
    inputs: list[Value] = []
    for i, array in enumerate(case.inputs):
        if constant[i]:
            inputs.append(b.const(array, case.dtypes[i]))
            continue
        name = f"{case.name}_{i}".replace("-", "_")
        inputs.append(b.parameter(name, tensor_type(case.dtypes[i], array.shape)))
        feeds[inputs[-1]] = array
    return b.emit(case.op, inputs, case.attrs, origin=(case.name,))


def ordinary_elements(
    case: Case, found: Sequence[np.ndarray], expected: Sequence[np.ndarray]
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The elements of an elementwise op's output that no extreme input reaches."""
    ordinary = np.ones(expected[0].shape, bool)
    for a in case.inputs:
        ordinary &= ~np.broadcast_to(is_extreme(a), ordinary.shape)
    return [found[0][ordinary]], [expected[0][ordinary]]


def is_extreme(array: np.ndarray) -> np.ndarray:
    """Where a float is NaN, infinite, zero, subnormal or the largest."""
    if array.dtype.kind in "iubc":
        return np.zeros(array.shape, bool)
    limits = ml_dtypes.finfo(array.dtype)
    magnitude = np.abs(array)
    return ~((magnitude >= limits.tiny) & (magnitude < limits.max))
