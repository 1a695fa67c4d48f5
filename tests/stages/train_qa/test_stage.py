"""Extractive readers from questions to predictions: they learn, resume, and refuse what does not fit."""

from __future__ import annotations

import json
import math
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from nightjar import params
from nightjar.benchmarks.question import Question
from nightjar.core import contracts, tables
from nightjar.core.config import read_yaml
from nightjar.core.errors import NightjarError
from nightjar.core.identity import contents
from nightjar.models import extractive_reader
from nightjar.models.directory.weights import verify_checksum, write_checksums
from stages.train_qa import span_training
from stages.train_qa.__main__ import tokenizer_files
from stages.train_qa.span_training import Fit, examples
from tests import tiny_models
from tests.conftest import ROOT
from tests.in_process import finish_stage
from tests.killing import Killed, units_added

RECIPE = {"benchmark": "reading", "base": "models/base/sentence_encoder", "learning_rate": 0.003}
RECIPE |= {"batch_size": 8, "epochs": 2, "precision": "float32"}
SIDES = {
    "train": (contracts.TRAIN_QUESTIONS, 160),
    "dev": (contracts.DEV_QUESTIONS, 20),
    "test": (contracts.QUESTIONS, 40),
}


def asked(side: str, number: int) -> Question:
    """The answer is the word of Zs; a fourth of the passages has none."""
    draw = random.Random(f"{side} {number}")
    words = ["".join(draw.choice("abcdef") for _ in range(3)) for _ in range(4)]
    answer = "" if number % 4 == 3 else "ZZZ"
    if answer:
        words.insert(draw.randrange(5), answer)
    passage = " ".join(words)
    parts = {
        "title": "",
        "passage": passage,
        "question": "which?",
        "spans": [[passage.index(answer), passage.index(answer) + 3]] if answer else [],
    }
    return Question("reading", side, str(number), parts, (answer,))


@pytest.fixture()
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    with tables.ArtifactWriter(tmp_path / "data/questions/reading") as writer:
        for side, (contract, count) in SIDES.items():
            writer.write(contract, [asked(side, number).row() for number in range(count)])
    write_checksums(tiny_models.sentence_encoder(tmp_path / "models/base/sentence_encoder"))
    monkeypatch.chdir(tmp_path)
    configure()
    return tmp_path


def configure(**changes: Any) -> None:
    values = read_yaml(ROOT / "params.yaml")
    values["qa_readers"] = {"own": RECIPE | changes}
    system = {"benchmark": "reading", "system": "own", "kind": "span", "weights": "models/qa/own"}
    system |= {"evidence": "data/none", "tools": "none", "index": "data/none"}
    values["predict"]["systems"] = {"reading-own": system}
    values["predict"]["reading"] = {}
    group = {
        "code": "nightjar/benchmarks/reading",
        "data": "data",
        "split": "data/none",
        "encoder": "data/none",
    }
    values["benchmarks"] = {"reading": group}
    values["train"]["recipes"] = {}
    Path("params.yaml").write_text(json.dumps(values))


def test_a_reader_learns_and_answers(project: Path) -> None:
    configure(epochs=6)
    facts = finish_stage("train_qa@own").details
    assert facts["questions"] == {"train": 160, "dev": 20} and facts["without_answer"] == {
        "train": 40,
        "dev": 5,
    }
    best = facts["epochs"][facts["chosen_epoch"] - 1]
    assert best["dev_exact_match"] == max(one["dev_exact_match"] for one in facts["epochs"]) >= 0.9
    assert verify_checksum(Path("models/qa/own"))
    finish_stage("predict@reading-own")
    rows = tables.read_rows(Path("data/predict/reading/own"), contracts.PREDICTIONS)
    wanted = {str(number): asked("test", number).references[0] for number in range(40)}
    right = [row["answers"] == [wanted[row["id"]]] for row in rows]
    assert len(rows) == 40 and sum(right) >= 34


def test_a_killed_run_resumes_with_the_same_bytes(project: Path) -> None:
    finish_stage("train_qa@own")
    wanted = contents(Path("models/qa/own"))
    shutil.rmtree("models/qa")
    with units_added(kill_after=1) as added:
        finish_stage("train_qa@own")
    assert added == [0] and not Path("models/qa/own").exists()
    with units_added() as added:
        finish_stage("train_qa@own")
    assert added == [1] and contents(Path("models/qa/own")) == wanted
    assert not list(Path(".nightjar").rglob("*.safetensors"))
    with units_added(kill_after=1):
        finish_stage("train_qa@own")
    (kept,) = Path(".nightjar").rglob("weights-0.safetensors")
    kept.unlink()
    with pytest.raises(
        NightjarError, match=r"weights of epoch 1.*are missing; remove \.nightjar/checkpoints"
    ):
        finish_stage("train_qa@own")


def test_a_run_that_is_killed_before_its_second_epoch_counts_resumes(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights are written, then the dev side is answered, then the epoch is recorded: a kill may come between."""
    finish_stage("train_qa@own")
    wanted = contents(Path("models/qa/own"))
    shutil.rmtree("models/qa")
    scores, answered = Fit.scores, list[int]()

    def killed_in_the_second(self: Fit) -> dict[str, float]:
        answered.append(1)
        if len(answered) == 2:
            raise Killed
        return scores(self)

    with monkeypatch.context() as patch:
        patch.setattr(Fit, "scores", killed_in_the_second)
        with pytest.raises(Killed):
            finish_stage("train_qa@own")
    # The file that a kill may leave half written is one that the epoch writes again.
    (torn,) = Path(".nightjar").rglob("weights-1.safetensors")
    torn.write_bytes(torn.read_bytes()[:100])
    with units_added() as added:
        finish_stage("train_qa@own")
    assert added == [1] and contents(Path("models/qa/own")) == wanted


def test_a_killed_run_resumes_after_one_with_other_settings(project: Path) -> None:
    with units_added(kill_after=1):
        finish_stage("train_qa@own")
    configure(epochs=1)
    finish_stage("train_qa@own")
    configure()
    with units_added() as added:
        finish_stage("train_qa@own")
    assert added == [1]
    assert not list(Path(".nightjar").rglob("*.safetensors"))


def test_a_large_batch_is_learnt_in_parts(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parts of a batch have the gradient of the whole, and none has more tokens than allowed."""
    reader = extractive_reader.load_extractive_reader(Path("models/base/sentence_encoder"), fresh=True)
    for module in reader.model.modules():
        module.p = 0.0  # no dropout
    rows = examples(reader, [asked("train", number) for number in range(10)], project)
    loaded = params.load().qa_readers["own"]
    made = Fit(reader, loaded, 1, rows, rows, project / "work")
    logits, sizes = type(reader).logits, list[tuple[int, ...]]()

    def noted(self: Any, windows: Any) -> Any:
        found = logits(self, windows)
        sizes.append(tuple(found[0].shape))
        return found

    monkeypatch.setattr(type(reader), "logits", noted)
    found = []
    for most in (100_000, 60):
        monkeypatch.setattr(span_training, "TOKENS", most)
        sizes.clear()
        reader.model.zero_grad()
        loss = made.learn(made.targets)
        found.append((loss, [one.grad.clone() for one in reader.model.parameters()], list(sizes)))
    (whole, gradients, once), (parts, others, several) = found
    assert len(once) == 1 and len(several) > 1 and all(rows * length <= 60 for rows, length in several)
    assert sum(rows for rows, _ in several) == 10 and parts == pytest.approx(whole, rel=1e-5)
    for one, other in zip(gradients, others, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("answers", [[], [(6, 7)], [(4, 4), (7, 8), (5, 5)]])
def test_the_loss_is_that_of_the_answers_among_all_spans(
    monkeypatch: pytest.MonkeyPatch, answers: list[tuple[int, int]]
) -> None:
    """Against the sum over the spans, one by one: of at most three tokens, among the tokens 4 to 8 of 10."""
    monkeypatch.setattr(extractive_reader, "LONGEST_ANSWER", 3)
    draw = random.Random(1)
    starts, ends = ([draw.uniform(-3, 3) for _ in range(10)] for _ in "ab")
    window = extractive_reader.PassageWindow(list(range(10)), [0] * 10, range(4, 9), [])
    target = span_training.Target(window, tuple(answers))
    loss = span_training.span_loss(torch.tensor(starts), torch.tensor(ends), target)
    every = [(first, last) for first in range(4, 9) for last in range(first, min(first + 3, 9))]
    logits = {one: starts[one[0]] + ends[one[1]] for one in [(0, 0), *every]}
    shares = {one: math.exp(logit) / sum(map(math.exp, logits.values())) for one, logit in logits.items()}
    assert loss.item() == pytest.approx(-math.log(sum(shares[one] for one in answers or [(0, 0)])), rel=1e-5)


def test_of_an_answer_that_is_longer_than_a_span_its_beginning_is_learnt(project: Path) -> None:
    reader = extractive_reader.load_extractive_reader(Path("models/base/sentence_encoder"), fresh=True)
    words = " ".join(f"w{number}" for number in range(60))
    one = asked("train", 0)._replace(
        parts={"title": "", "passage": words, "question": "?", "spans": [[3, len(words)]]},
        references=(words[3:],),
    )
    rows = examples(reader, [one], project)
    made = Fit(reader, params.load().qa_readers["own"], 1, rows, rows, project / "work")
    ((_, ((first, last),)),) = made.targets
    assert last - first == extractive_reader.LONGEST_ANSWER - 1 and math.isfinite(made.learn(made.targets))


@pytest.mark.parametrize("name", ["weights-0", "moments-0"])
def test_damaged_work_is_named(project: Path, name: str) -> None:
    with units_added(kill_after=1):
        finish_stage("train_qa@own")
    (damaged,) = Path(".nightjar").rglob(f"{name}.safetensors")
    damaged.write_bytes(b"")
    with pytest.raises(NightjarError, match=rf"{name}.*remove \.nightjar/checkpoints"):
        finish_stage("train_qa@own")


def test_a_trained_reader_has_all_files_of_its_tokenizer(project: Path) -> None:
    for name in ("vocab.json", "merges.txt", "spiece.model", "added_tokens.json"):
        Path("models/base/sentence_encoder", name).write_text("{}")
    files = tokenizer_files(Path("models/base/sentence_encoder"))
    names = {"vocab.json", "merges.txt", "spiece.model", "added_tokens.json", "tokenizer.json"}
    assert {file.name for file in files} == names | {"tokenizer_config.json"}


def test_a_trained_reader_can_be_trained_further(project: Path) -> None:
    fresh = finish_stage("train_qa@own").details
    first = contents(Path("models/qa/own"))
    shutil.copytree("models/qa/own", "models/mine")
    configure(base="models/mine", epochs=1, learning_rate=0.0001)
    facts = finish_stage("train_qa@own").details
    assert contents(Path("models/qa/own")) != first
    assert facts["epochs"][0]["loss"] < fresh["epochs"][0]["loss"]


def test_all_answers_of_a_question_are_right(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are learnt, each at its place after the title, and the dev side takes each for right."""
    reader = extractive_reader.load_extractive_reader(Path("models/base/sentence_encoder"), fresh=True)
    parts = {"title": "A b", "passage": "x ZZZ y", "question": "?", "spans": [[2, 5], [0, 5]]}
    one = asked("train", 0)._replace(parts=parts, references=("ZZZ", "x ZZZ"))
    (example,) = examples(reader, [one], project)
    assert [example.passage[start:end] for start, end in example.spans] == ["ZZZ", "x ZZZ"]
    made = Fit(reader, params.load().qa_readers["own"], 1, [example], [example], project / "work")
    ((window, found),) = made.targets
    read = [reader.tokenizer.decode(window.ids[first : last + 1]) for first, last in found]
    assert sorted(text.replace(" ", "") for text in read) == ["ZZZ", "xZZZ"]
    for text, right in (("zzz", 1.0), ("X zzz", 1.0), ("y", 0.0)):
        monkeypatch.setattr(
            type(reader), "spans", lambda self, asked, text=text: [extractive_reader.AnswerSpan(text, 1.0)]
        )
        assert made.scores()["dev_exact_match"] == right


def test_questions_without_the_place_of_an_answer(project: Path) -> None:
    with tables.ArtifactWriter(Path("data/questions/reading")) as writer:
        for contract, _ in SIDES.values():
            parts = {"title": "", "passage": "a ZZZ", "question": "which?"}
            writer.write(contract, [asked("train", 0)._replace(parts=parts).row()])
    with pytest.raises(NightjarError, match="do not say where the answers are"):
        finish_stage("train_qa@own")


def test_questions_without_a_passage(project: Path) -> None:
    with tables.ArtifactWriter(Path("data/questions/reading")) as writer:
        writer.write(contracts.QUESTIONS, [asked("test", 0)._replace(parts={"question": "which?"}).row()])
    with pytest.raises(NightjarError, match=r"reading has no training questions.*benchmarks\.reading\.train"):
        finish_stage("train_qa@own")
    with pytest.raises(NightjarError, match="this is none"):
        configure(base="models/base/sentence_encoder")
        shutil.copytree("models/base/sentence_encoder", "models/qa/own")
        finish_stage("predict@reading-own")
