"""Text from tokens as they come against decoding all of them again after each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import decoders, models

from nightjar.models.engine.detokeniser import AGAIN, Detokeniser
from nightjar.models.tokenizer import Tokenizer, load_tokenizer


def byte_level(folder: Path) -> Tokenizer:
    """As of GPT-2 and SmolLM2: every token is a run of bytes."""
    return load_tokenizer(folder)


def byte_fallback(_: Path) -> Tokenizer:
    """As of Llama 2: words with "▁" for a blank, and single bytes, which its decoder takes together."""
    words = ["<s>", "</s>", "▁", "▁a", "a", "▁the", "é", "▁日", "�", "<", ">"]
    vocabulary = {token: id for id, token in enumerate([*words, *(f"<0x{byte:02X}>" for byte in range(256))])}
    backend = tokenizers.Tokenizer(models.BPE(vocabulary, [], byte_fallback=True, unk_token="<s>"))
    backend.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    backend.add_special_tokens(["<s>", "</s>"])
    return Tokenizer(backend, 1)


KINDS = [byte_level, byte_fallback]
TEXTS = ["é", "日本語", "👩‍👩‍👧", "a ", "  b", "�", "नमस्ते"]


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_the_text_is_that_of_all_ids_decoded_at_once(
    tiny_model: Path, kind: Callable[[Path], Tokenizer], data: st.DataObject
) -> None:
    """Whole and broken characters, special tokens, several ids at once, and ids taken back."""
    tokenizer = kind(tiny_model)
    size = tokenizer.backend.get_vocab_size()
    piece = st.one_of(
        st.lists(st.integers(0, size - 1), min_size=1, max_size=4),
        st.sampled_from(TEXTS).map(lambda text: _ids(tokenizer, text)),
    )
    detokeniser = Detokeniser(tokenizer)
    ids: list[int] = []
    for _ in range(data.draw(st.integers(1, 20))):
        if ids and data.draw(st.integers(0, 5)) == 0:
            del ids[data.draw(st.integers(0, len(ids))) :]
            assert detokeniser.cut(len(ids)) == tokenizer.decode(ids)
        added = data.draw(piece)
        at_once = data.draw(st.booleans())
        for part in [added] if at_once else [[id] for id in added]:
            ids += part
            settled = detokeniser.text[: detokeniser.settled_length]
            assert detokeniser.add(part) == tokenizer.decode(ids) == detokeniser.text
            assert detokeniser.text.startswith(settled)
    assert detokeniser.ids == ids


def _ids(tokenizer: Tokenizer, text: str) -> list[int]:
    """Of the text's bytes, in a vocabulary that has a token for each byte."""
    if tokenizer.backend.token_to_id("<0x41>") is None:
        return tokenizer.encode(text)
    return [tokenizer.backend.token_to_id(f"<0x{byte:02X}>") for byte in text.encode()]


def test_a_token_costs_the_same_however_many_were_before(
    tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer = load_tokenizer(tiny_model)
    ids = tokenizer.encode("a word, 日本語 and é. " * 40)
    assert len(ids) > 700
    decoded: list[int] = []
    decode = Tokenizer.decode

    def counted(self: Tokenizer, ids: list[int]) -> str:
        decoded.append(len(ids))
        return decode(self, ids)

    monkeypatch.setattr(Tokenizer, "decode", counted)
    detokeniser = Detokeniser(tokenizer)
    for id in ids:
        detokeniser.add([id])
    assert max(decoded) <= 3 * AGAIN
    assert sum(decoded) <= 3 * AGAIN * len(ids)
