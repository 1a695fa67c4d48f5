"""Readers against the plain way: one padded pass a question, one answer at a time, one token at a time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer, BartConfig, BartForConditionalGeneration, T5ForConditionalGeneration
from transformers.modeling_outputs import BaseModelOutput

from nightjar.core.errors import NightjarError
from nightjar.models.directory.weights import write_checksums
from nightjar.models.reader import (
    FrozenStates,
    Targets,
    UntrainedReader,
    all_answers,
    answer_scores,
    encode_inputs,
    load,
    restore_weights,
    save,
)
from nightjar.models.reader.reader_modules import EncoderDecoder, FreshDecoder, ReaderModule
from nightjar.models.reader.reader_tokens import PADDED
from tests import tiny_models

TEXTS = {"yes": "<extra_id_0> great <extra_id_1>", "no": "<extra_id_0> not so great <extra_id_1>", "so": "a"}
QUESTIONS = [
    ["the first passage This is", "a much longer second passage, and more This is", "x"],
    ["one alone"],
    ["two", "of them, the second longer"],
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = {}
    for make in (tiny_models.encoder_decoder, tiny_models.sentence_encoder):
        folder = tmp_path_factory.mktemp(make.__name__)
        make(folder)
        write_checksums(folder)
        made[make.__name__] = folder
    return made


@pytest.fixture(params=["encoder_decoder", "sentence_encoder"])
def base(request: pytest.FixtureRequest, folders: dict[str, Path]) -> UntrainedReader:
    torch.manual_seed(0)
    return load(folders[request.param], 2)


def ids_of(base: UntrainedReader) -> list[list[list[int]]]:
    return [[base.tokens.input(text, text, 128) for text in texts] for texts in QUESTIONS]


def states_of(base: UntrainedReader) -> list[list[torch.Tensor]]:
    return [encode_inputs(base.reader, inputs) for inputs in ids_of(base)]


def one_at_a_time(reader: ReaderModule, states: torch.Tensor, targets: Targets, answer: int) -> float:
    """ln p of an answer, token by token, from the states of one row without padding."""
    mask = torch.ones(1, len(states), dtype=torch.long)
    total = 0.0
    for place in range(int((targets.places[answer] != PADDED).sum())):
        before = targets.before[answer, : place + 1][None, None]
        found = reader.log_probabilities(states[None], mask, before, targets.vocabulary)
        total += float(found[0, 0, -1, targets.places[answer, place]])
    return total


@torch.inference_mode()
def test_whole_verbalisers_are_scored_over_the_states_of_all_inputs(base: UntrainedReader) -> None:
    targets = base.tokens.targets(TEXTS, base.reader.start)
    assert int((targets.places != PADDED).sum(dim=1).max()) > 2, "answers of several pieces"
    states = states_of(base)
    got = answer_scores(base.reader, states, None, targets, all_answers(targets, len(states)))
    wanted = [
        [one_at_a_time(base.reader, torch.cat(own), targets, answer) for answer in range(3)] for own in states
    ]
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-4)


@torch.inference_mode()
def test_the_passages_of_rag_are_read_alone_and_weighted(base: UntrainedReader) -> None:
    targets = base.tokens.targets(TEXTS, base.reader.start)
    states = states_of(base)
    priors = [np.log([0.5, 0.3, 0.2]), np.zeros(1), np.log([0.9, 0.1])]
    got = answer_scores(base.reader, states, priors, targets, all_answers(targets, len(states)))
    wanted = [
        [
            np.logaddexp.reduce(
                [
                    ln + one_at_a_time(base.reader, read, targets, answer)
                    for ln, read in zip(prior, own, strict=True)
                ]
            )
            for answer in range(3)
        ]
        for prior, own in zip(priors, states, strict=True)
    ]
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-4)


@torch.inference_mode()
def test_fusion_is_that_of_the_published_code(folders: dict[str, Path]) -> None:
    """FiD's model.py: (B, N, L) to (B N, L) for the encoder, to (B, N L) with the concatenated mask for the decoder."""
    base = load(folders["encoder_decoder"], 1)
    assert isinstance(base.reader, EncoderDecoder)
    model: T5ForConditionalGeneration = base.reader.model
    inputs = [ids_of(base)[0], [*ids_of(base)[2], ids_of(base)[1][0]]]
    length = 80
    ids = torch.zeros(2, 3, length, dtype=torch.long)
    mask = torch.zeros(2, 3, length, dtype=torch.long)
    for b, question in enumerate(inputs):
        for n, one in enumerate(question):
            ids[b, n, : len(one)], mask[b, n, : len(one)] = torch.tensor(one), 1
    hidden = model.get_encoder()(input_ids=ids.view(6, length), attention_mask=mask.view(6, length))
    labels = torch.tensor(
        [AutoTokenizer.from_pretrained(folders["encoder_decoder"])(TEXTS["no"])["input_ids"]] * 2
    )
    logits = model(
        encoder_outputs=BaseModelOutput(last_hidden_state=hidden.last_hidden_state.view(2, 3 * length, -1)),
        attention_mask=mask.view(2, 3 * length),
        labels=labels,
    ).logits
    wanted = logits.log_softmax(-1).gather(-1, labels[..., None])[..., 0].sum(dim=1)
    targets = base.tokens.targets(TEXTS, base.reader.start)
    read = [encode_inputs(base.reader, question) for question in inputs]
    got = answer_scores(base.reader, read, None, targets, torch.tensor([[1], [1]]))
    np.testing.assert_allclose(got[:, 0], wanted, rtol=1e-5, atol=1e-4)


@torch.inference_mode()
def test_bart_by_the_same_interface() -> None:
    torch.manual_seed(0)
    config = BartConfig(
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        max_position_embeddings=64,
        vocab_size=50,
    )
    reader = EncoderDecoder(BartForConditionalGeneration(config)).eval()
    places = torch.tensor([[2, 1], [0, PADDED]])
    targets = Targets(("a", "b"), torch.tensor([[2, 9], [2, 2]]), places, torch.tensor([5, 7, 9]))
    read = [encode_inputs(reader, [[4, 5, 6], [7, 8]])]
    got = answer_scores(reader, read, None, targets, all_answers(targets, 1))
    wanted = [one_at_a_time(reader, torch.cat(read[0]), targets, answer) for answer in range(2)]
    np.testing.assert_allclose(got[0], wanted, rtol=1e-5, atol=1e-4)


def test_gradients_reach_the_encoder_only_when_it_learns(base: UntrainedReader) -> None:
    targets = base.tokens.targets(TEXTS, base.reader.start)
    for trains in ("decoder", "all"):
        base.reader.zero_grad()
        learning = base.reader.learning(trains)
        for name, parameter in base.reader.named_parameters():
            parameter.requires_grad_(name in learning)
        chosen = torch.tensor([[0], [1], [2]])
        answer_scores(base.reader, states_of(base), None, targets, chosen).sum().backward()
        moved = {
            n for n, p in base.reader.named_parameters() if p.grad is not None and p.grad.abs().sum() > 0
        }
        assert moved <= learning.keys()
        assert any("encoder" in name for name in moved) == (trains == "all")
    words = "encoder.embeddings.word_embeddings.weight"
    if isinstance(base.reader, FreshDecoder):
        assert words not in base.reader.learning("all") and base.reader.is_fresh("norm.weight")
        assert not base.reader.is_fresh(words)


@torch.inference_mode()
def test_frozen_states_are_those_of_the_encoder(base: UntrainedReader, tmp_path: Path) -> None:
    inputs = [one for question in ids_of(base) for one in question]
    with FrozenStates(base.reader, inputs, tmp_path / "new/states.f16") as frozen:
        found = frozen.read([4, 0])
        for number, states in zip([4, 0], found, strict=True):
            wanted = encode_inputs(base.reader, [inputs[number]])[0]
            np.testing.assert_allclose(states, wanted, atol=2e-3)
            assert states.dtype == torch.float32
    assert list((tmp_path / "new").iterdir()) == []


def test_trained_weights_come_back_without_the_base(base: UntrainedReader, tmp_path: Path) -> None:
    learning = base.reader.learning("decoder")
    digest = save({name: value.detach() for name, value in learning.items()}, tmp_path)
    kept = {name: value.detach().to(torch.float16).float() for name, value in learning.items()}
    with torch.no_grad():
        for value in learning.values():
            value.zero_()
    assert restore_weights(base.reader, "decoder", tmp_path) == digest
    for name, value in base.reader.learning("decoder").items():
        assert torch.equal(value, kept[name])
    encoder = {n for n, _ in base.reader.named_parameters()} - learning.keys()
    assert encoder and not encoder & kept.keys()
    with pytest.raises(NightjarError, match="weights of another reader"):
        restore_weights(base.reader, "all", tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"broken")
    with pytest.raises(NightjarError, match="sha256"):
        restore_weights(base.reader, "decoder", tmp_path)


def test_weights_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NightjarError, match="no finite numbers"):
        save({"a": torch.tensor([float("nan")])}, tmp_path)
    with pytest.raises(NightjarError, match="no finite numbers"):
        save({"a": torch.tensor([1e6])}, tmp_path)
