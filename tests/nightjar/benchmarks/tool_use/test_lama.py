"""LAMA: statements that end in their mask are kept, the others refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks.question import Record, Refused
from nightjar.benchmarks.tool_use.formats import load_lama as load
from nightjar.core.errors import NightjarError
from tests.nightjar.benchmarks.tool_use.files import kept, put_lines, reasons

SQUAD = {
    "masked_sentences": ["The colour was [MASK]."],
    "obj_label": "gold",
    "id": "s_0",
    "sub_label": "Squad",
}
GOOGLE_RE = {
    "pred": "/people/person/place_of_birth",
    "sub_label": "Ann Lee",
    "obj_label": "Lebanon",
    "obj_aliases": ["lb"],
    "evidences": [{"snippet": "Ann Lee was born in Lebanon.", "considered_sentences": []}],
    "uuid": "g-0",
    "masked_sentences": ["Ann Lee is a writer .", "She was born in [MASK] ."],
}
TREX = {
    "uuid": "t-0",
    "obj_label": "Doncaster",
    "sub_label": "Bob",
    "predicate_id": "P19",
    "evidences": [
        {"sub_surface": "Bob", "masked_sentence": "Bob, of [MASK], was there."},
        {"sub_surface": "Bob", "masked_sentence": "Bob was born in ([MASK])."},
        {"sub_surface": "Bob", "masked_sentence": "He lived in [MASK]."},
    ],
}
SQUAD_FILE, GOOGLE_RE_FILE, TREX_FILE = (
    "lama/Squad/test.jsonl", "lama/Google_RE/place_of_birth_test.jsonl", "lama/TREx/P19.jsonl",
)  # fmt: skip


def squad(folder: Path, *rows: Any) -> list[Record | Refused]:
    put_lines(folder, SQUAD_FILE, *rows)
    return list(load(folder))


def test_the_fields_of_each_part(tmp_path: Path) -> None:
    put_lines(tmp_path, GOOGLE_RE_FILE, GOOGLE_RE)
    put_lines(tmp_path, TREX_FILE, TREX)
    assert squad(tmp_path, SQUAD) == [
        Record("lama_squad", "s_0", SQUAD_FILE, {"text": "The colour was"}, ("gold",)),
        Record(
            "lama_google_re", "g-0", GOOGLE_RE_FILE, {"text": "Ann Lee is a writer . She was born in"}, ("Lebanon",)
        ),
        Record("lama_trex", "t-0", TREX_FILE, {"text": "Bob was born in ("}, ("Doncaster",)),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"masked_sentences": ["The [MASK] was gold."]}, "[MASK] is not the final token"),
        ({"masked_sentences": ["It was [MASK] 5."]}, "[MASK] is not the final token"),
        ({"masked_sentences": ["Colour [MASK] is [MASK]."]}, "[MASK] occurs 2 times"),
        ({"masked_sentences": ["It was gold."]}, "[MASK] occurs 0 times"),
        ({"masked_sentences": ["[MASK]."]}, "nothing stands before [MASK]"),
        ({"masked_sentences": []}, "masked_sentences is not a list of at least one text"),
        ({"masked_sentences": "It was [MASK]."}, "masked_sentences is not a list of at least one text"),
        ({"masked_sentences": [7]}, "a sentence is not a string"),
        ({"obj_label": None}, "no obj_label"),
        ({"id": 7}, "id is not a string"),
    ],
)
def test_refused_statements(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    rows = squad(tmp_path, SQUAD | {"id": "good"}, SQUAD | change)
    assert [it.id for it in kept(rows)] == ["good"] and reasons(rows) == [reason]


def test_lines_that_are_not_json_are_refused_with_their_text(tmp_path: Path) -> None:
    rows = squad(tmp_path, "{cut", SQUAD, "", "[1]", '{"id": "a", "id": "b"}', SQUAD)
    assert [it.id for it in kept(rows)] == ["s_0"]
    first, *others = reasons(rows)
    assert first.startswith("not JSON")
    assert others == ["not an object", "the key 'id' occurs twice", "the id 's_0' occurs twice"]
    assert [it.raw for it in rows if isinstance(it, Refused)][:2] == ["{cut", "[1]"]


@pytest.mark.parametrize(
    ("evidences", "reason"),
    [
        ([{"masked_sentence": "A [MASK] b."}, {"masked_sentence": "[MASK]."}], "[MASK] is not the final token"),
        ([], "evidences is not a list of at least one text"),
        (["It was [MASK]."], "an evidence is not an object"),
        ([{"masked_sentence": None}], "no masked_sentence"),
    ],
)  # fmt: skip
def test_refused_facts(tmp_path: Path, evidences: Any, reason: str) -> None:
    put_lines(tmp_path, TREX_FILE, TREX | {"evidences": evidences})
    assert reasons(list(load(tmp_path))) == [reason]


def test_an_id_occurs_once_in_all_files_of_a_part(tmp_path: Path) -> None:
    put_lines(tmp_path, TREX_FILE, TREX)
    put_lines(tmp_path, "lama/TREx/P20.jsonl", TREX)
    rows = list(load(tmp_path))
    assert len(kept(rows)) == 1 and reasons(rows) == ["the id 't-0' occurs twice"]


def test_no_files(tmp_path: Path) -> None:
    (tmp_path / "lama").mkdir()
    with pytest.raises(NightjarError, match=r"no files .* of LAMA"):
        list(load(tmp_path))


def test_the_published_files(real_data: Path) -> None:
    rows = list(load(real_data / "tool-benchmarks"))
    counts = Counter(it.task_id for it in kept(rows))
    assert counts == {"lama_squad": 210, "lama_google_re": 545, "lama_trex": 5267}
    assert len(rows) == 305 + 5528 + 22881
    assert set(reasons(rows)) == {
        "[MASK] is not the final token",
        *(f"[MASK] occurs {n} times" for n in (2, 3, 4)),
    }
    assert not any("[MASK]" in it.parts["text"] for it in kept(rows))
    by_id = {it.id: it for it in kept(rows)}
    assert by_id["9c68053f-0e3a-4db1-ab37-4e12d89b26d8"] == Record(
        "lama_google_re", "9c68053f-0e3a-4db1-ab37-4e12d89b26d8", GOOGLE_RE_FILE,
        {"text": "Khatchig Mouradian is a journalist, writer and translator born in"}, ("Lebanon",),
    )  # fmt: skip
