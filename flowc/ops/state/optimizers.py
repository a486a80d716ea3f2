"""One step of an optimizer: Apply*, ResourceApply* and their sparse forms.

In: a variable and its slots, hyperparameters, a gradient. Out: their new contents. Invariants: the
arithmetic is that of TensorFlow's CPU kernels, in the dtype of the variable; the sparse forms take
the rows of the gradient one after another, so that a row that is named twice is changed twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dataclass import dataclass
from flowc.ir.builder import Builder
from flowc.ir.computation import Value
from flowc.ir.extraction import Bound, Extractor
from flowc.ir.inference import Inference
from flowc.ir.op import Attrs, op_named
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims, TensorType
from flowc.ops.state import optimizer_formulas as formulas
from flowc.ops.state.optimizer_formulas import Formula, Term
from flowc.ops.state.variables import define_change, require_same, value_of, variable_of


@dataclass(frozen=True, slots=True)
class Step:
    """An optimizer's step. `inputs`: the names after `var`, in order; a name in capitals is a slot
    (a variable itself). `sparse`: the same with `indices`, or None where there is no sparse form.
    `forms`: which of Apply, ResourceApply there are."""

    name: str
    kind: str
    formula: Formula
    inputs: str
    sparse: str | None = None
    flags: tuple[tuple[str, bool], ...] = ()
    forms: tuple[str, ...] = ("", "Resource")


_NESTEROV = (("use_nesterov", False),)
_SLOTS = (("update_slots", True),)
_BY_RATE = (("multiply_linear_by_lr", False),)
_DA = "GRADIENT_ACCUMULATOR GRADIENT_SQUARED_ACCUMULATOR grad"
_MOMENTUM = ("ACCUM lr grad momentum", "ACCUM lr grad indices momentum", _NESTEROV)
_MS = "MS MOM lr rho momentum epsilon grad"
_ADAM = "beta1_power beta2_power lr beta1 beta2 epsilon grad"
_ADADELTA = "ACCUM ACCUM_UPDATE lr rho epsilon grad"
_FTRL = "ACCUM LINEAR grad lr l1 l2"
_FTRL_ROWS = "ACCUM LINEAR grad indices lr l1 l2"
_SIGN = "sign_decay beta grad"

STEPS = (
    Step("gradient_descent", "GradientDescent", formulas.gradient_descent, "alpha delta"),
    Step(
        "proximal_gradient_descent",
        "ProximalGradientDescent",
        formulas.proximal_gradient_descent,
        "alpha l1 l2 delta",
        "alpha l1 l2 grad indices",
    ),
    Step("momentum", "Momentum", formulas.momentum, *_MOMENTUM),
    Step(
        "keras_momentum", "KerasMomentum", formulas.keras_momentum, *_MOMENTUM, forms=("Resource",)
    ),
    Step("adagrad", "Adagrad", formulas.adagrad, "ACCUM lr grad", "ACCUM lr grad indices", _SLOTS),
    Step(
        "adagrad_with_epsilon",
        "AdagradV2",
        formulas.adagrad_with_epsilon,
        "ACCUM lr epsilon grad",
        "ACCUM lr epsilon grad indices",
        _SLOTS,
    ),
    Step(
        "proximal_adagrad",
        "ProximalAdagrad",
        formulas.proximal_adagrad,
        "ACCUM lr l1 l2 grad",
        "ACCUM lr l1 l2 grad indices",
    ),
    Step(
        "adagrad_da",
        "AdagradDA",
        formulas.adagrad_da,
        f"{_DA} lr l1 l2 global_step",
        f"{_DA} indices lr l1 l2 global_step",
    ),
    Step("adadelta", "Adadelta", formulas.adadelta, _ADADELTA, f"{_ADADELTA} indices"),
    Step("ftrl", "Ftrl", formulas.ftrl, f"{_FTRL} lr_power", f"{_FTRL_ROWS} lr_power", _BY_RATE),
    Step(
        "ftrl_with_shrinkage",
        "FtrlV2",
        formulas.ftrl,
        f"{_FTRL} l2_shrinkage lr_power",
        f"{_FTRL_ROWS} l2_shrinkage lr_power",
        _BY_RATE,
    ),
    Step("adam", "Adam", formulas.adam, f"M V {_ADAM}", None, _NESTEROV),
    Step(
        "adam_with_amsgrad",
        "AdamWithAmsgrad",
        formulas.adam,
        f"M V VHAT {_ADAM}",
        forms=("Resource",),
    ),
    Step("ada_max", "AdaMax", formulas.ada_max, "M V beta1_power lr beta1 beta2 epsilon grad"),
    Step("rms_prop", "RMSProp", formulas.rms_prop, _MS, f"{_MS} indices"),
    Step(
        "centered_rms_prop", "CenteredRMSProp", formulas.rms_prop, f"MG {_MS}", f"MG {_MS} indices"
    ),
    Step("add_sign", "AddSign", formulas.add_sign, f"M lr alpha {_SIGN}"),
    Step("power_sign", "PowerSign", formulas.power_sign, f"M lr logbase {_SIGN}"),
)


# -- emitting a step


def _emit(step: Step, text: str) -> Callable[..., Sequence[Bound]]:
    words = ("VAR", *text.split())
    slots = [w.lower() for w in words if w.isupper()]
    names = [w.lower() for w in words]

    def emit(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
        bounds = dict(zip(names, inputs))
        values = {name: value_of(x, bound) for name, bound in bounds.items()}
        _check(x, slots, values)
        if "indices" in values:
            changed = _rows(x.b, step, slots, values, attrs)
        else:
            changed = _whole(x.b, step, values, attrs)
        for name, value in changed.items():
            x.replace(variable_of(x, bounds[name]), value)
        return [inputs[0]]

    return emit


def _check(x: Extractor, slots: Sequence[str], values: Mapping[str, Value]) -> None:
    """The slots and the gradient have the shape of the variable."""
    held = values["var"].dims
    for name in slots[1:]:
        text = f"var and {name} do not have the same shape{{held}} {{given}}"
        require_same(x, held, values[name].dims, text)
    name = "grad" if "grad" in values else "delta"
    indices = values.get("indices")
    wanted = held if indices is None else (*indices.dims, *held[1:])
    text = f"var and {name} do not have the same shape{{held}} {{given}}"
    require_same(x, wanted, values[name].dims, text)


def _whole(b: Builder, step: Step, values: Mapping[str, Value], attrs: Attrs) -> dict[str, Value]:
    found = step.formula(SimpleNamespace(**{n: Term(b, v) for n, v in values.items()}), attrs)
    return {name: term.value for name, term in found.items()}


# -- rows, one after another


def _rows(
    b: Builder, step: Step, slots: Sequence[str], values: Mapping[str, Value], attrs: Attrs
) -> dict[str, Value]:
    """A loop over the rows of the gradient: what the first of two equal indices wrote is what the
    second one finds."""
    count = b.scalar_size(values["indices"].dims[0], dtypes.i64)
    others = {n: v for n, v in values.items() if n not in slots}
    carried = {"row": b.const(np.int64(0)), **{n: values[n] for n in slots}}
    inputs = {**carried, "count": count, **others}
    loop = b.emit(
        op_named("while"),
        list(inputs.values()),
        {
            "condition": _more_rows(inputs),
            "body": _one_row(step, slots, inputs, attrs),
            "carried": len(carried),
            "varying": (),
            "Tout": tuple(v.type.dtype for v in carried.values()),
        },
    )
    return dict(zip(slots, loop.outputs[1:]))


def _parameters(b: Builder, inputs: Mapping[str, Value]) -> dict[str, Value]:
    return {n: b.parameter(n, TensorType(v.type.dtype, v.dims)) for n, v in inputs.items()}


def _more_rows(inputs: Mapping[str, Value]) -> Any:
    b = Builder()
    given = _parameters(b, inputs)
    return b.build([b.less(given["row"], given["count"])])


def _one_row(step: Step, slots: Sequence[str], inputs: Mapping[str, Value], attrs: Attrs) -> Any:
    b = Builder()
    given = _parameters(b, inputs)
    row = given["row"]
    place = b.gather(given["indices"], row, np.int32(0))
    here = dict(given)
    for name in slots:
        here[name] = b.gather(given[name], place, np.int32(0))
    here["grad"] = b.gather(given["grad"], row, np.int32(0))
    here["delta"] = here["grad"]
    changed = _whole(b, step, here, attrs)
    results = [b.add(row, np.int64(1))]
    for name in slots:
        new = changed.get(name)
        results.append(given[name] if new is None else _with_row(b, given[name], place, new))
    return b.build(results)


def _with_row(b: Builder, held: Value, place: Value, new: Value) -> Value:
    rows = b.reshape(new, (1, *new.dims))
    place = b.reshape(place, (1, 1))
    return b.change_slices(held, place, rows, combine="update", depth=1, rows=True)


# -- records


def _argument(word: str, form: str) -> str:
    if word.isupper():
        return f"{word.lower()}: {'ref(T)' if not form else 'resource'}"
    types = {"indices": "Tindices", "global_step": "i64"}
    return f"{word}: {types.get(word, 'T')}"


def _infer(words: Sequence[str]) -> Callable[[Inference], Dims]:
    """Slots and the gradient have the shape of the variable."""

    def infer(c: Inference) -> Dims:
        held = c.dims(0)
        rows = words.index("indices") if "indices" in words else None
        for place, word in enumerate(words):
            wanted = held
            if rows is not None and word == "grad":
                wanted = (*c.dims(rows), *held[1:])
            if word.isupper() or word in ("grad", "delta"):
                fault = f"var and {word.lower()} do not have the same shape"
                shown = f"{shown_dims(wanted)} {shown_dims(c.dims(place))}"
                c.match_dims(wanted, c.dims(place), fault + shown)
        return held

    return infer


def _define(step: Step, form: str, sparse: bool) -> None:
    text = step.sparse if sparse else step.inputs
    assert text is not None
    arguments = ", ".join(_argument(w, form) for w in ("VAR", *text.split()))
    attrs = "T: NUMBER, " + ("Tindices: {i32, i64}, " if sparse else "")
    attrs += "use_locking: bool = False"
    attrs += "".join(f", {name}: bool = {default}" for name, default in step.flags)
    tf_name = f"{form}{'Sparse' if sparse else ''}Apply{step.kind}"
    define_change(
        f"{form.lower()}{'_' if form else ''}{'sparse_' if sparse else ''}apply_{step.name}",
        f"{tf_name}({arguments}; {attrs})" + ("" if form else " -> out: ref(T)"),
        _emit(step, text),
        infer=_infer(("VAR", *text.split())),
    )


for _step in STEPS:
    for _form in _step.forms:
        _define(_step, _form, False)
        if _step.sparse is not None:
            _define(_step, _form, True)
