"""Summaries and the event files that hold them."""
