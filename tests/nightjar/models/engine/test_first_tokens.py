"""What the tokenizers of each kind put before a text: what transformers' own pipeline reads, once and in front."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    AutoTokenizer,
    GPT2Config,
    GPT2LMHeadModel,
    T5Config,
    TextGenerationPipeline,
    set_seed,
)

from nightjar.models.directory.weights import write_checksums
from nightjar.models.engine.language_model import LanguageModel
from nightjar.models.engine.loading import load
from nightjar.models.engine.log_probabilities import continuation_sums, encode_continuation, text_loss
from nightjar.models.tokenizer import load_tokenizer
from nightjar.params.inputs import Encoding
from nightjar.prompts.encodings import NAMED
from nightjar.search.reranker import embed, prompts
from nightjar.tools import Call, Text, Toolbox, answer, call_losses, insert, remove
from nightjar.tools.annotate import Annotator
from nightjar.tools.calculator import Calculator
from nightjar.tools.filter import Tokens
from stages.encode.encoded_tasks import RecipeEncoder
from tests import plain_annotation as plain
from tests.made_tokenizers import KINDS, opt, t5
from tests.scripted_model import scripted, writes

TEXT = "The answer is 2 + 3 = 5."
PROMPTS = ["The answer is", "a question", "The number of days [Calculator("]
CAUSAL = [kind for kind in KINDS if kind is not t5]
Kind = Callable[[Path], int]


def _begin(kind: Kind, theirs: Any) -> list[int]:
    mark = KINDS[kind]
    return [theirs.convert_tokens_to_ids(mark)] if mark else []


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[Kind, Path]:
    """A model directory of each kind, T5's without weights."""
    folders = {}
    for kind in KINDS:
        folder = folders[kind] = tmp_path_factory.mktemp(kind.__name__)
        size = kind(folder) + 8  # transformers may add tokens
        if kind is t5:
            T5Config(architectures=["T5ForConditionalGeneration"]).save_pretrained(folder)  # type: ignore[call-arg]
            continue
        set_seed(1)
        config = GPT2Config(
            vocab_size=size, n_positions=1500, n_embd=32, n_layer=2, n_head=2, initializer_range=0.3
        )
        GPT2LMHeadModel(config).save_pretrained(folder)
        write_checksums(folder)
    return folders


@pytest.fixture(scope="module", params=CAUSAL, ids=lambda kind: kind.__name__)
def one(request: pytest.FixtureRequest, made: dict[Kind, Path]) -> tuple[LanguageModel, Any, list[int]]:
    """Our model of a kind, their tokenizer, and what it puts before a text."""
    theirs = AutoTokenizer.from_pretrained(str(made[request.param]), local_files_only=True)
    return load(made[request.param]), theirs, _begin(request.param, theirs)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("text", [*PROMPTS, TEXT, "", " a", "a\n\nb", "naïve 北京"])
def test_ids_are_those_of_transformers(kind: Kind, text: str, made: dict[Kind, Path]) -> None:
    theirs = AutoTokenizer.from_pretrained(str(made[kind]), local_files_only=True)
    ours, ids = load_tokenizer(made[kind]), theirs(text)["input_ids"]
    assert ours.encode(text) == ids
    assert list(ours.begin) == _begin(kind, theirs) == ids[: len(ours.begin)]
    if kind is not t5:
        assert ours.continuation(text) == theirs(text, add_special_tokens=False)["input_ids"]
    assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=True)


def test_answers_are_those_of_the_pipeline(one: tuple[LanguageModel, Any, list[int]]) -> None:
    lm, theirs, _ = one
    pipeline = TextGenerationPipeline(model=lm.model, tokenizer=theirs, device=-1)
    for prompt in PROMPTS:
        asked = {"max_new_tokens": 8, "do_sample": False, "return_tensors": True}
        (found,) = pipeline(prompt, **asked)
        ids = found["generated_token_ids"][len(theirs(prompt)["input_ids"]) :]
        assert ids
        (given,) = answer(lm, [prompt], calls="off", max_new_tokens=8, stop=())
        assert given.text == theirs.decode(ids, skip_special_tokens=True)


def _logprobs(lm: LanguageModel, ids: list[int]) -> list[float]:
    """log p of each id but the first."""
    with torch.inference_mode():
        table = lm.model(torch.tensor([ids])).logits[0].log_softmax(-1)
    return [float(table[place - 1, ids[place]]) for place in range(1, len(ids))]


def test_scores_of_choices_and_of_texts_follow_it_once(one: tuple[LanguageModel, Any, list[int]]) -> None:
    lm, theirs, begin = one
    prompt, choice = "The answer is", " Paris."
    whole = theirs(prompt + choice)["input_ids"]
    first = len(theirs(prompt)["input_ids"])
    ((_, (found,)),) = continuation_sums(lm, [[encode_continuation(lm.tokenizer, prompt, choice)]])
    assert found == pytest.approx(sum(_logprobs(lm, whole)[first - 1 :]), abs=1e-4)
    ids = theirs(TEXT, add_special_tokens=False)["input_ids"]
    truth = -sum(_logprobs(lm, [*begin, *ids])[len(begin) :])
    assert text_loss(lm, lm.tokenizer.continuation(TEXT), 500) == pytest.approx(truth, abs=1e-3)


def test_the_reranker_reads_it_and_its_limit_counts_it(one: tuple[LanguageModel, Any, list[int]]) -> None:
    lm, theirs, _ = one
    ids = theirs("Is this good?\nthe question")["input_ids"]

    def ask(text: str) -> str:
        return f"Is this good?\n{text}"

    made = prompts(lm.tokenizer, ask, ["", ""], ["the question"], len(ids))
    assert made.rows[0].tolist() == ids and made.cut == []
    assert prompts(lm.tokenizer, ask, ["", ""], ["the question"], len(ids) - 1).cut == [0]
    with torch.inference_mode():
        state = lm.model.base_model(torch.tensor([ids])).last_hidden_state[0, -1]
    (found,) = embed(lm, made.rows, None, 1000)
    assert found == pytest.approx((state / state.norm()).numpy(), abs=1e-4)


def test_calls_of_texts_are_sampled_and_filtered_behind_it(
    one: tuple[LanguageModel, Any, list[int]],
) -> None:
    lm, tool, text = one[0], Calculator(), Text("The answer is 2 + 3 = 5 days.")
    if len(lm.tokenizer.continuation(" [")) != 1:
        pytest.skip("this kind has no single token for the beginning of a call")
    settings = replace(plain.SETTINGS, positions=3, max_call_tokens=8, max_text_tokens=500)
    (found,) = Annotator(lm, tool, settings).annotate([text], ["seed"])
    truth = plain.marker_probabilities(lm, tool, text)
    assert found.candidates
    for candidate in found.candidates:
        assert candidate.probability == pytest.approx(truth[candidate.token], rel=1e-3)
    call = Call("Calculator", "2 + 3")
    place = text.body.index(" 5 days")
    (losses,) = call_losses(lm, text, [(place, call, "5")])
    tokens = len(lm.tokenizer.continuation(f" {text.body[:place]}"))
    truth_of_losses = asdict(plain.losses(lm, text, tokens, call, "5"))
    assert asdict(losses) == pytest.approx(truth_of_losses, abs=1e-3)


def test_a_result_that_is_fed_in_has_none(made: dict[Kind, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    lm = scripted(made[opt], writes(sum=" is [Calculator(2 + 3) -> 5] 5"))
    read: list[list[int]] = []
    following = lm.model._next
    monkeypatch.setattr(lm.model, "_next", lambda seen: [read.append(seen), following(seen)][1])
    (given,) = answer(lm, ["sum:"], Toolbox([Calculator()]), top_k=1)
    assert [(call.input, call.result) for call in given.calls] == [("2 + 3", "5")]
    assert given.text == " is [Calculator(2 + 3) -> 5] 5"
    assert {(ids[0], ids.count(ids[0])) for ids in read} == {(lm.tokenizer.begin[0], 1)}


@pytest.mark.parametrize("kind", CAUSAL, ids=lambda kind: kind.__name__)
def test_a_call_is_put_before_the_blank_of_its_word(kind: Kind, made: dict[Kind, Path]) -> None:
    """GPT-NeoX's spans leave the blank out (trim_offsets); then a call has two blanks before it and none behind."""
    tokenizer, body = load_tokenizer(made[kind]), "The number is 18 + 36 =  54, is it?"
    tokens = Tokens.of(tokenizer, Text(body))
    call = Call("Calculator", "18 + 36")
    (found,) = [n for n, start in enumerate(tokens.offsets) if f" {body}"[start:].startswith(" 54")][:1]
    written = insert(f" {body}", [(tokens.offsets[found], call, "54")])
    assert written == " The number is 18 + 36 =  [Calculator(18 + 36) -> 54] 54, is it?"
    assert tokens.offsets[0] == 0 and tokens.offsets == sorted(tokens.offsets)
    for place in tokens.offsets:
        assert remove(insert(f" {body}", [(place, call, "54")])) == f" {body}"


TASK = {"task_id": "t", "definition": "The answer.", "positive_examples": [], "negative_examples": []}


@pytest.mark.parametrize("kind", CAUSAL, ids=lambda kind: kind.__name__)
def test_training_reads_what_prediction_reads_and_targets_have_none(
    kind: Kind, made: dict[Kind, Path]
) -> None:
    tokenizer = load_tokenizer(made[kind])
    theirs = AutoTokenizer.from_pretrained(str(made[kind]), local_files_only=True)
    options = Encoding(**NAMED["def"], trim_input=False, max_source_length=400, max_target_length=9)
    encoder = RecipeEncoder(options, 1, tokenizer)
    text = "Definition: The answer.\n\nNow complete the following example -\nInput: a question.\nOutput:"
    whole = theirs(text)["input_ids"]
    assert encoder.prompts(TASK, "a question", ()) == [whole]
    assert encoder.target("Paris") == [
        *theirs(" Paris", add_special_tokens=False)["input_ids"],
        theirs.eos_token_id,
    ]
    # Evidence that just fits is kept: what is put before a text counts once.
    passage = {"title": "T", "text": "The number"}
    (known,) = encoder.prompts(TASK, "a question", [passage])
    tight = options.model_copy(update={"max_source_length": len(known) + len(theirs(" ")["input_ids"])})
    assert RecipeEncoder(tight, 1, tokenizer).prompts(TASK, "a question", [passage]) == [known]
    short = options.model_copy(update={"max_source_length": len(whole) - 3})
    (cut,) = RecipeEncoder(short, 1, tokenizer).prompts(TASK, "a question", ())
    assert cut[: len(whole) - 4] == whole[: len(whole) - 4]
