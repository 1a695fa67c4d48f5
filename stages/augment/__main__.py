"""python -m stages.augment TOOL: data/augment/TOOL, every candidate call of one tool and whether it is kept."""

from collections import Counter
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from nightjar.core import contracts, tables
from nightjar.core.harness import Stage, main
from nightjar.core.journal import code, contents, digest
from nightjar.tools import Toolbox, make
from stages.augment.texts import Source, draw, from_documents, from_instances, row, suited

CORPUS, SPLIT, MODEL = Path("data/ingest/corpus"), Path("data/split"), Path("models/base/language_model")
PACKAGES = ("torch", "transformers")


def run(stage: Stage) -> None:
    name, params = stage.item, stage.params.augment
    own = params.tools[name]
    tool = make(name, Path(own.resource), stage.params.tools[name])
    documents = from_documents(tables.read_rows(CORPUS, contracts.DOCUMENTS))
    targets = from_instances(tables.read_rows(SPLIT, contracts.TRAIN))
    chosen, rules = list[Source](), Counter[str]()
    for sources, most in ((documents, params.max_documents), (targets, params.max_targets)):
        suitable = suited(tool, sources, stage.params.seed)
        rules.update(one.rule for one in suitable)
        chosen += draw(name, suitable, most, stage.params.seed)

    from nightjar.lm.load import device_name, load, prepare
    from nightjar.tools.annotate import Annotator, Settings

    prepare(stage.params.seed, stage.params.threads)
    lm = load(MODEL, params.precision)
    settings = Settings(
        own.sampling_threshold,
        own.positions,
        own.samples,
        own.filter_threshold,
        params.temperature,
        params.max_call_tokens,
        params.max_text_tokens,
        params.before_first_word,
    )
    decides = {
        "model": lm.sha256,
        "tool": [tool.name, tool.version],
        "settings": asdict(settings),
        "seed": stage.params.seed,
        "precision": params.precision,
        "machine": [device_name(), stage.params.threads],
        "code": [
            code("nightjar/lm", "stages/augment", "nightjar/prompts", "nightjar/search", "nightjar/tools"),
            contents(Path(own.code)),
            *map(version, PACKAGES),
        ],
        "texts": digest({"all": [asdict(one) for one in chosen]}),
    }
    toolbox = Toolbox([tool])
    annotator = Annotator(lm, tool, settings, toolbox)

    def annotate(number: int) -> dict[str, Any]:
        one = chosen[number]
        found = annotator.annotate(one.text, one.seed(stage.params.seed, name))
        rows = [row(name, one, candidate, own.filter_threshold) for candidate in found.candidates]
        problems = dict(toolbox.problems)
        toolbox.problems.clear()
        return {"rows": rows, "left_out": found.left_out, "problems": problems}

    with stage.resumed(decides, len(chosen), annotate, "texts") as values:
        if values is None:
            return
        units = list(values)
        rows = [one for unit in units for one in unit["rows"]]
        output = Path("data/augment") / name
        with tables.ArtifactWriter(output) as writer:
            writer.write(contracts.CANDIDATES, rows)
    stage.reads(*dict.fromkeys([CORPUS, SPLIT, MODEL, Path(own.resource)]))
    stage.writes(output)
    kept = sum(one["status"] == "kept" for one in rows)
    stage.count(rows_in=len(rows), rows_out=kept, rejected=len(rows) - kept)
    stage.details["texts"] = {"corpus": len(documents), "train": len(targets), "annotated": len(chosen)}
    # Texts that suit the tool, by the rule that holds (facts 3.5), before some of them were drawn.
    stage.details["rules"] = dict(sorted(rules.items()))
    # Places before the first word of a document, likely enough for a call, where none was sampled.
    stage.details["positions_left_out"] = sum(unit["left_out"] for unit in units)
    stage.details["candidates"] = dict(sorted(Counter(one["status"] for one in rows).items()))
    stage.details["tool"] = {"name": tool.name, "version": tool.version}
    # Calls that failed, took too long, or gave what is no result, by kind.
    problems = sum((Counter(unit["problems"]) for unit in units), Counter())
    stage.details["problems"] = dict(sorted(problems.items()))


if __name__ == "__main__":
    main(
        "augment",
        run,
        items=lambda params: params.augment.tools,
        packages=PACKAGES,
        threads=True,
        shards=True,
    )
