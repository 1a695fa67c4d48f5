"""Questions of the test sides, labelled sentences of the others, their draws, and the prompt of in-context learning."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks import registry
from nightjar.benchmarks.classification import prompts
from nightjar.benchmarks.classification.formats import load
from nightjar.benchmarks.classification.questions import QUESTION_SET, ClassificationSettings
from nightjar.benchmarks.classification.tasks import names
from nightjar.benchmarks.question import Asking, Question, Record, Sources
from nightjar.core.config import checked
from nightjar.core.errors import NightjarError
from stages.ingest.datasets import ingest_records
from tests.nightjar.benchmarks.zeroscrolls.words import Words
from tests.nightjar.prompts.options import options

# The tasks of the sample: all but the pairs.
EIGHT = ("sst2", "sst5", "cola", "trec", "cr", "mr", "mpqa", "subj")
SAMPLED = (*EIGHT, "fever")


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory, sample: Path) -> Sources:
    """The sample, ingested."""
    folder = tmp_path_factory.mktemp("ingested") / "classification"
    ingest_records(registry.load_benchmark("classification"), sample / "classification", folder)
    return Sources(folder, folder)


def settings(**values: Any) -> ClassificationSettings:
    return checked(ClassificationSettings, values, "params.yaml")


def sides(
    sources: Sources, chosen: ClassificationSettings, seed: int
) -> dict[str, dict[str, list[Question]]]:
    """The training and dev questions by side and task."""
    found: dict[str, dict[str, list[Question]]] = {"train": {}, "dev": {}}
    for side, question in QUESTION_SET.training_questions(sources, chosen, seed):
        found[side].setdefault(question.task_id, []).append(question)
    return found


def keys(found: list[Question]) -> list[tuple[str, str]]:
    return [question.key for question in found]


def test_questions_are_the_test_sides(sources: Sources, sample: Path) -> None:
    found = list(QUESTION_SET.questions(sources, settings(), 1))
    assert Counter(it.task_id for it in found) == dict.fromkeys(SAMPLED, 24)
    assert list(dict.fromkeys(it.task_id for it in found)) == list(SAMPLED)
    tests = {
        (row.task_id, row.id): row
        for row in load(sample / "classification")
        if isinstance(row, Record) and row.parts["side"] == "test"
    }
    assert set(keys(found)) == set(tests)
    for it in found:
        assert it.references == tests[it.key].references and it.parts["text"] == tests[it.key].parts["text"]
        assert set(it.parts) == {"text", "choices"} and tuple(it.parts["choices"]) == names(it.task_id)
        assert (it.track, it.category, it.dataset, it.file) == (
            it.task_id,
            "",
            "classification",
            tests[it.key].file,
        )
    assert QUESTION_SET.query(found[0].parts) == found[0].parts["text"]


def test_so_many_of_each_training_side_are_drawn(sources: Sources) -> None:
    few, all_of_them = (sides(sources, settings(dev_per_task=n, shots=0), 3) for n in (2, None))
    assert {len(found) for found in few["dev"].values()} == {2} and few["train"] == all_of_them["train"]
    few = sides(sources, settings(train_per_task=20, shots=0), 3)
    assert {len(found) for found in few["train"].values()} == {20}


def test_sides_share_no_sentence(sources: Sources) -> None:
    found = sides(sources, settings(), 1)
    tests = list(QUESTION_SET.questions(sources, settings(), 1))
    for task in SAMPLED:
        texts = [{it.parts["text"] for it in found[side][task]} for side in ("train", "dev")]
        texts.append({it.parts["text"] for it in tests if it.task_id == task})
        texts.append({it["text"] for it in found["train"][task][0].shared["demonstrations"]})
        assert sum(map(len, texts)) == len(set.union(*texts))


def test_demonstrations_are_training_sentences_that_the_reader_does_not_train_on(sources: Sources) -> None:
    without = sides(sources, settings(train_per_task=40, shots=0), 5)["train"]
    left = sides(sources, settings(train_per_task=40), 5)["train"]
    for it in QUESTION_SET.questions(sources, settings(train_per_task=40), 5):
        known = {one.id: one for one in without[it.task_id]}
        shown = it.shared["demonstrations"]
        assert 8 <= len(shown) <= 11 and {one["label"] for one in shown} == set(names(it.task_id))
        for one in shown:
            assert known[one["id"]].parts["text"] == one["text"]
            assert known[one["id"]].references == (one["label"],)
        assert {one.id for one in left[it.task_id]} == set(known) - {one["id"] for one in shown}
        assert all(one.shared == it.shared for one in left[it.task_id])


def test_texts_of_reranker_and_reader(sources: Sources) -> None:
    found = sides(sources, settings(), 1)["train"]
    question, *others = found["trec"]
    shown = question.shared["demonstrations"]
    cut = QUESTION_SET.reranking_prefixes(question)
    assert len(cut) == len(shown) + 1 and cut[-1] == ""
    for most, text in zip(range(len(shown), 0, -1), cut, strict=False):
        assert [one["text"] in text for one in shown] == [place < most for place in range(len(shown))]
    text = QUESTION_SET.demonstrated_input(question, others[:1], "intended")
    label = QUESTION_SET.reader_targets("trec")[others[0].references[0]].split()[1]
    assert text == f"<extra_id_0> : {question.parts['text']} {label} :  {others[0].parts['text']} ."


def test_there_may_be_no_demonstrations(sources: Sources) -> None:
    found = list(QUESTION_SET.questions(sources, settings(tasks=["trec", "mr"], shots=0), 1))
    assert all(it.shared == {"demonstrations": []} for it in found)
    with pytest.raises(NightjarError, match="tasks are sst2, sst5"):
        settings(tasks=["sst"])


def test_a_label_without_a_training_sentence_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "stsa.binary.train").write_text("1 fine .\n" * 3)
    (tmp_path / "stsa.binary.test").write_text("0 bad .\n")
    ingest_records(registry.load_benchmark("classification"), tmp_path, tmp_path / "out")
    broken = Sources(tmp_path / "out", tmp_path / "out")
    with pytest.raises(NightjarError, match="sst2: no training sentence has the label negative"):
        list(QUESTION_SET.questions(broken, settings(), 1))
    assert len(list(QUESTION_SET.questions(broken, settings(shots=0), 1))) == 1


def test_the_prompt_is_demonstrations_and_question_and_fits(sources: Sources) -> None:
    (question, *_) = [it for it in QUESTION_SET.questions(sources, settings(), 1) if it.task_id == "sst2"]
    shown = [
        prompts.demonstration("sst2", it["text"], it["label"]) for it in question.shared["demonstrations"]
    ]
    asked = prompts.query("sst2", question.parts["text"])

    def made(most: int) -> str:
        return QUESTION_SET.prompt(question, Asking(options(max_source_length=most), Words()))

    whole = "Follow the demonstrations:\n" + "\n\n".join(shown) + "\n\n" + asked
    assert made(10_000) == whole
    for most in (1, 30, 60, 100):
        cut = made(most)
        assert cut.endswith(asked) and (len(cut.split()) <= most or cut == asked)
        assert whole.startswith(cut.removesuffix(asked))
