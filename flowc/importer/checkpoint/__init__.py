"""Checkpoints: bundles (V2) and tensor slices (V1), read without TensorFlow."""

from __future__ import annotations

from flowc.importer.checkpoint.locate import find_checkpoint, latest_checkpoint
from flowc.importer.checkpoint.reader import CheckpointReader

__all__ = ["CheckpointReader", "find_checkpoint", "latest_checkpoint"]
