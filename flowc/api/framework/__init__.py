"""Graphs, scopes, conversions, raw ops, models: what every other family uses."""
