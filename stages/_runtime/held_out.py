"""Which documents of the corpus no model trains on: a perplexity is measured on them."""

from __future__ import annotations

import hashlib
from collections.abc import Collection

from nightjar.core.errors import NightjarError


def held_out(ids: Collection[str], number: int, seed: int) -> frozenset[str]:
    """The `number` documents that no model trains on: those with the smallest digest of seed and id.

    Which of two documents is held out first does not depend on the others. Raises NightjarError if none is left.
    """
    if number and number >= len(ids):
        what = f"{number} documents cannot be held out of {len(ids)}"
        raise NightjarError(what, "params.yaml: augment.held_out_documents", "set a smaller number")
    order = sorted(ids, key=lambda id: hashlib.blake2b(f"{seed}\n{id}".encode()).digest())
    return frozenset(order[:number])
