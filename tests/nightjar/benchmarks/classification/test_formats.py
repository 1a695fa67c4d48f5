"""The published forms: labels and sentences of their lines, encodings, what is refused and what is an error."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from nightjar.benchmarks.classification.formats import load
from nightjar.benchmarks.question import Record, Refused
from nightjar.core.errors import NightjarError

Rows = list[Record | Refused]
Told = list[tuple[str, str, str]]


def put(folder: Path, **files: str | bytes) -> Path:
    """Files by names in which "__" is "." and "_in_" is "/"."""
    for name, content in files.items():
        path = folder / name.replace("__", ".").replace("_in_", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def told(rows: Rows) -> Told:
    """(side, label, text) of the records."""
    return [(it.parts["side"], it.references[0], it.parts["text"]) for it in rows if isinstance(it, Record)]


def reasons(rows: Rows) -> list[tuple[str | None, str]]:
    return [(it.id, it.reason) for it in rows if isinstance(it, Refused)]


def test_pairs(tmp_path: Path) -> None:
    two = "index\tsentence1\tsentence2\tlabel"
    head = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String"
    put(
        tmp_path,
        RTE_in_train__tsv=f"{two}\n0\tA cat.\tAn animal.\tentailment\n1\tA.\t\tentailment\n",
        RTE_in_dev__tsv=f"{two}\n0\tA dog.\tA cat.\tnot_entailment\n",
        MRPC_in_train__tsv=f'\ufeff{head}\r\n1\t7\t8\tHe "left" .\tHe went .\r\n0\t7\t8\tHe left .\r\n',
        MRPC_in_dev__tsv=f"{head}\n0\t7\t8\tHe left .\tShe sang .\n",
    )
    rows = list(load(tmp_path))
    assert sorted(told(rows)) == [
        ("test", "different", "He left .\tShe sang ."),
        ("test", "not_entailment", "A dog.\tA cat."),
        ("train", "entailment", "A cat.\tAn animal."),
        ("train", "equivalent", 'He "left" .\tHe went .'),
    ]
    assert reasons(rows) == [
        ("RTE/train.tsv:3", "a sentence of the pair is blank"),
        ("MRPC/train.tsv:3", "the label is none of 0, 1"),
    ]


def test_fever_with_its_own_training_file(tmp_path: Path) -> None:
    def claims(side: str, count: int) -> str:
        rows = ({"id": f"{side}{n}", "label": "REFUTES", "claim": f"{side} {n}"} for n in range(count))
        return "".join(json.dumps(row) + "\n" for row in rows)

    put(tmp_path, fever__paper_dev__jsonl=claims("dev", 1200), fever__train__jsonl=claims("train", 6000))
    sides = Counter((side, text.partition(" ")[0]) for side, _, text in told(list(load(tmp_path))))
    assert sides == {
        ("test", "dev"): 1000, ("rest", "dev"): 200,
        ("train", "train"): 4500, ("dev", "train"): 500, ("rest", "train"): 1000,
    }  # fmt: skip


def test_label_and_text(tmp_path: Path) -> None:
    put(
        tmp_path,
        stsa__fine__train="4 a  fine film .\n",
        stsa__fine__dev="0 no .\n",
        stsa__fine__test="2 crème brûlée\u2028 . \r\n5 what ?\n3\n\n",
    )
    rows = list(load(tmp_path))
    assert sorted(told(rows)) == [
        ("dev", "terrible", "no ."),
        ("test", "okay", "crème brûlée\u2028 ."),
        ("train", "great", "a  fine film ."),
    ]
    assert reasons(rows) == [
        ("stsa.fine.test:2", "the label is none of 0, 1, 2, 3, 4"),
        ("stsa.fine.test:3", "the sentence is blank"),
        ("stsa.fine.test:4", "a blank line"),
    ]
    assert {(it.task_id, it.id, it.file) for it in rows if isinstance(it, Record)} == {
        ("sst5", f"stsa.fine.{side}:1", f"stsa.fine.{side}") for side in ("train", "dev", "test")
    }


def test_trec_in_latin_1(tmp_path: Path) -> None:
    put(
        tmp_path,
        TREC__train="HUM:ind Who is Zoë ?\n".encode("latin-1"),
        TREC__test="ABBR Who ?\nLOC:x Where ?\n",
    )
    rows = list(load(tmp_path))
    assert sorted(told(rows)) == [("test", "Location", "Where ?"), ("train", "Human", "Who is Zoë ?")]
    assert reasons(rows) == [("TREC.test:1", "no label COARSE:fine before the sentence")]


def test_both_forms_of_cola(tmp_path: Path) -> None:
    put(
        tmp_path,
        CoLA_in_train__tsv="gj04\t1\t\tThey left .\ngj04\t0\t*\tThey leaves .\na\tb\tc\n",
        CoLA_in_dev__tsv="gj04\t1\t\tYes, they did.\n",
    )
    rows = list(load(tmp_path))
    assert sorted(told(rows)) == [
        ("test", "acceptable", "Yes, they did."),
        ("train", "acceptable", "They left ."),
        ("train", "unacceptable", "They leaves ."),
    ]
    assert reasons(rows) == [("CoLA/train.tsv:3", "3 columns instead of 2 or 4")]
    (tmp_path / "CoLA" / "train.tsv").unlink()
    (tmp_path / "CoLA" / "dev.tsv").unlink()
    put(tmp_path, cola__train__tsv="they left\t1\n", cola__dev__tsv="they leaves\t0\n")
    assert sorted(told(list(load(tmp_path)))) == [
        ("test", "unacceptable", "they leaves"),
        ("train", "acceptable", "they left"),
    ]


def test_comma_separated_and_with_a_header(tmp_path: Path) -> None:
    put(
        tmp_path,
        cr_in_train__csv='1,good , cheap\n0,"it is ""bad"" , i say"\n',
        cr_in_test__csv="1,fine\nno comma\n",
        **{"sst-5_in_train__csv": "label,text\n4,great\n", "sst-5_in_test__csv": "0,awful\n"},
    )
    put(tmp_path, **{"SST-2_in_train__tsv": "sentence\tlabel\nfine\t1\n", "SST-2_in_dev__tsv": "bad\t0\n"})
    rows = list(load(tmp_path))
    assert sorted(told(rows)) == [
        ("test", "negative", "bad"),
        ("test", "positive", "fine"),
        ("test", "terrible", "awful"),
        ("train", "great", "great"),
        ("train", "negative", 'it is "bad" , i say'),
        ("train", "positive", "fine"),
        ("train", "positive", "good , cheap"),
    ]
    assert reasons(rows) == [("cr/test.csv:2", "no comma after the label")]


def test_a_file_a_label_and_windows_signs(tmp_path: Path) -> None:
    """0x85 in Latin-1 is a control character that Python counts as a blank and a line end; it is neither."""
    put(tmp_path, **{"subj__subjective": b"\x85the film \x97 caf\xe9 .\n", "subj__objective": "a man .\n"})
    assert sorted(told(list(load(tmp_path)))) == [
        ("train", "objective", "a man ."),
        ("train", "subjective", "\x85the film \x97 café ."),
    ]
    read = load(tmp_path, {"*.subjective": "cp1252"})
    assert ("train", "subjective", "…the film — café .") in told(list(read))


def test_latin_1_read_as_utf_8_names_file_line_and_setting(tmp_path: Path) -> None:
    put(tmp_path, **{"stsa__binary__test": "1 ok\n0 ça\n".encode("latin-1"), "stsa__binary__train": "1 ok\n"})
    with pytest.raises(NightjarError) as caught:
        list(load(tmp_path))
    assert str(caught.value) == (
        f"{tmp_path}/stsa.binary.test:2: not utf-8 (byte 3 of the line, 0xe7); set ingest.classification.encodings to "
        '{"stsa.binary.test": latin-1}, or to its encoding'
    )
    assert ("test", "negative", "ça") in told(list(load(tmp_path, {"stsa.*.test": "latin-1"})))


def test_claims(tmp_path: Path) -> None:
    good = {"id": 5, "label": "NOT ENOUGH INFO", "claim": "He met a king.", "evidence": []}
    lines = [good, {**good, "label": "MAYBE"}, {**good, "id": True}, {"id": 6, "label": "REFUTES"}, [1]]
    text = "".join(json.dumps(line) + "\n" for line in lines) + "{\n" + '{"id": 7, "id": 8}\n'
    rows = list(load(put(tmp_path, fever__paper_dev__jsonl=text)))
    (kept,) = [row for row in rows if isinstance(row, Record)]
    assert (kept.id, kept.references, kept.parts["text"]) == ("5", ("NOT ENOUGH INFO",), "He met a king.")
    assert [reason.split(":")[0] for _, reason in reasons(rows)] == [
        "the label is none of SUPPORTS, REFUTES, NOT ENOUGH INFO",
        "id is not a number or a text",
        "no claim",
        "not an object",
        "not JSON",
        "the key 'id' occurs twice",
    ]


def test_missing_sets_are_skipped_but_not_missing_files(tmp_path: Path) -> None:
    with pytest.raises(
        NightjarError, match=r"no data set of classification; put one in it, such as stsa.binary.test"
    ):
        list(load(tmp_path))
    put(tmp_path, custrev__pos="fine\n")
    with pytest.raises(
        NightjarError, match=r"custrev.pos is there without custrev.neg; add custrev.neg, or remove"
    ):
        list(load(tmp_path))
    put(tmp_path, custrev__neg="bad\n")
    assert len(list(load(tmp_path))) == 2
    put(tmp_path, cr_in_train__csv="1,fine\n", cr_in_test__csv="1,fine\n")
    with pytest.raises(NightjarError, match=r"cr has two formats, custrev.neg and cr/train.csv; remove one"):
        list(load(tmp_path))


def test_empty_files_and_patterns_that_match_no_file(tmp_path: Path) -> None:
    put(tmp_path, mpqa__neg="a fiancé\n", mpqa__pos="fine")
    assert ("train", "negative", "a fiancé") in told(list(load(tmp_path))), "UTF-8 where Latin-1 is published"
    put(tmp_path, mpqa__neg="")
    assert told(list(load(tmp_path))) == [("train", "positive", "fine")]
    what = "encodings has 'mr.pos', which matches no file; files are mpqa.neg, mpqa.pos"
    with pytest.raises(NightjarError, match=what):
        list(load(tmp_path, {"mpqa.*": "latin-1", "mr.pos": "latin-1"}))


def test_the_real_sets(real_data: Path) -> None:
    """Sizes as published; LM-BFF's test sides of 2,000 where no split is published."""
    rows = list(load(real_data / "classification"))
    sizes = Counter((it.task_id, it.parts["side"]) for it in rows if isinstance(it, Record))
    assert [sizes["sst2", side] for side in ("train", "dev", "test")] == [6920, 872, 1821]
    assert [sizes["sst5", side] for side in ("train", "dev", "test")] == [8544, 1101, 2210]
    assert sizes["trec", "train"] + sizes["trec", "dev"] == 5452 and sizes["trec", "test"] == 500
    assert sizes["cola", "train"] + sizes["cola", "dev"] == 8551 and sizes["cola", "test"] == 516
    assert all(sizes[task, "test"] == 2000 for task in ("cr", "mr", "mpqa", "subj"))
    assert [sizes["fever", side] for side in ("train", "dev", "test", "rest")] == [4500, 500, 1000, 3999]
    assert len(rows) == 81_529 and Counter(reason for _, reason in reasons(rows)) == {"a blank line": 7}
    by_side: dict[tuple[str, str], set[str]] = {}
    for it in rows:
        if isinstance(it, Record):
            key = (it.task_id, "test" if it.parts["side"] == "test" else "other")
            by_side.setdefault(key, set()).add(" ".join(it.parts["text"].casefold().split()))
    for task in ("cr", "mr", "mpqa", "subj", "fever"):
        assert not by_side[task, "test"] & by_side[task, "other"]
    texts = [it.parts["text"] for it in rows if isinstance(it, Record)]
    assert any("el ladrón de orquídeas" in text for text in texts)
    assert any("sisterðcity" in text for text in texts)
