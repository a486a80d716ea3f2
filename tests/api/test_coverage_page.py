"""docs/coverage.md says of every name of TensorFlow whether it is there."""

from __future__ import annotations

from pages import coverage_page

from flowc.api.namespaces import tensorflow_names


def test_it_is_what_flowc_has() -> None:
    assert coverage_page.PAGE.read_text() == coverage_page.page(), "make coverage"


def test_it_has_every_name() -> None:
    text = coverage_page.PAGE.read_text()
    for path, names in tensorflow_names().items():
        assert f"\n## {path}\n" in text
        assert [n for n in names if f"`{n}`" not in text] == []
