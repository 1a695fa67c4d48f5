"""python -m stages.augment TOOL: data/augment/TOOL, every candidate call of one tool and the loss that it saves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nightjar.core import contracts, paths, tables
from nightjar.core.identity import contents, digest
from nightjar.params.groups import ALL_TOOLS
from nightjar.tools import Tool, Toolbox, make
from stages._runtime.checkpoint import code_of
from stages._runtime.held_out import held_out
from stages._runtime.stage import StageRun, main
from stages.augment.annotated_texts import (
    AnnotatedText,
    draw,
    from_documents,
    from_instances,
    plan,
    row,
    suited,
)

if TYPE_CHECKING:
    from nightjar.tools.annotate import Annotated

PACKAGES = ("torch", "transformers")


@dataclass(frozen=True)
class ChosenTexts:
    """The texts to annotate, how many there were of each source, and how many suit the tool by each rule."""

    texts: list[AnnotatedText]
    counts: dict[str, dict[str, int]]
    rules: Counter[str]


def run(stage: StageRun) -> None:
    """Sample calls of a tool in texts that suit it, execute them, and measure the loss that each saves."""
    name = stage.item
    resource = stage.params.augment.tools[name].resource
    tool = make(name, resource, stage.params.tools[ALL_TOOLS][name])
    chosen = choose_texts(stage, tool)
    annotation = Annotation(stage, tool, chosen.texts)
    batches, output = annotation.batches, paths.CANDIDATES / name
    with stage.run_resumable(
        annotation.cache_key(),
        len(batches),
        lambda todo: ((number, annotation.annotate(number)) for number in todo),
        "texts",
        lambda number: len(batches[number]),
    ) as values:
        if values is None:
            return
        units = list(values)
        texts = _in_order(batches, units)
        rows = [row for text in texts for row in text["rows"]]
        with tables.ArtifactWriter(output) as writer:
            writer.write(contracts.CANDIDATES, rows)
    stage.reads(paths.CORPUS, paths.SPLIT, paths.LANGUAGE_MODEL, *([resource] if resource else []))
    stage.writes(output)
    measured = sum(row["status"] == "measured" for row in rows)
    stage.count(rows_in=len(rows), rows_out=measured, rejected=len(rows) - measured)
    stage.details |= details(tool, chosen, texts, units)


def choose_texts(stage: StageRun, tool: Tool) -> ChosenTexts:
    """Draw the texts to annotate from those that suit the tool: documents of the corpus, and targets of training."""
    params, seed = stage.params.augment, stage.params.seed
    documents = from_documents(tables.read_rows(paths.CORPUS, contracts.DOCUMENTS))
    held_out_ids = held_out([row.id for row in documents], params.held_out_documents, seed)
    training_documents = [row for row in documents if row.id not in held_out_ids]
    targets = from_instances(tables.read_rows(paths.SPLIT, contracts.TRAIN))
    chosen = ChosenTexts([], {}, Counter())
    for source, sources, words, limit in (
        ("corpus", training_documents, params.max_document_words, params.max_documents),
        ("train", targets, None, params.max_targets),
    ):
        suitable = suited(tool, sources, seed, words)
        drawn = draw(stage.item, suitable, limit, seed)
        chosen.texts.extend(drawn)
        chosen.counts[source] = {"seen": len(sources), "suited": len(suitable), "chosen": len(drawn)}
        chosen.rules.update(row.rule for row in suitable)
    return chosen


class Annotation:
    """The annotation of texts with calls of one tool by the language model, in batches of texts of similar lengths."""

    def __init__(self, stage: StageRun, tool: Tool, texts: Sequence[AnnotatedText]) -> None:
        from nightjar.models.engine.loading import load, prepare
        from nightjar.tools.annotate import AnnotationSettings, Annotator

        params, tool_settings = stage.params.augment, stage.params.augment.tools[stage.item]
        prepare(stage.params.seed, stage.params.threads)
        self.lm = load(paths.LANGUAGE_MODEL, params.precision)
        self.settings = AnnotationSettings(
            sampling_threshold=tool_settings.sampling_threshold,
            positions=tool_settings.positions,
            samples=tool_settings.samples,
            temperature=params.temperature,
            max_call_tokens=params.max_call_tokens,
            max_text_tokens=params.max_text_tokens,
            before_first_word=params.before_first_word,
            before_names=stage.item in params.before_names,
            batch_texts=params.batch_texts,
        )
        self._stage, self._tool, self._texts = stage, tool, texts
        self._toolbox = Toolbox([tool])
        self._annotator = Annotator(self.lm, tool, self.settings, self._toolbox)
        lengths = [len(self.lm.tokenizer.encode(f"{row.text.context} {row.text.body}")) for row in texts]
        self.batches = plan(lengths, params.batch_texts)

    def cache_key(self) -> dict[str, Any]:
        """Return all that decides the annotations."""
        from nightjar.models.engine.loading import device_name

        params = self._stage.params
        code = Path(params.augment.tools[self._stage.item].code)
        return {
            "model": self.lm.sha256,
            "tool": [self._tool.name, self._tool.version],
            "settings": asdict(self.settings),
            "seed": params.seed,
            "precision": params.augment.precision,
            "machine": [device_name(), params.threads],
            "code": [code_of("augment"), contents(code), *map(version, PACKAGES)],
            "texts": digest({"all": [asdict(row) for row in self._texts]}),
        }

    def annotate(self, number: int) -> dict[str, Any]:
        """Annotate one batch, and return its entry in the checkpoint."""
        from nightjar.models.engine.loading import count_work

        name, seed = self._stage.item, self._stage.params.seed
        batch = [self._texts[place] for place in self.batches[number]]
        with count_work(self.lm) as work:
            annotations = self._annotator.annotate(
                [row.text for row in batch], [row.seed(seed, name) for row in batch]
            )
        problems = dict(self._toolbox.problems)
        self._toolbox.problems.clear()
        texts = [_unit(name, row, annotated) for row, annotated in zip(batch, annotations, strict=True)]
        return {"texts": texts, "tokens": work.tokens, "problems": problems}


def _in_order(batches: Sequence[Sequence[int]], units: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the entries of the texts of all batches in the order of the texts."""
    places = [place for batch in batches for place in batch]
    texts = [text for unit in units for text in unit["texts"]]
    by_place = dict(zip(places, texts, strict=True))
    return [by_place[place] for place in range(len(places))]


def details(
    tool: Tool,
    chosen: ChosenTexts,
    texts: Sequence[Mapping[str, Any]],
    units: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Return the facts of an annotation: how many texts, calls, tokens and problems there were."""
    refused = Counter(text["refused"] for text in texts if text["refused"])
    statuses = Counter(row["status"] for text in texts for row in text["rows"])
    problems = sum((Counter(unit["problems"]) for unit in units), Counter())
    return {
        "texts": chosen.counts
        | {
            "annotated": len(texts) - refused.total(),
            "refused": dict(sorted(refused.items())),
            "windows": sum(text["windows"] for text in texts),
        },
        # Texts that suit the tool, by the rule that holds (Toolformer), before some of them were drawn.
        "rules": dict(sorted(chosen.rules.items())),
        # Likely places where no call was sampled: before the first word of a document, and inside of a character.
        "positions_left_out": sum(text["left_out"] for text in texts),
        "positions_inside_characters": sum(text["inside"] for text in texts),
        "candidates": dict(sorted(statuses.items())),
        # Those that the model read, padding included, but for the tool's instructions.
        "tokens_computed": sum(unit["tokens"] for unit in units),
        "tool": {"name": tool.name, "version": tool.version},
        # Calls that failed, took too long, or gave what is no result, by kind.
        "problems": dict(sorted(problems.items())),
    }


def _unit(name: str, source: AnnotatedText, annotated: Annotated) -> dict[str, Any]:
    """Return the entry of a text in the checkpoint."""
    rows = [row(name, source, candidate) for candidate in annotated.candidates]
    return {
        "rows": rows,
        "left_out": annotated.left_out,
        "inside": annotated.inside,
        "windows": annotated.windows,
        "refused": annotated.refused,
    }


if __name__ == "__main__":
    main(
        "augment",
        run,
        packages=PACKAGES,
        threads=True,
        shards=True,
    )
