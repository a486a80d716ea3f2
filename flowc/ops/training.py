"""One step of an optimizer: Apply*, ResourceApply* and their sparse forms.

In: a variable and its slots, hyperparameters, a gradient. Out: their new contents. Invariants: the
arithmetic is that of TensorFlow's CPU kernels, in the dtype of the variable; the sparse forms take
the rows of the gradient one after another, so that a row that is named twice is changed twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.ir.builder import Builder
from flowc.ir.computation import Value
from flowc.ir.extraction import Bound, Extractor
from flowc.ir.lowering import Extracted
from flowc.ir.op import Attrs, Inference, Op, define, op_named
from flowc.ir.types import Dims, TensorType
from flowc.ops.state import STATE, require_same, value_of, variable_of, without_output, wrong_shapes


class Term:
    """A value in a formula: the operators of arithmetic build nodes."""

    def __init__(self, b: Builder, value: Value) -> None:
        self.b = b
        self.value = value

    def make(self, op: str, *others: Any, **attrs: Any) -> Term:
        plain = [o.value if isinstance(o, Term) else o for o in others]
        return Term(self.b, getattr(self.b, op)(self.value, *plain, **attrs))

    def __add__(self, other: Any) -> Term:
        return self.make("add", other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Term:
        return self.make("sub", other)

    def __rsub__(self, other: Any) -> Term:
        return Term(self.b, self.b.sub(other, self.value))

    def __mul__(self, other: Any) -> Term:
        return self.make("mul", other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Term:
        return self.make("real_div", other)

    def __neg__(self) -> Term:
        return self.make("neg")

    def __abs__(self) -> Term:
        return self.make("abs")

    def squared(self) -> Term:
        return self.make("square")

    def sqrt(self) -> Term:
        return self.make("sqrt")

    def rsqrt(self) -> Term:
        return self.make("rsqrt")

    def sign(self) -> Term:
        return self.make("sign")

    def exp(self) -> Term:
        return self.make("exp")

    def max(self, other: Any) -> Term:
        return self.make("maximum", other)

    def power(self, exponent: Term) -> Term:
        return self.make("pow", exponent)


Formula = Callable[[Any, Attrs], Mapping[str, Term]]


def _gradient_descent(t: Any, attrs: Attrs) -> Mapping[str, Term]:
    return {"var": t.var - t.delta * t.alpha}


def _proximal(prox: Term, rate: Term, l1: Term, l2: Term) -> Term:
    """The point that L1 and L2 regularisation pull `prox` to."""
    return prox.sign() * (abs(prox) - rate * l1).max(0) / (1 + l2 * rate)


def _proximal_gradient_descent(t: Any, attrs: Attrs) -> Mapping[str, Term]:
    return {"var": _proximal(t.var - t.delta * t.alpha, t.alpha, t.l1, t.l2)}


def _momentum(t: Any, attrs: Attrs) -> Mapping[str, Term]:
    accum = t.accum * t.momentum + t.grad
    if attrs["use_nesterov"]:
        return {"accum": accum, "var": t.var - (t.grad * t.lr + accum * t.momentum * t.lr)}
    return {"accum": accum, "var": t.var - accum * t.lr}


def _keras_momentum(t: Any, attrs: Attrs) -> Mapping[str, Term]:
    accum = t.accum * t.momentum - t.grad * t.lr
    if attrs["use_nesterov"]:
        return {"accum": accum, "var": t.var + (accum * t.momentum - t.grad * t.lr)}
    return {"accum": accum, "var": t.var + accum}


def _adagrad(t: Any, attrs: Attrs) -> Mapping[str, Term]:
    accum = t.accum + t.grad.squared() if attrs["update_slots"] else t.accum
    return {"accum": accum, "var": t.var - t.grad * t.lr * accum.rsqrt()}


def _adagrad_with_epsilon(t: Any, attrs: Attrs) -> Mapping[str, Term]:
    accum = t.accum + t.grad.squared() if attrs["update_slots"] else t.accum
    return {"accum": accum, "var": t.var - t.grad * t.lr / (accum.sqrt() + t.epsilon)}


def _proximal_adagrad(t: Any, attrs: Attrs) -> Mapping[str, Term]:
    accum = t.accum + t.grad.squared()
    rate = accum.rsqrt() * t.lr
    return {"accum": accum, "var": _proximal(t.var - t.grad * rate, rate, t.l1, t.l2)}


def _adagrad_da(t: Any, attrs: Attrs) -> Mapping[str, Term]:
    total = t.gradient_accumulator + t.grad
    squares = t.gradient_squared_accumulator + t.grad.squared()
    step = t.global_step.make("cast", DstT=t.var.value.type.dtype)
    shrunk = total.sign() * (abs(total) - step * t.l1).max(0)
    var = -(t.lr * shrunk) / (t.l2 * step * t.lr + squares.sqrt())
    return {"gradient_accumulator": total, "gradient_squared_accumulator": squares, "var": var}


def _adadelta(t: Any, attrs: Attrs) -> Mapping[str, Term]:
    accum = t.accum * t.rho + t.grad.squared() * (1 - t.rho)
    update = (t.accum_update + t.epsilon).sqrt() * (accum + t.epsilon).rsqrt() * t.grad
    changes = t.accum_update * t.rho + update.squared() * (1 - t.rho)
    return {"accum": accum, "accum_update": changes, "var": t.var - update * t.lr}


def _is_half(power: Term) -> bool:
    """Whether a learning rate power is known to be -0.5."""
    known = power.value.constant
    return known is not None and float(known) == -0.5


def _ftrl(t: Any, attrs: Attrs) -> Mapping[str, Term]:
    def root(x: Term) -> Term:
        return x.sqrt() if _is_half(t.lr_power) else x.power(-t.lr_power)

    grad = t.grad
    if hasattr(t, "l2_shrinkage"):
        grad = grad + 2 * t.l2_shrinkage * t.var
    accum = t.accum + t.grad.squared()
    growth = root(accum) - root(t.accum)
    if attrs["multiply_linear_by_lr"]:
        linear = t.linear + grad * t.lr - growth * t.var
        pull, slope = t.l1 * t.lr, root(accum) + 2 * t.l2 * t.lr
    else:
        linear = t.linear + grad - growth / t.lr * t.var
        pull, slope = t.l1, root(accum) / t.lr + 2 * t.l2
    var = -(linear.sign() * (abs(linear) - pull).max(0)) / slope
    return {"accum": accum, "linear": linear, "var": var}


def _adam(t: Any, attrs: Attrs) -> Mapping[str, Term]:
    rate = t.lr * (1 - t.beta2_power).sqrt() / (1 - t.beta1_power)
    m = t.m + (t.grad - t.m) * (1 - t.beta1)
    v = t.v + (t.grad.squared() - t.v) * (1 - t.beta2)
    found = {"m": m, "v": v}
    if hasattr(t, "vhat"):
        found["vhat"] = t.vhat.max(v)
        return {**found, "var": t.var - m * rate / (found["vhat"].sqrt() + t.epsilon)}
    ahead = t.grad * (1 - t.beta1) + t.beta1 * m if attrs["use_nesterov"] else m
    return {**found, "var": t.var - ahead * rate / (v.sqrt() + t.epsilon)}


def _ada_max(t: Any, attrs: Attrs) -> Mapping[str, Term]:
    m = t.m + (t.grad - t.m) * (1 - t.beta1)
    v = (t.v * t.beta2).max(abs(t.grad))
    return {"m": m, "v": v, "var": t.var - t.lr / (1 - t.beta1_power) * (m / (v + t.epsilon))}


def _rms_prop(t: Any, attrs: Attrs) -> Mapping[str, Term]:
    ms = t.ms + (t.grad.squared() - t.ms) * (1 - t.rho)
    found = {"ms": ms}
    spread = ms + t.epsilon
    if hasattr(t, "mg"):
        found["mg"] = t.mg + (t.grad - t.mg) * (1 - t.rho)
        spread = ms - found["mg"].squared() + t.epsilon
    mom = t.mom * t.momentum + t.grad * t.lr * spread.rsqrt()
    return {**found, "mom": mom, "var": t.var - mom}


def _add_sign(t: Any, attrs: Attrs) -> Mapping[str, Term]:
    m = t.m * t.beta + t.grad * (1 - t.beta)
    agreement = t.grad.sign() * m.sign()
    return {"m": m, "var": t.var - t.lr * (t.alpha + t.sign_decay * agreement) * t.grad}


def _power_sign(t: Any, attrs: Attrs) -> Mapping[str, Term]:
    m = t.m * t.beta + t.grad * (1 - t.beta)
    scale = (t.logbase * t.sign_decay * t.grad.sign() * m.sign()).exp()
    return {"m": m, "var": t.var - t.lr * scale * t.grad}


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
    Step("gradient_descent", "GradientDescent", _gradient_descent, "alpha delta"),
    Step(
        "proximal_gradient_descent",
        "ProximalGradientDescent",
        _proximal_gradient_descent,
        "alpha l1 l2 delta",
        "alpha l1 l2 grad indices",
    ),
    Step("momentum", "Momentum", _momentum, *_MOMENTUM),
    Step("keras_momentum", "KerasMomentum", _keras_momentum, *_MOMENTUM, forms=("Resource",)),
    Step("adagrad", "Adagrad", _adagrad, "ACCUM lr grad", "ACCUM lr grad indices", _SLOTS),
    Step(
        "adagrad_with_epsilon",
        "AdagradV2",
        _adagrad_with_epsilon,
        "ACCUM lr epsilon grad",
        "ACCUM lr epsilon grad indices",
        _SLOTS,
    ),
    Step(
        "proximal_adagrad",
        "ProximalAdagrad",
        _proximal_adagrad,
        "ACCUM lr l1 l2 grad",
        "ACCUM lr l1 l2 grad indices",
    ),
    Step(
        "adagrad_da",
        "AdagradDA",
        _adagrad_da,
        f"{_DA} lr l1 l2 global_step",
        f"{_DA} indices lr l1 l2 global_step",
    ),
    Step("adadelta", "Adadelta", _adadelta, _ADADELTA, f"{_ADADELTA} indices"),
    Step("ftrl", "Ftrl", _ftrl, f"{_FTRL} lr_power", f"{_FTRL_ROWS} lr_power", _BY_RATE),
    Step(
        "ftrl_with_shrinkage",
        "FtrlV2",
        _ftrl,
        f"{_FTRL} l2_shrinkage lr_power",
        f"{_FTRL_ROWS} l2_shrinkage lr_power",
        _BY_RATE,
    ),
    Step("adam", "Adam", _adam, f"M V {_ADAM}", None, _NESTEROV),
    Step(
        "adam_with_amsgrad",
        "AdamWithAmsgrad",
        _adam,
        f"M V VHAT {_ADAM}",
        forms=("Resource",),
    ),
    Step("ada_max", "AdaMax", _ada_max, "M V beta1_power lr beta1 beta2 epsilon grad"),
    Step("rms_prop", "RMSProp", _rms_prop, _MS, f"{_MS} indices"),
    Step("centered_rms_prop", "CenteredRMSProp", _rms_prop, f"MG {_MS}", f"MG {_MS} indices"),
    Step("add_sign", "AddSign", _add_sign, f"M lr alpha {_SIGN}"),
    Step("power_sign", "PowerSign", _power_sign, f"M lr logbase {_SIGN}"),
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
        require_same(x, held, values[name].dims, wrong_shapes(x, text))
    name = "grad" if "grad" in values else "delta"
    indices = values.get("indices")
    wanted = held if indices is None else (*indices.dims, *held[1:])
    text = f"var and {name} do not have the same shape{{held}} {{given}}"
    require_same(x, wanted, values[name].dims, wrong_shapes(x, text))


def _whole(b: Builder, step: Step, values: Mapping[str, Value], attrs: Attrs) -> dict[str, Value]:
    found = step.formula(SimpleNamespace(**{n: Term(b, v) for n, v in values.items()}), attrs)
    return {name: term.value for name, term in found.items()}


# -- rows, one after another


def _rows(
    b: Builder, step: Step, slots: Sequence[str], values: Mapping[str, Value], attrs: Attrs
) -> dict[str, Value]:
    """A loop over the rows of the gradient: what the first of two equal indices wrote is what the
    second one finds."""
    count = b.reshape(b.sizes((values["indices"].dims[0],), dtypes.i64), ())
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


def _infer_ref(c: Inference) -> Dims:
    return c.dims(0)


def _infer_handle(c: Inference) -> list[Dims]:
    return []


def _argument(word: str, form: str) -> str:
    if word.isupper():
        return f"{word.lower()}: {'ref(T)' if not form else 'resource'}"
    types = {"indices": "Tindices", "global_step": "i64"}
    return f"{word}: {types.get(word, 'T')}"


def _define(step: Step, form: str, sparse: bool) -> None:
    text = step.sparse if sparse else step.inputs
    assert text is not None
    arguments = ", ".join(_argument(w, form) for w in ("VAR", *text.split()))
    attrs = "T: NUMBER, " + ("Tindices: {i32, i64}, " if sparse else "")
    attrs += "use_locking: bool = False"
    attrs += "".join(f", {name}: bool = {default}" for name, default in step.flags)
    tf_name = f"{form}{'Sparse' if sparse else ''}Apply{step.kind}"
    emit = _emit(step, text)
    define(
        Op(
            f"{form.lower()}{'_' if form else ''}{'sparse_' if sparse else ''}apply_{step.name}",
            f"{tf_name}({arguments}; {attrs})" + ("" if form else " -> out: ref(T)"),
            infer=_infer_handle if form else _infer_ref,
            lowering=Extracted(without_output(emit) if form else emit),
            traits=STATE,
        )
    )


for _step in STEPS:
    for _form in _step.forms:
        _define(_step, _form, False)
        if _step.sparse is not None:
            _define(_step, _form, True)
