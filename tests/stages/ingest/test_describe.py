"""What a collection holds: counted by hand, by brute force, and over the real files."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.ingest.natural_instructions import describe, ingest_natural_instructions, top_level


def row(task_id: str, **changes: Any) -> dict[str, Any]:
    value: dict[str, Any] = {
        "task_id": task_id,
        "definition": ["Add  the\nnumbers.", "ignored"],
        "categories": ["Mathematics"],
        "domains": [],
        "input_language": ["English"],
        "output_language": ["English"],
        "positive_examples": [{}, {}],
        "negative_examples": [{}],
    }
    return {**value, **changes}


NAMES = st.lists(st.sampled_from(["A", "B", "A -> x", "A -> y", "English"]), max_size=4)


@given(st.lists(st.tuples(NAMES, NAMES, st.integers(0, 9)), max_size=8))
def test_brute_force(given_rows: list[tuple[list[str], list[str], int]]) -> None:
    rows = [row(str(n), domains=one, output_language=two) for n, (one, two, _) in enumerate(given_rows)]
    counts = {str(n): count for n, (_, _, count) in enumerate(given_rows)}
    found = describe(rows, counts)
    for name, of in (
        ("domains", [{top_level(it) for it in one} for one, _, _ in given_rows]),
        ("languages", [{"English", *two} for _, two, _ in given_rows]),
    ):
        told = found["distributions"][name]
        assert [entry[0] for entry in told] == [
            entry[0] for entry in sorted(told, key=lambda entry: (-entry[1], entry[0]))
        ]
        for value, tasks, instances in told:
            having = [n for n, values in enumerate(of) if value in values]
            assert (tasks, instances) == (len(having), sum(given_rows[n][2] for n in having))
        assert {entry[0] for entry in told} == set().union(*of)
    assert found["non_english_tasks"] == sum(set(two) > {"English"} or bool(set(two) - {"English"})
                                             for _, two, _ in given_rows)  # fmt: skip


def test_whole_folders(task_files: list[Path], tmp_path: Path) -> None:
    """Table 2 of the sample's 63 tasks, or of the 156 real ones, from the files as they are."""
    values = [json.loads(file.read_text(encoding="utf-8")) for file in task_files]
    found = ingest_natural_instructions(task_files[0].parents[1], tmp_path / "out").collection
    assert found is not None
    taken = sum(
        bool(item["input"].strip()) and all(text.strip() for text in item["output"])
        for value in values
        for item in value["Instances"]
    )
    languages = [{*value["Input_language"], *value["Output_language"]} for value in values]
    domains = Counter(domain for value in values for domain in set(value["Domains"]))
    assert {name: value for name, value in found.items() if name != "distributions"} == {
        "tasks": len(task_files),
        "task_types": len({name for value in values for name in value["Categories"]}),
        "languages": len(set().union(*languages)),
        "domains": len({name.split("->")[0].strip() for name in domains}),
        "domains_in_full": len(domains),
        "non_english_tasks": sum(names != {"English"} for names in languages),
        "definition_words": mean(len(value["Definition"][0].split()) for value in values),
        "positive_examples": mean(len(value["Positive Examples"]) for value in values),
        "negative_examples": mean(len(value["Negative Examples"]) for value in values),
        # Blank instances are not taken: seven of the real ones.
        "instances_per_task": pytest.approx(taken / len(task_files), abs=0.006),
    }
    counts = (len(task_files), taken, found["task_types"], found["languages"], found["domains_in_full"])
    assert counts in {(156, 317_917 - 7, 34, 4, 52), (63, 5345, 34, 5, 13)}
    in_full = found["distributions"]["domains_in_full"]
    assert [[name, tasks] for name, tasks, _ in in_full] == sorted(
        map(list, domains.items()), key=lambda pair: (-pair[1], pair[0])
    )


def mean(numbers: Any) -> float:
    listed = list(numbers)
    return round(sum(listed) / len(listed), 2)
