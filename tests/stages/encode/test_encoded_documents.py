"""Texts as token ids: every token once, nothing cut, calls whole; and the artifact's two sides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar import params
from nightjar.core import contracts
from nightjar.core.contracts import TOKENS_FILE
from nightjar.core.errors import NightjarError
from nightjar.core.tables import ArtifactWriter
from nightjar.models.tokenizer import Tokenizer, load_tokenizer
from nightjar.params.train import RecipeInputs
from stages.encode.encoded_documents import TextBuild, windows
from tests.conftest import ROOT

SETTINGS = params.load(ROOT / "params.yaml")
LONG = "one two three " * 40
CALL = "[Calculator(12 * 8) -> 96]"
NAMES = ("source", "task_id", "id", "text", "original")
ROWS = [
    ("corpus", None, "d1", f"Today 12 * 8 is {CALL} 96.", "Today 12 * 8 is 96."),
    ("corpus", None, "d2", f"{LONG}and {CALL} 96.", f"{LONG}and 96."),
    ("train", "t", "i", f"{CALL} 96", "96"),
]


@pytest.fixture(scope="module")
def tokenizer(tiny_model: Path) -> Tokenizer:
    return load_tokenizer(tiny_model)


@pytest.fixture()
def merged(tmp_path: Path) -> Path:
    with ArtifactWriter(tmp_path / "merged") as writer:
        for source in ("corpus", "train"):
            rows = [dict(zip(NAMES, row, strict=True)) for row in ROWS if row[0] == source]
            writer.write(
                contracts.CALLS_MERGED, [row | {"target": 0, "tools": ["x"]} for row in rows], source
            )
        writer.write(contracts.HELD_OUT, [{"id": "d9", "text": "Held out: 7."}])
    return tmp_path / "merged"


def recipe(calls: bool, length: int = 64) -> RecipeInputs:
    return SETTINGS.train.recipes["toolformer" if calls else "plain"].model_copy(
        update={"sequence_tokens": length}
    )


def encode(merged: Path, chosen: RecipeInputs, tokenizer: Tokenizer, output: Path) -> list[dict[str, Any]]:
    work = TextBuild(merged, chosen, tokenizer)
    outcome = work.write(output, map(work.encode, range(len(work.units))))
    assert outcome.read == sum(unit.rows for unit in work.units) == 3
    with pa.memory_map(str(output / "tokens" / TOKENS_FILE)) as source:
        rows = pa.ipc.open_file(source).read_all().to_pylist()
    assert outcome.tokens == sum(len(row["targets"][0]) + 1 for row in rows)
    return rows


@pytest.mark.parametrize("calls", [True, False])
def test_the_two_recipes_have_the_same_texts(
    merged: Path, tokenizer: Tokenizer, tmp_path: Path, calls: bool
) -> None:
    rows = encode(merged, recipe(calls), tokenizer, tmp_path / "out")
    texts: dict[tuple[str, str], str] = {}
    for row in rows:
        assert row["prompts"] == [[tokenizer.end]] and len(row["targets"][0]) <= 64
        id, _, place = row["id"].rpartition("#")
        name = row["side"], id
        assert (int(place) == 0) == (name not in texts)
        texts[name] = texts.get(name, "") + tokenizer.decode(row["targets"][0])
    assert texts == {
        **{("train", id): f" {text if calls else plain}" for s, _, id, text, plain in ROWS if s == "corpus"},
        ("dev", "d9"): " Held out: 7.",
    }
    ends = [row["targets"][0].count(tokenizer.end) for row in rows]
    assert sum(ends) == 3 and len(rows) > 3


TEXTS = st.lists(
    st.sampled_from(["a ", "12", "\u00e9", "\u05d0\u0301", f" {CALL}", "[", "\n", "word "]), max_size=40
).map("".join)


@given(text=TEXTS, length=st.integers(1, 60))
def test_windows_lose_nothing_and_split_no_call_that_fits(
    tokenizer: Tokenizer, text: str, length: int
) -> None:
    made = windows(tokenizer, text, length)
    assert [id for ids in made for id in ids] == [*tokenizer.encode(f" {text}"), tokenizer.end]
    assert all(1 <= len(ids) <= length for ids in made)
    # With the blank before it.
    if length >= len(tokenizer.encode(f" {CALL}")) + 1:
        assert sum(tokenizer.decode(ids).count(CALL) for ids in made) == text.count(CALL)


def test_no_text_with_calls_is_told(tokenizer: Tokenizer, tmp_path: Path) -> None:
    with ArtifactWriter(tmp_path / "merged") as writer:
        writer.write(contracts.CALLS_MERGED, [])
        writer.write(contracts.HELD_OUT, [])
    with pytest.raises(NightjarError, match=r"no call was kept in any document"):
        TextBuild(tmp_path / "merged", recipe(True), tokenizer)


def test_an_encoder_decoder_is_refused(merged: Path, tiny_t5: Path) -> None:
    with pytest.raises(NightjarError, match="an encoder-decoder cannot train on texts alone"):
        TextBuild(merged, recipe(True), load_tokenizer(tiny_t5))
