"""The WordNet reader against the published synsets, and against NLTK's reader on the same files."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks.protoqa import wordnet as module
from nightjar.benchmarks.protoqa.wordnet import FILES, WordNet, wordnet
from nightjar.core.errors import NightjarError


def test_golden_synsets(golden: Path) -> None:
    items = json.loads((golden / "wordnet_synsets.json").read_text("utf-8"))["items"]
    database = wordnet()
    found = {it["text"]: [database.name(one) for one in database.synsets(it["text"])] for it in items}
    assert found == {it["text"]: it["synsets"] for it in items}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files without carriage returns, as NLTK needs them."""
    folder = tmp_path_factory.mktemp("nltk") / "corpora" / "wordnet"
    folder.mkdir(parents=True)
    for file in wordnet().folder.iterdir():
        (folder / file.name).write_bytes(file.read_bytes().replace(b"\r", b""))
    return folder


@pytest.fixture(scope="module")
def theirs(plain: Path) -> Iterator[Any]:
    """NLTK's reader."""
    import nltk.data
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nltk.data, "path", [str(plain.parents[1])])  # NLTK reads no other folders
        yield WordNetCorpusReader(str(plain), None)


@pytest.mark.slow
def test_synsets_and_hypernyms_are_those_of_nltk(theirs: Any) -> None:
    database, source = wordnet(), random.Random(5)
    lemmas = source.sample(sorted(theirs.all_lemma_names()), 400)
    endings = ("", "s", "es", "ing", "ed", "er", "est", "men", "ies")
    for text in [lemma + source.choice(endings) for lemma in lemmas] + ["dogs", "better", "axes", "LEFT"]:
        expected = theirs.synsets(text)
        found = database.synsets(text.replace("_", " "))
        assert [(one[0], int(one[1:])) for one in found] == [
            ("a" if one.pos() == "s" else one.pos(), one.offset()) for one in expected
        ]
        for one, other in zip(found, expected, strict=True):
            above = other.hypernyms() + other.instance_hypernyms()
            assert sorted(int(it[1:]) for it in database.hypernyms(one)) == sorted(
                it.offset() for it in above
            )


def test_both_line_ends_are_read(plain: Path) -> None:
    unix, other = WordNet(plain), wordnet()
    assert b"\r\n" not in (plain / "index.noun").read_bytes()
    for text in ("dogs", "ice cream", "better", "xyzzy", ""):
        assert unix.synsets(text) == other.synsets(text)
    assert unix.hypernyms("n02084071") == other.hypernyms("n02084071") != ()


def test_a_folder_without_the_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(module.VARIABLE, str(tmp_path))
    with pytest.raises(
        NightjarError, match=r"index.noun: this file of WordNet 3.0 is missing; install it with"
    ):
        module.wordnet.__wrapped__()


def test_a_folder_of_another_version(tmp_path: Path) -> None:
    for name in FILES.values():
        (tmp_path / f"index.{name}").write_text("  1 WordNet 3.1 Copyright 2011\ndog n 1 0 1 1 00000001\n")
        (tmp_path / f"{name}.exc").write_text("")
    with pytest.raises(NightjarError, match=r"index.noun: this is not a file of WordNet 3.0"):
        WordNet(tmp_path)


def test_damaged_lines(tmp_path: Path) -> None:
    for name in FILES.values():
        for file in ("index", "data"):
            (tmp_path / f"{file}.{name}").write_text(
                "  1 WordNet 3.0 Copyright 2006\ndog n\ncat n 1 0 1 0 00000002\n"
            )
        (tmp_path / f"{name}.exc").write_text("")
    database = WordNet(tmp_path)
    with pytest.raises(NightjarError, match=r"index.noun: the line of 'dog' is damaged"):
        database.synsets("dogs")
    assert database.synsets("cat")[0] == "n00000002"
    with pytest.raises(NightjarError, match=r"data.noun: there is no line of the synset 00000002"):
        database.hypernyms("n00000002")
