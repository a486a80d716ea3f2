"""Bytes -> Graph: GraphDef, MetaGraphDef and SavedModel in every form, with their checkpoints."""

from __future__ import annotations

from flowc.importer.load import load_graph

__all__ = ["load_graph"]
