"""From documents to token ids, as plain language modelling trains on them (Toolformer, section 4.1).

A text is an instance with an empty prompt: what the tokenizer puts before a text, or the end token, from which the
first token is predicted, and the text as target, so that the loss is over all tokens. A text longer than the limit
becomes several windows; every token is in exactly one of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nightjar.core import contracts, tables
from nightjar.core.contracts import Table
from nightjar.core.errors import NightjarError
from nightjar.models.tokenizer import Tokenizer
from nightjar.params.train import RecipeInputs
from nightjar.tools.syntax import find
from stages.encode.encoded_tasks import DEV, EncodingCounts, Unit, write

# The task_id of a text.
TASK = "corpus"


class TextBuild:
    """The work of one recipe that trains on the corpus: the texts with kept calls, then the documents held out.

    The texts have their calls if the recipe wants them, and are the same without calls otherwise. `merged` is the
    artifact of stage augment_merge.
    Raises NightjarError if there is no text to train on, or for an encoder-decoder, which has no use for a text alone.
    """

    def __init__(self, merged: Path, recipe: RecipeInputs, tokenizer: Tokenizer) -> None:
        if recipe.sequence_tokens is None:
            raise ValueError("a recipe of texts has a length of its sequences")
        if tokenizer.encoder_decoder:
            fix = "set models.language_model.source to a causal model, or take the recipe off train.recipes"
            raise NightjarError("an encoder-decoder cannot train on texts alone", merged, fix)
        self.merged, self.recipe, self.tokenizer = merged, recipe, tokenizer
        self.length = recipe.sequence_tokens
        self.units = [
            Unit(side, contract, part, count)
            for side, contract in (("train", contracts.CALLS_MERGED), (DEV, contracts.HELD_OUT))
            for part in tables.part_rows(merged, contract)
            if (count := len(self._texts(contract, part)))
        ]
        if not any(unit.side == "train" for unit in self.units):
            what = "no call was kept in any document: there are no texts to train on"
            fix = (
                "raise augment.max_documents or lower filter thresholds, or take the recipe off train.recipes"
            )
            raise NightjarError(what, merged / contracts.CALLS_MERGED.name, fix)

    def _texts(self, contract: Table, part: str) -> list[dict[str, str]]:
        """The id and text of the documents of a part; targets of training instances are none."""
        if contract is contracts.HELD_OUT:
            return tables.read_part(self.merged, contract, part).to_pylist()
        text = "text" if self.recipe.calls else "original"
        merged_rows = tables.read_part(self.merged, contract, part, ["source", "id", text]).to_pylist()
        return [{"id": row["id"], "text": row[text]} for row in merged_rows if row["source"] == "corpus"]

    def encode(self, number: int) -> dict[str, Any]:
        """The unit of that number: its rows of task_id, id, prompts and targets, one a window, and how many texts were
        read.
        """
        unit = self.units[number]
        rows = self._texts(unit.contract, unit.part)
        encoded = []
        for row in rows:
            for place, ids in enumerate(windows(self.tokenizer, row["text"], self.length)):
                # The id of a document may have any form; with the place after it, it stays unique.
                encoded.append([TASK, f"{row['id']}#{place}", [self.tokenizer.before_text], [ids]])
        with_calls = len(rows) if self.recipe.calls and unit.side != DEV else 0
        return {"targets_with_calls": with_calls, "rows": encoded, "read": len(rows)}

    def write(self, output: Path, encoded: Iterable[Mapping[str, Any]]) -> EncodingCounts:
        """Write the artifact `output` from what `encode` gave for every unit, in their order."""
        return write(output, self.units, encoded, self.tokenizer.encoder_decoder)


def windows(tokenizer: Tokenizer, text: str, length: int) -> list[list[int]]:
    """The ids of " " + text, the end token last, in windows of at most `length`.

    A window ends before a tool call that would not fit, unless the call is longer than a window by itself. A window is
    read without those before it.
    """
    spaced = f" {text}"
    ids, spans = tokenizer.encode_with_offsets(spaced)
    ids = [*ids, tokenizer.end]
    if len(ids) <= length:
        return [ids]
    starts = [start for start, _ in spans]
    calls = [(call.start, call.end) for call in find(spaced, names=None)]
    cuts = [0]
    while len(ids) - cuts[-1] > length:
        cuts.append(_cut(starts, calls, cuts[-1], length))
    return [ids[start:end] for start, end in zip(cuts, [*cuts[1:], len(ids)], strict=True)]


def _cut(starts: Sequence[int], calls: Sequence[tuple[int, int]], begin: int, length: int) -> int:
    """The token before which the window that begins at token `begin` ends."""
    cut = begin + length
    if cut >= len(starts):  # only the end token is left
        return cut
    call = next((start for start, end in calls if start < starts[cut] < end), None)
    if call is None:
        return cut
    before = max(place for place, start in enumerate(starts[: cut + 1]) if start <= call)
    return before if before > begin else cut
