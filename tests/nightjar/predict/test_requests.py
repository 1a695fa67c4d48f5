"""Requests and answers: prompts are those of the stage, and batches give what each prompt gives alone."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from nightjar import params
from nightjar.benchmarks.question_set import Task
from nightjar.benchmarks.registry import load_benchmark
from nightjar.core import contracts, tables
from nightjar.core.errors import NightjarError
from nightjar.models.engine.generation import generate
from nightjar.models.engine.language_model import LanguageModel
from nightjar.models.engine.loading import load, prepare
from nightjar.models.engine.sampling import Sampling, generator_for
from nightjar.models.interface import Decoding, Request
from nightjar.models.local import CausalModel, EncoderDecoderModel
from nightjar.params import load as load_params
from nightjar.params import profile_values, validate
from nightjar.params.predict import PredictBenchmark
from nightjar.predict.requests import limit, requests_of, stops, write_prompts
from nightjar.predict.writers import before_full_stop, writer_for
from nightjar.tools import Toolbox
from tests.made_benchmark import changed
from tests.questions import question, write_questions
from tests.stages.predict.test_stage import configure, finish, instance, project

FILE = Path("prompts.jsonl")
NAME = "supernatinst"


def written(encoding: str | None = None) -> list[dict[str, Any]]:
    count = write_prompts(params.load(), NAME, FILE, encoding)
    rows = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
    assert count == len(rows)
    return rows


@pytest.mark.parametrize("model", ["tiny_model", "tiny_t5"])
def test_the_prompts_are_those_of_the_stored_predictions(
    model: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings: dict[str, Any] = {"encoding": "task_name", "max_new_tokens": 2, "batch_size": 8}
    folder = project(tmp_path, request.getfixturevalue(model), 2, stop=["\n\n", "Input:"], **settings)
    finish(folder, monkeypatch)
    stored = tables.read_rows(folder / "data/predict/supernatinst/untuned", contracts.PREDICTIONS)
    rows = written()
    assert [(row["task_id"], row["id"], row["prompt"]) for row in rows] == [
        (row["task_id"], row["id"], row["prompt"]) for row in stored
    ]
    assert all(row["stop"] == ["\n\n", "Input:"] and row["max_tokens"] == 2 for row in rows)
    other = written("input_only")
    assert [row["id"] for row in other] == [row["id"] for row in rows]
    assert all(
        row["prompt"].startswith(f"{row['task_id']}. ") and row["prompt"].endswith(one["prompt"])
        for row, one in zip(rows, other, strict=True)
    )


def test_an_id_of_several_tasks_is_written_with_its_task(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project(tmp_path, tiny_model, 1)
    asked = [(0, 0, "same"), (1, 0, "same"), (1, 1, "own")]
    write_questions(
        tmp_path / "data/questions/supernatinst",
        [question({**instance(task, number), "id": id}) for task, number, id in asked],
    )
    monkeypatch.chdir(tmp_path)
    assert [row["id"] for row in written()] == ["task0:same", "task1:same", "own"]


def test_nothing_is_written_where_something_is_wrong(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project(tmp_path, tiny_model, 1)
    monkeypatch.chdir(tmp_path)

    def refused(benchmark: str = NAME, output: Path = FILE, encoding: str | None = None) -> str:
        with pytest.raises(NightjarError) as caught:
            write_prompts(params.load(), benchmark, output, encoding)
        assert not FILE.exists()
        return str(caught.value)

    assert "'sonnets': no such benchmark; benchmarks are supernatinst" in refused(benchmark="sonnets")
    assert "'def_pos3': no such encoding" in refused(encoding="def_pos3")
    inside = Path("data/questions/supernatinst/new.jsonl")
    assert f"{inside}: it is in {inside.parent}, which is read" in refused(output=inside)
    assert "params.yaml: this file is read" in refused(output=Path("params.yaml"))
    configure(tmp_path, encoding="def_pos3")
    assert "predict.supernatinst.encoding = 'def_pos3' is not allowed" in refused()
    configure(tmp_path)
    shutil.rmtree(tmp_path / "models")
    assert "no tokenizer in this model directory" in refused()
    shutil.rmtree(tmp_path / "data/questions")
    assert "data/questions/supernatinst/questions: no such table" in refused()


PARAMS = load_params(Path(__file__).parents[3] / "params.yaml")
TASKS: dict[str, dict[str, Any]] = {
    name: {
        "task_id": name,
        "definition": [f"Say what {name} says"],
        "positive_examples": [{"input": "a", "output": "b", "explanation": None}],
        "negative_examples": [],
    }
    for name in ("task1", "task2")
}
INSTANCES = [
    {
        "track": "default",
        "category": "c",
        "task_id": f"task{1 + n % 2}",
        "id": f"i{n}",
        "input": "word " * n + "x",
    }
    for n in range(7)
]


BENCHMARK = load_benchmark("supernatinst")


@pytest.fixture(scope="module", params=["tiny_model", "tiny_t5"])
def lm(request: pytest.FixtureRequest) -> LanguageModel:
    prepare(seed=0, threads=1)
    return load(request.getfixturevalue(request.param))


def settings(**changes: Any) -> PredictBenchmark:
    small = {"max_new_tokens": 10, "batch_size": 3, "stop": []}
    return PARAMS.predict.benchmark(BENCHMARK.name).model_copy(update=small | changes)


def asked(lm: LanguageModel, wanted: PredictBenchmark | None = None, **changes: Any) -> list[Request]:
    questions = [question(row, TASKS[row["task_id"]]) for row in INSTANCES]
    encoding = PARAMS.encoding.model_copy(update=changes)
    return requests_of(BENCHMARK, lm.tokenizer, questions, encoding, wanted or settings(), {}, 0)


def answered(lm: LanguageModel, wanted: PredictBenchmark) -> list[dict[str, Any]]:
    kind = EncoderDecoderModel if lm.encoder_decoder else CausalModel
    model = kind(lm, wanted.batch_size, wanted.batch_tokens)
    requests = dict(enumerate(asked(lm, wanted)))
    decoding = Decoding(wanted.temperature, wanted.top_p, 5)
    writer = writer_for(model, lm.tokenizer, requests, wanted, Toolbox([]), "off", decoding)
    # Whichever are asked for: here every third, and then the others.
    first = dict(writer.write(range(0, len(requests), 3)))
    rest = dict(writer.write([number for number in requests if number % 3]))
    assert not first.keys() & rest.keys()
    return [(first | rest)[number] for number in requests]


def test_greedy_answers_are_those_of_each_prompt_alone(lm: LanguageModel) -> None:
    questions = asked(lm)
    answers = answered(lm, settings())
    for one, given in zip(questions, answers, strict=True):
        alone = generate(lm, [lm.tokenizer.encode(one.prompt)], 10)[0]
        assert given["text"] == alone.text
        assert given["answers"] == [alone.text.strip()]
        assert given["new_tokens"] == alone.tokens
    assert len({given["text"] for given in answers}) > 1


def test_a_sampled_answer_depends_on_its_prompt_and_the_seed_alone(lm: LanguageModel) -> None:
    questions = asked(lm)
    answers = answered(lm, settings(temperature=0.8, top_p=0.9))
    for one, given in zip(questions, answers, strict=True):
        sha256 = hashlib.sha256(one.prompt.encode()).hexdigest()
        sampling = Sampling(0.8, generator_for(5, sha256), 0.9)
        assert given["text"] == generate(lm, [one.ids], 10, sampling=sampling)[0].text


def test_the_prompt_is_the_published_source_and_its_end_is_the_models_own(lm: LanguageModel) -> None:
    one = asked(lm)[0]
    source = (
        "Definition: Say what task1 says.\n\n Positive Example 1 -\nInput: a.\n Output: b.\n\n"
        "Now complete the following example -\nInput: x.\nOutput: "
    )
    assert one.prompt == (source if lm.encoder_decoder else source[:-1])
    assert (one.ids[-1] == lm.tokenizer.end) == lm.encoder_decoder
    bounded = asked(lm, max_source_length=30)
    if lm.encoder_decoder:
        assert all(len(q.ids) == 30 and q.ids[-1] == lm.tokenizer.end for q in bounded)


def test_stop_strings_and_the_full_stop_cut_an_answer(lm: LanguageModel) -> None:
    whole = answered(lm, settings())
    mark = next(given["text"][2] for given in whole if len(given["text"]) > 4)
    stopped = answered(lm, settings(stop=[mark]))
    for before, after in zip(whole, stopped, strict=True):
        assert after["text"] == before["text"].partition(mark)[0]
    cut = answered(lm, settings(cut_at_full_stop=True))
    for before, after in zip(whole, cut, strict=True):
        assert after["text"] == before["text"]
        assert after["answers"] == [before["answers"][0].split(".")[0]]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (" Paris. It is the capital.", "Paris"),
        (".5", ""),
        ("3.5 km", "3"),
        ("是。不是", "是。不是"),
    ],
)
def test_the_published_cut_strips_first_and_takes_any_ascii_full_stop(text: str, wanted: str) -> None:
    assert before_full_stop(text) == wanted == text.strip().split(".")[0]


def test_a_task_has_its_own_limit_and_stop_strings() -> None:
    wanted = settings(stop=["x"])
    own = changed(
        BENCHMARK, tasks={"task1": Task(max_new_tokens=4, stop=("y",)), "task2": Task(max_new_tokens=99)}
    )
    assert (limit(own, "task1", wanted), stops(own, "task1", wanted)) == (4, ["y"])
    assert (limit(own, "task2", wanted), stops(own, "task2", wanted)) == (10, ["x"])
    assert (limit(own, "task3", wanted), stops(own, "task3", wanted)) == (10, ["x"])
    longer = wanted.model_copy(update={"task_limits": False})
    assert [limit(own, task, longer) for task in ("task1", "task2", "task3")] == [10, 10, 10]


def test_a_published_t5_writes_up_to_1024_tokens_for_every_task() -> None:
    own = load_benchmark("zeroscrolls")
    values = profile_values.values(Path(__file__).parents[3], "zeroscrolls")
    published = validate(values, "zeroscrolls").predict.benchmark("zeroscrolls")
    assert {limit(own, task, published) for task in own.tasks} == {1024}
    reserved = published.model_copy(update={"task_limits": True})
    assert (limit(own, "quality", reserved), limit(own, "qmsum", reserved)) == (10, 512)
