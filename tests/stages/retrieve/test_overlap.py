"""Pairs of texts of which one holds the other, against comparing all of them."""

from __future__ import annotations

import math
import re

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from stages.retrieve import overlap
from stages.retrieve.overlap import Corpus

# Few words, so that texts hold one another; runs longer than the longest checksum.
TEXT = st.lists(st.sampled_from(["a", "b", "B", "c-", "?"]), max_size=14).map(" ".join)
TEXTS = st.lists(TEXT, max_size=12)


def _words(text: str) -> str:
    return " ".join(re.findall(r"[a-z]+", text.lower()))


@given(TEXTS, TEXTS, st.sampled_from([0, 1, 2, math.inf]))
def test_all_pairs_are_found(queries: list[str], passages: list[str], beside: float) -> None:
    found = Corpus(pa.chunked_array([passages], pa.string()), together=5).overlaps(queries, beside)
    expected = []
    for i, query in enumerate(map(_words, queries)):
        for j, passage in enumerate(map(_words, passages)):
            more = len(passage.split()) - len(query.split())
            held = f" {passage} " in f" {query} " or (f" {query} " in f" {passage} " and more <= beside)
            if query and passage and held:
                expected.append((i, j, query == passage))
    assert (
        list(zip(found.queries.tolist(), found.passages.tolist(), found.equal.tolist(), strict=True))
        == expected
    )


def test_words_in_any_script() -> None:
    texts = pa.chunked_array([["  Größe: 3,5\u00a0m!", "¿Qué?", "हिन्दी भाषा", "Gro\u0308\u00dfe", "—"]])
    assert overlap.as_words(texts).to_pylist() == ["größe 3 5 m", "qué", "हिन्दी भाषा", "größe", ""]
