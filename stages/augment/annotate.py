"""Sample, execute and filter the calls of one tool (Toolformer sections 2 and 4.1; facts 3.2 and 3.3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from nightjar.core.params import Tool
from nightjar.lm.forward import Prefix, prefill
from nightjar.lm.generate import Answer, Controller, Row, branch
from nightjar.lm.load import LanguageModel
from nightjar.lm.sample import Sampling
from nightjar.lm.score import continuation_logprobs, token_probabilities
from nightjar.prompts.tool_prompts import CALL_NAMES, head
from nightjar.tools.decode import marker_token
from nightjar.tools.run import run
from nightjar.tools.syntax import END, Call, parse, write
from stages.augment.formulas import WINDOW, Losses, positions, weighted_loss
from stages.augment.texts import Text


@dataclass(frozen=True)
class Settings:
    """What sampling needs beside the tool's own four numbers."""

    tool: Tool
    temperature: float
    max_call_tokens: int
    max_text_tokens: int
    seed: int


class _OnlyThisTool(Controller):
    """Ends a sample from which no call of the wanted tool can come any more; it would be dropped anyway."""

    def __init__(self, name: str) -> None:
        self.opening = f"{name}("

    def after(self, row: Row) -> str | Answer | None:
        possible = self.opening.startswith(row.text) or row.text.startswith(self.opening)
        return None if possible and "\n" not in row.text else Answer.END


class Annotator:
    """Annotates texts with the calls of one tool, keeping the model's state after the tool's instructions."""

    def __init__(self, lm: LanguageModel, tool: str, settings: Settings) -> None:
        self.lm, self.tool, self.settings = lm, tool, settings
        self.name = CALL_NAMES[tool]
        self.marker = marker_token(lm)
        self.head: Prefix = prefill(lm, lm.tokenizer.encode(head(tool)))

    def candidates(self, text: Text) -> Iterator[dict[str, Any]]:
        """Every distinct call sampled for `text`, as rows of contracts.CANDIDATES, kept or not, in text order."""
        encode = self.lm.tokenizer.encode
        shown = f"{text.context} {text.body}".strip()
        prompt = encode(f"{head(self.tool)}Input: {shown}\nOutput:")
        body, offsets = tokens_with_offsets(self.lm, text.body, self.settings.max_text_tokens)
        if not body:
            return
        context = encode(f" {text.context}") if text.context else []
        probabilities, state = token_probabilities(
            self.lm, [*prompt, *context], body, self.marker, base=self.head
        )
        chosen = positions(probabilities, self.settings.tool.sampling_threshold, self.settings.tool.positions)
        sampled = self._sample(text, chosen, len(prompt) + len(context), state)
        rows = []
        for place, written in sampled:
            call = parse(written) if written is not None else None
            result = run(call, text.today) if call is not None and call.tool == self.name else None
            status = "malformed" if call is None or call.tool != self.name else "no_result"
            rows.append(
                {
                    "tool": self.tool,
                    "source": text.source,
                    "task_id": text.task_id,
                    "id": text.id,
                    "target": text.target,
                    "token": place,
                    "offset": offsets[place],
                    "probability": probabilities[place],
                    "call": write(call).strip() if call is not None else str(written),
                    "result": result,
                    "status": status,
                }
            )
        self._filter(rows, context, body)
        yield from rows

    def _sample(self, text: Text, chosen: list[int], start: int, state: Prefix) -> list[tuple[int, str]]:
        """The distinct texts sampled after the marker at the chosen places of the body; unfinished ones too."""
        lengths = [start + place for place in chosen for _ in range(self.settings.tool.samples)]
        # A seed for each text: what is sampled for one does not depend on which others are annotated.
        seed = f"{self.settings.seed} {self.tool} {text.source} {text.task_id} {text.id} {text.target}"
        generator = torch.Generator(device=self.lm.device).manual_seed(_stable_number(seed))
        results = branch(
            self.lm,
            state,
            lengths,
            self.marker,
            self.settings.max_call_tokens,
            stop=[END],
            sampling=Sampling(self.settings.temperature, generator),
            controller=_OnlyThisTool(self.name),
        )
        found: dict[tuple[int, str], None] = {}
        for length, result in zip(lengths, results, strict=True):
            # A sample without the end marker is no call (footnote 2); it is kept on record as malformed.
            found[length - start, result.text if result.stopped else f"{result.text} (unfinished)"] = None
        # Two spellings of one call are one candidate.
        distinct: dict[tuple[int, object], tuple[int, str]] = {}
        for place, written in found:
            distinct.setdefault((place, parse(written) or written), (place, written))
        return list(distinct.values())

    def _filter(self, rows: list[dict[str, Any]], context: list[int], body: list[int]) -> None:
        """Fill in the losses of the calls that have a result, and whether they are kept."""
        with_result = [row for row in rows if row["result"] is not None]
        # A text that begins at its first word needs something to be predicted from.
        first = [self.lm.tokenizer.end]
        wanted: dict[tuple[int, str], tuple[list[int], list[int]]] = {}
        for row in with_result:
            for before in self._prefixes(row):
                ids = [*first, *self.lm.tokenizer.encode(before)] if before else first
                place = row["token"]
                wanted[place, before] = ([*ids, *context, *body[:place]], body[place : place + WINDOW])
        values = continuation_logprobs(self.lm, list(wanted.values()))
        losses = {key: weighted_loss(value) for key, value in zip(wanted, values, strict=True)}
        for row in rows:
            measured = None
            if row["result"] is not None:
                measured = Losses(*(losses[row["token"], before] for before in self._prefixes(row)))
                kept = measured.kept(self.settings.tool.filter_threshold)
                row["status"] = "kept" if kept else "below_threshold"
            row["loss_no_call"] = measured.no_call if measured else None
            row["loss_call_without_result"] = measured.without_result if measured else None
            row["loss_call_with_result"] = measured.with_result if measured else None
            row["gain"] = measured.gain if measured else None

    def _prefixes(self, row: dict[str, Any]) -> tuple[str, str, str]:
        """What stands in front of the whole text for each of the three losses: nothing, e(c, ""), e(c, r)."""
        call = parse(row["call"].removeprefix("[").removesuffix("]"))
        assert isinstance(call, Call)
        return "", write(call, ""), write(call, row["result"])


def tokens_with_offsets(lm: LanguageModel, body: str, most: int) -> tuple[list[int], list[int]]:
    """The first `most` ids of " " + body, and for each the offset in `body` before which a call would stand."""
    ids, spans = lm.tokenizer.encode_with_offsets(f" {body}")
    offsets = [max(0, start - 1) for start, _ in spans]
    return ids[:most], offsets[:most]


def _stable_number(text: str) -> int:
    import hashlib

    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
