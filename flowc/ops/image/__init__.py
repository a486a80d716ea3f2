"""Resizing, patches and object detection."""
