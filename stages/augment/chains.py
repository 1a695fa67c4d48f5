"""What the facts say of chains: calls that follow another at the same place."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from nightjar.tools import find


def chains(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Counts of rows of contracts.CANDIDATES.

    `kept`: the kept calls by their number in the chain. Of the second and later ones: `sampled`, kept or not; `saved`,
    the nats that the kept ones save beyond those before them; `use_result`, the kept ones whose input has an earlier
    result.
    """
    kept: Counter[int] = Counter()
    sampled = use_result = 0
    saved = 0.0
    for row in rows:
        found = find(f" {row['call']}", names=None)
        earlier = [one.result for one in found if one.result is not None]
        sampled += bool(earlier)
        if row["status"] == "kept":
            kept[len(found)] += 1
            if earlier:
                saved += row["gain"]
                use_result += any(_has(found[-1].call.input, result) for result in earlier)
    numbers = {str(number): kept[number] for number in sorted(kept)}
    return {"kept": numbers, "sampled": sampled, "saved": round(saved, 4), "use_result": use_result}


def _has(given: str, result: str) -> bool:
    """Whether the input has the result as a word or number of its own: 12 and 1.25 do not have 2."""
    return bool(re.search(rf"(?<![\w.]){re.escape(result)}(?!\w|\.\d)", given))
