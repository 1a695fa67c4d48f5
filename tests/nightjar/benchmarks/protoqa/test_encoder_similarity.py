"""The encoder similarity: the published procedure by plain transformers and scikit-learn, and its rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from transformers import AutoModel, AutoTokenizer

from nightjar.benchmarks.answers_and_references import read_answers, read_references
from nightjar.benchmarks.protoqa.answer_clusters import best_list, clusters_of
from nightjar.benchmarks.protoqa.encoder_similarity import EncoderSimilarity, assigned, encoder_similarity
from nightjar.benchmarks.protoqa.metrics import explained, score
from nightjar.benchmarks.protoqa.questions import statement
from nightjar.benchmarks.question import Question
from nightjar.benchmarks.registry import load_benchmark
from nightjar.core.errors import NightjarError
from nightjar.search.encoder import SentenceEncoder
from nightjar.search.encoders import RECORD
from tests.tiny_models import sentence_encoder


class StubEncoder(SentenceEncoder):
    """An encoder of three dimensions: listed vectors, and for other texts some that depend on the text alone."""

    def __init__(self, vectors: Mapping[str, Sequence[float]]) -> None:
        self.listed, self.calls = vectors, list[tuple[str, int]]()

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    def encode_after(
        self, context: str, texts: Sequence[str], length: int, batch_tokens: int | None = None
    ) -> NDArray[np.float32]:
        self.calls += [(text, length) for text in texts]
        strings = [text.removeprefix(f"{context} ") for text in texts]
        return np.array([self.listed.get(string, _from_text(string)) for string in strings], np.float32)


def _from_text(text: str) -> list[float]:
    return [byte / 128 - 1 for byte in sha256(text.encode()).digest()[:3]]


def question(*clusters: Sequence[str], text: str = "name something") -> Question:
    listed = [
        {"id": f"q.{place}", "count": 10 + place, "answers": list(answers)}
        for place, answers in enumerate(clusters)
    ]
    return Question("protoqa", "t", "q", {"question": text, "clusters": listed}, ())


WEATHER = {
    "rain": (1, 0, 0.1), "shower": (1, 0.2, 0), "drizzle": (0.9, 0.1, 0),
    "snow": (0, 1, 0.1), "flakes": (0.1, 1, 0), "sleet": (0, 0.9, 0.2),
    "plane": (0, 0, 1), "jet": (0.1, 0, 1),
}  # fmt: skip
ASKED = question(["rain", "shower"], ["snow", "flakes"], ["plane"])


def test_an_answer_belongs_to_the_cluster_whose_strings_are_close() -> None:
    values = EncoderSimilarity(StubEncoder(WEATHER)).values(ASKED, ["drizzle", "sleet", "jet"])
    assert assigned(values).tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


@pytest.mark.parametrize(
    "answers", [["drizzle", "rain", ""], ["a very long answer that decides the padding", "hail", "drizzle"]]
)
def test_values_are_those_of_the_published_procedure(tmp_path: Path, answers: list[str]) -> None:
    """One batch of all strings and answers, padded without a mask, and a regressor of scikit-learn a cluster."""
    from sklearn.gaussian_process import GaussianProcessRegressor  # a second that no other test needs

    folder = sentence_encoder(tmp_path)
    clusters = [["rain", "Shower"], ["snow", "flakes of snow"], ["plane"], ["rain"]]
    asked = question(*clusters, text="name something that falls from the sky?")
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    context = statement(asked.parts["question"])
    strings = ["rain", "Shower", "snow", "flakes of snow", "plane"]
    texts = [f"{context} {text}" for text in (*strings, *answers)]
    ids = tokenizer(texts, padding=True, return_tensors="pt")["input_ids"]
    first = len(tokenizer(context)["input_ids"]) - 1
    with torch.inference_mode():
        states = model(ids, attention_mask=torch.ones_like(ids)).last_hidden_state
    vectors = states[:, first:].mean(dim=1).numpy()
    members = [[0, 1, 0, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 0, 1], [1, 0, 0, 0, 0]]
    regressors = [
        GaussianProcessRegressor(alpha=1e-7, n_restarts_optimizer=4, random_state=0).fit(vectors[:5], inside)
        for inside in members
    ]
    expected = np.array([regressor.predict(vectors[5:]) for regressor in regressors]).T
    for row, answer in enumerate(answers):
        if answer in strings:
            expected[row] = [0, 0, 0, 1]  # the last cluster with the string
    values = encoder_similarity(folder).values(asked, answers)
    assert values == pytest.approx(expected, abs=2e-3)


def test_the_last_cluster_with_a_string_has_it() -> None:
    asked = question(["rain", "snow"], ["snow"], ["plane"])
    values = EncoderSimilarity(StubEncoder({})).values(asked, ["snow", "rain"])
    assert values.tolist() == assigned(values).tolist() == [[0, 1, 0], [1, 0, 0]]


def test_one_cluster_has_every_close_answer() -> None:
    values = EncoderSimilarity(StubEncoder(WEATHER)).values(question(["rain", "shower"]), ["rain", "drizzle"])
    assert assigned(values).tolist() == [[1], [1]]


def test_no_cluster_at_the_threshold_and_the_last_of_equals() -> None:
    values = np.array([[0.1, 0.05], [0.11, 0.05], [0.3, 0.3], [0, -1]])
    assert assigned(values).tolist() == [[0, 0], [1, 0], [0, 1], [0, 0]]
    assert assigned(np.empty((0, 2))).shape == (0, 2)


def test_strings_are_encoded_once_for_each_padded_length() -> None:
    encoder = StubEncoder(WEATHER)
    similarity = EncoderSimilarity(encoder)
    for _ in range(2):
        for answers in (["drizzle", "Drizzle", "rain"], ["a b c", "sleet"]):
            score([ASKED], [answers], {}, similarity)
            explained(ASKED, answers, similarity)
    context = statement("name something")
    lengths = [len(f"{context} {answer}".split()) for answer in ("rain", "a b c")]
    texts = [("drizzle",), ("a b c", "sleet")]
    strings = ("rain", "shower", "snow", "flakes", "plane")
    assert sorted(encoder.calls) == sorted(
        (f"{context} {text}", length)
        for answers, length in zip(texts, lengths, strict=True)
        for text in (*strings, *answers)
    )


short_texts = st.text("ab ", max_size=3)


@settings(max_examples=25)
@given(
    st.lists(
        st.lists(short_texts.filter(lambda text: text.strip() == text != ""), min_size=1, max_size=4),
        min_size=1,
        max_size=4,
    ),
    st.lists(short_texts, max_size=6),
)
def test_scores_are_shares_and_the_best_list_has_all(clusters: list[list[str]], answers: list[str]) -> None:
    asked = question(*clusters)
    distinct = len({string for cluster in clusters for string in cluster}) == sum(map(len, clusters))
    similarity = EncoderSimilarity(StubEncoder({}))
    scores = score([asked] * 2, [answers, best_list(clusters_of(asked.parts))], {}, similarity)
    for values in scores.values():
        assert values[1] == 1.0
        # A string of two clusters belongs to one of them, and so the best list may have less than another one.
        assert values[0] >= 0 and (values[0] <= 1 or not distinct)


def test_explained_names_the_cluster_and_its_value() -> None:
    ranked: list[dict[str, Any]] = explained(
        ASKED, ["Rain", "drizzle", "jet"], EncoderSimilarity(StubEncoder(WEATHER))
    )["ranked"]
    assert [line["answer"] for line in ranked] == ["rain", "drizzle", "jet"]
    assert ranked[0]["encoder"] == {"cluster": "q.0", "similarity": 1.0}
    assert ranked[1]["encoder"]["cluster"] is None and ranked[1]["encoder"]["similarity"] > 0.5
    assert ranked[2]["encoder"]["cluster"] == "q.2"


def test_an_encoder_of_whole_texts(tmp_path: Path) -> None:
    (tmp_path / RECORD).write_text("{}")
    with pytest.raises(NightjarError, match="vectors of whole texts"):
        encoder_similarity(tmp_path)


# The first questions, because a regressor of each cluster takes half a second.
QUESTIONS = 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "answered", "incorrect"),
    [
        ("gpt2finetuned.json", (87.1, 73.1, 71.2, 67.6), (71.0, 71.0, 71.0)),
        ("human.jsonl", (76.8, 72.2, 71.2, 89.6), (94.1, 94.1, 94.1)),
    ],
)
def test_published_lists_by_minilm(
    real_data: Path, minilm: Path, name: str, answered: Sequence[float], incorrect: Sequence[float]
) -> None:
    """The published procedure by plain transformers and scikit-learn gives these means."""
    folder, benchmark = real_data / "protoqa", load_benchmark("protoqa")
    questions = read_references(benchmark, folder / "dev.crowdsourced.jsonl")
    lists = read_answers(benchmark, folder / f"dev.predictions.{name}", questions)
    answers = [answers or [] for answers in lists[:QUESTIONS]]
    scores = score(questions[:QUESTIONS], answers, {}, encoder_similarity(minilm))
    for count, mean in zip((1, 3, 5, 10), answered, strict=True):
        assert 100 * scores[f"encoder/max_answers@{count}"].mean() == pytest.approx(mean, abs=0.06)
    for count, mean in zip((1, 3, 5), incorrect, strict=True):
        assert 100 * scores[f"encoder/max_incorrect@{count}"].mean() == pytest.approx(mean, abs=0.06)
