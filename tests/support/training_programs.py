"""The programs of `examples/training`, run with flowc or with TensorFlow.

In: the name of a program and the module that takes flowc's place. Out: the losses of its steps.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

FOLDER = Path(__file__).parents[2] / "examples" / "training"
STEPS = 200
SEED = 1  # of the graph: of what a program draws without a seed of its own
NAMES = sorted(p.stem for p in FOLDER.glob("*.py") if p.stem != "data")


def losses_of(name: str, tf: Any, steps: int = STEPS) -> list[float]:
    """The loss of every step of a program whose line `import flowc as tf` means the module `tf`."""
    with tf.Graph().as_default():
        tf.set_random_seed(SEED)
        return [float(loss) for loss in _module(name, tf).train(steps)]


def _module(name: str, tf: Any) -> ModuleType:
    path = FOLDER / f"{name}.py"
    tree = ast.parse(path.read_text(), str(path))
    tree.body = [node for node in tree.body if not _imports_flowc(node)]
    module = ModuleType(name)
    module.__dict__.update(tf=tf, __file__=str(path))
    sys.path.insert(0, str(FOLDER))
    try:
        exec(compile(tree, str(path), "exec"), module.__dict__)
    finally:
        sys.path.remove(str(FOLDER))
    return module


def _imports_flowc(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import) and [a.name for a in node.names] == ["flowc"]
