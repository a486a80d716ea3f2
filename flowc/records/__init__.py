"""TFRecord files: sequences of byte strings with checksums, plain or compressed."""
