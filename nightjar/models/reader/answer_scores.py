"""States of inputs, and the probabilities of a task's answers from them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.utils.rnn import pad_sequence

from nightjar.core.errors import NightjarError
from nightjar.models.reader.reader_modules import ReaderModule
from nightjar.models.reader.reader_tokens import PADDED, Targets
from nightjar.models.tokenizer import like_length

Ids = Sequence[int]
# The states of one input, (its length, width).
States = torch.Tensor
# Tokens of a pass without gradients, padding included.
PASS_TOKENS = 4096


def encode_inputs(reader: ReaderModule, inputs: Sequence[Ids]) -> list[States]:
    """The states of each input by itself, from one pass over all; gradients flow through."""
    device = next(reader.parameters()).device
    ids = pad_sequence([torch.tensor(one) for one in inputs], batch_first=True).to(device)
    states = reader.states(ids, _mask([len(one) for one in inputs], device))
    return [row[: len(one)] for row, one in zip(states, inputs, strict=True)]


def answer_scores(
    reader: ReaderModule,
    read: Sequence[Sequence[States]],
    priors: Sequence[NDArray[np.float64]] | None,
    targets: Targets,
    chosen: torch.Tensor,
) -> torch.Tensor:
    """ln p of answers to questions from the states of their inputs, (questions, answers), in nats.

    `chosen` are the places of the answers in `targets`, (questions, answers); the score of an answer is that of its
    whole target. Without `priors`, the decoder reads all inputs of a question at once (fusion-in-decoder). With priors,
    which are ln p(input | question) of each question's inputs, it reads each alone, and p(answer) is the sum of
    p(input) p(answer | input) (RAG-sequence; Lewis et al. 2020, section 2.1).
    """
    if priors is None:
        return _scores(reader, read, targets, chosen)
    alone = [[states] for question in read for states in question]
    counts = [len(question) for question in read]
    device = chosen.device
    scores = _scores(reader, alone, targets, chosen.repeat_interleave(torch.tensor(counts, device=device), 0))
    prior = torch.tensor(np.concatenate(priors), dtype=scores.dtype, device=device)
    parts = (scores + prior[:, None]).split(counts)
    return torch.stack([part.logsumexp(dim=0) for part in parts])


def all_answers(targets: Targets, questions: int) -> torch.Tensor:
    """The places of all answers of a task, for each of so many questions: `chosen` of `answer_scores`."""
    return torch.arange(len(targets.names), device=targets.before.device).expand(questions, -1)


def _scores(
    reader: ReaderModule, rows: Sequence[Sequence[States]], targets: Targets, chosen: torch.Tensor
) -> torch.Tensor:
    fused = [torch.cat(list(row)) for row in rows]
    states = pad_sequence(fused, batch_first=True)
    mask = _mask([len(one) for one in fused], states.device)
    values = reader.log_probabilities(states, mask, targets.before[chosen], targets.vocabulary)
    places = targets.places[chosen]
    target_values = values.gather(-1, places.clamp(min=0)[..., None])[..., 0]
    return target_values.masked_fill(places == PADDED, 0.0).sum(dim=2)


def _mask(lengths: Sequence[int], device: torch.device) -> torch.Tensor:
    columns = torch.arange(max(lengths), device=device)
    return (columns < torch.tensor(lengths, device=device)[:, None]).long()


class FrozenStates:
    """The states of all inputs of an encoder that does not learn, computed once into a file that is mapped into memory.

    In float16: half the bytes, and states are normalised. Use as a context manager: the file is removed at the end.
    """

    def __init__(self, reader: ReaderModule, inputs: Sequence[Ids], file: Path) -> None:
        self._bounds = np.concatenate([[0], np.cumsum([len(one) for one in inputs])]).astype(np.int64)
        self._device = next(reader.parameters()).device
        self._file = file
        file.parent.mkdir(parents=True, exist_ok=True)
        shape = (int(self._bounds[-1]), reader.width)
        self._states = np.memmap(file, np.float16, "w+", shape=shape)
        with torch.inference_mode():
            for batch in like_length([len(one) for one in inputs], PASS_TOKENS):
                for place, states in zip(
                    batch, encode_inputs(reader, [inputs[n] for n in batch]), strict=True
                ):
                    values = states.to(torch.float16).cpu()
                    if not bool(values.isfinite().all()):
                        what = "the encoder's states are too large for float16"
                        raise NightjarError(what, file, "set trains to all")
                    self._states[self._bounds[place] : self._bounds[place + 1]] = values.numpy()

    def read(self, numbers: Sequence[int]) -> list[States]:
        """The states of these inputs in float32, on the reader's device."""
        rows = [self._states[self._bounds[number] : self._bounds[number + 1]] for number in numbers]
        return [torch.from_numpy(one.astype(np.float32)).to(self._device) for one in rows]

    def __enter__(self) -> FrozenStates:
        return self

    def __exit__(self, *exception: object) -> None:
        del self._states
        self._file.unlink(missing_ok=True)


class LiveStates:
    """The states of inputs of an encoder that learns: computed each time, and gradients flow through."""

    def __init__(self, reader: ReaderModule, inputs: Sequence[Ids]) -> None:
        self._reader, self._inputs = reader, inputs

    def read(self, numbers: Sequence[int]) -> list[States]:
        """The states of these inputs, from one pass."""
        return encode_inputs(self._reader, [self._inputs[number] for number in numbers])
