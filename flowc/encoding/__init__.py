"""Protobuf as bytes: the wire format, and tensors as messages hold them."""
