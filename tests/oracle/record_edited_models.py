"""Writes a model of TensorFlow's, has `flowc edit` edit it, and records what TensorFlow computes.

    V/bin/python tests/oracle/record_edited_models.py    # V has tensorflow-cpu 2.21.0 and flowc

`FLOWC`, if set, is the command in another environment.

Out: `tests/data/lookup/` and `tests/recorded/edited_models.json`.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow.compat.v1 as tf

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "support")]

from edited_models import (
    EDITS,
    EXTRACTS,
    FREEZES,
    computed,
    computed_from_initial_values,
    computed_when_frozen,
    write_model,
)

FLOWC = shlex.split(os.environ.get("FLOWC", f"{sys.executable} -m flowc"))


def _made(command: list[str], out: str) -> str:
    subprocess.run([*FLOWC, *command, "-o", out], check=True)
    return out


def main() -> None:
    tf.disable_eager_execution()
    tf.disable_resource_variables()
    folder = TESTS / "data" / "lookup"
    folder.mkdir(exist_ok=True)
    write_model(tf, str(folder))
    recorded: dict[str, dict[str, object]] = {"edit": {}, "extract": {}, "freeze": {}}
    model = str(folder / "lookup.meta")
    with tempfile.TemporaryDirectory() as scratch:
        for name, edit in EDITS.items():
            out = _made(["edit", model, *edit], f"{scratch}/edited.meta")
            recorded["edit"][name] = computed(tf, out, str(folder / "lookup"))
        for name, extract in EXTRACTS.items():
            out = _made(["extract", model, *extract], f"{scratch}/part.meta")
            recorded["extract"][name] = computed_from_initial_values(tf, out)
        for name, freeze in FREEZES.items():
            out = _made(["freeze", model, *freeze], f"{scratch}/frozen.pb")
            recorded["freeze"][name] = computed_when_frozen(tf, out)
    text = json.dumps(recorded, indent=0)
    (TESTS / "recorded" / "edited_models.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
