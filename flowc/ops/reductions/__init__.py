"""Folds along axes, scans, segments, sorting and counting."""
