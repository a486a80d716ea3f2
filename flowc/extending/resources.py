"""Resources: objects that a Session keeps for the kernels of registered ops.

In: what makes such an object, and two functions by which a Saver saves and restores it. Out: a
function that adds a node of the resource's handle; kernels of ops that take the handle get the
object itself. Invariants: a Session has one object for each handle, made when a kernel first asks
for it and closed with the Session. Kernels of several runs get the object at the same time: it is
its own business that this does no harm.

Objects of code in C are held by the instances of libraries as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from flowc.api.framework.raw_ops import call, named
from flowc.api.saving.saved_resources import SaveableResource
from flowc.api.variables.graph_keys import GraphKeys
from flowc.dtypes import DType, as_dtype
from flowc.errors import InvalidArgumentError
from flowc.extending.handles import KIND, HeldObject, handle_of, held_under
from flowc.extending.kernels import attr_values, settings_of
from flowc.extending.registration import register_op
from flowc.extending.signatures import Texts, check_new, ir_name, joined, signature_text
from flowc.extending.stamps import stamp_of
from flowc.graph import Tensor, get_default_graph
from flowc.ir.extraction import Bound, Extractor
from flowc.ir.host_run import HostRun
from flowc.ir.inference import Inference
from flowc.ir.lowering import Extracted, Host, ObjectFunctions
from flowc.ir.op import Attrs, Op, define
from flowc.ir.signature import parse_signature
from flowc.ir.types import Dims
from flowc.ops.state.variables import HANDLE, STATE

Array = np.ndarray[Any, Any]
_SHARING = 'container: string = "", shared_name: string = ""'


def register_resource(
    name: str,
    make: Callable[..., Any],
    *,
    attrs: Texts = "",
    saves: Mapping[str, tuple[Any, Sequence[int | None]]] | None = None,
    save: Callable[[Any], Sequence[Any]] | None = None,
    restore: Callable[..., None] | None = None,
    stamp: str | None = None,
    functions: ObjectFunctions | None = None,
) -> Callable[..., Tensor]:
    """Registers the op `name`, whose output is the handle of an object, and returns the function
    that adds such a node: `f(**attrs, container="", shared_name="", name=None)`.

    `make(**attrs)` returns the object when a Session first needs it. Handles of one `shared_name`
    (else: name of the node) mean one object. Its `close`, if it has one, is called when the Session
    is closed. Ops take a handle as an input of type `resource`; their kernels, functions of Python,
    get the object. Runs of several threads call it at the same time.

    `saves` are the tensors of a checkpoint, by name their dtype and shape: `{"rows": (tf.float32,
    [None, 8])}`. `save(object)` returns a tuple of their arrays, `restore(object, *arrays)` puts
    them back; both are ops, too: `<name>Export` and `<name>Import`. Raises `AlreadyExistsError` for
    an op that there is. `stamp`: a text that another one takes the place of whenever the code of
    these functions changes, where that is not seen in them. `functions`: those in C that do the
    same where instances of a library hold the object.
    """
    if len({saves is None, save is None, restore is None}) > 1:
        raise TypeError(f"resource {name!r}: saves, save and restore belong together")
    own = joined(attrs)
    check_new(handle_text := signature_text(name, "", _with(own, _SHARING), "handle: resource"))
    told = partial(stamp_of, make, save, restore) if stamp is None else lambda: stamp
    step = define_maker(name, own, make, functions)
    record = define(
        ir_name(name),
        handle_text,
        infer=_no_dims,
        lowering=Extracted(partial(_emit_handle, step=step)),
        traits=HANDLE | ({"saved_bytes"} if functions is not None and functions.save else set()),
        stamp=told,
    )
    ends: tuple[str, str] | None = None
    if saves is not None and save is not None and restore is not None:
        ends = _define_ends(name, saves, save, restore)

    def handle(**given: Any) -> Tensor:
        label = given.pop("name", None)
        found: Tensor = call(name, name=label, **given)
        if ends is not None:
            kept = SaveableResource(found, *ends)
            get_default_graph().add_to_collection(GraphKeys.SAVEABLE_OBJECTS, kept)
        return found

    return named(handle, ir_name(name), f"The handle of an object:\n\n    {record.tf}")


def _with(attrs: str, more: str) -> str:
    return f"{attrs}, {more}" if attrs else more


def _no_dims(c: Inference) -> Dims:
    return ()


# -- handles


def define_maker(
    name: str, attrs: str, make: Callable[..., Any], functions: ObjectFunctions | None
) -> Op:
    """The step that makes an object where there is none yet, and gives its handle."""
    tf = signature_text(f"_{name}Make", "", _with(attrs, "id: string"), "handle: int64")

    def step(
        inputs: Sequence[Any], dtypes: Sequence[DType], *, run: HostRun, id: str, **settings: Any
    ) -> list[Array]:
        given = attr_values(record.signature, settings)
        handle = handle_of(id)
        held = held_under(run, handle, lambda: HeldObject(make(**given), name))
        if held.op_type != name:
            raise InvalidArgumentError(f"'{id}' is a {held.op_type}, and not a {name}")
        return [np.array(handle, np.int64)]

    settings = settings_of(parse_signature(tf))
    record = define(
        f"{ir_name(name)}_make",
        tf,
        infer=_no_dims,
        lowering=Host(step, name, settings, may_block=True, object=functions),
        traits=STATE,
    )
    return record


def _emit_handle(x: Extractor, inputs: Sequence[Bound], attrs: Attrs, step: Op) -> Sequence[Bound]:
    own = {n: v for n, v in attrs.items() if n in step.signature.attrs}
    id = f"{attrs['container']}/{attrs['shared_name'] or x.name}"
    node = x.b.emit(step, [], {**own, "id": id})
    x.effect(node)
    return [x.create(KIND, node.output)]


# -- what a Saver runs


def _define_ends(
    name: str,
    saves: Mapping[str, tuple[Any, Sequence[int | None]]],
    save: Callable[..., Sequence[Any]],
    restore: Callable[..., None],
) -> tuple[str, str]:
    """The ops that save and restore an object; their names."""

    def shapes(c: Inference) -> list[Dims]:
        return [c.stated(shape) for _, shape in saves.values()]

    tensors = ", ".join(f"{n}: {as_dtype(dtype).name}" for n, (dtype, _) in saves.items())
    ends = f"{name}Export", f"{name}Import"
    register_op(ends[0], "handle: resource", tensors, shapes, reference=save)
    given = f"handle: resource, {tensors}"
    register_op(ends[1], given, "", lambda c: [], reference=restore)
    return ends
