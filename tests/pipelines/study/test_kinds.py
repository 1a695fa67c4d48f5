"""Studies that set one key: which one, for which system, and which values are refused before anything runs."""

from __future__ import annotations

from contextlib import nullcontext
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from nightjar.core.contracts import DOCUMENTS
from nightjar.core.errors import NightjarError
from nightjar.core.tables import ArtifactWriter
from pipelines.commands.study import check_cuts
from pipelines.execution.profiles import put
from pipelines.study import kinds as study_kinds
from pipelines.study import plot as study_plot
from pipelines.study import study as studies
from pipelines.study.kinds import KINDS, Kind, Point, default_system, points
from tests.pipelines.conftest import Repo
from tests.pipelines.study.test_plot import made

SYSTEMS = [
    {"benchmark": "made", "system": "plain", "weights": "models/base/lm", "evidence": "data/questions/made"},
    {
        "benchmark": "made",
        "system": "far",
        "weights": "models/readers/far_4",
        "evidence": "data/retrieve/made",
    },
    {"benchmark": "made", "system": "near", "weights": "models/readers/near", "evidence": "data/rerank/made"},
]
PARAMS: dict[str, Any] = {
    "predict": {"systems": {f"made-{one['system']}": one for one in SYSTEMS}},
    "rerank": {"candidates": None, "benchmarks": {"made": {"model": "models/base/lm"}}},
    "retrieve": {"benchmarks": {"made": {"retriever": "dense"}}},
    "readers": {"far_4": {"passages": 4}, "near": {"passages": 8}},
    "index": {"granularity": "words"},
    "encoding": {"max_source_length": 1024},
}


def made_points(
    kind: str, system: str = "near", values: list[str] | None = None, root: Path = Path(), **params: Any
) -> list[Point]:
    return points(root, kind, PARAMS | params, "made", system, values or [])


@pytest.mark.parametrize(
    ("kind", "system", "key"),
    [
        ("candidates", "near", "rerank.candidates"),
        ("passages", "near", "readers.near.passages"),
        ("passages", "far", "readers.far_4.passages"),
        ("reranker", "near", "rerank.benchmarks.made.model"),
        ("granularity", "far", "index.granularity"),
        ("retriever", "far", "retrieve.benchmarks.made.retriever"),
        ("input_length", "plain", "encoding.max_source_length"),
    ],
)
def test_the_key_of_a_kind(kind: str, system: str, key: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    values = [str(tmp_path)] if kind == "reranker" else []
    assert {name for it in made_points(kind, system, values) for name in it.settings} == {key}


@pytest.mark.parametrize(
    ("text", "title", "refused"),
    [
        ("A nightjar hunts moths at dusk.", "", True),
        ("It hunts moths. It lays two eggs.", "", False),
        ("A nightjar hunts moths at dusk.", "Nightjar", False),
    ],
)
def test_a_corpus_of_one_sentence_a_document_has_one_granularity(
    text: str, title: str, refused: bool, tmp_path: Path
) -> None:
    row = {"dataset": "corpus", "file": "a.txt", "title": title, "url": "", "date": None, "text": text}
    with ArtifactWriter(tmp_path / "data/ingest/corpus") as writer:
        writer.write(DOCUMENTS, [{**row, "id": str(number)} for number in range(3)])
    with pytest.raises(NightjarError, match="3 of 3 documents") if refused else nullcontext():
        check_cuts(tmp_path, 100)


def test_a_system_that_the_setting_is_not_for() -> None:
    with pytest.raises(NightjarError, match=r"unknown key readers\.lm\.passages"):
        put(deepcopy(PARAMS), made_points("passages", "plain")[0].settings, "params.yaml", "")
    with pytest.raises(NightjarError, match=r"unknown key retrieve\.benchmarks\.other\.retriever"):
        put(deepcopy(PARAMS), {"retrieve.benchmarks.other.retriever": "dense"}, "params.yaml", "")


def test_by_default_the_system_that_reads_reranked_passages() -> None:
    assert default_system("passages", SYSTEMS, "made") == "near"
    assert default_system("passages", SYSTEMS[:2], "made") == "far"
    assert default_system("passages", SYSTEMS[:1], "made") is None
    assert default_system("passages", SYSTEMS, "other") is None


def test_by_default_the_first_system_at_several_lengths_of_input() -> None:
    assert default_system("input_length", SYSTEMS, "made") == "plain"
    assert default_system("input_length", SYSTEMS, "other") is None


def test_keys_that_take_precedence_are_null() -> None:
    def settings(kind: str, **benchmarks: Any) -> dict[str, Any]:
        point = made_points(kind, benchmarks=benchmarks)[0]
        return {key: value for key, value in point.settings.items() if value is None}

    key = "benchmarks.made.total_tokens"
    assert settings("input_length", made={"total_tokens": 2048}) == {key: None}
    assert settings("input_length", made={"total_tokens": None}) == {}
    assert settings("input_length", other={}) == {}
    assert settings("passages", made={"total_tokens": 2048}) == {}


def test_values(tmp_path: Path) -> None:
    def values(kind: str, given: list[str]) -> dict[str, Any]:
        found = made_points(kind, values=given, root=tmp_path)
        return {it.label: next(iter(it.settings.values())) for it in found}

    assert list(values("candidates", ["100", "16"]).items()) == [("16", 16), ("100", 100)]
    assert list(values("input_length", [])) == ["512", "1024", "2048", "4096", "8192"]
    assert list(values("passages", []).values()) == [4, 8, 16, 24]
    assert values("retriever", ["bm25", "dense"]) == {"bm25": "bm25", "dense": "dense"}
    with pytest.raises(NightjarError, match="no values for rerank"):
        values("reranker", [])
    with pytest.raises(NightjarError, match=r"nowhere: no model there \(no config.json\)"):
        values("reranker", ["nowhere"])
    with pytest.raises(NightjarError, match="no model there"):
        values("reranker", ["m" * 5000])
    (tmp_path / "small").mkdir()
    (tmp_path / "small/config.json").write_text("{}")
    assert values("reranker", ["small"]) == {"small": str(tmp_path / "small")}


def test_a_plan_has_a_point_for_each_value(study_repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    one = Kind("predict.{benchmark}.max_new_tokens", published=(2, 3))
    monkeypatch.setattr(study_kinds, "KINDS", {**KINDS, "made": one})

    def planned(values: list[str]) -> studies.Study:
        return studies.plan(study_repo.root, "made", values, recipe="tk_instruct")

    plan = planned(["9", "4"])
    assert [(it.label, it.settings, it.against) for it in plan.points] == [
        ("4", {"predict.supernatinst.max_new_tokens": 4}, None),
        ("9", {"predict.supernatinst.max_new_tokens": 9}, "4"),
    ]
    assert len({it.name for it in plan.points}) == 2
    assert [it.label for it in planned([]).points] == ["2", "3"]
    assert [it.label for it in planned(["4", "04"]).points] == ["4"]
    words = Kind("predict.{benchmark}.precision", published=("float32",))
    monkeypatch.setattr(study_kinds, "KINDS", {**KINDS, "made": words})
    with pytest.raises(NightjarError, match="precision = 'half' is not allowed"):
        planned(["float32", "half"])


def test_a_study_of_the_length_of_input_sets_it(study_repo: Repo) -> None:
    plan = studies.plan(study_repo.root, "input_length", ["1024", "512"], recipe="tk_instruct")
    assert plan.name == "input_length-tk_instruct"
    assert [dict(it.settings) for it in plan.points] == [
        {"encoding.max_source_length": 512},
        {"encoding.max_source_length": 1024},
    ]


def test_names_are_evenly_spaced_in_their_order() -> None:
    result = made(["default"]) | {"study": "retriever"}
    for point, name in zip(result["points"], ("dense", "bm25", "hybrid"), strict=True):
        point["value"] = name
    figure = study_plot.figure(result)
    figure.draw_without_rendering()
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["dense", "bm25", "hybrid"]
    assert list(axes.get_xticks()) == [0, 1, 2] and axes.get_xlabel() == "first stage"
