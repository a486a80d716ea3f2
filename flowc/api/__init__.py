"""The public Python API, in TensorFlow 1's names. `exports.py` says which module holds which name.

Importing this package gives `Tensor` its operators and nothing else: the op records load when the
first operation is made.
"""

from __future__ import annotations

from flowc.api.framework import operators  # noqa: F401  (installs the operators)
