"""The file with the results of papers, read."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightjar.benchmarks.papers import (
    Collection,
    Figure,
    Published,
    PublishedCalls,
    PublishedCurve,
    PublishedFinding,
    PublishedTable,
    read,
)

FILE = """
[[tables]]
title = "Table 1"
source = "Nobody 2030, table 1"
alone = true
tracks = ["days", "nights"]
note = "Nobody asked at night."
[tables.rows]
small = [1.5, "-"]
large = [2.5, 3.0]

[[tables]]
source = "Nobody 2030, table 2"
tracks = ["default"]
metrics = ["first", "second"]
main = "second"
rows = { people = [0.25, 0.5] }

[[tables]]
source = "Nobody 2030, table 5"
tracks = ["days", "nights"]
averages = true
rows = { narrow = [1.0, 2.0, 1.6], wide = [3.0, "-", "-"] }

[[tables]]
title = "Table 3: calls"
tracks = ["days"]
calls = [["days", "large", 9.0, "-", 9.0, 0.0]]

[[curves]]
study = "sizes"
system = "ours"
source = "Nobody 2030"
points = { 1 = "small", 2 = "large" }

[[curves]]
study = "lengths"
system = "ours"
source = "Nobody 2030"
tracks = ["days", "nights"]
points = { 512 = [1.0, "-"] }

[[findings]]
system = "large"
reference = "small"
tracks = ["days"]
paper = "Nobody 2030, table 1, has 2.5 above 1.5"
setting = "with all days (the sample: one)"

[collection]
source = "Nobody 2030, table 4"
notes = "Words are counted."
figures = [["tasks", "tasks", 12], ["words", "words", "-", 1]]

[numbers.lengths]
large = { words = 7.5 }
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "published.toml").write_text(FILE, encoding="utf-8")
    return tmp_path / "published.toml"


def test_a_file_is_read_in_its_order(file: Path) -> None:
    papers = read(file)
    table, both = "Nobody 2030, table 1", {"first": 0.25, "second": 0.5}
    assert papers.rows == (
        Published("small", {"days": 1.5}, table),
        Published("large", {"days": 2.5, "nights": 3.0}, table),
        Published("people", {"default": 0.5}, "Nobody 2030, table 2", both),
        Published("narrow", {"days": 1.0, "nights": 2.0}, "Nobody 2030, table 5", average=1.6),
        Published("wide", {"days": 3.0}, "Nobody 2030, table 5"),
    )
    assert papers.tables == (
        PublishedTable("Table 1", ("days", "nights"), "Nobody asked at night.", source=table),
        PublishedTable(
            "Table 3: calls", ("days",), calls=(PublishedCalls("days", "large", 9.0, None, 9.0, 0.0),)
        ),
    )
    assert papers.curves == (
        PublishedCurve(
            "sizes", "ours", "Nobody 2030", {"1": {"days": 1.5}, "2": {"days": 2.5, "nights": 3.0}}
        ),
        PublishedCurve("lengths", "ours", "Nobody 2030", {"512": {"days": 1.0}}),
    )
    says = ("Nobody 2030, table 1, has 2.5 above 1.5", "with all days (the sample: one)")
    assert papers.findings == (PublishedFinding("large", "small", ("days",), *says),)
    figures = (Figure("tasks", "tasks", 12), Figure("words", "words", None, 1))
    assert papers.collection == Collection("Nobody 2030, table 4", figures, "Words are counted.")
    assert papers.numbers == {"lengths": {"large": {"words": 7.5}}}


def test_a_row_has_a_number_for_each_column(file: Path) -> None:
    file.write_text(FILE.replace("[2.5, 3.0]", "[2.5]"), encoding="utf-8")
    with pytest.raises(ValueError):
        read(file)
