"""The shared library: what it exports, that it is reproducible, and that C programs can use it."""

from __future__ import annotations

import ctypes
import errno
import hashlib
import io
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import aot_programs
import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

import flowc as tf
from flowc import aot
from flowc.aot import write_library
from flowc.codegen.abi.c_abi import EXPORTS, c_abi_text
from flowc.codegen.abi.c_header import (
    constant_names,
    exported_name,
    header_text,
    identifier,
)
from flowc.codegen.abi.model import check_sizes, message_of
from flowc.codegen.compiled import CompiledProgram
from flowc.codegen.link import elf, linker
from flowc.codegen.link.weights_file import WeightsFile
from flowc.codegen.llvm.compile import compile_module
from flowc.errors import InternalError, UsageError
from flowc.files.safe_write import replacing

CC = shutil.which("cc")
needs_cc = pytest.mark.skipif(CC is None, reason="no C compiler")
SOURCES = Path(__file__).parents[1] / "cc"


described = aot_programs.described


@pytest.fixture(scope="module")
def program() -> CompiledProgram:
    return aot_programs.program()


@pytest.fixture(scope="module")
def library(program: CompiledProgram, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("aot")
    write_library(program, folder / "hand.so", header=folder / "hand.h")
    return folder / "hand.so"


def _dynamic_symbols(path: Path) -> tuple[set[str], set[str]]:
    """Names that the library exports, and names that it needs."""
    with path.open("rb") as file:
        symbols = list(ELFFile(file).get_section_by_name(".dynsym").iter_symbols())[1:]
    exported = {s.name for s in symbols if s["st_shndx"] != "SHN_UNDEF"}
    return exported, {s.name for s in symbols} - exported


@needs_cc
def test_it_exports_the_abi_and_needs_libc_only(library: Path) -> None:
    exported, needed = _dynamic_symbols(library)
    own = {exported_name("hand", name) for name in EXPORTS}
    assert exported == {*EXPORTS, *own}
    assert not [n for n in needed if n.startswith(("Py", "numba", "NRT_", "flowc", "_ITM", "__"))]
    with library.open("rb") as file:
        parsed = ELFFile(file)
        dynamic = list(parsed.get_section_by_name(".dynamic").iter_tags())
        stack = next(s for s in parsed.iter_segments() if s["p_type"] == "PT_GNU_STACK")
        assert not stack["p_flags"] & 1, "an executable stack"
    assert {t.needed for t in dynamic if t.entry.d_tag == "DT_NEEDED"} <= {"libc.so.6", "libm.so.6"}
    assert [t.soname for t in dynamic if t.entry.d_tag == "DT_SONAME"] == ["hand.so"]
    assert not [t for t in dynamic if t.entry.d_tag in ("DT_TEXTREL", "DT_RPATH", "DT_RUNPATH")]


@needs_cc
def test_equal_programs_give_equal_bytes(
    program: CompiledProgram, library: Path, tmp_path: Path
) -> None:
    again = tmp_path / "elsewhere" / "hand.so"
    again.parent.mkdir()
    write_library(aot_programs.program(), again, header=again.with_suffix(".h"))
    assert again.read_bytes() == library.read_bytes()
    assert again.with_suffix(".h").read_bytes() == library.with_suffix(".h").read_bytes()
    assert sorted(p.name for p in again.parent.iterdir()) == ["hand.h", "hand.so"]


def test_the_header_declares_what_is_exported() -> None:
    text = header_text([("hand", described(aot_programs.metadata()))], "hand")
    code = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    own = {exported_name("hand", name) for name in EXPORTS}
    assert set(re.findall(r"\b(\w+)\(", code)) == own
    plain = re.findall(r"#define (flowc_\w+) (hand_\w+)", code)
    assert {name: exported_name("hand", name) for name in EXPORTS} == dict(plain)
    assert "input 0: in/x:0  f32[batch, 4]  float" in text
    assert "Known only after a run: kept_count, step_count." in text


@needs_cc
@pytest.mark.parametrize(
    ("suffix", "flags"), [(".c", ["-std=c99", "-pedantic"]), (".cc", ["-std=c++11"])]
)
def test_the_header_compiles_by_itself(
    library: Path, tmp_path: Path, suffix: str, flags: list[str]
) -> None:
    source = tmp_path / f"include{suffix}"
    other = tmp_path / "other.h"
    other.write_text(header_text([("other", described(aot_programs.metadata()))], "other"))
    source.write_text('#include "hand.h"\n#include "other.h"\nint main(void) { return 0; }\n')
    command = [str(CC), *flags, "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    subprocess.run([*command, f"-I{library.parent}", str(source)], check=True)


@pytest.fixture(scope="module")
def checker(library: Path) -> Path:
    program = library.parent / "check_model"
    flags = ["-std=gnu99", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-ffp-contract=off"]
    source = str(SOURCES / "check_model.c")
    command = [str(CC), *flags, f"-I{library.parent}", source, "-o", str(program), "-ldl"]
    subprocess.run(command, check=True)
    return program


@needs_cc
def test_a_c_program_calls_it(library: Path, checker: Path) -> None:
    done = subprocess.run([str(checker), str(library)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@needs_cc
def test_a_c_program_calls_it_with_weights_in_a_file(
    program: CompiledProgram, checker: Path, tmp_path: Path
) -> None:
    report = write_library(program, tmp_path / "hand.so", weights="file")
    assert report.weights_file == tmp_path / "hand.so.weights"
    done = subprocess.run(
        [str(checker), "./hand.so"], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr


@needs_cc
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="no valgrind")
def test_no_leak_and_no_bad_access(library: Path, tmp_path: Path) -> None:
    source = tmp_path / "once.c"
    source.write_text(
        """
        #include "hand.h"
        int main(void) {
          float x[40] = {1}, y[40], kept[40];
          int64_t k = 1, dims[2] = {10, 4};
          const void *inputs[2] = {x, &k};
          const int64_t *all[2] = {dims, 0};
          void *outputs[3] = {y, kept, 0};
          flowc_set_threads(3);
          int code = flowc_run(inputs, all, outputs, 0);
          flowc_free(outputs[2]);
          outputs[2] = 0;
          k = 11;
          code = code || flowc_run(inputs, all, outputs, 0) != FLOWC_NO_MEMORY;
          return code || flowc_run(0, all, outputs, 0) != FLOWC_BAD_ARGUMENT;
        }
        """
    )
    program = tmp_path / "once"
    links = ["-L" + str(library.parent), "-l:hand.so", f"-Wl,-rpath,{library.parent}"]
    command = [str(CC), f"-I{library.parent}", str(source), "-o", str(program), *links]
    subprocess.run(command, check=True)
    check = ["valgrind", "--leak-check=full", "--error-exitcode=9", "-q", str(program)]
    done = subprocess.run(check, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


# -- the weights object ------------------------------------------------------------------------


@pytest.mark.parametrize("machine", [elf.X86_64, elf.AARCH64])
def test_the_weights_object_holds_the_chunks(machine: int) -> None:
    first, second = np.arange(5, dtype=np.float32), np.arange(12, dtype=np.int16).reshape(3, 4).T
    file = io.BytesIO()
    elf.write_weights_object([(64, second), (0, first)], 100, machine, file)
    expected = first.tobytes() + bytes(44) + np.ascontiguousarray(second).tobytes() + bytes(12)
    file.seek(0)
    parsed = ELFFile(file)
    section = parsed.get_section_by_name(".rodata.flowc")
    assert section.data() == expected
    assert (section["sh_addralign"], section["sh_flags"]) == (64, 2)
    assert section["sh_offset"] % 64 == 0
    symbol = parsed.get_section_by_name(".symtab").get_symbol_by_name("flowc_weights")[0]
    assert symbol["st_other"]["visibility"] == "STV_HIDDEN"
    assert (symbol["st_size"], symbol["st_value"]) == (100, 0)
    assert parsed["e_machine"] == {62: "EM_X86_64", 183: "EM_AARCH64"}[machine]
    assert elf.machine_of([file.getvalue()]) == machine


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65])
def test_a_weights_object_of_any_size_parses(size: int) -> None:
    file = io.BytesIO()
    elf.write_weights_object(np.full(size, 7, np.uint8), size, elf.X86_64, file)
    file.seek(0)
    assert ELFFile(file).get_section_by_name(".rodata.flowc").data() == bytes([7]) * size


@pytest.mark.parametrize("chunks", [[(0, 20), (10, 20)], [(90, 20)], [(-4, 8)]])
def test_chunks_that_overlap_or_overrun_are_refused(chunks: list[tuple[int, int]]) -> None:
    arrays = [(offset, np.zeros(size, np.uint8)) for offset, size in chunks]
    with pytest.raises(InternalError, match="weights chunk"):
        list(elf.pieces_of(arrays, 100))


@needs_cc
def test_the_weights_file_has_size_and_checksum(program: CompiledProgram, tmp_path: Path) -> None:
    write_library(program, tmp_path / "m.so", weights="file")
    data = (tmp_path / "m.so.weights").read_bytes()
    blob = np.arange(1, 5, dtype=np.float32).tobytes()
    assert data[64:] == blob
    assert data[:8] == b"FLOWCWTS" and int.from_bytes(data[16:24], "little") == len(blob)
    assert data[24:56] == hashlib.sha256(blob).digest()


@needs_cc
@pytest.mark.parametrize("weights", ["file", "map"])
def test_a_damaged_weights_file_is_refused(weights: Literal["file", "map"], tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None], name="x")
        numbers = np.random.default_rng(0).standard_normal(203).astype(np.float32)
        tf.multiply(tf.reduce_sum(x), tf.constant(numbers), name="y")
        tf.compile(graph, None, "y", out=tmp_path / "m.so", weights=weights)
    beside, data = tmp_path / "m.so.weights", (tmp_path / "m.so.weights").read_bytes()

    def outcome() -> Any:
        script = f"import flowc_runtime as f; print(f.load({str(tmp_path / 'm.so')!r})([1.0])[5])"
        found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        return float(found.stdout) if found.returncode == 0 else found.stderr

    assert outcome() == pytest.approx(float(numbers[5]), rel=1e-6)
    for byte in (64, len(data) // 2, len(data) - 1):
        damaged = bytearray(data)
        damaged[byte] ^= 0x10
        beside.write_bytes(damaged)
        assert "m.so.weights is damaged: its weights are not those" in outcome()
    beside.write_bytes(data)
    assert outcome() == pytest.approx(float(numbers[5]), rel=1e-6)


# -- refusals ----------------------------------------------------------------------------------


def test_files_are_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a.h"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), replacing(path) as file:
        file.write(b"new")
        raise ZeroDivisionError
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.h"]


def test_a_failed_write_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.h"
    with pytest.raises(OSError) as caught, replacing(path):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(path))
    other = OSError(errno.ENOENT, "No such file or directory", "weights")
    with pytest.raises(OSError) as caught, replacing(path):
        raise other
    assert caught.value is other and list(tmp_path.iterdir()) == []


def test_bad_choices_are_refused(program: CompiledProgram, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no folder"):
        write_library(program, tmp_path / "absent" / "m.so")
    wrong: Any = "inline"
    with pytest.raises(UsageError, match="expected 'embed', 'file' or 'map'"):
        write_library(program, tmp_path / "m.so", weights=wrong)


def test_weights_too_large_to_embed_name_the_way_out(tmp_path: Path) -> None:
    metadata = described(aot_programs.metadata(3 << 30))
    program = CompiledProgram((b"\x7fELF\x02",), [], metadata)
    with pytest.raises(UsageError, match="--weights file"):
        write_library(program, tmp_path / "m.so")


def test_no_linker_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("CC", "")
    monkeypatch.setattr(linker.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(linker.LinkError, match="pip install ziglang"):
        linker.find_linker()
    monkeypatch.setenv("CC", "no-such-compiler -m64")
    with pytest.raises(linker.LinkError, match="no-such-compiler"):
        linker.find_linker()


@needs_cc
def test_an_undefined_symbol_stops_the_link_with_its_name(
    program: CompiledProgram, tmp_path: Path
) -> None:
    driver_only = CompiledProgram(program.objects, program.weights, program.metadata)
    with pytest.raises(linker.LinkError, match="flowc_parallel_for"):
        write_library(driver_only, tmp_path / "m.so")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(
    linker.importlib.util.find_spec("ziglang") is None, reason="no ziglang (extra cc)"
)
def test_linking_without_a_c_compiler(
    program: CompiledProgram, checker: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setenv("CC", "")
    monkeypatch.setattr(linker, "COMPILERS", ())
    report = write_library(program, tmp_path / "hand.so")
    assert "ld.lld" in report.linker
    exported, needed = _dynamic_symbols(tmp_path / "hand.so")
    assert exported == set(EXPORTS)
    assert not [n for n in needed if n.startswith("_")]
    path = str(tmp_path / "hand.so")
    done = subprocess.run([str(checker), path], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


# -- sizes -------------------------------------------------------------------------------------

# What the dims of inputs may be, and whether given dims fit them.
_FITS = [
    ([[3], [3]], [["n"], ["n"]], True),
    ([[3], [4]], [["n"], ["n"]], False),
    ([[8, 4]], [["2*n", "n"]], True),
    ([[9, 4]], [["2*n", "n"]], False),
    ([[2], [5, 3]], [["m - n"], ["m", "n"]], True),
    ([[3], [5, 3]], [["m - n"], ["m", "n"]], False),
    ([[3, 7]], [["floordiv(n, 2)", "n"]], True),
    ([[4, 7]], [["floordiv(n, 2)", "n"]], False),
    ([[-2, 3, 0]], [["floordiv(n - m, 2)", "m", "n"]], True),  # floor(-3 / 2) == -2, then count
    ([[7, 7, 2]], [["max(m, n)", "m", "n"]], True),
    ([[2, 7, 2]], [["min(m, n)", "m", "n"]], True),
    ([[7, 7, 2]], [["min(m, n)", "m", "n"]], False),
    ([[1, 5, 0]], [["floordiv(m, n)", "m", "n"]], False),  # dividing by 0 must not trap
    ([[12, 3, 4]], [["m*n", "m", "n"]], True),
]


@needs_cc
@pytest.mark.parametrize(("found", "dims", "fits"), _FITS)
def test_dims_of_inputs_are_checked(
    found: list[list[int]], dims: list[list[str]], fits: bool, tmp_path: Path
) -> None:
    names = sorted({n for row in dims for d in row for n in re.findall(r"\b[mn]\b", d)})
    inputs = [{"name": f"x{i}:0", "dtype": "u8", "dims": row} for i, row in enumerate(dims)]
    outputs = [{"name": "y:0", "dtype": "u8", "dims": list(names)}]
    metadata = aot_programs.metadata(0) | {"inputs": inputs, "outputs": outputs, "sizes": names}
    program = CompiledProgram(aot_programs.sizes_program(len(names)), [], described(metadata))
    write_library(program, tmp_path / "m.so")
    library = ctypes.CDLL(str(tmp_path / "m.so"))
    library.flowc_last_error.restype = ctypes.c_char_p
    rows = [(ctypes.c_int64 * len(row))(*row) for row in found]
    table = (ctypes.c_void_p * len(rows))(*[ctypes.addressof(row) for row in rows])
    result = (ctypes.c_int64 * len(names))()
    code = library.flowc_output_dims_for(table, 0, result)
    if any(d < 0 for row in found for d in row):
        assert code == 2  # no dim is negative, whatever the expression says
    elif fits:
        assert code == 0, library.flowc_last_error()
        bound = dict(zip([d for row in dims for d in row], [v for row in found for v in row]))
        assert list(result) == [bound[n] for n in names]
    else:
        assert code == 2
        assert b"expected" in library.flowc_last_error()


# -- the model behind the ABI --------------------------------------------------------------------


def test_error_rows_become_printf_templates() -> None:
    errors = [message_of(row) for row in described(aot_programs.metadata()).errors]
    assert errors[0].template == "k = %lld is not in [%lld, 100%%) (node 'top/K')"
    assert errors[0].values == (0, 1)
    assert [e.kind for e in errors] == ["InvalidArgumentError", "ResourceExhaustedError"]


def test_a_size_that_no_input_binds_is_an_internal_error() -> None:
    metadata = aot_programs.metadata()
    metadata["inputs"][0]["dims"] = ["2*batch", 4]
    with pytest.raises(InternalError, match=r"'in/x:0'.*batch"):
        check_sizes(described(metadata))
    with pytest.raises(InternalError, match="format 7"):
        described(metadata | {"format": 7})


def test_names_become_distinct_c_constants() -> None:
    metadata = aot_programs.metadata()
    row = metadata["inputs"][0]
    metadata["inputs"] = [row, row | {"name": "in-x:0"}, row | {"name": "1/é"}]
    names = constant_names(described(metadata).spec.fed)
    assert names == ["IN_X", "IN_X_1", "M_1"]
    assert identifier("my model-v2") == "my_model_v2"


def test_the_abi_compiles_for_aarch64() -> None:
    machine = aot._baseline(elf.AARCH64)
    text = c_abi_text(
        described(aot_programs.metadata()),
        machine.triple,
        weights=WeightsFile(16, bytes(32), (0,) * 8),
    )
    data = compile_module([text], machine, speed=1)
    symbols = ELFFile(io.BytesIO(data)).get_section_by_name(".symtab").iter_symbols()
    assert set(EXPORTS) <= {s.name for s in symbols if s["st_info"]["bind"] == "STB_GLOBAL"}


def test_the_abi_module_is_the_same_each_time() -> None:
    texts = {
        c_abi_text(described(aot_programs.metadata()), aot_programs.PROCESSOR.triple)
        for _ in range(3)
    }
    assert len(texts) == 1
