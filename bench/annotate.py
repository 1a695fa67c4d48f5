"""Annotation of texts with calls of the calculator, against the plain version: one sample, one forward pass at a time.

    python -m bench.annotate [--texts 6] [--threads 2] [--input FILE] [--model models/base/language_model]

Sampling, execution and filter of the same texts by both, with the settings of params.yaml in float32. FILE is SVAMP's
SVAMP.json; without it the texts are those that stage augment chooses. Prints candidates and tokens a second, the ratio,
the tokens that each computes, and how far the results agree.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from bench.ratios import record
from nightjar.core import contracts, tables
from nightjar.models.load import LanguageModel, Work, counted, load, prepare
from nightjar.params import params
from nightjar.tools import Text, Tool, Toolbox, make, parse, positions
from nightjar.tools.annotate import Annotator, Candidate, Settings
from stages.augment.texts import draw, from_documents, suited
from tests import plain_annotation as plain

NAME = "calculator"


def read(file: Path) -> list[Text]:
    """Word problems of SVAMP with their answers."""
    rows = json.loads(file.read_text("utf-8"))
    return [
        Text(f"{row['Body'].strip().rstrip('.')}. {row['Question']} The answer is {row['Answer']:g}.")
        for row in rows
    ]


def plainly(lm: LanguageModel, tool: Tool, settings: Settings, text: Text, seed: str) -> list[Candidate]:
    """The candidates of a text without context, by the formulas."""
    probabilities = plain.marker_probabilities(lm, tool, text)
    _, spans = lm.tokenizer.encode_with_offsets(f" {text.body}")
    begun = [bool(text.body[: max(0, start - 1)].strip()) for start, _ in spans]
    allowed = [value if after else 0.0 for value, after in zip(probabilities, begun, strict=True)]
    opening, found = f"{tool.name}(", list[Candidate]()

    def possible(written: str) -> bool:
        return (opening.startswith(written) or written.startswith(opening)) and "\n" not in written

    for place in positions(allowed, settings.sampling_threshold, settings.positions):
        distinct: dict[object, Candidate] = {}
        for number in range(settings.samples):
            limits = settings.temperature, settings.max_call_tokens, possible
            written, ended = plain.sample(lm, tool, text, place, f"{seed} {place} {number}", *limits)
            call = parse(written, [tool.name]) if ended else None
            written = written if ended else f"{written} (unfinished)"
            one = Candidate(place, spans[place][0], probabilities[place], written, call)
            distinct.setdefault(call or written, one)
        found += distinct.values()
    toolbox = Toolbox([tool])
    results = iter(toolbox.run([one.call for one in found if one.call], text.day))
    found = [replace(one, result=next(results)) if one.call else one for one in found]
    return [
        replace(one, losses=plain.losses(lm, text, one.token, one.call, one.result))
        if one.call and one.result is not None
        else one
        for one in found
    ]


def measured(
    lm: LanguageModel, name: str, run: Callable[[], list[list[Candidate]]]
) -> tuple[list[Candidate], float]:
    """The candidates of all texts and how many a second; prints them."""
    with counted(lm) as work:
        started, used = time.perf_counter(), time.process_time()
        found = [one for own in run() for one in own]
        seconds, used = time.perf_counter() - started, time.process_time() - used
    _print(name, found, work, seconds, used)
    return found, len(found) / seconds


def _print(name: str, found: list[Candidate], work: Work, seconds: float, used: float) -> None:
    filtered = sum(one.losses is not None for one in found)
    print(
        f"{name}: {len(found)} candidates ({filtered} filtered) in {seconds:.1f} s, {used:.1f} of the processor, "
        f"{len(found) / seconds:.2f} candidates a second; {work.tokens:,} tokens in {work.passes} passes, "
        f"{work.tokens / seconds:,.0f} tokens a second"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--texts", type=int, default=6)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--input", type=Path)
    parser.add_argument("--model", type=Path, default=Path("models/base/language_model"))
    asked, values = parser.parse_args(), params.load()
    own, shared = values.augment.tools[NAME], values.augment
    tool = make(NAME, Path(own.resource))
    if asked.input:
        texts = read(asked.input)[: asked.texts]
    else:
        documents = from_documents(tables.read_rows(Path("data/ingest/corpus"), contracts.DOCUMENTS))
        chosen = draw(NAME, suited(tool, documents, values.seed), asked.texts, values.seed)
        texts = [one.text for one in chosen]
    prepare(values.seed, asked.threads)
    lm = load(asked.model)
    settings = Settings(
        own.sampling_threshold,
        own.positions,
        own.samples,
        own.filter_threshold,
        shared.temperature,
        shared.max_call_tokens,
        # No windows: the plain version has none.
        max_text_tokens=4096,
        batch_texts=shared.batch_texts,
    )
    seeds = [f"{values.seed} {number}" for number in range(len(texts))]
    print(f"{len(texts)} texts, {asked.threads} threads")
    ours, fast = measured(
        lm,
        "batched",
        lambda: [one.candidates for one in Annotator(lm, tool, settings).annotate(texts, seeds)],
    )
    truth, slow = measured(
        lm,
        "plain",
        lambda: [plainly(lm, tool, settings, text, seed) for text, seed in zip(texts, seeds, strict=True)],
    )
    record("annotated candidates", "one sample and one pass at a time", "clock", fast / slow)
    print(f"batched: {fast / slow:.1f} times the candidates a second")
    compare(ours, truth, own.filter_threshold)


def compare(ours: list[Candidate], truth: list[Candidate], threshold: float) -> None:
    """Print how many candidates are the same, and how far the losses of those differ."""
    same = [
        (left, right)
        for left, right in zip(ours, truth, strict=False)
        if (left.token, left.written, left.result) == (right.token, right.written, right.result)
    ]
    pairs = [(left.losses, right.losses) for left, right in same if left.losses and right.losses]
    agreed = sum(left.kept(threshold) == right.kept(threshold) for left, right in pairs)
    largest = max((abs(left.gain - right.gain) for left, right in pairs), default=0.0)
    print(
        f"{len(same)} of {len(truth)} candidates are the same; of {len(pairs)} decisions {agreed} are; "
        f"gains differ by at most {largest:.1e} nats"
    )


if __name__ == "__main__":
    main()
