"""The version of flowc: part of every cache key and of every library's metadata."""

VERSION = "0.1.0"
