"""Documents are held out by their ids and the seed alone."""

from __future__ import annotations

import pytest

from nightjar.core.errors import NightjarError
from stages._runtime.held_out import held_out


def test_a_document_is_held_out_whatever_the_others_are() -> None:
    ids = [f"doc-{n}" for n in range(50)]
    chosen = held_out(ids, 10, 1)
    assert len(chosen) == 10 and chosen == held_out(list(reversed(ids)), 10, 1) != held_out(ids, 10, 2)
    # With fewer documents, those of them that were held out remain so.
    assert chosen & set(ids[:25]) <= held_out(ids[:25], 10, 1)
    assert held_out(ids, 0, 1) == frozenset()
    with pytest.raises(NightjarError, match="50 documents cannot be held out of 50"):
        held_out(ids, 50, 1)
