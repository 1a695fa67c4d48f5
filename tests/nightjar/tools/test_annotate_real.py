"""Annotation of real texts with SmolLM2 in float32 against the plain version: one sample, one pass at a time."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from nightjar.models.engine.language_model import LanguageModel
from nightjar.models.engine.loading import load, prepare
from nightjar.prompts.tool_prompts import head, instructions
from nightjar.tools import Call, Text, Toolbox, make
from nightjar.tools.annotate import Annotator
from nightjar.tools.calculator import Calculator
from nightjar.tools.filter import Placed, Tokens, losses_at
from tests import plain_annotation as plain

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
THRESHOLDS = (-0.5, -0.1, 0.0, 0.1, 0.5, 1.0, 2.0)


class BrieflyInstructed(Calculator):
    """The calculator with one example of calls: the plain version reads the instructions three times for each text."""

    instructions = instructions(
        "Add calls to a calculator to the text.",
        re.findall(r"Input: (.*)\nOutput: (.*)\n\n", head("calculator"))[:1],
    )


@pytest.fixture(scope="module")
def lm(smollm2: Path) -> LanguageModel:
    prepare(seed=0, threads=1)
    return load(smollm2)


def word_problems(folder: Path) -> list[Text]:
    rows = json.loads((folder / "tool-benchmarks/svamp/SVAMP.json").read_text("utf-8"))
    texts = [f"{row['Body'].strip().rstrip('.')}. The answer is {row['Answer']:g}." for row in rows]
    return [Text(text) for text in texts if len(text) < 70]


def facts(folder: Path) -> list[Text]:
    lines = (folder / "tool-benchmarks/lama/Squad/test.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    texts = [row["masked_sentences"][0].replace("[MASK]", row["obj_label"]) for row in rows]
    return [Text(text, "A fact:") for text in texts if len(text) < 70]


def candidates(lm: LanguageModel, folder: Path) -> list[tuple[Text, Tokens, list[Placed]]]:
    """Two calls at every third place of each text, with results: of the calculator, a search and the calendar."""
    found, toolbox = [], Toolbox([make("calculator")])
    for text in word_problems(folder)[:1]:
        first, second = re.findall(r"\d+", text.body)[:2]
        calls = [Call("Calculator", f"{first} {sign} {second}") for sign in "+*"]
        found.append((text, list(zip(calls, toolbox.run(calls), strict=True))))
    for text in facts(folder)[:1]:
        words = text.body.rstrip(".").split()
        calls = [(Call("QA", words[0]), words[-1]), (Call("Calendar", ""), "Today is [Monday].")]
        found.append((text, calls))
    placed = []
    for text, calls in found:
        tokens = Tokens.of(lm.tokenizer, text)
        placed.append((text, tokens, [(n, *call) for n in range(0, len(tokens.body), 3) for call in calls]))
    return placed


def test_losses_and_decisions_are_those_of_plain_passes(lm: LanguageModel, real_data: Path) -> None:
    texts = candidates(lm, real_data)
    assert sum(len(calls) for _, _, calls in texts) >= 16
    # The plain version reads the whole text for each loss. Equal texts are read once, to save time.
    once = cache(lambda ids: plain.log_probabilities(lm, list(ids)))
    decided = set()
    for (text, _, calls), found in zip(texts, losses_at(lm, [one[1:] for one in texts]), strict=True):
        for (place, call, result), losses in zip(calls, found, strict=True):
            truth = plain.losses(lm, text, place, call, result, lambda _, ids: once(tuple(ids)))
            assert losses.no_call == pytest.approx(truth.no_call, abs=1e-4)
            assert losses.without_result == pytest.approx(truth.without_result, abs=1e-4)
            assert losses.with_result == pytest.approx(truth.with_result, abs=1e-4)
            decisions = [losses.reaches(threshold) for threshold in THRESHOLDS]
            assert decisions == [truth.reaches(threshold) for threshold in THRESHOLDS]
            decided.add(sum(decisions))
    assert len(decided) >= 4  # candidates on both sides of several thresholds


def test_samples_are_those_of_texts_read_alone(lm: LanguageModel, real_data: Path) -> None:
    tool, texts = BrieflyInstructed(), word_problems(real_data)[:1]
    settings = replace(
        plain.SETTINGS, positions=1, samples=2, temperature=0.7, max_call_tokens=12, max_text_tokens=128
    )
    annotator = Annotator(lm, tool, settings)
    found = annotator.annotate(texts, ["a"])
    for text, seed, annotated in zip(texts, "a", found, strict=True):
        likely = plain.marker_probabilities(lm, tool, text)
        places = sorted({one.token for one in annotated.candidates})
        assert places == sorted(sorted(range(1, len(likely)), key=lambda n: -likely[n])[:1])
        for place in places:
            own = [one for one in annotated.candidates if one.token == place]
            assert own[0].probability == pytest.approx(likely[place], abs=1e-5)
            text_, ended = plain.sample(lm, tool, text, place, f"{seed} {place} 0", 0.7, 12, possible)
            assert own[0].written == (text_ if ended else f"{text_} (unfinished)")


def possible(text: str) -> bool:
    """Whether sampling goes on: the text may be a call of the calculator."""
    return ("Calculator(".startswith(text) or text.startswith("Calculator(")) and "\n" not in text
