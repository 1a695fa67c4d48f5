"""Readers as one module: an encoder that reads inputs one by one, and a decoder that reads all their states at once.

Fusion-in-decoder (Izacard and Grave 2021): the states of a question's inputs are concatenated along their
length, and the decoder cross-attends over all of them. Padding between inputs is left out: the mask hides it anyway.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Literal

import torch
from torch import nn
from transformers.modeling_outputs import BaseModelOutput

from nightjar.models.reader.reader_tokens import LONGEST_TARGET

Trains = Literal["decoder", "all"]
# Of the fresh decoder's attention, feed-forward and residuals while it trains; T5's own is the same.
DROPOUT = 0.1


class ReaderModule(nn.Module, ABC):
    """An encoder and a decoder. `start` is the id that the decoder begins with, `width` the size of a state."""

    start: int
    width: int

    @abstractmethod
    def states(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """The encoder's states of rows of ids, (rows, length, width); `mask` is 1 where there is no padding."""

    @abstractmethod
    def log_probabilities(
        self, states: torch.Tensor, mask: torch.Tensor, before: torch.Tensor, vocabulary: torch.Tensor
    ) -> torch.Tensor:
        """ln p of each id of `vocabulary` after each of `before`, (rows, targets, length, ids), in nats.

        The decoder reads `states` (rows, source, width) with `mask` (rows, source). `before` (rows, targets, length)
        are the ids of several targets of a row, which do not see one another.
        """

    @abstractmethod
    def learning(self, trains: Trains) -> dict[str, nn.Parameter]:
        """The parameters that learn, by name, tied ones once: those that the encoder does not have, or all."""

    def is_fresh(self, name: str) -> bool:
        """Return True if the parameter of that name began at random."""
        return False


class EncoderDecoder(ReaderModule):
    """Any encoder-decoder of transformers (T5, mT5, BART) by its public interface, without new parameters."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        self.start = int(model.config.decoder_start_token_id)
        self.width = int(model.config.hidden_size)

    def states(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        states: torch.Tensor = self.model.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state
        return states

    def log_probabilities(
        self, states: torch.Tensor, mask: torch.Tensor, before: torch.Tensor, vocabulary: torch.Tensor
    ) -> torch.Tensor:
        rows, targets, length = before.shape
        logits: torch.Tensor = self.model(
            encoder_outputs=BaseModelOutput(last_hidden_state=states.repeat_interleave(targets, dim=0)),
            attention_mask=mask.repeat_interleave(targets, dim=0),
            decoder_input_ids=before.flatten(0, 1),
            use_cache=False,
        ).logits
        return logits.float().log_softmax(dim=-1)[..., vocabulary].view(rows, targets, length, -1)

    def learning(self, trains: Trains) -> dict[str, nn.Parameter]:
        encoder = {id(parameter) for parameter in self.model.get_encoder().parameters()}
        return {name: p for name, p in self.named_parameters() if trains == "all" or id(p) not in encoder}


class FreshDecoder(ReaderModule):
    """A pretrained encoder with a decoder of random weights, whose words are embedded as the encoder's.

    It knows only the words of a task: its probabilities over `vocabulary` add up to 1. The output layer shares the word
    embeddings. These do not learn: they are more than half of a small model.
    """

    def __init__(self, encoder: Any, layers: int, start: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.start, self.width = start, int(encoder.config.hidden_size)
        self.positions = nn.Embedding(LONGEST_TARGET, self.width)
        nn.init.normal_(self.positions.weight, std=0.02)
        self.norm = nn.LayerNorm(self.width)
        self.layers = nn.ModuleList(
            nn.TransformerDecoderLayer(
                self.width,
                encoder.config.num_attention_heads,
                4 * self.width,
                DROPOUT,
                activation="gelu",
                batch_first=True,
            )
            for _ in range(layers)
        )

    def states(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        states: torch.Tensor = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        return states

    def log_probabilities(
        self, states: torch.Tensor, mask: torch.Tensor, before: torch.Tensor, vocabulary: torch.Tensor
    ) -> torch.Tensor:
        rows, targets, length = before.shape
        # One row holds all its targets, so that the keys and values of the states are computed once.
        places = torch.arange(targets * length, device=before.device)
        target, position = places // length, places % length
        hidden = (target[:, None] != target) | (position[:, None] < position)
        words = self.encoder.get_input_embeddings()
        written = self.norm(words(before.flatten(1)) + self.positions(position))
        for layer in self.layers:
            written = layer(written, states, tgt_mask=hidden, memory_key_padding_mask=mask == 0)
        logits = nn.functional.linear(written, words.weight[vocabulary])
        return logits.float().log_softmax(dim=-1).view(rows, targets, length, -1)

    def learning(self, trains: Trains) -> dict[str, nn.Parameter]:
        fixed = self.encoder.get_input_embeddings() if trains == "all" else self.encoder
        fixed_ids = {id(parameter) for parameter in fixed.parameters()}
        return {name: p for name, p in self.named_parameters() if id(p) not in fixed_ids}

    def is_fresh(self, name: str) -> bool:
        return not name.startswith("encoder.")
