"""The encoder similarity: its Gaussian processes against an integral, and its rules on made vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.special import expit

from nightjar.benchmarks.protoqa.clusters import best_list, clusters_of
from nightjar.benchmarks.protoqa.encoder import EncoderSimilarity, assigned, encoder_similarity
from nightjar.benchmarks.protoqa.metrics import RULES, explained, score
from nightjar.benchmarks.question import Question
from nightjar.core.errors import NightjarError
from nightjar.search.encoders import RECORD


class Made:
    """An encoder of three dimensions: given vectors, and for other texts some that depend on the text alone."""

    def __init__(self, known: Mapping[str, Sequence[float]]) -> None:
        self.known, self.calls = known, list[tuple[str, str]]()

    def encode_in_context(self, contexts: Sequence[str], texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls += zip(contexts, texts, strict=True)
        return np.array([self.known.get(one, _from_text(one)) for one in texts], np.float32).reshape(-1, 3)


def _from_text(text: str) -> list[float]:
    return [byte / 128 - 1 for byte in sha256(text.encode()).digest()[:3]]


def question(*clusters: Sequence[str], text: str = "?") -> Question:
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
    found = assigned(EncoderSimilarity(Made(WEATHER)).probabilities(ASKED, ["drizzle", "sleet", "jet"]))
    assert found.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


def test_probabilities_are_those_of_a_gaussian_process() -> None:
    """Laplace's approximation by Newton steps, and the mean of the logistic function by an integral."""
    from scipy.stats import norm

    strings = ["rain", "shower", "snow", "flakes", "plane"]
    vectors = np.array([WEATHER[one] for one in [*strings, "sleet", "jet"]], float)
    vectors -= vectors[: len(strings)].mean(axis=0)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    squares = ((vectors[:, None] - vectors[None]) ** 2).sum(axis=2)
    kernel = 10 * np.exp(-squares / 2)
    inner, cross = kernel[:5, :5], kernel[5:, :5]
    inside = np.array([False, False, True, True, False])
    latent = np.zeros(5)
    for _ in range(200):
        p = expit(latent)
        weights = np.diag(p * (1 - p))
        latent = np.linalg.solve(np.linalg.inv(inner) + weights, weights @ latent + inside - p)
    p = expit(latent)
    means = cross @ (inside - p)
    spread = np.linalg.inv(inner + np.diag(1 / (p * (1 - p))))
    deviations = np.sqrt(10 - np.einsum("ij,jk,ik->i", cross, spread, cross))
    expected = [
        quad(lambda f, m=m, s=s: expit(f) * norm.pdf(f, m, s), m - 9 * s, m + 9 * s)[0]
        for m, s in zip(means, deviations, strict=True)
    ]
    found = EncoderSimilarity(Made(WEATHER)).probabilities(ASKED, ["sleet", "jet"])
    # scikit-learn approximates the integral.
    assert found[:, 1] == pytest.approx(expected, abs=3e-3)


def test_strings_of_clusters_belong_to_every_cluster_that_has_them() -> None:
    asked = question(["rain", "snow"], ["snow"], ["plane"])
    found = EncoderSimilarity(Made({})).probabilities(asked, ["snow", "rain"])
    assert found.tolist() == [[1, 1, 0], [1, 0, 0]]
    assert assigned(found).tolist() == found.tolist()


def test_blank_answers_belong_to_none() -> None:
    encoder = Made(WEATHER)
    found = EncoderSimilarity(encoder).probabilities(ASKED, ["", "sleet"])
    assert assigned(found).sum(axis=1).tolist() == [0, 1]
    assert ("?", "") not in encoder.calls


@pytest.mark.parametrize(
    "clusters", [[["rain"]], [["rain", "shower"]], [["rain"], ["rain"]], [["rain", ""], ["rain", " "]]]
)
def test_a_cluster_with_all_strings_has_only_these(clusters: list[list[str]]) -> None:
    asked = question(*clusters)
    found = EncoderSimilarity(Made(WEATHER)).probabilities(asked, ["rain", "drizzle"])
    assert found.tolist() == [[1.0] * len(clusters), [0.0] * len(clusters)]


def test_blank_strings_teach_nothing() -> None:
    asked = question(["rain"], [" "], ["snow"])
    found = EncoderSimilarity(Made(WEATHER)).probabilities(asked, ["drizzle", "sleet"])
    assert found[:, 1].tolist() == [0, 0]
    assert assigned(found).tolist() == [[1, 0, 0], [0, 0, 1]]


def test_no_cluster_below_the_threshold() -> None:
    given = np.array([[0.1, 0.05], [0.11, 0.05], [0.3, 0.3], [0, 0]])
    assert assigned(given).tolist() == [[0, 0], [1, 0], [1, 1], [0, 0]]
    assert assigned(np.empty((0, 2))).shape == (0, 2)


def test_strings_are_encoded_once_and_in_their_question() -> None:
    encoder = Made(WEATHER)
    similarity = EncoderSimilarity(encoder)
    other = ASKED._replace(parts={**ASKED.parts, "question": "what else?"})
    for asked in (ASKED, ASKED, other):
        score([asked], [["drizzle", "Drizzle", "rain"]], {}, similarity)
        explained(asked, ["drizzle", "Drizzle", "rain"], similarity)
    assert len(encoder.calls) == len(set(encoder.calls)) == 2 * (5 + 1)
    assert {context for context, _ in encoder.calls} == {"?", "what else?"}


texts = st.text("abC ", max_size=3)
strings = texts.filter(str.strip)


@settings(max_examples=40)
@given(
    st.lists(st.lists(strings, min_size=1, max_size=4, unique=True), min_size=1, max_size=4),
    st.lists(texts, max_size=6),
)
def test_scores_are_shares_and_the_best_list_has_all(clusters: list[list[str]], answers: list[str]) -> None:
    asked = question(*clusters)
    similarity = EncoderSimilarity(Made({}))
    found = score([asked] * 2, [answers, best_list(clusters_of(asked.parts))], {}, similarity)
    for values in found.values():
        assert 0 <= values[0] <= 1
        assert values[1] == 1.0


def test_explained_names_the_cluster_and_its_probability() -> None:
    ranked: list[dict[str, Any]] = explained(
        ASKED, ["Rain", "drizzle", ""], EncoderSimilarity(Made(WEATHER))
    )["ranked"]
    assert [line["answer"] for line in ranked] == ["rain", "drizzle", ""]
    assert ranked[0]["encoder"] == {"cluster": "q.0", "similarity": 1.0}
    assert ranked[1]["encoder"]["cluster"] is None and 0.5 < ranked[1]["encoder"]["similarity"] < 1
    assert ranked[2]["encoder"] == {"cluster": None, "similarity": 0.0}


def test_an_encoder_of_whole_texts(tmp_path: Path) -> None:
    (tmp_path / RECORD).write_text("{}")
    with pytest.raises(NightjarError, match="vectors of whole texts"):
        encoder_similarity(tmp_path)


def test_published_lists_by_the_real_encoder(real_data: Path, minilm: Path) -> None:
    """Two questions: as published, nearly every answer belongs to a cluster, and scores are above exact match."""
    from nightjar.benchmarks.files import read_answers, read_references
    from nightjar.benchmarks.registry import card

    folder = real_data / "protoqa"
    asked = read_references(card("protoqa"), folder / "dev.crowdsourced.jsonl")
    given = read_answers(card("protoqa"), folder / "dev.predictions.gpt2finetuned.json", asked)
    lists = [one or [] for one in given[:2]]
    found = score(asked[:2], lists, encoder=encoder_similarity(minilm))
    for rule in RULES:
        assert (found[f"encoder/{rule.name}"] >= found[f"exact_match/{rule.name}"] - 1e-12).all()
    ranked = [
        line
        for q, one in zip(asked, lists, strict=False)
        for line in explained(q, one, encoder_similarity(minilm))["ranked"]
    ]
    answered = [line["encoder"]["similarity"] > 0.1 for line in ranked if line["answer"]]
    assert sum(answered) / len(answered) > 0.9
