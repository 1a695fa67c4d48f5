"""A language model whose next tokens a test writes down.

Its cache holds token ids and positions in the place of keys and values. At every step it reads from the cache and the
mask what each row sees, and checks that the positions are 0, 1, 2, ...: decoding that misplaces a token fails here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from nightjar.models.engine.language_model import LanguageModel
from nightjar.models.engine.loading import Tokenizer, load_tokenizer

# What a row sees, decoded -> the texts whose first tokens come next, the likeliest first. None ends the text.
Script = Callable[[str], "list[str | None]"]
# Of a token that the script does not name, and of the marker of a call: it must not be likely by chance.
OTHER, UNLIKELY = 0.0, -5.0


@dataclass
class ScriptedModel:
    """Stands for a causal model of transformers; `steps` counts its forward passes."""

    tokenizer: Tokenizer
    script: Script
    steps: int = 0
    # Without a limit of positions.
    config: None = None

    def __call__(
        self,
        input_ids: torch.Tensor,
        position_ids: torch.Tensor,
        past_key_values: Any,
        attention_mask: torch.Tensor | None = None,
        logits_to_keep: int = 0,
        **_: Any,
    ) -> Any:
        self.steps += 1
        new = [part.float()[:, None, :, None] for part in (input_ids, position_ids)]
        keys, values = past_key_values.update(*new, 0)
        ids, places = keys[:, 0, :, 0].long(), values[:, 0, :, 0].long()
        mask = torch.ones_like(ids) if attention_mask is None else attention_mask
        kept = logits_to_keep or input_ids.shape[1]
        logits = torch.full((len(ids), kept, self.size), OTHER)
        logits[:, :, self.tokenizer.continuation(" [")] = UNLIKELY
        for row in range(len(ids)):
            for place in range(kept):
                columns = ids.shape[1] - kept + 1 + place
                counted = mask[row, :columns].bool()
                if not mask[row, columns - 1]:
                    continue
                seen = ids[row, :columns][counted]
                assert places[row, :columns][counted].tolist() == list(range(len(seen)))
                for rank, token in enumerate(self._next(seen.tolist())):
                    logits[row, place, token] = 20.0 - rank
        return SimpleNamespace(logits=logits)

    def _next(self, seen: list[int]) -> list[int]:
        """The tokens that the script wants next; it sees whole characters only."""
        whole = len(seen)
        while whole and self.tokenizer.decode(seen[:whole]).endswith("\N{REPLACEMENT CHARACTER}"):
            whole -= 1
        begun, tokens = seen[whole:], []
        for text in self.script(self.tokenizer.decode(seen[:whole])):
            ids = [self.tokenizer.end] if text is None else self.tokenizer.continuation(text)
            if ids[: len(begun)] == begun:
                tokens.append(ids[len(begun)])
        return tokens

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")

    @property
    def size(self) -> int:
        return self.tokenizer.backend.get_vocab_size()


def scripted(folder: Path, script: Script) -> LanguageModel:
    """A model with the tokenizer of a model directory that continues texts as `script` has it."""
    tokenizer = load_tokenizer(folder)
    return LanguageModel(ScriptedModel(tokenizer, script), tokenizer, "0" * 64)


def writes(**answers: str) -> Script:
    """A script that writes a fixed answer after each prompt "name:", and ends; what is fed in must be in it."""

    def script(text: str) -> list[str | None]:
        name, _, written = text.partition(":")
        wanted = answers[name]
        if wanted.startswith(written):
            return [wanted[len(written) :] or None]
        return [None]

    return script
