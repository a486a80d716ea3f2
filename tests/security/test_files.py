"""Files that are no files, lead elsewhere, or change: nothing outside a model's folder is opened,
no process waits or is ended, and what a run computes with is one state of the files.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from case_child import outcomes
from file_faults import CASES as FAULTS

import flowc.compat.v1 as tf
from flowc.checkpoint.locate import has_checkpoint, latest_checkpoint
from flowc.cli.entry import run_command_line
from flowc.cli.run import is_library
from flowc.errors import (
    FlowcError,
    InvalidArgumentError,
    InvalidModelError,
    NotFoundError,
    UsageError,
)
from flowc.files.plain_file import PlainFile
from flowc.files.safe_write import make_folder, replacing
from flowc.importer import load_graph

DATA = Path(__file__).parents[1] / "data" / "import"
OPENED = 0x20  # IN_OPEN: reading or writing, not a look at what a path is


def values_of(path: Path, checkpoint: Path | None = None, allow_links: bool = False) -> int:
    """Loads a model and reads all its variables; gives their number."""
    values = load_graph(path, checkpoint, allow_links=allow_links).variable_values
    return len([values[name] for name in values])


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """A folder beside the model's, none of whose files is opened."""
    folder = tmp_path / "outside"
    folder.mkdir()
    libc = ctypes.CDLL(None)
    watch = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    assert libc.inotify_add_watch(watch, os.fsencode(folder), OPENED) > 0
    os.close(os.open(folder, os.O_RDONLY))
    assert os.read(watch, 4096), "the watch sees nothing"
    yield folder
    with pytest.raises(BlockingIOError):
        os.read(watch, 4096)
    os.close(watch)


# -- what a model names


PLACES = {
    "saved_model.pb": "tf2",
    "variables/variables.index": "tf2",
    "variables/variables.data-00000-of-00001": "tf2",
    "variables": "tf2",
    "model.index": "tf1",
    "model.data-00000-of-00002": "tf1",
    "checkpoint": "tf1",
    "old.ckpt": "tf1",
}


def _to_file(place: Path, outside: Path) -> None:
    place.symlink_to(os.path.relpath(outside / place.name, place.parent))


def _to_file_in_full(place: Path, outside: Path) -> None:
    place.symlink_to(outside / place.name)


def _through_a_folder(place: Path, outside: Path) -> None:
    (place.parent / "way").symlink_to(os.path.relpath(outside, place.parent))
    place.symlink_to(f"way/{place.name}")


def _to_zeros(place: Path, outside: Path) -> None:
    place.symlink_to("/dev/zero")


def _fifo(place: Path, outside: Path) -> None:
    os.mkfifo(place)


def _socket(place: Path, outside: Path) -> None:
    here = os.getcwd()
    os.chdir(place.parent)  # the system's limit for their names is short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(place.name)
    os.chdir(here)


def _folder(place: Path, outside: Path) -> None:
    place.mkdir()


def _loop(place: Path, outside: Path) -> None:
    place.symlink_to(place.name)


THINGS: dict[Callable[[Path, Path], None], str] = {
    _to_file: "leads out of the model's folder",
    _to_file_in_full: "leads out of the model's folder",
    _through_a_folder: "leads out of the model's folder",
    _to_zeros: "leads out of the model's folder",
    _fifo: "this is a FIFO, not a plain file",
    _socket: "this is a socket, not a plain file",
    _folder: "this is a folder, not a plain file",
}


def _model(folder: Path, place: str) -> tuple[Path, Path | None]:
    """A model whose reading needs the place: where it is, and its checkpoint if that is named."""
    kind = PLACES[place]
    shutil.copytree(DATA / kind, folder)
    if place == "checkpoint":
        (folder / place).write_text('model_checkpoint_path: "named"\n')
        for file in folder.glob("model.[di]*"):
            file.rename(folder / file.name.replace("model.", "named.", 1))
    named = folder / "old.ckpt" if place == "old.ckpt" else None
    return (folder if kind == "tf2" else folder / "model.meta"), named


@pytest.mark.parametrize("thing", THINGS, ids=lambda thing: thing.__name__)
@pytest.mark.parametrize("place", PLACES)
def test_what_a_model_names_lies_in_its_folder(
    place: str, thing: Callable[[Path, Path], None], tmp_path: Path, outside: Path
) -> None:
    folder = tmp_path / "model"
    path, checkpoint = _model(folder, place)
    (folder / place).rename(outside / Path(place).name)
    thing(folder / place, outside)
    wanted = THINGS[thing]
    if place == "variables":
        wanted = "variables" if thing in (_fifo, _socket, _folder) else wanted
        if thing in (_fifo, _socket, _folder, _to_zeros):
            assert values_of(path) == 0  # nothing lies there
            return
    if place == "old.ckpt" and thing is _folder:
        wanted = "the folder's checkpoint cannot be told"
    with pytest.raises(FlowcError, match=wanted) as caught:
        values_of(path, checkpoint)
    assert Path(place).name in str(caught.value)


@pytest.mark.parametrize("place", PLACES)
def test_links_are_followed_inside_the_folder_and_where_they_are_allowed(
    place: str, tmp_path: Path
) -> None:
    folder, outside = tmp_path / "model", tmp_path / "outside"
    path, checkpoint = _model(folder, place)
    count = values_of(path, checkpoint)
    assert count > 1
    (folder / place).rename(folder / "moved")
    (folder / place).symlink_to(os.path.relpath(folder / "moved", (folder / place).parent))
    assert values_of(path, checkpoint) == count
    outside.mkdir()
    (folder / "moved").rename(outside / "moved")
    (folder / place).unlink()
    (folder / place).symlink_to(outside / "moved")
    assert values_of(path, checkpoint, allow_links=True) == count
    if place == "variables":
        return
    (folder / place).unlink()
    os.link(outside / "moved", folder / place)  # a name like any other
    assert values_of(path, checkpoint) == count


@pytest.mark.parametrize("place", ["saved_model.pb", "model.index"])
def test_the_command_line_says_how_links_are_allowed(
    place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, _ = _model(tmp_path / "model", place)
    (tmp_path / "model" / place).rename(tmp_path / "elsewhere")
    (tmp_path / "model" / place).symlink_to("../elsewhere")
    assert run_command_line(["inspect", str(path)]) == 4
    assert "--allow-links" in capsys.readouterr().err
    assert run_command_line(["inspect", str(path), "--allow-links"]) == 0


def test_the_users_own_path_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "folder").symlink_to(DATA / "tf2")
    (tmp_path / "graph.meta").symlink_to(DATA / "tf1" / "model.meta")
    assert values_of(tmp_path / "folder") == 2
    assert values_of(tmp_path / "graph.meta", DATA / "tf1" / "model") == 8
    (tmp_path / "there").symlink_to(DATA / "tf1")
    assert values_of(tmp_path / "there" / "model.meta") == 8


@pytest.mark.parametrize(
    "named",
    ["../outside/model", "inner/../../outside/model", "{outside}/model", "way/model", "/dev/zero"],
)
def test_a_state_file_leads_nowhere_else(named: str, tmp_path: Path, outside: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(DATA / "tf1", folder)
    for file in folder.glob("model.[di]*"):
        file.rename(outside / file.name)
    (folder / "inner").mkdir()
    (folder / "way").symlink_to("../outside")
    named = named.format(outside=outside)
    (folder / "checkpoint").write_text(f'model_checkpoint_path: "{named}"\n')
    try:
        assert values_of(folder / "model.meta") == 0
    except InvalidModelError as error:
        assert "leads out of the model's folder" in str(error)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (r'model_checkpoint_path: "a\000b"', "no checkpoint has the name"),
        ("x { " * 50_000, "no checkpoint state"),
        (b"\xff\xfe", "no checkpoint state"),
        ("model_checkpoint_path: 3", "no checkpoint state"),
    ],
)
def test_a_state_file_that_makes_no_sense(text: str | bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "checkpoint").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InvalidModelError, match=said):
        latest_checkpoint(tmp_path)


# -- what the user names


@pytest.mark.parametrize("path", ["a\0b", "\ud800", "a\0b/saved_model.pb"])
def test_paths_that_no_file_has(path: str, tmp_path: Path) -> None:
    for read in (load_graph, PlainFile, is_library):
        with pytest.raises(UsageError, match="no file has such a name"):
            read(path)
    with pytest.raises((UsageError, NotFoundError)):
        load_graph(DATA / "tf1" / "model.meta", path)
    assert run_command_line(["run", path]) == 2
    assert run_command_line(["run", "m.pb", "--input", f"x={path}.npy"]) == 2


@pytest.mark.parametrize("make", [_fifo, _socket, _folder, _to_zeros])
def test_what_is_no_file_is_said_at_once(
    make: Callable[[Path, Path], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("model.pb", "x.npy"):
        make(tmp_path / name, tmp_path)
    if make is not _folder:
        for command in (["run"], ["inspect"], ["compile", "-o", str(tmp_path / "m.so")]):
            assert run_command_line([*command, str(tmp_path / "model.pb")]) == 4
            assert "model.pb: this is a" in capsys.readouterr().err
    assert run_command_line(["run", "m.pb", "--input", f"x={tmp_path / 'x.npy'}"]) == 4
    assert "x.npy: this is a" in capsys.readouterr().err


def test_large_files_that_are_no_models(tmp_path: Path) -> None:
    """Nothing of them is read."""
    path = tmp_path / "m.pb"
    path.touch()
    os.truncate(path, 1 << 40)
    with pytest.raises(InvalidModelError, match="1099511627776 bytes, expected at most 2147483647"):
        load_graph(path)


def _bomb(path: Path, size: int) -> None:
    """An archive that says it unpacks to so much, and an array that says it has so many bytes."""
    header = {"descr": "|u1", "fortran_order": False, "shape": (size,)}
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("x.npy", "w") as entry,
    ):
        np.lib.format.write_array_header_1_0(entry, header)
    data = bytearray(path.read_bytes())
    directory = data.index(b"PK\x01\x02")
    struct.pack_into("<I", data, directory + 24, size)
    path.write_bytes(data)


@pytest.mark.parametrize("size", [(1 << 30) + 1, (1 << 32) - 1])
def test_archives_that_would_fill_the_memory(
    size: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _bomb(tmp_path / "x.npz", size)
    assert run_command_line(["run", "m.pb", "--input", f"x={tmp_path / 'x.npz'}"]) == 5
    assert f"would unpack from 77 to {size} bytes" in capsys.readouterr().err


# -- files that are written


def _refused(write: Callable[[Path], None], path: Path) -> str:
    with pytest.raises((OSError, UsageError)) as caught:
        write(path)
    return str(caught.value)


def _written(path: Path) -> None:
    with replacing(path) as file:
        file.write(b"new")


@pytest.mark.parametrize("write", [_written, make_folder])
def test_links_and_devices_are_not_replaced(write: Callable[[Path], None], tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("old")
    for name, to in {"file": target, "nothing": tmp_path / "no", "folder": tmp_path}.items():
        (tmp_path / name).symlink_to(to)
        assert "this is a link" in _refused(write, tmp_path / name)
        assert (tmp_path / name).is_symlink()
    os.mkfifo(tmp_path / "fifo")
    assert "no plain file" in _refused(write, tmp_path / "fifo")
    for device in ("/dev/null", "/dev/zero", "/dev/stdout", "/dev/not_there"):
        assert "/dev is for devices" in _refused(write, Path(device))
    assert "this is a link" in _refused(write, Path("/proc/self/fd/1"))
    assert "no file has such a name" in _refused(write, tmp_path / "a\0b")
    assert target.read_text() == "old" and not (tmp_path / "no").exists()
    assert not Path("/dev/not_there").exists()


MODEL = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "c" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "value"
  value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 4 } } float_val: [1, 2, 3, 4] } } } }
node { name: "y" op: "Mul" input: "x" input: "c" attr { key: "T" value { type: DT_FLOAT } } }
"""


@pytest.mark.parametrize("ending", ["so", "h", "ir", "objects", "so.weights"])
def test_nothing_is_written_through_links(ending: str, tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / f"m.{ending}"
    target.mkdir() if ending == "objects" else target.write_text("old")
    link.symlink_to(target)
    args = ["--weights", "file", "--emit", "so,header,ir,obj", "--fetch", "y"]
    model = tmp_path / "model.pbtxt"
    model.write_text(MODEL)
    args += ["-o", str(tmp_path / "m.so"), "--feed", "x=f32[n,4]"]
    assert run_command_line(["compile", str(model), *args]) == 4
    assert link.is_symlink() and link.resolve() == target
    assert (list(target.iterdir()) if target.is_dir() else target.read_text()) in ([], "old")


# -- files that change, and interrupts


EXPECTED = {
    "a model cut short": "[1.0, 2.0, 3.0]",
    "a model overwritten between two shapes": "[1.0, 2.0, 3.0]",
    "a shard cut short": "error InvalidModelError: ",
    "a shard overwritten": "error DataLossError: ",
    "weights that were read, cut short": "True",
    "mapped weights, cut short": "error LoadError: the weights file ",
    "mapped weights of another library": "error LoadError: the weights file ",
    "mapped weights, replaced": "True",
    "a FIFO as weights": "error LoadError: the weights file ",
    "a FIFO as library": "error LoadError: cannot load ",
    "a FIFO as cache entry": "None",
}


def test_files_may_change_under_a_process() -> None:
    found = outcomes("file_faults", list(FAULTS))
    wrong = {name: text for name, text in found.items() if not text.startswith(EXPECTED[name])}
    assert not wrong


INTERRUPTED = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            os.kill(os.getpid(), signal.SIGINT)
module, model = sys.argv[1:]
sys.meta_path.insert(0, Interrupt())
sys.argv = ["flowc", "run", model, "--random-seed", "1"]
from flowc.cli import main
main()
"""


@pytest.mark.parametrize("module", ["flowc.cli.entry", "click", "numpy", "flowc.run.session"])
def test_an_interrupt_while_modules_are_imported(module: str) -> None:
    command = [sys.executable, "-c", INTERRUPTED, module, str(DATA / "tf1" / "model.meta")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.stderr.strip() == "interrupted"
    assert done.returncode in (130, -signal.SIGINT)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_every_call_that_writes_may_fail(tmp_path: Path) -> None:
    tests = Path(__file__).parents[1]
    shim, child = tmp_path / "failing_calls.so", tests / "support" / "failing_writes_child.py"
    source = tests / "cc" / "failing_calls.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", shim, source, "-ldl"], check=True)
    paths = os.pathsep.join(filter(None, sys.path))
    environment = os.environ | {"PYTHONPATH": paths, "LD_PRELOAD": str(shim)}
    done = subprocess.run([sys.executable, child], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row[3] for row in found] == [[]] * 12
    # Half a write is no failure, and the cache keeps its own to itself.
    assert all((told > 0) == (error > 0 and "cache" not in name) for name, error, told, _ in found)


def test_names_that_are_too_long(tmp_path: Path) -> None:
    """A name that no file can have is that of no file."""
    name = str(tmp_path / ("x" * 300))
    for end in ("", ".pb", ".meta"):
        with pytest.raises(FlowcError, match="File name too long"):
            load_graph(name + end)
    assert latest_checkpoint(name) is None and not has_checkpoint(name)
    with pytest.raises(OSError, match="does not exist"):
        tf.train.import_meta_graph(name)
    with pytest.raises(OSError, match="does not exist"):
        tf.saved_model.load(None, ["serve"], name)
    with pytest.raises(InvalidArgumentError, match="File name too long"):
        tf.io.gfile.GFile(name).read()
    (tmp_path / "checkpoint").write_text(f'model_checkpoint_path: "{"x" * 300}"')
    assert latest_checkpoint(tmp_path) is None
