"""The ordered list of passes, a reason each, and how they are run.

In: a Computation as extracted. Out: one made of clusters, whose sizes all have names. The verifier
runs round every pass; a pass that fails leaves the text that it was given in the error.
"""

from __future__ import annotations

from collections.abc import Callable

from flowc.errors import InternalError, UsageError, as_raised, did_you_mean
from flowc.ir.computation import Computation
from flowc.ir.rewrite import rewrite_bodies
from flowc.ir.text.value_names import name_sizes
from flowc.ir.verifier import Inferred, verify
from flowc.options import Options
from flowc.passes.check_dtypes import check_dtypes
from flowc.passes.check_sizes import check_sizes
from flowc.passes.decompose import decompose
from flowc.passes.drop_needs import drop_needs
from flowc.passes.eliminate_list_checks import eliminate_list_checks
from flowc.passes.fold_constants import fold_constants
from flowc.passes.fuse import fuse
from flowc.passes.hoist_invariants import hoist_invariants
from flowc.passes.link_kernels import link_kernels
from flowc.passes.lower import lower
from flowc.passes.merge_duplicates import merge_duplicates
from flowc.passes.multiply_pieces import multiply_pieces
from flowc.passes.order_updates import order_updates
from flowc.passes.project_sequences import project_sequences
from flowc.passes.prune import prune
from flowc.passes.scalar_loops import scalar_loops
from flowc.passes.simplify import simplify
from flowc.passes.simplify_control_flow import simplify_control_flow
from flowc.passes.sink_reshapes import sink_reshapes
from flowc.passes.stream_products import stream_products
from flowc.passes.sum_vector_products import sum_vector_products

Pass = Callable[[Computation, Options], Computation]
Watcher = Callable[[str, Computation], None]

PIPELINE: tuple[tuple[Pass, str], ...] = (
    (drop_needs, "what a result needs anyway fails where it must"),
    (prune, "nothing that no fetch needs is looked at again"),
    (check_sizes, "no size that a pass computes with is beyond all memory"),
    (eliminate_list_checks, "loops over lists check nothing that cannot fail"),
    (fold_constants, "shapes become known, so that decompositions see them"),
    (simplify_control_flow, "bodies know the constants and sizes that they are given"),
    (prune, "what branches not taken read, and what loops carried for nothing"),
    (simplify_control_flow, "what is carried no more may be constant"),
    (simplify, "fewer nodes for what follows"),
    (decompose, "fusion sees through composed ops"),
    (link_kernels, "a library has the kernels of archives, where a Session calls them"),
    (fold_constants, "what decompositions made of constants"),
    (merge_duplicates, "decompositions repeat shape arithmetic and masks"),
    (sink_reshapes, "what follows a product joins its kernel"),
    (simplify, "factors into weights, transposes together, now that all ops are plain"),
    (fold_constants, "what simplifying made of constants"),
    (simplify_control_flow, "conditions that are known now"),
    (project_sequences, "one product of a sequence reads the weights once"),
    (hoist_invariants, "iterations repeat nothing"),
    (drop_needs, "what cannot fail, as ops are plain now, goes where nobody reads it"),
    (multiply_pieces, "what a product reads need not be copied together first"),
    (sum_vector_products, "what a vector is multiplied with need not be packed"),
    (prune, "what folding and merging left without a reader"),
    (check_dtypes, "what is left must fit in a kernel"),
    (check_sizes, "nor one that a kernel does"),
    (lower, "what follows knows core ops only, which say all in their attrs"),
    (scalar_loops, "a loop over scalars is one kernel"),
    (fuse, "one kernel for a group of nodes"),
    (stream_products, "scores of attention and depthwise pixels stay in caches"),
    (order_updates, "what is read no more may be changed in place"),
)
NAMES = tuple(dict.fromkeys(p.__name__ for p, _ in PIPELINE))


def run_pass(run: Pass, c: Computation, options: Options) -> Computation:
    """One pass over the bodies of nodes, innermost first, then over the Computation itself."""
    return run(rewrite_bodies(c, lambda body: run_pass(run, body, options)), options)


def run_passes(c: Computation, options: Options, watch: Watcher | None = None) -> Computation:
    """Runs the pipeline. `watch(name, computation)` sees the result of every pass.

    Raises `UsageError` for a name in `options.skip` that is no pass, `InternalError` when a pass
    breaks an invariant.
    """
    for name in options.skip:
        if name not in NAMES:
            raise UsageError(f"no pass is named {name!r}", hint=did_you_mean(name, NAMES))
    lowered = False
    inferred: Inferred = {}
    verify(c, "extract", inferred=inferred)
    for run, _ in PIPELINE:
        name = run.__name__
        if name in options.skip:
            continue
        before = c
        try:
            c = run_pass(run, c, options)
            lowered = lowered or run is lower
            if c is not before:
                verify(c, name, lowered, inferred)
        except Exception as error:
            found = as_raised(error, f"pass {name}")
            if isinstance(found, InternalError):
                found.detail = found.detail or f"before pass {name}:\n{before}"
            if found is error:
                raise
            raise found from error
        if watch is not None:
            watch(name, c)
    return name_sizes(c)
