"""`flowc doctor`: whether this machine has what flowc needs, and what to do where it has not."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

import click

from flowc.cli.parameters import debug_option
from flowc.version import FLOWC_VERSION

PROBLEM = 5  # the exit code where something is missing
PACKAGES = ("numpy", "numba", "llvmlite", "protobuf", "ml_dtypes", "click", "rich")

Finding = tuple[bool, str, str]  # whether it is well, what was looked at, what was found


@click.command("doctor")
@debug_option
def doctor_command() -> int:
    """Say what flowc finds on this machine: Python, packages, processor, linker, cache, memory.

    Exits with 5 where something is missing that libraries or Sessions need.
    """
    found = [*_platform(), *_packages(), *_linker(), *_cache(), *_runs()]
    for is_well, what, text in found:
        print(f"{'ok' if is_well else 'NO':>4}  {what:<10} {text}")
    return 0 if all(is_well for is_well, _, _ in found) else PROBLEM


def _platform() -> Iterator[Finding]:
    from flowc.files.process import usable_cores
    from flowc_runtime.machine import memory_of_machine

    machine, system = platform.machine(), platform.system()
    yield True, "flowc", f"{FLOWC_VERSION}, Python {platform.python_version()} at {sys.executable}"
    fits = (system, machine) == ("Linux", "x86_64")
    yield fits, "machine", f"{system} {machine}" + ("" if fits else ": only Linux x86_64 is tested")
    cores = usable_cores()
    yield True, "cores", f"{cores}; {memory_of_machine() / (1 << 30):.1f} GiB of memory"


def _packages() -> Iterator[Finding]:
    for name in PACKAGES:
        try:
            yield True, name, version(name)
        except PackageNotFoundError:
            yield False, name, f"not installed: pip install {name}"


def _linker() -> Iterator[Finding]:
    from flowc.codegen.link.linker import LinkError, find_linker

    try:
        yield True, "linker", str(find_linker())
    except LinkError as error:
        yield False, "linker", str(error).replace("\n", " ")


def _cache() -> Iterator[Finding]:
    from flowc.files.cache_folder import cache_folder

    folder = cache_folder()
    yield True, "cache", "off" if folder is None else str(folder)


def _runs() -> Iterator[Finding]:
    """A small program, compiled and run."""
    import flowc as tf

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None], name="x")
        found = session.run(x * 2 + 1, {x: [1.0, 2.0]})
    yield found.tolist() == [3.0, 5.0], "a program", f"compiles and runs: 2 * [1, 2] + 1 = {found}"
