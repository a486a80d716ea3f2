"""What `flowc compile --emit` writes beside the library: each representation, as it was used.

In: a CompiledProgram and the Report of its compilation. Out: bytes by kind. Invariant: what is
shown is what the library was made of; nothing is compiled again for another target.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Collection, Container
from pathlib import Path
from typing import Literal

from flowc.codegen.compiled import CompiledProgram
from flowc.codegen.kernels.kernel import Kernel
from flowc.codegen.target import Target
from flowc.compiler import Report
from flowc.errors import InternalError
from flowc.files.safe_write import make_folder, replacing
from flowc.version import FLOWC_VERSION

ELF = b"\x7fELF"

# Kind -> the ending of its file, which takes the place of `.so`.
TEXTS = {
    "py": ".py", "kernel": ".kernel", "ir": ".ir", "plan": ".plan", "llvm": ".ll", "asm": ".s"
}  # fmt: skip
# Other ways to link the library.
BESIDE = {"a": ".a", "pc": ".pc", "cmake": "-config.cmake"}
KINDS = ("so", "header", *BESIDE, *TEXTS, "obj")


# What the files of a kind begin with, or hold near the beginning, where flowc has written them.
_BEGINNINGS: dict[str, tuple[bytes, ...]] = {
    "a": (b"!<arch>",),
    "pc": (b"# made by flowc",),
    "cmake": (b"# made by flowc",),
    "header": (b"a model compiled by flowc",),
    "weights": (b"FLOWCWTS",),
    "ir": (b"computation(",),
    "plan": (b"steps",),
    "py": (b"# kernel ",),
    "kernel": (b"# kernel ",),
    "llvm": (b"; kernel ", b"; driver"),
    "asm": (b"# kernel ", b"# driver"),
}


def is_ours(kind: str, path: Path) -> bool:
    """Whether flowc has written a file: a library by the function that each has, the others by
    their beginnings. An empty file has nothing to lose."""
    with path.open("rb") as file:
        begin = file.read(2048)
        if kind == "so" and begin.startswith(ELF):
            with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as whole:
                return whole.find(b"flowc_abi_version") >= 0
    return not begin.strip() or any(mark in begin for mark in _BEGINNINGS.get(kind, ()))


def beside(out: Path, kind: str) -> Path:
    """The place of one of BESIDE."""
    return out.with_name(out.name.removesuffix(out.suffix) + BESIDE[kind])


def package_text(out: Path, kinds: Collection[str]) -> str:
    """The pkg-config file of a library, which may be moved with it."""
    stem = out.name.removesuffix(out.suffix)
    shared = "${pcfiledir}/" + out.name + " -Wl,-rpath,${pcfiledir}"
    static = "${pcfiledir}/" + f"{stem}.a -lm -pthread"
    lines = ["# made by flowc", f"Name: {stem}", "Description: a model compiled by flowc"]
    lines += [f"Version: {FLOWC_VERSION}", "Cflags: -I${pcfiledir}"]
    lines += [f"Libs: {static if 'so' not in kinds else shared}"]
    return "\n".join(lines) + "\n"


def cmake_text(out: Path, kinds: Collection[str]) -> str:
    """What `find_package` of CMake reads: the target `NAME::NAME`, whose files may be moved with
    it."""
    stem = out.name.removesuffix(out.suffix)
    place = "${CMAKE_CURRENT_LIST_DIR}"
    kind, file, more = "SHARED", out.name, f'\n  IMPORTED_SONAME "{out.name}"'
    if "so" not in kinds:
        kind, file, more = "STATIC", f"{stem}.a", '\n  INTERFACE_LINK_LIBRARIES "m;pthread"'
    return f"""\
# made by flowc
if(NOT TARGET {stem}::{stem})
  add_library({stem}::{stem} {kind} IMPORTED)
  set_target_properties({stem}::{stem} PROPERTIES
  IMPORTED_LOCATION "{place}/{file}"{more}
  INTERFACE_INCLUDE_DIRECTORIES "{place}")
endif()
set({stem}_VERSION {FLOWC_VERSION})
"""


def emitted_text(kind: str, report: Report, target: Target) -> str:
    """One of TEXTS."""
    match kind:
        case "ir":
            return f"{report.fused}\n"
        case "plan":
            from flowc.plan.text import plan_text

            if report.stages.plan is None:
                raise InternalError("the compilation made no plan")
            return plan_text(report.stages.plan)
        case "py":
            return _joined(report, "#", lambda k: k.source)
        case "kernel":
            return _joined(report, "#", _nest_text)
        case "llvm" | "asm":
            return _modules(report, target, kind)
        case _:
            raise InternalError(f"no text of kind {kind!r}")


def write_objects(program: CompiledProgram, report: Report, folder: Path) -> None:
    """Every object of the program as a file: one a kernel and a routine that kernels share, the
    driver, and the runtime."""
    make_folder(folder)
    objects = {_name_of(data, report.stages.kernels): data for data in program.objects}
    if len(objects) != len(program.objects):
        raise InternalError("two objects of a program have the same name")
    for name, data in (*objects.items(), ("runtime", program.runtime)):
        with replacing(folder / f"{name}.o", len(data)) as file:
            file.write(data)


def _name_of(data: bytes, kernels: Container[str]) -> str:
    """What an object is for: the kernel or routine that it defines, or `driver`."""
    from flowc.codegen.link.symbols import defined_names

    defined = defined_names(data)
    if "flowc_program_run" in defined:
        return "driver"
    return next((name for name in defined if name in kernels), defined[0])


def _joined(report: Report, comment: str, text_of: Callable[[Kernel], str]) -> str:
    parts = [f"{comment} kernel {k.key}\n{text_of(k)}" for k in report.stages.kernels.values()]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def _nest_text(kernel: Kernel) -> str:
    from flowc.codegen.kernels.text import nest_text

    return (
        "# written by hand: --emit py shows it" if kernel.nest is None else nest_text(kernel.nest)
    )


def _modules(report: Report, target: Target, form: Literal["llvm", "asm"]) -> str:
    """The optimised modules of the kernels and of the driver, one after another."""
    from flowc.codegen.llvm.compile import module_text

    comment = ";" if form == "llvm" else "#"
    kernels = _joined(report, comment, lambda k: target.kernel_text(k, form))
    driver = report.stages.driver
    if driver is None:
        return kernels
    text = module_text([driver.text], target.processor, form, speed=1)
    return f"{kernels}\n{comment} driver\n{text}"
