"""Which texts calls are sampled for: documents of the corpus, and targets of training instances."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from nightjar.core.plugins import calling
from nightjar.tools import Text, Tool, write
from nightjar.tools.dates import find_date

if TYPE_CHECKING:
    from nightjar.tools.annotate import Candidate


@dataclass(frozen=True)
class AnnotatedText:
    """A text to annotate, and where it comes from: "corpus" or "train", the task's id, its own id, and which target.

    `rule`: by which it suits the tool, as `Tool.suits` names it.
    """

    source: str
    task_id: str | None
    id: str
    target: int
    text: Text
    rule: str = ""

    def seed(self, seed: int, tool: str) -> str:
        """Return the seed of its sampling: the calls of a text do not change with which others are annotated."""
        return f"{seed} {tool} {self.source} {self.task_id} {self.id} {self.target}"


def from_documents(rows: Iterable[Mapping[str, Any]]) -> list[AnnotatedText]:
    """Documents (contracts.DOCUMENTS) as texts without context, of the day in their URL."""
    return [
        AnnotatedText("corpus", None, row["id"], 0, Text(row["text"].strip(), day=row["date"]))
        for row in rows
    ]


def from_instances(rows: Iterable[Mapping[str, Any]]) -> list[AnnotatedText]:
    """Training instances (contracts.TRAIN) as texts, one a reference; the instance's part of the prompt is context.

    Definition and demonstrations are left out of the context: the losses look at five tokens after the instance's own
    input, and every candidate call costs two passes over the context. The day is the first that the input names.
    """
    return [
        AnnotatedText(
            "train",
            row["task_id"],
            row["id"],
            target,
            Text(output.strip(), f"Input: {row['input'].strip()}\nOutput:", find_date(row["input"])),
        )
        for row in rows
        for target, output in enumerate(row["outputs"])
    ]


def suited(
    tool: Tool, sources: Sequence[AnnotatedText], seed: int, words: int | None = None
) -> list[AnnotatedText]:
    """The texts that suit the tool, each with the rule that it satisfies (Toolformer), in the given order.

    Texts of more than `words` words are left out.
    """
    suitable = []
    for source in sources:
        if words is not None and len(source.text.body.split()) > words:
            continue
        with calling(f"tool {tool.name}", "its method suits fails"):
            rule = tool.suits(source.text, random.Random(f"{seed} {source.source} {source.id}").random())
        if rule:
            suitable.append(replace(source, rule=rule))
    return suitable


def draw(name: str, sources: Sequence[AnnotatedText], limit: int | None, seed: int) -> list[AnnotatedText]:
    """At most `limit` of the texts for the tool called `name`, drawn with `seed`, in the given order."""
    if limit is None or len(sources) <= limit:
        return list(sources)
    drawn = random.Random(f"{seed} {name}").sample(range(len(sources)), limit)
    return [sources[place] for place in sorted(drawn)]


def plan(lengths: Sequence[int], size: int) -> list[list[int]]:
    """Batches of the numbers of texts, of like length and at most `size` each, the shortest first.

    They are made of all texts in advance: a resumed run has the same ones, and the last bits of a loss depend on them.
    """
    order = sorted(range(len(lengths)), key=lambda number: lengths[number])
    return [order[start : start + size] for start in range(0, len(order), size)]


def row(name: str, source: AnnotatedText, candidate: Candidate) -> dict[str, Any]:
    """A row of contracts.CANDIDATES: a call sampled for the tool called `name`."""
    losses = candidate.losses
    status = "measured" if losses else "no_result" if candidate.call else "malformed"
    return {
        "tool": name,
        "source": source.source,
        "task_id": source.task_id,
        "id": source.id,
        "target": source.target,
        "token": candidate.token,
        "offset": candidate.offset,
        "probability": candidate.probability,
        "call": write(candidate.call).strip() if candidate.call else candidate.written,
        "result": candidate.result,
        "loss_no_call": losses.no_call if losses else None,
        "loss_call_without_result": losses.without_result if losses else None,
        "loss_call_with_result": losses.with_result if losses else None,
        "gain": losses.gain if losses else None,
        "status": status,
    }
