"""python -m stages.augment TOOL: data/augment/TOOL, every candidate call of one tool and the loss that it saves."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nightjar.core import contracts, paths, tables
from nightjar.core.identity import contents, digest
from nightjar.params.groups import ALL_TOOLS
from nightjar.tools import Toolbox, make
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


def run(stage: StageRun) -> None:
    name, params = stage.item, stage.params.augment
    tool_settings = params.tools[name]
    tool = make(name, tool_settings.resource, stage.params.tools[ALL_TOOLS][name])
    documents = from_documents(tables.read_rows(paths.CORPUS, contracts.DOCUMENTS))
    held_out_ids = held_out([row.id for row in documents], params.held_out_documents, stage.params.seed)
    chosen: list[AnnotatedText] = []
    counts: dict[str, Any] = {}
    rules: Counter[str] = Counter()
    training_documents = [row for row in documents if row.id not in held_out_ids]
    targets = from_instances(tables.read_rows(paths.SPLIT, contracts.TRAIN))
    for source, sources, words, limit in (
        ("corpus", training_documents, params.max_document_words, params.max_documents),
        ("train", targets, None, params.max_targets),
    ):
        suitable = suited(tool, sources, stage.params.seed, words)
        rules.update(row.rule for row in suitable)
        drawn = draw(name, suitable, limit, stage.params.seed)
        counts[source] = {"seen": len(sources), "suited": len(suitable), "chosen": len(drawn)}
        chosen += drawn

    from nightjar.models.engine.loading import count_work, device_name, load, prepare
    from nightjar.tools.annotate import AnnotationSettings, Annotator

    prepare(stage.params.seed, stage.params.threads)
    lm = load(paths.LANGUAGE_MODEL, params.precision)
    settings = AnnotationSettings(
        sampling_threshold=tool_settings.sampling_threshold,
        positions=tool_settings.positions,
        samples=tool_settings.samples,
        temperature=params.temperature,
        max_call_tokens=params.max_call_tokens,
        max_text_tokens=params.max_text_tokens,
        before_first_word=params.before_first_word,
        batch_texts=params.batch_texts,
    )
    cache_key = {
        "model": lm.sha256,
        "tool": [tool.name, tool.version],
        "settings": asdict(settings),
        "seed": stage.params.seed,
        "precision": params.precision,
        "machine": [device_name(), stage.params.threads],
        "code": [
            code_of("augment"),
            contents(Path(tool_settings.code)),
            *map(version, PACKAGES),
        ],
        "texts": digest({"all": [asdict(row) for row in chosen]}),
    }
    toolbox = Toolbox([tool])
    annotator = Annotator(lm, tool, settings, toolbox)

    batches = plan(
        [len(lm.tokenizer.encode(f"{row.text.context} {row.text.body}")) for row in chosen],
        params.batch_texts,
    )

    def annotate(number: int) -> dict[str, Any]:
        batch = [chosen[place] for place in batches[number]]
        with count_work(lm) as work:
            annotations = annotator.annotate(
                [row.text for row in batch], [row.seed(stage.params.seed, name) for row in batch]
            )
        problems = dict(toolbox.problems)
        toolbox.problems.clear()
        texts = [_unit(name, row, annotated) for row, annotated in zip(batch, annotations, strict=True)]
        return {"texts": texts, "tokens": work.tokens, "problems": problems}

    with stage.run_resumable(
        cache_key,
        len(batches),
        lambda todo: ((number, annotate(number)) for number in todo),
        "texts",
        lambda number: len(batches[number]),
    ) as values:
        if values is None:
            return
        units = list(values)
        places = [place for batch in batches for place in batch]
        by_place = dict(zip(places, [row for unit in units for row in unit["texts"]], strict=True))
        texts = [by_place[place] for place in range(len(chosen))]
        rows = [row for text in texts for row in text["rows"]]
        output = paths.CANDIDATES / name
        with tables.ArtifactWriter(output) as writer:
            writer.write(contracts.CANDIDATES, rows)
    stage.reads(
        paths.CORPUS,
        paths.SPLIT,
        paths.LANGUAGE_MODEL,
        *([tool_settings.resource] if tool_settings.resource else []),
    )
    stage.writes(output)
    measured = sum(row["status"] == "measured" for row in rows)
    stage.count(rows_in=len(rows), rows_out=measured, rejected=len(rows) - measured)
    refused = Counter(text["refused"] for text in texts if text["refused"])
    stage.details["texts"] = counts | {
        "annotated": len(texts) - refused.total(),
        "refused": dict(sorted(refused.items())),
        "windows": sum(text["windows"] for text in texts),
    }
    # Texts that suit the tool, by the rule that holds (Toolformer), before some of them were drawn.
    stage.details["rules"] = dict(sorted(rules.items()))
    # Likely places where no call was sampled: before the first word of a document, and inside of a character.
    stage.details["positions_left_out"] = sum(text["left_out"] for text in texts)
    stage.details["positions_inside_characters"] = sum(text["inside"] for text in texts)
    stage.details["candidates"] = dict(sorted(Counter(row["status"] for row in rows).items()))
    # Those that the model read, padding included, but for the tool's instructions.
    stage.details["tokens_computed"] = sum(unit["tokens"] for unit in units)
    stage.details["tool"] = {"name": tool.name, "version": tool.version}
    # Calls that failed, took too long, or gave what is no result, by kind.
    problems = sum((Counter(unit["problems"]) for unit in units), Counter())
    stage.details["problems"] = dict(sorted(problems.items()))


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
