"""Lookup tables: from keys to values, for as long as a Session lives."""
