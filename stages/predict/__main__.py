"""python -m stages.predict BENCHMARK-SYSTEM: data/predict/BENCHMARK/SYSTEM, one row a question."""

from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from nightjar.core import contracts, tables
from nightjar.core.errors import NightjarError
from nightjar.core.harness import Stage, main
from nightjar.core.journal import code, digest
from nightjar.core.params import Params
from nightjar.core.predict_params import System
from nightjar.tools import Calls, Toolbox, make
from stages.predict.prompts import MODEL, QUESTIONS, encoding_of

# What tools name that read nothing of their own.
CORPUS = Path("data/ingest/corpus")
PACKAGES = ("torch", "transformers", "peft")


def run(stage: Stage) -> None:
    from nightjar.benchmarks import registry
    from stages.predict import given_file

    registry.check(stage.params)
    system = stage.params.predict.systems[stage.item]
    card = registry.card(system.benchmark)
    source, weights = QUESTIONS / card.name, Path(system.weights)
    if given_file.is_predictions(weights):
        return given_file.predict(stage, card, system, source)
    from nightjar.benchmarks.files import read_questions
    from nightjar.lm.load import device_name, load, prepare
    from nightjar.lm.tokenizer import is_encoder_decoder
    from nightjar.lm.weights import read_recipe
    from stages.predict import extracted, neighbours, reading, served
    from stages.predict.answers import answering, ask, table_row
    from stages.predict.choices import choices_of, choosing
    from stages.predict.output import publish
    from stages.predict.sampled import sampling
    from stages.predict.texts import answer_text, window

    settings = stage.params.predict.benchmark(card.name)
    if neighbours.is_encoder(weights):
        return neighbours.run(stage, card, system, source)
    if reading.is_reader(weights):
        return reading.predict(stage, card, system)
    if served.is_served(weights):
        toolbox = toolbox_of(stage.params, stage.item, system) if system.calls == "on" else Toolbox([])
        return served.predict(stage, card, system, toolbox)
    adapter = None if weights == MODEL else weights
    recipe: dict[str, Any] = read_recipe(adapter) if adapter else {"evidence": 0, "calls": False}
    # With call_top_k or max_calls 0, "on" is "disabled".
    calls: Calls = system.calls or ("on" if recipe["calls"] else "off")
    if calls != "off" and is_encoder_decoder(MODEL):
        what = f"{system.system} calls tools, which an encoder-decoder cannot"
        fix = f"use a causal model, or set predict.systems.{stage.item}.calls to off"
        raise NightjarError(what, MODEL, fix)
    retrieved = Path(system.evidence) if Path(system.evidence) != source else None
    if retrieved and adapter is None and card.ranked:
        return extracted.run(stage, card, system, evidence_of(retrieved))
    # Other benchmarks have what is to be read in their questions, or rank passages for readers alone.
    shown = card.name in stage.params.retrieve.benchmarks and card.reranking is None
    if (bool(recipe["evidence"]) and shown) != bool(retrieved):
        what = f"the recipe {system.system} uses {recipe['evidence']} passages of evidence"
        fix = (
            f"set predict.systems.{stage.item}.evidence to data/retrieve/{card.name}, or to {source} for none"
        )
        raise NightjarError(what, "params.yaml", fix)
    toolbox = toolbox_of(stage.params, stage.item, system) if calls == "on" else Toolbox([])
    questions = read_questions(source)
    evidence = evidence_of(retrieved) if retrieved else {}

    prepare(stage.params.seed, stage.params.threads)
    lm = load(MODEL, settings.precision, adapter)
    asked = ask(
        card, lm.tokenizer, questions, evidence, recipe["evidence"], encoding_of(stage.params, card.name)
    )
    kinds = [card.task(one.question.task_id).kind for one in asked]
    texts = {n for n, kind in enumerate(kinds) if kind == "perplexity"}
    chosen = {n: asked[n] for n, kind in enumerate(kinds) if kind == "choose"}
    drawn = {n: asked[n] for n, kind in enumerate(kinds) if kind == "sample"}
    tokens = window(lm, encoding_of(stage.params, card.name).max_source_length) if texts else 0
    decides = {
        "model": [lm.sha256, lm.adapter_sha256],
        "settings": settings.model_dump(),
        "calls": [calls, toolbox.versions],
        "seed": stage.params.seed,
        "window": tokens,
        "machine": [device_name(), stage.params.threads],
        "card": [card.name, card.version],
        "choices": {it.question.task_id: choices_of(card, it.question.task_id) for it in chosen.values()},
        "code": [
            code("nightjar/lm", "stages/predict", "nightjar/prompts", "nightjar/tools"),
            *map(version, PACKAGES),
        ],
    }
    keys = [
        digest(
            {"asked": [*it.question.key, it.prompt, it.ids, str(it.question.day) if calls == "on" else None]}
        )
        for it in asked
    ]
    write = answering(lm, card, asked, settings, toolbox, calls, stage.params.seed)
    choose = choosing(lm, card, chosen)
    draw = sampling(lm, card, drawn, settings, stage.params.seed)

    def answer(numbers: Sequence[int]) -> Iterator[tuple[int, dict[str, Any]]]:
        yield from write([number for number in numbers if kinds[number] == "generate"])
        if chosen:
            yield from choose([number for number in numbers if number in chosen])
        if drawn:
            yield from draw([number for number in numbers if number in drawn])
        for number in sorted(texts.intersection(numbers)):
            yield number, answer_text(lm, asked[number], tokens)

    with stage.resumed_in_any_order(decides, keys, answer, "questions") as given:
        if given is None:
            return
        publish(stage, system, questions, [table_row(*one, lm) for one in zip(asked, given, strict=True)])
    stage.reads(source, *([retrieved] if retrieved else []), adapter or MODEL)


def evidence_of(retrieved: Path) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The passages of each question of the artifact `retrieved`, best first, by (task_id, id)."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in sorted(tables.read_rows(retrieved, contracts.EVIDENCE), key=lambda row: row["rank"]):
        if row["split"] == "test":
            found.setdefault((row["task_id"], row["id"]), []).append(row)
    return found


def toolbox_of(params: Params, item: str, system: System) -> Toolbox:
    """The tools of augment.tools, which a system that was trained to call tools may call.

    Raises NightjarError if one of them reads what the system's stage does not depend on.
    """
    tools = []
    for name, tool in params.augment.tools.items():
        if tool.resource not in (CORPUS.as_posix(), system.resource):
            fix = f"set predict.systems.{item}.resource to {tool.resource}"
            raise NightjarError(f"the tool {name} reads {tool.resource}", "params.yaml", fix)
        tools.append(make(name, Path(tool.resource), params.tools[name]))
    return Toolbox(tools)


if __name__ == "__main__":
    main(
        "predict",
        run,
        items=lambda params: params.predict.systems,
        packages=PACKAGES,
        threads=True,
        shards=True,
    )
