"""The machine that a report was made on, as text: processor, vectors, memory, system, date."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from pathlib import Path


def described_machine() -> dict[str, str]:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    pairs = (line.split(":", 1) for line in lines if ":" in line)
    cpu = {key.strip(): value.strip() for key, value in pairs}
    flags = set(cpu.get("flags", "").split())
    vectors = [f for f in ("avx2", "fma", "avx512f", "avx512_vnni", "amx_tile") if f in flags]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    virtual = ", virtual" if "hypervisor" in flags else ""
    return {
        "processor": cpu.get("model name", platform.machine()),
        "vectors": " ".join(vectors),
        "cores": f"{os.cpu_count()}{virtual}",
        "caches": _caches(),
        "memory": f"{memory:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "load": f"{os.getloadavg()[0]:.1f}",
        "date": datetime.now(UTC).date().isoformat(),
    }


def _caches() -> str:
    """The sizes of the first core's caches for data, by level."""
    folders = sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"))
    read = lambda folder, name: (folder / name).read_text().strip()
    sizes = [read(f, "size") for f in folders if read(f, "type") != "Instruction"]
    return ", ".join(sizes) or "unknown"
