# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "as_string",
    "bytes_split",
    "format",
    "join",
    "length",
    "lower",
    "ngrams",
    "reduce_join",
    "regex_full_match",
    "regex_replace",
    "split",
    "strip",
    "substr",
    "to_hash_bucket",
    "to_hash_bucket_fast",
    "to_hash_bucket_strong",
    "to_number",
    "unicode_decode",
    "unicode_decode_with_offsets",
    "unicode_encode",
    "unicode_script",
    "unicode_split",
    "unicode_split_with_offsets",
    "unicode_transcode",
    "unsorted_segment_join",
    "upper",
]
from flowc.api.strings.pieces import bytes_split as bytes_split
from flowc.api.strings.pieces import ngrams as ngrams
from flowc.api.strings.pieces import split as split
from flowc.api.strings.pieces import unicode_decode as unicode_decode
from flowc.api.strings.pieces import unicode_decode_with_offsets as unicode_decode_with_offsets
from flowc.api.strings.pieces import unicode_encode as unicode_encode
from flowc.api.strings.pieces import unicode_split as unicode_split
from flowc.api.strings.pieces import unicode_split_with_offsets as unicode_split_with_offsets
from flowc.api.strings.strings import as_string as as_string
from flowc.api.strings.strings import format_ as format
from flowc.api.strings.strings import join as join
from flowc.api.strings.text import lower as lower
from flowc.api.strings.text import reduce_join as reduce_join
from flowc.api.strings.text import regex_full_match as regex_full_match
from flowc.api.strings.text import regex_replace as regex_replace
from flowc.api.strings.text import string_length as length
from flowc.api.strings.text import string_strip as strip
from flowc.api.strings.text import string_to_hash_bucket as to_hash_bucket
from flowc.api.strings.text import string_to_hash_bucket_fast as to_hash_bucket_fast
from flowc.api.strings.text import string_to_hash_bucket_strong as to_hash_bucket_strong
from flowc.api.strings.text import string_to_number as to_number
from flowc.api.strings.text import substr as substr
from flowc.api.strings.text import unicode_script as unicode_script
from flowc.api.strings.text import unicode_transcode as unicode_transcode
from flowc.api.strings.text import unsorted_segment_join as unsorted_segment_join
from flowc.api.strings.text import upper as upper

