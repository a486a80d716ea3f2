"""Runs of compiled programs: what a Session compiles, keeps and shares between runs."""
