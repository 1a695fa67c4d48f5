"""The rows of the public data sets from which the texts of a real run of Toolformer are made."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from nightjar.benchmarks.source_rows import InvalidRow
from nightjar.benchmarks.tool_use.formats import before_mask


def words(text: str) -> str:
    """The letters and digits of a text, by which texts are compared."""
    return " ".join(re.findall(r"\w+", text.lower()))


def trained(subject: str) -> bool:
    """Tell whether the statements of a subject of T-REx are documents; otherwise they are evaluated."""
    return hashlib.blake2b(subject.encode()).digest()[0] % 2 == 0


def tasks(folder: Path, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Inputs and first outputs of the instances of tasks."""
    for name in names:
        for path in sorted(folder.glob(f"{name}*.json")):
            for instance in json.loads(path.read_text("utf-8"))["Instances"]:
                yield instance["input"].strip(), instance["output"][0].strip()


def trex(source: Path) -> Iterator[tuple[Path, str, dict[str, Any], list[str], str | None]]:
    """Rows of T-REx: file, line, row, its sentences, and the one that can be completed."""
    for path in sorted((source / "tool-benchmarks/lama/TREx").glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            row, sentences, statement = json.loads(line), list[str](), None
            for evidence in row["evidences"]:
                completed = evidence["masked_sentence"].replace("[MASK]", evidence["obj_surface"])
                sentences.append(completed)
                try:
                    before_mask(evidence["masked_sentence"], "[MASK]")
                except InvalidRow:
                    continue
                statement = statement or completed
            yield path, line, row, sentences, statement


def google_re(source: Path) -> Iterator[dict[str, Any]]:
    """Rows of Google-RE, all of which are evaluated."""
    for path in sorted((source / "tool-benchmarks/lama/Google_RE").glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            yield json.loads(line)
