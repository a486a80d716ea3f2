"""What records hold, taken apart: serialized examples, CSV lines, raw bytes, files as strings."""
