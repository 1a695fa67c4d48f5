"""From candidate calls to texts with calls: Toolformer's C* (section 2 and appendix B)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nightjar.core import contracts, paths, tables
from nightjar.core.errors import NightjarError
from nightjar.text.f1 import words
from nightjar.tools.syntax import TOOLS, Call, find, insert

# A row of contracts.CANDIDATES, and the text that it belongs to: source, task_id, id, target.
Candidate = Mapping[str, Any]
Key = tuple[str, str | None, str, int]


def key_of(row: Candidate) -> Key:
    return row["source"], row["task_id"], row["id"], row["target"]


def call_of(row: Candidate) -> Call:
    """The call of a candidate. Raises NightjarError if it is none, which a damaged artifact has."""
    text = f" {row['call']}"
    calls = find(text, names=None)
    if len(calls) != 1 or (calls[0].start, calls[0].end) != (0, len(text)):
        raise NightjarError(
            f"{row['call']!r} is no call", paths.CANDIDATES / row["tool"], "nightjar rebuild augment"
        )
    return calls[0].call


OWN_CALLS = "its text contains a call already"
LOOK_AHEAD = "its input occurs in the text only after the call"
NO_ANSWER = "the next word of the text is none of its result"
WORSE = "a better call at the same position"
LIMIT = "beyond the limit of examples of its tool"


@dataclass(frozen=True)
class Body:
    """A text without calls, and what a reader knows before it: the input of an instance, nothing for a document."""

    text: str
    context: str = ""


@dataclass(frozen=True)
class Rules:
    """Which calls may be merged.

    `guarded`: tools whose calls must not look ahead. `answering`: tools whose results must have the next word of the
    text (not published). `prices`: nats that are subtracted from the gains of a tool's calls. `max_texts`: the largest
    number of texts with calls of one tool.
    """

    guarded: Collection[str] = ()
    answering: Collection[str] = ()
    prices: Mapping[str, float] = field(default_factory=dict)
    max_texts: int | None = None

    def worth(self, row: Candidate) -> float:
        """The gain of a call less the price of its tool."""
        return float(row["gain"]) - self.prices.get(row["tool"], 0.0)


@dataclass
class Chosen:
    """The calls that are merged, and the others with the reason why not."""

    calls: list[Candidate] = field(default_factory=list)
    rejected: list[tuple[Candidate, str]] = field(default_factory=list)


def choose(rows: Iterable[Candidate], bodies: Mapping[Key, Body], rules: Rules) -> Chosen:
    """The calls to merge of `rows` (contracts.CANDIDATES): one at a position, that with the largest gain.

    The paper does not say how to choose between calls at one position. Of equal gains, the first in the order of the
    rows is taken. At most `rules.max_texts` texts have calls of one tool, those with the largest gains. Raises
    NightjarError for a call whose text is not among `bodies`.
    """
    rows = list(rows)
    names = call_names(rows)
    own_calls = {key for key in {key_of(row) for row in rows} if find(_body(bodies, key).text, names)}
    chosen, best = Chosen(), dict[tuple[Key, int], Candidate]()
    for row in rows:
        if reason := _refused(row, _body(bodies, key_of(row)), key_of(row) in own_calls, rules):
            chosen.rejected.append((row, reason))
            continue
        place = key_of(row), row["offset"]
        first = best.setdefault(place, row)
        if first is not row:
            worse, best[place] = sorted((row, first), key=rules.worth)
            chosen.rejected.append((worse, WORSE))
    allowed = _limited(best.values(), rules)
    for row in best.values():
        if key_of(row) in allowed[row["tool"]]:
            chosen.calls.append(row)
        else:
            chosen.rejected.append((row, LIMIT))
    return chosen


def _body(bodies: Mapping[Key, Body], key: Key) -> Body:
    if key not in bodies:
        where = " ".join(str(part) for part in key if part is not None)
        raise NightjarError(
            "calls were sampled for a text that is missing", where, "nightjar rebuild augment"
        )
    return bodies[key]


def _refused(row: Candidate, body: Body, own_calls: bool, rules: Rules) -> str | None:
    """Why the call must not be merged; None if it may be."""
    if own_calls:
        return OWN_CALLS
    if row["tool"] in rules.answering and not answers(row, body):
        return NO_ANSWER
    return LOOK_AHEAD if row["tool"] in rules.guarded and looks_ahead(row, body) else None


def looks_ahead(row: Candidate, body: Body) -> bool:
    """Tell whether the input of the call occurs in the text after the call, but not before it, nor in the context.

    Offsets are those of " " + text. The rule is published for machine translation (appendix B).
    """
    argument = call_of(row).input
    text = f" {body.text}"
    known_texts = (text[: row["offset"]], body.context)
    return argument in text[row["offset"] :] and not any(argument in part for part in known_texts)


def answers(row: Candidate, body: Body) -> bool:
    """Tell whether the next word of the text is one of the result. Case, punctuation and articles do not count."""
    next_words = words(f" {body.text}"[row["offset"] :])[:1]
    return bool(next_words) and next_words[0] in words(row["result"])


def _limited(rows: Iterable[Candidate], rules: Rules) -> dict[str, set[Key]]:
    """For each tool the texts that may have its calls: those with the best calls (Toolformer)."""
    gains: dict[str, dict[Key, float]] = defaultdict(dict)
    for row in rows:
        texts = gains[row["tool"]]
        worth = rules.worth(row)
        texts[key_of(row)] = max(worth, texts.get(key_of(row), worth))
    return {
        tool: set(sorted(texts, key=lambda text: -texts[text])[: rules.max_texts])
        for tool, texts in gains.items()
    }


def call_names(rows: Iterable[Candidate]) -> frozenset[str]:
    """The names that calls are written with: those of the paper's tools, and those of the calls in `rows`."""
    return frozenset(TOOLS) | {call_of(row).tool for row in rows}


def merged_texts(calls: Sequence[Candidate], bodies: Mapping[Key, Body]) -> list[dict[str, Any]]:
    """Rows of contracts.CALLS_MERGED: every text that has calls, with them, in the order of `bodies`.

    Texts without a call are left out. Offsets are those of " " + text, as the model reads it: a call before
    everything else is so followed by the first word's blank. For every row,
    `remove(" " + row["text"]) == " " + row["original"]` (nightjar.tools.syntax).
    """
    by_text: dict[Key, list[Candidate]] = defaultdict(list)
    for row in calls:
        by_text[key_of(row)].append(row)
    merged = []
    for key, body in bodies.items():
        if key not in by_text:
            continue
        text_calls = sorted(by_text[key], key=lambda row: row["offset"])
        text = insert(f" {body.text}", [(row["offset"], call_of(row), row["result"]) for row in text_calls])
        source, task_id, id_, target = key
        merged.append(
            {
                "source": source,
                "task_id": task_id,
                "id": id_,
                "target": target,
                "text": text.removeprefix(" "),
                "original": body.text,
                "tools": [row["tool"] for row in text_calls],
            }
        )
    return merged


def examples(calls: Iterable[Candidate], source: str) -> dict[str, int]:
    """For each tool the texts of a source that have calls of it: what table 2 of the paper counts."""
    texts: dict[str, set[Key]] = defaultdict(set)
    for row in calls:
        if row["source"] == source:
            texts[row["tool"]].add(key_of(row))
    return {tool: len(keys) for tool, keys in texts.items()}


def read_bodies(corpus: Path, split: Path) -> Iterator[tuple[Key, Body]]:
    """Every text that calls may have been sampled for: the documents, then the targets of training instances."""
    for batch in tables.batches(corpus, contracts.DOCUMENTS, ["id", "text"]):
        for row in batch.to_pylist():
            yield ("corpus", None, row["id"], 0), Body(row["text"].strip())
    for batch in tables.batches(split, contracts.TRAIN, ["task_id", "id", "input", "outputs"]):
        for row in batch.to_pylist():
            for target, output in enumerate(row["outputs"]):
                yield ("train", row["task_id"], row["id"], target), Body(output.strip(), row["input"])
