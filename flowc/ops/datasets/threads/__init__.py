"""Threads that compute elements of datasets."""
