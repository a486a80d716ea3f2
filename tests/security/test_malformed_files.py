"""Files of models, checkpoints and records with something wrong in them are read, or refused: no
signal, no hang, no exception that neither flowc nor TensorFlow has.

`FLOWC_FUZZ=1000` tries 2^14 of them and `FLOWC_FUZZ_SEED` is the first one's seed.
"""

from __future__ import annotations

import os
import warnings
from contextlib import suppress
from pathlib import Path

import pytest
from campaigns.file_mutants import sound_folders
from campaigns.file_trials import FILES, READERS
from campaigns.mutant_trials import faults
from google.protobuf.message import DecodeError

FIRST = int(os.environ.get("FLOWC_FUZZ_SEED", "0"))
COUNT = int(os.environ.get("FLOWC_FUZZ", "4")) * 2**14 // 1000
AT_ONCE = 256


@pytest.mark.parametrize("first", range(FIRST, FIRST + COUNT, AT_ONCE))
def test_fuzzed_graphs_of_files(first: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = faults(range(first, min(first + AT_ONCE, FIRST + COUNT)), FILES)
    assert not found, "\n".join(found)


def test_all_of_them_are_sound_before(tmp_path: Path) -> None:
    """Each reader takes the folder that its mutants are made from, or another one of its kind."""
    kinds: dict[str, set[str]] = {}
    for number, folder in enumerate(sound_folders()):
        root = tmp_path / str(number)
        for name, content in folder.files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        for read in READERS[folder.kind]:
            with suppress(RuntimeError, DecodeError):  # tags of one model, records of the other
                read(root / folder.model)
                kinds.setdefault(folder.kind, set()).add(read.__name__)
    assert kinds == {kind: {read.__name__ for read in found} for kind, found in READERS.items()}
