"""Records of ops that Python computes on the host.

In: a signature, and a function of the inputs' arrays. Out: a record whose lowering is a `Host`.
Invariant: the settings are the keyword-only parameters of the function, `run` aside, which makes
the step one that may block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flowc.ir.capability import Capability
from flowc.ir.inference import Inference
from flowc.ir.lowering import Host
from flowc.ir.op import Op, define
from flowc.ir.types import Dims

Step = Callable[..., Sequence[Any]]


def host_op(
    name: str,
    tf: str,
    function: Step,
    *,
    infer: Callable[[Inference], Dims | list[Dims]],
    shown: str | None = None,
    settings: Sequence[str] | None = None,
    only_reads: bool = True,
    gradient: Callable[..., Any] | None = None,
    reference: Callable[..., Any] | None = None,
    traits: frozenset[str] = frozenset(),
    capability: Capability | None = None,
    aliases: tuple[str, ...] = (),
) -> Op:
    """Defines an op that `function(inputs, dtypes, **settings)` computes. `shown`: the op that
    messages name, if not its own; `settings`: of a function that takes them by any name. The rest
    is as in `Host` and `Op`."""
    return define(
        name,
        tf,
        infer=infer,
        lowering=host(function, shown or tf.partition("(")[0], settings, only_reads),
        gradient=gradient,
        reference=reference,
        traits=traits,
        capability=capability,
        aliases=aliases,
    )


def infer_shapes(c: Inference) -> list[Dims]:
    """Outputs have the shapes that the attr `shapes` states."""
    return [c.stated(shape) for shape in c.attrs["shapes"]]


def host(
    function: Step, shown: str, settings: Sequence[str] | None = None, only_reads: bool = True
) -> Host:
    """The lowering of such an op."""
    code = function.__code__
    keywords = code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]
    wanted = [k for k in keywords if k != "run"] if settings is None else settings
    return Host(function, shown, tuple(wanted), "run" in keywords, only_reads)
