"""Rows of the artifacts that the tests of several stages read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nightjar.core import contracts
from nightjar.core.tables import ArtifactWriter


def instance(task: str, id: str, text: str, *outputs: str, index: int = 0, **more: str) -> dict[str, Any]:
    """An instance of Super-NaturalInstructions; a test instance has its track and category as `more`."""
    about = {"dataset": "natural_instructions", "file": f"tasks/{task}.json", "task_id": task}
    return {**more, **about, "id": id, "index": index, "input": text, "outputs": list(outputs)}


def document(id: str, text: str, title: str = "") -> dict[str, Any]:
    about = {"dataset": "corpus", "file": "a.jsonl", "title": title, "url": "", "date": None}
    return {**about, "id": id, "text": text}


def write_documents(folder: Path, documents: Sequence[str] | Mapping[str, str]) -> Path:
    """A corpus of texts by id; a list of texts has the ids d0, d1, and so on."""
    texts = documents if isinstance(documents, Mapping) else {f"d{n}": it for n, it in enumerate(documents)}
    with ArtifactWriter(folder) as writer:
        writer.write(contracts.DOCUMENTS, [document(id, text) for id, text in texts.items()])
    return folder


def write_passages(folder: Path, texts: Sequence[str]) -> Path:
    """An index of passages without its vectors and words."""
    blank = {"document_id": "d", "title": "", "start": 0}
    with ArtifactWriter(folder) as writer:
        writer.write(contracts.PASSAGES, [{**blank, "passage": n, "text": it} for n, it in enumerate(texts)])
    return folder
