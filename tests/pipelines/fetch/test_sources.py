"""The table of published data sets: its names agree with the checksums and with what benchmarks read."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks.classification.formats import FORMATS
from nightjar.benchmarks.tool_use.formats import LOADERS
from nightjar.benchmarks.zeroscrolls.tasks import TASKS as LONG_TASKS
from pipelines.fetch import sources
from tests.pipelines.fetch.conftest import part


@pytest.fixture(scope="module")
def places() -> dict[str, list[str]]:
    """The patterns of the files of each data set, in its folder."""
    patterns: dict[str, list[str]] = {}
    for dataset_part in sources.table().values():
        for source in dataset_part.about.sources:
            for pattern, target in source.files.items():
                place = target + Path(pattern).name if target.endswith("/") else target
                patterns.setdefault(dataset_part.dataset, []).append(Path(place).as_posix())
    return patterns


def test_the_table_is_valid_and_its_checksums_are_of_files_that_it_names(
    places: dict[str, list[str]],
) -> None:
    for name in sources.checksums():
        dataset = name.split("/")[0]
        assert any(Path(name).match(f"{dataset}/{place}") for place in places[dataset]), name


def test_the_table_has_the_files_of_every_task(places: dict[str, list[str]]) -> None:
    """Against what the loaders of the benchmarks read."""
    tool_folders = {place.split("/")[0] for place in places["tool_use"]}
    assert tool_folders == LOADERS.keys() - {"held_out"}, "held_out are texts of one's own"
    assert {place.split("/")[0] for place in places["zeroscrolls"]} == LONG_TASKS.keys()
    for task in ("sst2", "sst5", "trec", "cr", "mr", "mpqa", "subj", "cola", "fever"):
        required = [layout.required for layout in FORMATS if layout.task == task]
        assert any(
            all(any(fnmatchcase(file, place) for place in places["classification"]) for file in files)
            for files in required
        ), task


@pytest.mark.parametrize(
    ("origin", "words"),
    [
        ({"files": {"a": "a"}}, "one address"),
        ({"git": "https://a.b", "url": "https://a.b", "files": {"a": "a"}}, "one address"),
        ({"url": "http://a.b", "files": {"a": "a"}}, "pattern"),
        ({"url": "https://a.b", "files": {"a": "../a"}}, "leaves the folder"),
        ({"url": "https://a.b", "files": {"a": "/a"}}, "leaves the folder"),
        ({"git": "https://a.b", "revision": "--upload-pack=x", "files": {"a": "a"}}, "pattern"),
    ],
)
def test_a_source_that_is_not_safe_is_refused(origin: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        part(origin)
