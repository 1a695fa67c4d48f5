"""Sample, execute and filter the calls of one tool for a text (Toolformer sections 2 and 4.1; facts 3.2 and 3.3)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from nightjar.core.errors import NightjarError
from nightjar.lm.forward import Prefix, prefill
from nightjar.lm.generate import Answer, Controller, Row, branch
from nightjar.lm.load import LanguageModel
from nightjar.lm.sample import Sampling
from nightjar.lm.score import token_probabilities
from nightjar.tools.decode import marker_token
from nightjar.tools.filter import Tokens, losses_at
from nightjar.tools.formulas import Losses, positions
from nightjar.tools.syntax import END, Call, parse
from nightjar.tools.tool import Text, Tool
from nightjar.tools.toolbox import Toolbox


@dataclass(frozen=True)
class Settings:
    """tau_s, k, m and tau_f of facts 3.2, and the limits of sampling. Lengths in tokens.

    `before_first_word`: whether a call may be put before the first word of a text without context, as published. There
    the loss without a call is conditioned on nothing, and any words in front of the text lower it.
    """

    sampling_threshold: float
    positions: int
    samples: int
    filter_threshold: float
    temperature: float
    max_call_tokens: int
    max_text_tokens: int
    before_first_word: bool = False


@dataclass(frozen=True)
class Candidate:
    """A call sampled for a text: before which token, with which probability of its marker, and what it gave.

    `offset` is where the token begins in " " + body. `call` is None where `written`, the sampled text, is no call of
    the tool. `losses` is None without a result.
    """

    token: int
    offset: int
    probability: float
    written: str
    call: Call | None
    result: str | None = None
    losses: Losses | None = None


@dataclass(frozen=True)
class Annotated:
    """The candidates of a text, in text order, and how many places before its first word were left out."""

    candidates: list[Candidate]
    left_out: int


class _OnlyThisTool(Controller):
    """Ends a sample that can no longer become a call of the wanted tool; it would be dropped anyway."""

    def __init__(self, name: str) -> None:
        self.opening = f"{name}("

    def after(self, row: Row) -> Answer | None:
        possible = self.opening.startswith(row.text) or row.text.startswith(self.opening)
        return None if possible and "\n" not in row.text else Answer.END


class Annotator:
    """Annotates texts with calls of one tool, keeping the model's state after the tool's instructions.

    `toolbox` runs the calls, by default with the tool alone. Raises NightjarError for a tool without instructions and
    for a model that cannot call.
    """

    def __init__(
        self, lm: LanguageModel, tool: Tool, settings: Settings, toolbox: Toolbox | None = None
    ) -> None:
        if not tool.instructions:
            fix = "give it some, as nightjar.prompts.tool_prompts.instructions makes them"
            raise NightjarError("this tool has no instructions to sample calls by", repr(tool.name), fix)
        self.lm, self.tool, self.settings = lm, tool, settings
        self.toolbox = toolbox or Toolbox([tool])
        self.marker = marker_token(lm)
        self.head: Prefix = prefill(lm, lm.tokenizer.encode(tool.instructions))

    def annotate(self, text: Text, seed: str) -> Annotated:
        """Every distinct call sampled for `text`, with what the filter needs to know of it.

        Sampling depends on `seed`, the text and the settings alone.
        """
        encode = self.lm.tokenizer.encode
        shown = f"{text.context} {text.body}".strip()
        prompt = encode(f"{self.tool.instructions}Input: {shown}\nOutput:")
        tokens = Tokens.of(self.lm.tokenizer, text, self.settings.max_text_tokens)
        if not tokens.body:
            return Annotated([], 0)
        probabilities, state = token_probabilities(
            self.lm, [*prompt, *tokens.context], tokens.body, self.marker, base=self.head
        )
        chosen, left_out = self._positions(text, tokens, probabilities)
        candidates = [
            Candidate(place, tokens.offsets[place], probabilities[place], written, call)
            for place, written, call in self._sample(chosen, len(prompt) + len(tokens.context), state, seed)
        ]
        return Annotated(self._measured(self._executed(candidates, text, shown), tokens), left_out)

    def _executed(self, candidates: Sequence[Candidate], text: Text, shown: str) -> list[Candidate]:
        results = iter(self.toolbox.run([c.call for c in candidates if c.call], text.day, shown))
        return [replace(one, result=next(results)) if one.call else one for one in candidates]

    def _measured(self, candidates: Sequence[Candidate], tokens: Tokens) -> list[Candidate]:
        calls = [(c.token, c.call, c.result) for c in candidates if c.call and c.result is not None]
        losses = iter(losses_at(self.lm, tokens, calls))
        return [replace(one, losses=next(losses)) if one.result is not None else one for one in candidates]

    def _positions(self, text: Text, tokens: Tokens, probabilities: Sequence[float]) -> tuple[list[int], int]:
        """The places to sample at, and how many likely ones before the first word were left out."""
        threshold, most = self.settings.sampling_threshold, self.settings.positions
        if self.settings.before_first_word or text.context:
            return positions(probabilities, threshold, most), 0
        begun = [bool(text.body[: max(0, offset - 1)].strip()) for offset in tokens.offsets]
        allowed = [value if after else 0.0 for value, after in zip(probabilities, begun, strict=True)]
        left_out = sum(
            value > threshold for value, after in zip(probabilities, begun, strict=True) if not after
        )
        return positions(allowed, threshold, most), left_out

    def _sample(
        self, chosen: Sequence[int], start: int, state: Prefix, seed: str
    ) -> list[tuple[int, str, Call | None]]:
        """The distinct texts sampled after the marker at the chosen places; those that are no calls too."""
        lengths = [start + place for place in chosen for _ in range(self.settings.samples)]
        generator = torch.Generator(device=self.lm.device).manual_seed(_number(seed))
        results = branch(
            self.lm,
            state,
            lengths,
            self.marker,
            self.settings.max_call_tokens,
            stop=[END],
            sampling=Sampling(self.settings.temperature, generator),
            controller=_OnlyThisTool(self.tool.name),
        )
        distinct: dict[tuple[int, object], tuple[int, str, Call | None]] = {}
        for length, result in zip(lengths, results, strict=True):
            # A sample without the end marker is no call (footnote 2); it is recorded as malformed.
            written = result.text if result.stopped else f"{result.text} (unfinished)"
            call = parse(written, [self.tool.name])
            # Two spellings of one call are one candidate.
            distinct.setdefault((length - start, call or written), (length - start, written, call))
        return list(distinct.values())


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
