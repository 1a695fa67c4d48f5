"""Sample, execute and filter the calls of one tool for texts (Toolformer sections 2 and 4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

from nightjar.core.errors import NightjarError
from nightjar.models.engine.kv_cache import Prefix
from nightjar.models.engine.language_model import LanguageModel
from nightjar.models.engine.log_probabilities import batch_tokens
from nightjar.models.engine.shared_prefixes import prefill
from nightjar.models.engine.text_trees import SampleStart, TextTrees
from nightjar.models.tokenizer import like_length
from nightjar.tools.decode import marker_token
from nightjar.tools.filter import Losses, Placed, Tokens, losses_at, positions
from nightjar.tools.syntax import END, TOOLS, Call, find, parse, write
from nightjar.tools.tool import Text, Tool, ToolRequest
from nightjar.tools.toolbox import Toolbox
from nightjar.tools.windows import TextWindow, before_name, inside_character, pieces

# Tokens of the context that the words "Input:" and "Output:" and cut words may need, and the shortest window.
SPARE, SHORTEST = 32, 16
# Why a text is not annotated.
HAS_CALL, LONG_CONTEXT = "already contains a call", "its context leaves no room in the model's"


@dataclass(frozen=True, kw_only=True)
class AnnotationSettings:
    """tau_s, k and m (Toolformer section 2, appendix A), and the limits of sampling. Lengths in tokens.

    `max_text_tokens`: longer texts are annotated in windows of this length; k is of a text, not of a window.
    `before_first_word`: whether a call may be put before the first word of a text without context, as published. There
    the loss without a call is conditioned on nothing, and any words in front of the text lower it. `before_names`:
    whether calls are put only where a name or a number begins (not published). `batch_texts`: texts, or windows, that
    are sampled together.
    """

    sampling_threshold: float
    positions: int
    samples: int
    temperature: float
    max_call_tokens: int
    max_text_tokens: int
    before_first_word: bool = False
    before_names: bool = False
    batch_texts: int = 8


@dataclass(frozen=True)
class Candidate:
    """A call sampled for a text: before which token, with which probability of its marker, and what it gave.

    `token` is its number in the whole body, `offset` where it begins in " " + body. `call` is None where `written`, the
    sampled text, is no call of the tool. `losses` is None without a result.
    """

    token: int
    offset: int
    probability: float
    written: str
    call: Call | None
    result: str | None = None
    losses: Losses | None = None


@dataclass
class Annotated:
    """The candidates of a text, in text order, and what was left out.

    `left_out`: places before its first word, likely enough for a call, where none was sampled. `inside`: such places
    inside of a character. `refused`: why the text was not annotated, or None.
    """

    candidates: list[Candidate] = field(default_factory=list)
    left_out: int = 0
    inside: int = 0
    windows: int = 0
    refused: str | None = None


class Annotator:
    """Annotates texts with calls of one tool, keeping the model's state after the tool's instructions.

    `toolbox` runs the calls, by default with the tool alone.
    """

    def __init__(
        self, lm: LanguageModel, tool: Tool, settings: AnnotationSettings, toolbox: Toolbox | None = None
    ) -> None:
        if not tool.instructions:
            fix = "give it some, as nightjar.prompts.tool_prompts.instructions makes them"
            raise NightjarError("this tool has no instructions to sample calls by", repr(tool.name), fix)
        self.lm, self.tool, self.settings = lm, tool, settings
        self.toolbox = toolbox or Toolbox([tool])
        self.marker = marker_token(lm)
        # The last token may be another one where a text follows.
        self.head: Prefix = prefill(lm, lm.tokenizer.encode(f"{tool.instructions}Input:")[:-1])
        self.limit = lm.positions

    def annotate(self, texts: Sequence[Text], seeds: Sequence[str]) -> list[Annotated]:
        """For each text every distinct call sampled for it, with what the filter needs to know of it.

        What is sampled for a text depends on its seed, the text and the settings alone, but for the rounding of the
        model's numbers, which depends on the batch.
        """
        annotations = [Annotated() for _ in texts]
        todo: list[TextWindow] = []
        for number, text in enumerate(texts):
            text_pieces = self._pieces(number, text, annotations[number])
            annotations[number].windows = len(text_pieces)
            todo += text_pieces
        # A prompt has context and window twice.
        lengths = [2 * (len(piece.tokens.context) + len(piece.body)) for piece in todo]
        batches = [[todo[place] for place in chosen] for chosen in self._batches(lengths)]
        samples = [self._sampled(batch, texts, seeds, annotations) for batch in batches]
        likeliest = self._likeliest(batches, samples)
        for batch, drawn in zip(batches, samples, strict=True):
            sampled = [
                [one for one in candidates if one.token in likeliest[piece.text]]
                for piece, candidates in zip(batch, drawn, strict=True)
            ]
            measured = self._measured(batch, self._executed(batch, sampled, texts))
            for piece, candidates in zip(batch, measured, strict=True):
                annotations[piece.text].candidates += candidates
        for annotation in annotations:
            annotation.candidates.sort(
                key=lambda candidate: candidate.token
            )  # stable: samples keep their order
        return annotations

    def _pieces(self, number: int, text: Text, annotation: Annotated) -> list[TextWindow]:
        """The windows of a text, none where it is refused."""
        if find(text.body, {*TOOLS, *self.toolbox.names}):
            annotation.refused = HAS_CALL
            return []
        tokens, window_tokens = Tokens.of(self.lm.tokenizer, text), self.settings.max_text_tokens
        if self.limit is not None:
            # A prompt has context and window twice.
            room = self.limit - len(self.head.ids) - self.settings.max_call_tokens - SPARE
            window_tokens = min(window_tokens, room // 2 - len(tokens.context))
            if window_tokens < min(SHORTEST, len(tokens.body)):
                annotation.refused = LONG_CONTEXT
                return []
        return pieces(number, text, tokens, window_tokens) if text.body else []

    def _batches(self, lengths: Sequence[int]) -> list[list[int]]:
        """Numbers of pieces of like length, bounded by their tokens and by the setting."""
        size = self.settings.batch_texts
        return [
            batch[start : start + size]
            for batch in like_length(lengths, batch_tokens(self.lm))
            for start in range(0, len(batch), size)
        ]

    def _sampled(
        self,
        batch: Sequence[TextWindow],
        texts: Sequence[Text],
        seeds: Sequence[str],
        annotations: Sequence[Annotated],
    ) -> list[list[Candidate]]:
        """The distinct texts sampled for each piece, those that are no calls too."""
        rows = [(self._prompt(piece), piece.body) for piece in batch]
        tree = TextTrees(self.lm, rows, self.head)
        likely = tree.probabilities(self.marker)
        beginnings, origins = [], []
        for row, piece in enumerate(batch):
            for place in self._positions(piece, texts[piece.text], likely[row], annotations[piece.text]):
                token = piece.window.begin + place
                sample_seeds = [
                    f"{seeds[piece.text]} {token} {sample}" for sample in range(self.settings.samples)
                ]
                beginnings.append(SampleStart(row, len(rows[row][0]) + place, sample_seeds))
                origins.append(Candidate(token, piece.tokens.offsets[place], likely[row][place], "", None))
        candidates: list[list[Candidate]] = [[] for _ in batch]
        for start, drawn in zip(beginnings, self._drawn(tree, beginnings, origins), strict=True):
            candidates[start.row] += drawn
        return candidates

    def _likeliest(
        self, batches: Sequence[Sequence[TextWindow]], samples: Sequence[Sequence[Sequence[Candidate]]]
    ) -> dict[int, set[int]]:
        """The tokens of each text, by its number, at which calls remain: k of all its windows together.

        Each window has sampled at its own k, since the next window is not yet known when it does.
        """
        likely: dict[int, dict[int, float]] = {}
        for batch, sampled in zip(batches, samples, strict=True):
            for piece, candidates in zip(batch, sampled, strict=True):
                likely.setdefault(piece.text, {}).update({one.token: one.probability for one in candidates})
        chosen = {}
        for text, probabilities in likely.items():
            tokens = sorted(probabilities)
            places = positions([probabilities[token] for token in tokens], -1.0, self.settings.positions)
            chosen[text] = {tokens[place] for place in places}
        return chosen

    def _prompt(self, piece: TextWindow) -> list[int]:
        """The ids that the model reads before the body of a piece."""
        prompt = f"{self.tool.instructions}Input: {piece.prompt_text}\nOutput:"
        return [*self.lm.tokenizer.encode(prompt), *piece.tokens.context]

    def _drawn(
        self, tree: TextTrees, beginnings: Sequence[SampleStart], origins: Sequence[Candidate]
    ) -> list[list[Candidate]]:
        """The distinct texts sampled at each beginning; `origins` has what is known of them before."""
        name = self.tool.name
        opening = f"{name}("
        results = tree.sample(
            beginnings,
            self.marker,
            self.settings.temperature,
            self.settings.max_call_tokens,
            END,
            # What cannot become a call of this tool is not sampled to its end: it would be dropped.
            lambda text: (opening.startswith(text) or text.startswith(opening)) and "\n" not in text,
        )
        candidates = []
        for origin, samples in zip(origins, results, strict=True):
            distinct: dict[object, Candidate] = {}
            for sample in samples:
                # A sample without the end marker is no call (footnote 2); it is recorded as malformed.
                written = sample.text if sample.stopped else f"{sample.text} (unfinished)"
                call = parse(written, [name]) if sample.stopped else None
                # Two spellings of one call are one candidate.
                distinct.setdefault(call or written, replace(origin, written=written, call=call))
            candidates.append(list(distinct.values()))
        return candidates

    def _positions(
        self, piece: TextWindow, text: Text, probabilities: Sequence[float], annotation: Annotated
    ) -> list[int]:
        """The places of a piece to sample at; counts the likely ones that are left out."""
        threshold, offsets = self.settings.sampling_threshold, piece.tokens.offsets
        allowed = list(probabilities)
        inside = inside_character(f" {text.body}", offsets)
        names = before_name(f" {text.body}", offsets) if self.settings.before_names else None
        # Where the first word of a text without context begins in " " + body; 0 where a call may be before it.
        first = 0
        if not self.settings.before_first_word and not text.context:
            first = len(text.body) - len(text.body.lstrip()) + 1
        for place, value in enumerate(probabilities):
            if place < piece.window.first - piece.window.begin:
                allowed[place] = 0.0  # sampled in the window before
            elif inside[place]:
                allowed[place] = 0.0
                annotation.inside += value > threshold
            elif names is not None and not names[place]:
                allowed[place] = 0.0
            elif first and offsets[place] <= first:
                allowed[place] = 0.0
                annotation.left_out += value > threshold
        return positions(allowed, threshold, self.settings.positions)

    def _executed(
        self, batch: Sequence[TextWindow], sampled: Sequence[Sequence[Candidate]], texts: Sequence[Text]
    ) -> list[list[Candidate]]:
        """The candidates with their results; each distinct request is made once, and all before any is awaited."""
        uses, futures = self.tool.uses, dict[ToolRequest, Future[str | None]]()

        def request(piece: TextWindow, call: Call) -> ToolRequest:
            text = texts[piece.text]
            context = f"{text.context} {text.body}".strip() if "text" in uses else ""
            return ToolRequest(call.input, text.day if "day" in uses else None, context)

        calls = [
            (piece, candidate)
            for piece, candidates in zip(batch, sampled, strict=True)
            for candidate in candidates
            if candidate.call
        ]
        for piece, candidate in calls:
            assert candidate.call is not None
            key = request(piece, candidate.call)
            if key not in futures:
                futures[key] = self.toolbox.ask(candidate.call, key.day, key.text)
        return [
            [
                replace(
                    candidate,
                    result=self._fitting(piece, candidate, futures[request(piece, candidate.call)].result()),
                )
                if candidate.call
                else candidate
                for candidate in candidates
            ]
            for piece, candidates in zip(batch, sampled, strict=True)
        ]

    def _fitting(self, piece: TextWindow, candidate: Candidate, result: str | None) -> str | None:
        """The result, or None if the model cannot read call and result in front of the text."""
        if result is None or self.limit is None or candidate.call is None:
            return result
        tokenizer = self.lm.tokenizer
        read = len(tokenizer.before_text) + len(piece.tokens.context) + len(piece.tokens.body)
        if read + len(tokenizer.continuation(write(candidate.call, result))) <= self.limit:
            return result
        self.toolbox.problems[f"{self.tool.name}: too long for the model"] += 1
        return None

    def _measured(
        self, batch: Sequence[TextWindow], executed: Sequence[Sequence[Candidate]]
    ) -> list[list[Candidate]]:
        placed: list[tuple[Tokens, list[Placed]]] = [
            (
                piece.tokens,
                [
                    (candidate.token - piece.window.begin, candidate.call, candidate.result)
                    for candidate in candidates
                    if candidate.call and candidate.result is not None
                ],
            )
            for piece, candidates in zip(batch, executed, strict=True)
        ]
        measured = []
        for candidates, losses in zip(executed, losses_at(self.lm, placed), strict=True):
            values = iter(losses)
            measured.append(
                [
                    replace(candidate, losses=next(values)) if candidate.result is not None else candidate
                    for candidate in candidates
                ]
            )
        return measured
