"""Training questions of a benchmark as token ids, against prompts and targets made one by one."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from nightjar import params
from nightjar.benchmarks.benchmark import Benchmark
from nightjar.benchmarks.question import Question
from nightjar.core import contracts, tables
from nightjar.core.contracts import TOKENS_FILE
from nightjar.core.errors import NightjarError
from nightjar.models.tokenizer import load_tokenizer
from stages.encode.question_pairs import QuestionBuild
from stages.train.packing import packed_length
from stages.train.step_plan import EncodedInstances, Plan, pairs
from tests.conftest import ROOT
from tests.made_benchmark import BENCHMARK, NAME, changed

SETTINGS = params.load(ROOT / "params.yaml")
LEARNS = changed(BENCHMARK, training_target=lambda question: f"{question.references[0].upper()}!")
ASKED = {"name a pet": ("cat", "dog", "fish", "hamster", "snake"), "name a tree": ("oak", "elm")}


def asked(id: str, text: str, *references: str, task: str = "sums") -> Question:
    return Question(NAME, task, id, {"question": text}, references, dataset=NAME, file="made.txt")


TRAIN = [
    asked(f"{text[7:]}-{number}", text, answer)
    for text, answers in ASKED.items()
    for number, answer in enumerate(answers)
]
DEV = [asked("d0", "name a bird", "duck")]


def put(folder: Path, train: list[Question], dev: list[Question] = DEV) -> Path:
    with tables.ArtifactWriter(folder) as writer:
        for contract, found in ((contracts.TRAIN_QUESTIONS, train), (contracts.DEV_QUESTIONS, dev)):
            writer.write(contract, [one.row() for one in found], part="sums")
    return folder


def encode(source: Path, output: Path, model: Path, **changes: Any) -> tuple[Any, list[dict[str, Any]]]:
    options = SETTINGS.encoding.model_copy(update=changes)
    work = QuestionBuild(source, LEARNS, options, load_tokenizer(model))
    outcome = work.write(output, map(work.encode, range(len(work.units))))
    assert sum(unit.rows for unit in work.units) == outcome.read + outcome.refused
    with pa.memory_map(str(output / "tokens" / TOKENS_FILE)) as file:
        return outcome, pa.ipc.open_file(file).read_all().to_pylist()


def test_prompts_are_the_cards_and_targets_end_the_text(tiny_model: Path, tmp_path: Path) -> None:
    outcome, rows = encode(put(tmp_path / "questions", TRAIN), tmp_path / "out", tiny_model)
    tokenizer = load_tokenizer(tiny_model)
    assert outcome.sides == {"train": 7, "dev": 1} and outcome.refused == 0
    for row, question in zip(rows, [*TRAIN, *DEV], strict=True):
        (prompt,), (target,) = row["prompts"], row["targets"]
        assert (row["id"], row["task_id"]) == (question.id, question.parts["question"])
        assert prompt == tokenizer.encode(question.parts["question"])
        assert target == [*tokenizer.encode(f" {question.references[0].upper()}!"), tokenizer.end]


def test_an_encoder_decoder_has_its_own_ends(tiny_t5: Path, tmp_path: Path) -> None:
    _, rows = encode(put(tmp_path / "questions", TRAIN), tmp_path / "out", tiny_t5)
    tokenizer = load_tokenizer(tiny_t5)
    assert rows[0]["prompts"][0][-1] == rows[0]["targets"][0][-1] == tokenizer.end
    assert tokenizer.decode(rows[0]["targets"][0]) == "CAT!"


def test_questions_with_the_same_prompt_share_it(tiny_model: Path, tmp_path: Path) -> None:
    encode(put(tmp_path / "questions", TRAIN), tmp_path / "out", tiny_model)
    examples = EncodedInstances(tmp_path / "out")
    recipe = SETTINGS.train.recipe("combined").model_copy(update={"batch_size": 4, "batch_tokens": 512})
    plan = Plan(examples, recipe, 3)
    seen: Counter[int] = Counter()
    together = alone = 0
    for step in range(1, plan.steps + 1):
        for group in plan.draws(step):
            assert len({tuple(examples.prompt(draw.example).tolist()) for draw in group}) == 1
            seen.update(draw.example for draw in group)
            made = pairs(examples, group)
            together += packed_length(made)
            alone += sum(packed_length([one]) for one in made)
    assert seen == Counter(examples.train.tolist())
    assert together < alone


def test_refused_questions_are_counted_with_a_reason(tiny_model: Path, tmp_path: Path) -> None:
    long = asked("long", "name a " + "very " * 400 + "long word", "no")
    given = [*TRAIN, asked("none", "name a ghost"), asked("blank", "", "nothing"), long]
    outcome, rows = encode(put(tmp_path / "questions", given), tmp_path / "out", tiny_model)
    assert (outcome.read, outcome.refused, len(rows)) == (8, 3, 8)
    refused = tables.read_rejected(tmp_path / "out").to_pylist()
    assert [(row["id"], re.sub(r"\d+", "N", row["reason"])) for row in refused] == [
        ("none", "it has no reference"),
        ("blank", "its prompt is empty"),
        ("long", "its prompt has N tokens, more than encoding.max_source_length"),
    ]
    assert refused[0]["raw"] == '{"question": "name a ghost"}' and refused[0]["dataset"] == NAME


def test_nothing_to_train_on(tiny_model: Path, tmp_path: Path) -> None:
    tokenizer = load_tokenizer(tiny_model)
    source = put(tmp_path / "questions", [asked("none", "name a ghost")])

    def build(card: Benchmark, folder: Path = source) -> QuestionBuild:
        return QuestionBuild(folder, card, SETTINGS.encoding, tokenizer)

    work = build(LEARNS)
    with pytest.raises(NightjarError, match="are refused, the first one because it has no reference"):
        work.write(tmp_path / "out", map(work.encode, range(len(work.units))))
    with pytest.raises(NightjarError, match="made has no texts that a language model learns"):
        build(BENCHMARK)
    with pytest.raises(NightjarError, match=r"made has no training questions; .*benchmarks\.made"):
        build(LEARNS, tmp_path)
