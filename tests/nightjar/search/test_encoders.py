"""Encoders of other packages: found by their entry point, checked, and refused in one line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from nightjar.core.errors import NightjarError
from nightjar.params.inputs import EncoderSource
from nightjar.params.search import Index
from nightjar.search.encoders import encoder_of_entry_point, identity, load_encoder
from stages.base_model.prepare import make_encoder_ready
from stages.index.passage_index import build
from stages.retrieve.retriever import Retriever
from tests.installed_package import install
from tests.stages.index.test_passage_index import write_corpus

CODE = """
import zlib
import numpy as np

class Letters:
    '''Counts letters.'''
    dimension = 26
    identity = {"rule": "letters", "normalised": True}
    def encode(self, texts):
        rows = np.array([[text.lower().count(chr(97 + n)) for n in range(26)] for text in texts], float)
        return rows.reshape(-1, 26) / np.maximum(np.linalg.norm(rows.reshape(-1, 26), axis=1, keepdims=True), 1)

class Short(Letters):
    def encode(self, texts):
        return super().encode(texts)[:, :3]

class Infinite(Letters):
    def encode(self, texts):
        return super().encode(texts) + np.inf

def fails():
    raise RuntimeError("no weights\\nhere")

class Unnamed:
    dimension = 3
"""
GROUP = "nightjar.encoders"
POINTS = ["letters = own_encoders:Letters", "short = own_encoders:Short", "infinite = own_encoders:Infinite"]
POINTS += ["fails = own_encoders:fails", "gone = own_encoders:Gone", "away = no_such_module:Encoder"]
POINTS += ["unnamed = own_encoders:Unnamed"]


@pytest.fixture()
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of installed packages, with one that has several encoders."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "own_encoders.py").write_text(CODE)
    install(folder, "own-encoders", "1.0", GROUP, POINTS)
    monkeypatch.syspath_prepend(folder)
    yield folder
    sys.modules.pop("own_encoders", None)


def test_an_entry_point_is_loaded_and_identified(site: Path) -> None:
    encoder = encoder_of_entry_point("letters")
    vectors = encoder.encode(["a", "aab", ""])
    assert (vectors.shape, vectors.dtype, encoder.dimension) == ((3, 26), np.float32, 26)
    assert np.allclose(vectors[1, :3], [2 / 5**0.5, 1 / 5**0.5, 0])
    assert identity(encoder) == {
        "entry": "letters",
        "package": "own-encoders",
        "version": "1.0",
        "rule": "letters",
        "normalised": True,
        "dimension": 26,
    }


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("absent", "no installed package offers this encoder; .*installed are: away, fails, .*letters"),
        ("fails", r"cannot be made \(RuntimeError: no weights\); correct or uninstall that package"),
        ("gone", r"own_encoders:Gone: this encoder cannot be made \(AttributeError: "),
        ("away", r"cannot be made \(ModuleNotFoundError: "),
        ("unnamed", r"cannot be made \(AttributeError: .*identity"),
    ],
)
def test_a_missing_or_broken_entry_point_is_one_line(name: str, message: str, site: Path) -> None:
    with pytest.raises(NightjarError, match=message) as caught:
        encoder_of_entry_point(name)
    assert f"models.sentence_encoder.source: entry:{name}" in str(caught.value)


def test_a_name_that_two_packages_have_is_refused(site: Path) -> None:
    install(site, "other-encoders", "2.0", GROUP, ["letters = own_encoders:Letters"])
    with pytest.raises(NightjarError, match=r"several packages .* \(other-encoders, own-encoders\)"):
        encoder_of_entry_point("letters")


@pytest.mark.parametrize(
    ("name", "message"), [("short", r"shape \(2, 3\) for 2 texts, dimension 26"), ("infinite", "not finite")]
)
def test_wrong_vectors_are_refused(name: str, message: str, site: Path) -> None:
    with pytest.raises(NightjarError, match=f"entry:{name} = own_encoders.*{message}"):
        encoder_of_entry_point(name).encode(["a", "b"])


def test_index_and_retrieve_use_it(site: Path, tmp_path: Path) -> None:
    made = make_encoder_ready(EncoderSource(source="entry:letters"), tmp_path / "encoder")
    assert (made["source"], made["files"]) == ("entry:letters", ["encoder.json"])
    assert json.loads((tmp_path / "encoder" / "encoder.json").read_text())["entry"] == "letters"
    texts = {"a": "abba", "b": "cede", "c": "jazz"}
    write_corpus(tmp_path / "corpus", texts, title="")
    settings = Index(passage_words=9, dense="flat", lexical="words")
    facts = build(tmp_path / "corpus", tmp_path / "encoder", tmp_path / "index", settings, 1)
    assert facts.encoder == identity(load_encoder(tmp_path / "encoder"))
    found = Retriever(tmp_path / "index", tmp_path / "encoder", "dense").rank(["decade", "zz"], 1)
    assert found.rankings.ids[:, 0].tolist() == [1, 2]


def test_another_version_of_the_package_is_refused(site: Path, tmp_path: Path) -> None:
    make_encoder_ready(EncoderSource(source="entry:letters"), tmp_path / "encoder")
    for file in (site / "own_encoders-1.0.dist-info").iterdir():
        file.write_text(file.read_text().replace("1.0", "1.1"))
    with pytest.raises(NightjarError, match="not the recorded one; make it again: dvc repro --force"):
        load_encoder(tmp_path / "encoder")


def test_a_pinned_digest_is_compared(site: Path, tmp_path: Path) -> None:
    with pytest.raises(NightjarError, match=r"params\.yaml pins 000"):
        make_encoder_ready(EncoderSource(source="entry:letters", sha256="0" * 64), tmp_path / "encoder")
    assert not (tmp_path / "encoder").exists()
