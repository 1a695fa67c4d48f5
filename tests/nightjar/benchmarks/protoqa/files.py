"""Rows of the dataset for tests, written for them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def row(id: str = "q1", **clusters: Any) -> dict[str, Any]:
    """A question in the current form; a cluster is NAME={count, answers}."""
    known = clusters or {
        "rain": {"count": 60, "answers": ["rain", "a shower"]},
        "snow": {"count": 40, "answers": ["snow"]},
    }
    named = {f"{id}.{name}": cluster for name, cluster in known.items()}
    text = "Name something that falls from the sky."
    return {
        "metadata": {"id": id, "source": "made"},
        "question": {"original": text, "normalized": text.lower()},
        "answers": {"raw": {"rain": 50, "a shower": 10, "snow": 40}, "clusters": named},
        "num": {"answers": 100, "clusters": 2},
    }


def put(path: Path, rows: Iterable[Any]) -> Path:
    """The rows as JSON Lines; texts as they are."""
    lines = (one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in rows)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path
