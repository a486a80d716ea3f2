"""What editors say of programs that use flowc: a misspelt name is an error, names are completed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import flowc

FOLDER = Path(flowc.__file__).parents[1]
PYRIGHT = shutil.which("pyright") or shutil.which("pyright", path=str(Path(sys.executable).parent))


@pytest.mark.skipif(PYRIGHT is None, reason="no pyright")
def test_a_misspelt_name_is_an_error(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import flowc as tf\n\ntf.placeholder\ntf.plaecholder\n")
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(FOLDER)]}))
    done = subprocess.run(
        [str(PYRIGHT), "--outputjson", "-p", str(tmp_path)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(FOLDER)},
        timeout=300,
    )
    if not done.stdout.startswith("{"):
        pytest.skip(f"pyright does not run here: {done.stderr[:200]}")
    found = json.loads(done.stdout)["generalDiagnostics"]
    errors = [d for d in found if d["severity"] == "error"]
    assert [(d["range"]["start"]["line"], d["rule"]) for d in errors] == [
        (3, "reportAttributeAccessIssue")
    ]
    assert "plaecholder" in errors[0]["message"]


def test_names_are_completed() -> None:
    jedi: Any = pytest.importorskip("jedi")
    project = jedi.Project(FOLDER)
    for text, name in (("tf.nn.soft", "softmax"), ("tf.Session().r", "run")):
        script = jedi.Script(f"import flowc as tf\n{text}", project=project)
        assert name in [c.name for c in script.complete()], text
