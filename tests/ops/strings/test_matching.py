"""Matches that are replaced, where some of a text's have no letters: as RE2 finds them."""

from __future__ import annotations

import flowc as tf

TEXTS = ["baac", "", "xaay", "éaé", "aa", "abab"]
REPLACED = {  # what TensorFlow gives
    ("a*", "-"): ["-b-c-", "-", "-x-y-", "-é-é-", "-", "-b-b-"],
    ("a+", r"[\0]"): ["b[aa]c", "", "x[aa]y", "é[a]é", "[aa]", "[a]b[a]b"],
    ("(a)(b)?", r"\2\1"): ["baac", "", "xaay", "éaé", "aa", "baba"],
}


def test_texts_with_matches_of_no_letters() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        for (pattern, rewrite), wanted in REPLACED.items():
            found = session.run(tf.strings.regex_replace(TEXTS, pattern, rewrite))
            assert [text.decode() for text in found] == wanted
