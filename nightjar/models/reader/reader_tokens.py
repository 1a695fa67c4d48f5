"""Token ids of readers: inputs of a bounded length, and the targets of a task's answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from nightjar.core.errors import NightjarError
from nightjar.models.directory.headers import refusing
from nightjar.models.directory.pretrained import read_tokenizer

# The mask and the end of T5 (PGRA's src/data.py); a vocabulary without them takes its own tokens of that meaning.
MASK, END = "<extra_id_0>", "<extra_id_1>"
# A question is never cut to less than this, in tokens; the encoders of the table of models read no longer texts.
LONGEST_QUESTION = 512
LONGEST_TARGET = 64
PADDED = -1


@dataclass(frozen=True)
class Targets:
    """The texts that a task's answers are written as, one for each of `names`.

    `before` are the ids that the decoder reads, `places` those that follow as places in `vocabulary`, PADDED beyond the
    end; both (answers, length). `vocabulary` has the ids of all targets.
    """

    names: tuple[str, ...]
    before: torch.Tensor
    places: torch.Tensor
    vocabulary: torch.Tensor

    def to(self, device: torch.device) -> Targets:
        """The same on a device."""
        tensors = (one.to(device) for one in (self.before, self.places, self.vocabulary))
        return Targets(self.names, *tensors)


class ReaderTokenizer:
    """The tokenizer of a reader."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer = read_tokenizer(folder)
        with refusing("this tokenizer cannot be used", folder):
            vocabulary = self._tokenizer.get_vocab()
            own_tokens = {MASK: self._tokenizer.mask_token, END: self._tokenizer.sep_token}
            self._words = {
                word: token for word, token in own_tokens.items() if token and word not in vocabulary
            }
            # What the tokenizer puts around a text: [CLS] and [SEP] of BERT, </s> of T5.
            text = self._ids("a")
            closed = self._tokenizer("a")["input_ids"]
            first = next(n for n in range(len(closed)) if closed[n : n + len(text)] == text)
            self._head, self._tail = closed[:first], closed[first + len(text) :]

    def ids(self) -> Iterable[int]:
        """All ids of the vocabulary."""
        ids: Iterable[int] = self._tokenizer.get_vocab().values()
        return ids

    @property
    def start(self) -> int:
        """The id that a fresh decoder begins with."""
        names = ("cls_token_id", "bos_token_id", "eos_token_id", "pad_token_id")
        token_ids = [value for name in names if (value := getattr(self._tokenizer, name)) is not None]
        return int(token_ids[0])

    def length(self, text: str) -> int:
        """Return the number of tokens that an encoder's input of a text has before it is cut."""
        return len(self._head) + len(self._ids(text)) + len(self._tail)

    def input(self, text: str, question: str, length: int) -> list[int]:
        """Return the ids of an encoder's input, at most `length`: what `text` has beside its `question` is cut.

        The question is at the beginning or the end of the text and is not cut, even if it alone is longer than
        `length`. One of more than LONGEST_QUESTION tokens loses its middle.
        """
        ids, room = self._ids(text), length - len(self._head) - len(self._tail)
        if len(ids) > room:
            question_ids = self._ids(question)
            room_beside = max(0, room - len(question_ids))
            begins, ends = (0, len(question_ids)) if text.endswith(question) else (len(question_ids), 0)
            ids = ids[: begins + room_beside] + ids[len(ids) - ends :]
        longest = max(room, LONGEST_QUESTION - len(self._head) - len(self._tail))
        if len(ids) > longest:
            ids = ids[: longest // 2] + ids[-(longest - longest // 2) :]
        return [*self._head, *ids, *self._tail]

    def targets(self, texts: Mapping[str, str], start: int) -> Targets:
        """The targets of a task from the text of each answer."""
        written = {name: self._written(text) for name, text in texts.items()}
        if len(set(map(tuple, written.values()))) < len(written):
            what = "two answers have the same target"
            raise NightjarError(what, ", ".join(texts), "give each answer a word of its own")
        if max(map(len, written.values())) > LONGEST_TARGET:
            raise NightjarError(
                f"a target of more than {LONGEST_TARGET} tokens", ", ".join(texts), "use shorter words"
            )
        vocabulary = sorted({one for ids in written.values() for one in ids})
        length = max(map(len, written.values()))
        before = torch.full((len(written), length), start)
        places = torch.full((len(written), length), PADDED)
        for row, ids in enumerate(written.values()):
            before[row, 1 : len(ids)] = torch.tensor(ids[:-1])
            places[row, : len(ids)] = torch.tensor([vocabulary.index(one) for one in ids])
        return Targets(tuple(written), before, places, torch.tensor(vocabulary))

    def _written(self, text: str) -> list[int]:
        """The ids of a target, closed as the encoder-decoder's training saw it where the tokenizer closes texts."""
        ids = self._ids(text)
        return ids if ids[-1:] == self._tail[-1:] else [*ids, *self._tail]

    def _ids(self, text: str) -> list[int]:
        for word, token in self._words.items():
            text = text.replace(word, token)
        ids: list[int] = self._tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        return ids
