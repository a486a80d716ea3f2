"""Which module holds which public name, where names are of strings, records, their parsing, and of
ragged and sparse tensors that texts become; `exports.py` has the others.

In: nothing. Out: `TOP` and `NAMESPACES`, tables of the form that `exports.py` reads.
"""

from __future__ import annotations

from collections.abc import Mapping

_RECORD_FILES = "TFRecordCompressionType TFRecordOptions TFRecordWriter tf_record_iterator"

TOP: Mapping[str, str] = {}
NAMESPACES: Mapping[str, Mapping[str, str]] = {
    "io": {"flowc.api.io.record_files": _RECORD_FILES},
    "python_io": {"flowc.api.io.record_files": _RECORD_FILES},
}
