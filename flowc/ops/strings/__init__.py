"""Strings that the run computes and prints."""
