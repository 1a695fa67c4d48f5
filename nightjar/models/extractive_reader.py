"""Extractive readers: an encoder with a head that points at the answer in a passage (Devlin et al. 2019, section 4.2).

Any model of transformers for question answering is one, such as BertForQuestionAnswering. A span's score is the sum of
the logits of its first and last token, less the two of the first token of the input, which stands for "no answer".
Above 0, the span is the answer (section 4.3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import tokenizers
import torch
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoModel, AutoModelForQuestionAnswering

from nightjar.models.directory.headers import refusing
from nightjar.models.directory.pretrained import (
    check_finite,
    check_vocabulary,
    position_limit,
    read_model,
    read_tokenizer,
)
from nightjar.models.directory.weights import verify_checksum
from nightjar.models.tokenizer import PROBE, like_length

# As published for SQuAD (google-research/bert, run_squad.py): tokens of an input, tokens that windows of a long passage
# share, tokens of a question, and of the longest answer.
LONGEST, STRIDE, LONGEST_QUESTION, LONGEST_ANSWER = 384, 128, 64, 30
# Tokens of a pass without gradients, padding included.
PASS_TOKENS = 8192
FIX = "give a model for question answering, or an encoder such as BERT"


class AnswerSpan(NamedTuple):
    """Text of a passage, and its score in logits: above 0, it is likelier than that the passage has no answer."""

    text: str
    score: float


class PassageWindow(NamedTuple):
    """A question with a passage, or with a part of a long one, as a model reads it.

    `places` are the tokens of the passage in `ids`, and `offsets` their characters in it.
    """

    ids: list[int]
    types: list[int]
    places: range
    offsets: list[tuple[int, int]]

    def tokens(self, start: int, end: int) -> tuple[int, int] | None:
        """The first and the last token of the characters `start` to `end` of the passage; None if one is not here."""
        inside = [
            place
            for place, (first, last) in zip(self.places, self.offsets, strict=True)
            if first < end and last > start
        ]
        covered = bool(inside) and self.offsets[0][0] <= start and end <= self.offsets[-1][1]
        return (inside[0], inside[-1]) if covered else None


def titled_passage(title: str, text: str) -> str:
    """A passage as a reader sees it, its title first."""
    return " > ".join(filter(None, [title.strip(), text]))


@dataclass(frozen=True)
class ExtractiveReader:
    """A model for question answering on its device, its tokenizer, and the digest of its weights."""

    model: Any
    tokenizer: tokenizers.Tokenizer
    sha256: str

    @property
    def device(self) -> torch.device:
        device: torch.device = self.model.device
        return device

    def windows(self, question: str, passage: str) -> list[PassageWindow]:
        """The question with the passage, in windows of LONGEST tokens, or of as many as the model has positions for.

        The question is cut to LONGEST_QUESTION tokens, and to half of a window.
        """
        room = min(LONGEST, position_limit(self.model, LONGEST)) - self.tokenizer.num_special_tokens_to_add(
            True
        )
        question_tokens = self.tokenizer.encode(question, add_special_tokens=False)
        question_tokens.truncate(min(LONGEST_QUESTION, room // 2))
        room -= len(question_tokens.ids)
        passage_tokens = self.tokenizer.encode(passage, add_special_tokens=False)
        passage_tokens.truncate(room, stride=min(STRIDE, room // 2))
        windows = []
        for part in [passage_tokens, *passage_tokens.overflowing]:
            joined = self.tokenizer.post_process(question_tokens, part)
            first = next((n for n, text in enumerate(joined.sequence_ids) if text == 1), len(joined.ids))
            places = range(first, first + len(part.ids))
            windows.append(PassageWindow(joined.ids, joined.type_ids, places, list(part.offsets)))
        return windows

    def logits(self, windows: Sequence[PassageWindow]) -> tuple[torch.Tensor, torch.Tensor]:
        """The logits of the first and of the last token of an answer, each (windows, length); -inf where padded."""
        ids = pad_sequence([torch.tensor(one.ids) for one in windows], batch_first=True)
        types = pad_sequence([torch.tensor(one.types) for one in windows], batch_first=True)
        lengths = torch.tensor([len(one.ids) for one in windows])
        mask = (torch.arange(ids.shape[1]) < lengths[:, None]).to(self.device)
        more = {"token_type_ids": types.to(self.device)} if _has_types(self.model) else {}
        output = self.model(input_ids=ids.to(self.device), attention_mask=mask.long(), **more)
        hidden = ~mask
        return (
            output.start_logits.float().masked_fill(hidden, -torch.inf),
            output.end_logits.float().masked_fill(hidden, -torch.inf),
        )

    @torch.inference_mode()
    def spans(self, pairs: Sequence[tuple[str, str]]) -> list[AnswerSpan]:
        """The best span of each passage for its question, both given in this order; ("", -inf) without a token."""
        windows = [
            (number, window)
            for number, (question, passage) in enumerate(pairs)
            for window in self.windows(question, passage)
            if window.places
        ]
        best = [AnswerSpan("", -torch.inf)] * len(pairs)
        for batch in like_length([len(window.ids) for _, window in windows], PASS_TOKENS):
            part = [windows[place] for place in batch]
            starts, ends = self.logits([window for _, window in part])
            for (number, window), start, end in zip(part, starts, ends, strict=True):
                scores = span_scores(start, end, window.places)
                first, last = divmod(int(scores.argmax()), len(window.places))
                if (score := float(scores[first, last])) > best[number].score:
                    begin, stop = window.offsets[first][0], window.offsets[last][1]
                    # The first token of some tokenizers has the blank before its word.
                    best[number] = AnswerSpan(pairs[number][1][begin:stop].strip(), score)
        return best


def span_scores(start: torch.Tensor, end: torch.Tensor, places: range) -> torch.Tensor:
    """The scores of all spans of a window by their first and last token among `places`: (tokens, tokens) logits.

    `start` and `end` are the window's logits. A score is -inf for what is no span: the last token is before the first,
    or LONGEST_ANSWER tokens or more after it.
    """
    places_in_passage = slice(places.start, places.stop)
    sums = start[places_in_passage, None] + end[None, places_in_passage] - start[0] - end[0]
    allowed = torch.ones_like(sums, dtype=torch.bool).triu().tril(LONGEST_ANSWER - 1)
    return sums.masked_fill(~allowed, -torch.inf)


def _has_types(model: Any) -> bool:
    return int(getattr(model.config, "type_vocab_size", 0) or 0) > 1


def load_extractive_reader(folder: Path, fresh: bool = False) -> ExtractiveReader:
    """The reader of a directory in float32, on the GPU if there is one. Checksums are verified.

    `fresh`: the directory has an encoder, which gets a head of random weights, drawn by torch's seed. Raises
    NightjarError if the directory is missing, damaged or of another kind.
    """
    sha256 = verify_checksum(folder)
    tokenizer = read_tokenizer(folder)
    with refusing("this tokenizer cannot be used", folder, FIX):
        backend = tokenizer.backend_tokenizer
        backend.no_truncation()
        backend.no_padding()
        probe = backend.encode(PROBE, PROBE).ids
    model = read_model(folder, AutoModel if fresh else AutoModelForQuestionAnswering, torch.float32, fix=FIX)
    if fresh:
        with refusing("this model takes no head for question answering", folder, FIX):
            pointing_model = AutoModelForQuestionAnswering.from_config(model.config)
            pointing_model.base_model.load_state_dict(_without_pooler(model.state_dict()))
        model = pointing_model
    check_vocabulary(backend.get_vocab().values(), model, folder)
    check_finite(model, probe, folder)
    model.to("cuda" if torch.cuda.is_available() else "cpu").eval()
    return ExtractiveReader(model, backend, sha256)


def _without_pooler(weights: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: value for name, value in weights.items() if not name.startswith("pooler.")}
