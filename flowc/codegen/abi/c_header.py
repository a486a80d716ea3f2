"""The C header of a compiled model.

In: a program's metadata. Out: the text of `model.h`: the library's functions, the same for all
models and guarded once, and this model's inputs and outputs as comments and constants. Invariant:
it declares exactly the functions that the library exports, and compiles as C99 and C++11 by itself.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from flowc.codegen.abi.model import dims_text, ports_of
from flowc.codegen.compiled import ProgramMetadata
from flowc.dtypes import DType
from flowc.ir.dims import Symbol, symbols_of
from flowc.ir.program_spec import ObjectSpec, ProgramSpec, TensorSpec

_C_TYPES = {
    "f16": "uint16_t (IEEE half)", "bf16": "uint16_t (bfloat16)", "f32": "float", "f64": "double",
    "i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t", "u8": "uint8_t",
    "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t", "bool": "uint8_t (0 or 1)",
    "c64": "float[2]", "c128": "double[2]",
}  # fmt: skip

TYPES = """\
#ifndef FLOWC_ABI_VERSION
#define FLOWC_ABI_VERSION 3

#include <stdint.h>

/* What functions return. After any code but FLOWC_OK, ..._last_error() tells what was wrong. */
enum {
  FLOWC_OK = 0,
  FLOWC_BAD_ARGUMENT = 2, /* NULL, wrong dims, no such input: the model did not run */
  FLOWC_INVALID = 3,      /* the values of the inputs made the run fail: outputs are undefined */
  FLOWC_BAD_FILE = 4,     /* the weights file is missing or belongs to another library */
  FLOWC_NO_MEMORY = 5,
  FLOWC_NO_DEVICE = 6     /* the library is for a GPU, and there is none, or no driver of it */
};

/* Element types, by TensorFlow's DataType numbers. */
enum {
  FLOWC_F32 = 1, FLOWC_F64 = 2, FLOWC_I32 = 3, FLOWC_U8 = 4, FLOWC_I16 = 5, FLOWC_I8 = 6,
  FLOWC_C64 = 8, FLOWC_I64 = 9, FLOWC_BOOL = 10, FLOWC_BF16 = 14, FLOWC_U16 = 17, FLOWC_C128 = 18,
  FLOWC_F16 = 19, FLOWC_U32 = 22, FLOWC_U64 = 23,
  /* quantized integers */
  FLOWC_QI8 = 11, FLOWC_QU8 = 12, FLOWC_QI32 = 13, FLOWC_QI16 = 15, FLOWC_QU16 = 16
};

typedef struct flowc_instance flowc_instance;
#endif /* FLOWC_ABI_VERSION */
"""

ON_GPU = """\
#ifndef FLOWC_ON_GPU
/* How a run is given memory of the GPU that it computes on (GPU 0, primary context), for inputs and
 * outputs of which the comment above says so. What other streams were asked to do with it is done
 * first; when the run returns, all is done. */
#define FLOWC_ON_GPU(pointer) ((void *)((uintptr_t)(pointer) | (uintptr_t)1 << 63))
#endif
"""

DECLARATIONS = """\
#ifdef __cplusplus
extern "C" {
#endif

/* All functions may be called from any number of threads at once. */

/* The ABI that the library was built with; compare it with FLOWC_ABI_VERSION. */
int32_t flowc_abi_version(void);
/* The version of flowc that built the library, the model's name, and all there is to know, as JSON.
 * Texts are UTF-8, belong to the library and live as long as it is loaded. */
const char *flowc_version(void);
const char *flowc_model_name(void);
const char *flowc_metadata(void);

/* Inputs and outputs, counted from 0. For a number that does not exist: NULL, dtype 0, rank -1. */
int32_t flowc_input_count(void);
const char *flowc_input_name(int32_t input);
int32_t flowc_input_dtype(int32_t input);
int32_t flowc_input_rank(int32_t input);
/* Writes `rank` dims, -1 for a dim that each run may choose. */
int32_t flowc_input_dims(int32_t input, int64_t *dims);
/* The name of a dim that each run may choose, or the expression it must be equal to; else NULL. */
const char *flowc_input_dim_name(int32_t input, int32_t axis);

int32_t flowc_output_count(void);
const char *flowc_output_name(int32_t output);
int32_t flowc_output_dtype(int32_t output);
int32_t flowc_output_rank(int32_t output);
int32_t flowc_output_dims(int32_t output, int64_t *dims);
const char *flowc_output_dim_name(int32_t output, int32_t axis);

/* The dims that an output will have when the inputs have these dims (one array per input; NULL, or
 * NULL for an input, where all its dims are fixed). A dim that depends on values gives its upper
 * bound, or -1 when there is none. */
int32_t flowc_output_dims_for(const int64_t *const *input_dims, int32_t output, int64_t *dims);

/* Runs the model. `inputs` and `outputs` hold one pointer each, to dense row-major elements aligned
 * to their size (8 bytes at most); each output has room for the dims that flowc_output_dims_for
 * tells. Outputs overlap neither inputs nor one another. `input_dims`: as above. `output_dims`:
 * NULL, or one array (or NULL) per output, which gets its dims. Where an output has a dim without
 * bound, its pointer must be NULL, and the run sets it to memory that flowc_free gives back. */
int32_t flowc_run(const void *const *inputs, const int64_t *const *input_dims,
                  void **outputs, int64_t *const *output_dims);
void flowc_free(void *memory);

/* Variables: what the model keeps from run to run (a counter, weights that it trains). They live in
 * instances, which share nothing; a model that has variables runs in an instance only, and
 * flowc_run is an error. Random nodes are the exception: their states (i64: counter, its upper
 * half, key) are variables too, but where there are no others, flowc_run starts from the seeds each
 * time. A node without seeds starts from other numbers in every instance. Names and shapes, counted
 * from 0 as above: */
int32_t flowc_variable_count(void);
const char *flowc_variable_name(int32_t variable);
int32_t flowc_variable_dtype(int32_t variable);
int32_t flowc_variable_rank(int32_t variable);
int32_t flowc_variable_dims(int32_t variable, int64_t *dims);

/* Makes an instance, whose variables have the values that the model was compiled with, if it was
 * with any; flowc_instance_destroy ends it (NULL is nothing to end), when no call is inside it. */
int32_t flowc_instance_create(flowc_instance **instance);
void flowc_instance_destroy(flowc_instance *instance);
/* As it was made. */
int32_t flowc_instance_reset(flowc_instance *instance);
/* As flowc_run. Calls with one instance wait for one another. A run that fails changes nothing, but
 * for variables of which it changes rows: some may have been changed when it fails. */
int32_t flowc_instance_run(flowc_instance *instance, const void *const *inputs,
                           const int64_t *const *input_dims, void **outputs,
                           int64_t *const *output_dims);
/* Copies the value of a variable to or from `value`, dense and row-major. */
int32_t flowc_instance_read(flowc_instance *instance, int32_t variable, void *value);
int32_t flowc_instance_write(flowc_instance *instance, int32_t variable, const void *value);

/* Objects: what kernels of ops in C keep (a table that grows, say), in instances as variables are.
 * They are saved as bytes and restored from these. flowc_instance_save writes to `bytes`, if their
 * `size` is enough (0 to ask), and sets `needed` to the size that is; restoring trusts the bytes.
 * What a run that fails has changed in an object stays changed. */
int32_t flowc_object_count(void);
const char *flowc_object_name(int32_t object);
int32_t flowc_instance_save(flowc_instance *instance, int32_t object, void *bytes,
                            int64_t size, int64_t *needed);
int32_t flowc_instance_restore(flowc_instance *instance, int32_t object, const void *bytes,
                               int64_t size);

/* How many threads a run may use, 1 to 1024; 0: one per core the process may use. Results do not
 * depend on it. */
int32_t flowc_set_threads(int32_t threads);
int32_t flowc_get_threads(void);

/* The bytes that one run may take beside weights, variables and what the caller gives it; 0, as at
 * first: all that the system gives. A run that needs more is FLOWC_NO_MEMORY, before it takes any
 * of what is too much. */
int32_t flowc_set_max_memory(int64_t bytes);
int64_t flowc_get_max_memory(void);

/* Whether the weights are there and whole: FLOWC_OK, or FLOWC_BAD_FILE where the file beside the
 * library is missing, damaged or another one's, with which no run would begin. */
int32_t flowc_check_weights(void);

/* What went wrong in the last call that failed on this thread; "" when none did. */
const char *flowc_last_error(void);

#ifdef __cplusplus
}
#endif
"""

# `flowc_instance` is a type, the same for all models.
_FUNCTION = re.compile(r"\bflowc_(?!instance\b)")
_FUNCTION_NAMES = sorted(set(re.findall(r"\b(flowc_\w+)\(", DECLARATIONS)))


def header_text(
    models: Sequence[tuple[str, ProgramMetadata]],
    stem: str,
    contents: int = 0,
    signatures: Mapping[str, str] | None = None,
) -> str:
    """The header for the library `stem`.so with these models; of each the prefix that its functions
    have, and in capitals its constants. `contents`: a number that other code and weights change;
    `signatures`: by the prefix of a model, the name of its signature."""
    named = signatures or {}
    guard = f"{identifier(stem).upper()}_H"
    mark = zlib.crc32(repr([(p, m.to_json()) for p, m in models]).encode(), contents)
    parts = [part for prefix, metadata in models for part in _model_lines(prefix, metadata)]
    return "\n".join(
        [
            *(line for p, metadata in models for line in _comment_lines(metadata, p, named.get(p))),
            f"#ifdef {guard}",
            f"#if {guard} != {mark:#x}",
            f'#error "two models are named {identifier(stem)}: give one another file name"',
            "#endif",
            "#else",
            f"#define {guard} {mark:#x}",
            "",
            TYPES,
            *([ON_GPU] if any(m.has_device for _, m in models) else ()),
            *parts,
            _plain_names(models[0][0]),
            f"#endif /* {guard} */",
            "",
        ]
    )


def exported_name(prefix: str, name: str) -> str:
    """A function of the C interface (`flowc_run`) as a model with that prefix calls it."""
    return prefix + name.removeprefix("flowc")


def _model_lines(prefix: str, metadata: ProgramMetadata) -> Iterator[str]:
    """The functions and constants of one model."""
    yield _FUNCTION.sub(f"{prefix}_", DECLARATIONS)
    capitals = prefix.upper()
    kept = {"variable": ports_of(metadata, "variable"), "object": metadata.spec.objects}
    known: dict[str, Sequence[TensorSpec | ObjectSpec]] = {
        **{kind: ports_of(metadata, kind) for kind in ("input", "output")},
        **{kind: rows for kind, rows in kept.items() if rows},
    }
    for kind, rows in known.items():
        yield f"#define {capitals}_{kind.upper()}S {len(rows)}"
        for index, name in enumerate(constant_names(rows)):
            yield f"#define {capitals}_{kind.upper()}_{name} {index}"
    yield ""


def _plain_names(prefix: str) -> str:
    """The names that all models share, as macros: they mean the model whose header is alone in a
    source file, and where there are two they do not compile."""
    if prefix == "flowc":
        return ""
    pairs = [(n, exported_name(prefix, n)) for n in _FUNCTION_NAMES]
    unclear = [(n, f"{n}_of_which_model_call_it_by_its_prefix") for n in _FUNCTION_NAMES]
    return "\n".join(
        [
            "#ifndef FLOWC_NO_PLAIN_NAMES",
            "#ifndef FLOWC_PLAIN_NAMES",
            f'#define FLOWC_PLAIN_NAMES "{prefix}"',
            *(f"#define {plain} {own}" for plain, own in pairs),
            "#else /* a second model: flowc_run would be one of two */",
            *(line for n, other in unclear for line in (f"#undef {n}", f"#define {n} {other}")),
            "#endif",
            "#endif",
            "",
        ]
    )


def _comment_lines(metadata: ProgramMetadata, prefix: str, signature: str | None) -> list[str]:
    whose = _comment(metadata.name)
    if signature is not None:
        whose += f", signature {_comment(signature)} (functions {prefix}_...)"
    ports = {kind: ports_of(metadata, kind) for kind in ("input", "output", "variable")}
    lines = [
        f"/* {whose}: a model compiled by flowc {_comment(metadata.version)}.",
        " * Generated: edits are lost when the model is compiled again.",
        " *",
        *(
            line
            for kind, rows in ports.items()
            for line in _port_lines(kind, rows, metadata.on_gpu(kind))
        ),
        *(f" * object {i}: {_comment(o.name)}" for i, o in enumerate(metadata.spec.objects)),
    ]
    late = sorted(_late_sizes(metadata.spec))
    if late:
        lines += [" *", f" * Known only after a run: {', '.join(map(str, late))}."]
    return [*lines, " */"]


def constant_names(ports: Sequence[TensorSpec | ObjectSpec]) -> list[str]:
    """One C identifier a port or object; a number is added where two names would be equal."""
    names: list[str] = []
    for index, port in enumerate(ports):
        name = identifier(port.name.removesuffix(":0")).upper()
        names.append(name if name not in names else f"{name}_{index}")
    return names


def identifier(text: str) -> str:
    """The text with every run of other characters than letters and digits made one underscore."""
    name = re.sub(r"[^0-9A-Za-z]+", "_", text).strip("_")
    return name if name and not name[0].isdigit() else f"m_{name}"


def stem_of(out: Path) -> str:
    return out.name.removesuffix(out.suffix) or "model"


def _port_lines(kind: str, ports: tuple[TensorSpec, ...], on_gpu: Collection[int]) -> list[str]:
    rows = (f"{_comment(p.name)}  {p.dtype}{dims_text(p)}  {_c_type(p.dtype)}" for p in ports)
    there = ", FLOWC_ON_GPU or not"
    return [f" * {kind} {i}: {row}{there if i in on_gpu else ''}" for i, row in enumerate(rows)]


def _c_type(dtype: DType) -> str:
    return _C_TYPES[dtype.carrier.short]


def _comment(text: str) -> str:
    """Text that cannot end the comment it stands in."""
    return text.replace("*/", "* /").replace("\n", " ")


def _late_sizes(spec: ProgramSpec) -> set[Symbol]:
    known, shown = (symbols_of(*(d for p in x for d in p.dims)) for x in (spec.fed, spec.fetched))
    return shown.keys() - known.keys()
