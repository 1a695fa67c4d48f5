"""Models by their source: what they can, what they give for the requests wanted, and classes of other packages."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nightjar import params
from nightjar.core.errors import NightjarError
from nightjar.models.backends import backend, open_model
from nightjar.models.engine.language_model import LanguageModel
from nightjar.models.engine.loading import load, prepare
from nightjar.models.interface import Decoding, Model, Request, answer_in_threads
from nightjar.models.local import CausalModel, EncoderDecoderModel, LocalModel
from nightjar.models.servers.completion_server import CompletionServer
from nightjar.predict.predictor import lacking
from tests.conftest import ROOT
from tests.installed_package import install

SETTINGS = params.load(ROOT / "params.yaml").predict.benchmark("supernatinst")
PROMPTS = ["One", "One and two", "One and two and three", "Four"]
CODE = """
from nightjar.models import Completion, Model

class Echo(Model):
    can = frozenset({"generate"})

    def __init__(self, argument):
        self.identity = {"says": argument}

    def generate(self, requests, wanted, decoding):
        for number in reversed(wanted):
            yield number, Completion(requests[number].prompt)

class Broken(Echo):
    def __init__(self, argument):
        raise RuntimeError("no weights")

class Other:
    can = frozenset()
"""


@pytest.fixture()
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of installed packages, with one that has models."""
    (tmp_path / "own_models.py").write_text(CODE)
    points = [f"{name.lower()} = own_models:{name}" for name in ("Echo", "Broken", "Other", "Gone")]
    install(tmp_path, "own-models", "1.0", "nightjar.models", points)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("own_models", None)


@pytest.fixture(scope="module", params=["tiny_model", "tiny_t5"])
def lm(request: pytest.FixtureRequest) -> LanguageModel:
    prepare(seed=0, threads=1)
    return load(request.getfixturevalue(request.param))


def local(lm: LanguageModel) -> LocalModel:
    return (EncoderDecoderModel if lm.encoder_decoder else CausalModel)(lm, batch_size=2, window=16)


def requests(lm: LanguageModel) -> dict[int, Request]:
    return {10 + n: Request(text, lm.tokenizer.encode(text), 6, ["a"]) for n, text in enumerate(PROMPTS)}


def open_source(source: str, base: Path = Path("none")) -> Model:
    return open_model(source, base, SETTINGS, 16, 0, 1)


def test_the_class_of_a_source(site: Path, tiny_model: Path, tiny_t5: Path) -> None:
    assert backend("models/base/language_model", tiny_model) is CausalModel
    assert backend("models/train/mine", tiny_t5) is EncoderDecoderModel
    assert backend("server:http://host#m") is CompletionServer
    assert backend("entry:echo#x").__name__ == "Echo"


def test_what_a_model_cannot_is_said_of_it(tiny_model: Path, tiny_t5: Path) -> None:
    assert lacking(backend("", tiny_model)) == {}
    reason = "gives no log-probabilities of given choices"
    assert lacking(backend("", tiny_t5))["choose"] == f"an encoder-decoder {reason}"
    assert lacking(CompletionServer)["choose"] == f"a server {reason}"
    assert set(lacking(CompletionServer)) == {"choose", "perplexity", "sample"}


@pytest.mark.parametrize("decoding", [Decoding(), Decoding(0.9, 0.9, seed=3)])
def test_a_text_does_not_depend_on_which_are_wanted(lm: LanguageModel, decoding: Decoding) -> None:
    model, asked = local(lm), requests(lm)
    whole = dict(model.generate(asked, list(asked), decoding))
    assert set(whole) == set(asked)
    for wanted in ([12], [13, 10]):
        assert dict(model.generate(asked, wanted, decoding)) == {number: whole[number] for number in wanted}
    for text in whole.values():
        assert text.cut == (text.tokens == 6 and text.stop is None) and text.stop in ("a", None)


def test_samples_are_those_of_each_alone(lm: LanguageModel) -> None:
    model, asked, how = local(lm), requests(lm), Decoding(1.0, 0.9, seed=3)
    found = dict(model.sample(asked, [13, 11], 3, how))
    assert found == {**dict(model.sample(asked, [11], 3, how)), **dict(model.sample(asked, [13], 3, how))}


def test_a_class_of_another_package(site: Path) -> None:
    with open_source("entry:echo#loud") as model:
        assert model.identity == {"says": "loud"} and len(model.sha256) == 64 and model.title == "this model"
        asked = {3: Request("a", [], 1), 5: Request("b", [], 1)}
        assert [(n, it.text) for n, it in model.generate(asked, [3, 5], Decoding())] == [(5, "b"), (3, "a")]
        with pytest.raises(NightjarError, match="this model cannot score"):
            model.score({}, [])


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("entry:none", "no installed package offers this model; .*installed are: broken, echo, gone, other"),
        ("entry:broken", r"this model cannot be made \(RuntimeError: no weights\)"),
        (
            "entry:other",
            "it is no model: it is not a subclass, or its `can` is no frozenset; name a subclass",
        ),
        ("entry:gone", "it cannot be loaded"),
        (
            "models/base/language_model",
            "none: no such model directory; check the path, or run: nightjar rebuild",
        ),
    ],
)
def test_a_source_that_names_no_model_is_one_line(site: Path, source: str, told: str) -> None:
    with pytest.raises(NightjarError, match=told):
        open_source(source)


def test_a_fault_ends_the_questions_that_wait_and_keeps_those_under_way() -> None:
    asked = []

    def one(number: int) -> dict[str, Any]:
        asked.append(number)
        if number == 0:
            raise NightjarError("a fault", "here", "fix it")
        time.sleep(0.02)
        return {}

    found = set()
    with pytest.raises(NightjarError, match="a fault"):
        for number, _ in answer_in_threads(one, range(1000), 4):
            found.add(number)
    assert found == set(asked) - {0}
    assert len(asked) < 1000
