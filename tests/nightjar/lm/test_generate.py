"""Batched decoding against the plainest loop: one prompt, the whole sequence through the model at every step."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from nightjar.lm.forward import prefill
from nightjar.lm.generate import Answer, Controller, Row, branch, generate
from nightjar.lm.load import LanguageModel, load, prepare
from nightjar.lm.sample import Sampling, generator_for

PROMPTS = ["Input: one\nOutput:", "Input: a longer one, of more words\nOutput:", "Input: x", "Definition: it"]


@pytest.fixture(scope="module")
def lm(tiny_model: Path) -> LanguageModel:
    prepare(seed=0, threads=1)
    return load(tiny_model)


def plain_greedy(lm: LanguageModel, prompt: list[int], steps: int, banned: int | None = None) -> list[int]:
    ids = list(prompt)
    for _ in range(steps):
        with torch.inference_mode():
            logits = lm.model(input_ids=torch.tensor([ids])).logits[0, -1].float()
        token = int(logits.argmax())
        if token == lm.tokenizer.end:
            break
        ids.append(token)
    return ids[len(prompt) :]


def test_a_batch_of_uneven_prompts_gives_what_each_gives_alone(lm: LanguageModel) -> None:
    prompts = [lm.tokenizer.encode(text) for text in PROMPTS]
    together = generate(lm, prompts, max_new_tokens=12)
    for prompt, result in zip(prompts, together, strict=True):
        assert result.text == lm.tokenizer.decode(plain_greedy(lm, prompt, 12))


def test_a_stop_string_ends_the_text_before_it(lm: LanguageModel) -> None:
    prompt = lm.tokenizer.encode(PROMPTS[0])
    whole = generate(lm, [prompt], max_new_tokens=12)[0].text
    mark = whole[5:7]
    result = generate(lm, [prompt], max_new_tokens=12, stop=[mark])[0]
    assert result.stopped
    assert result.text == whole[: whole.find(mark)]


def test_sampling_repeats_with_the_same_seed_and_varies_with_another(lm: LanguageModel) -> None:
    prompts = [lm.tokenizer.encode(text) for text in PROMPTS]

    def sample(seed: int) -> list[str]:
        generator = torch.Generator().manual_seed(seed)
        return [g.text for g in generate(lm, prompts, 12, sampling=Sampling(1.0, generator))]

    assert sample(1) == sample(1)
    assert sample(1) != sample(2)


def test_a_row_draws_the_same_whatever_stands_beside_it(lm: LanguageModel) -> None:
    """One generator a row: alone, in another order, or in another batch, each prompt gets its own text again."""
    prompts = [lm.tokenizer.encode(text) for text in PROMPTS]

    def sample(numbers: list[int]) -> list[str]:
        generators = [generator_for(7, str(number)) for number in numbers]
        sampling = Sampling(0.7, generators, top_p=0.9)
        return [g.text for g in generate(lm, [prompts[n] for n in numbers], 12, sampling=sampling)]

    together = sample([0, 1, 2, 3])
    assert sample([3, 1]) == [together[3], together[1]]
    assert sample([2]) == [together[2]]
    assert len(set(together)) == 4


class Detour(Controller):
    """Once a row: writes a token of its own at the third place, lets two more follow, and takes all three back."""

    def __init__(self, token: int) -> None:
        self.token = token
        self.begun, self.taken_back = set[int](), set[int]()

    def choose(self, row: Row, logits: torch.Tensor) -> int | None:
        if len(row.ids) < 3 or row.number in self.begun:
            return None
        self.begun.add(row.number)
        return self.token

    def after(self, row: Row) -> Answer | None:
        if len(row.ids) < 6 or row.number in self.taken_back:
            return None
        self.taken_back.add(row.number)
        return Answer.TAKE_BACK


def test_what_is_taken_back_leaves_no_trace(lm: LanguageModel) -> None:
    prompts = [lm.tokenizer.encode(text) for text in PROMPTS[:3]]
    detour = Detour(token=lm.tokenizer.encode("Z")[0])
    results = generate(lm, prompts, max_new_tokens=12, controller=detour)
    assert detour.taken_back == {0, 1, 2}
    for prompt, result in zip(prompts, results, strict=True):
        # Three tokens more were written, which do not count against the limit.
        assert result.tokens == 15
        assert result.text == lm.tokenizer.decode(plain_greedy(lm, prompt, 12))


class Feed(Controller):
    """Each row waits once, when it has as many tokens as `after` says; then it is fed its text, or taken back."""

    def __init__(self, after: list[int], texts: list[str | None]) -> None:
        self.places, self.texts = after, texts
        self.asked: list[int] = []

    def choose(self, row: Row, logits: torch.Tensor) -> int | None:
        """The model's own choice, so that there is a place to take back to."""
        waited = row.number in self.asked
        return int(logits.argmax()) if not row.ids and not waited else None

    def after(self, row: Row) -> Answer | None:
        waited = row.number in self.asked
        return Answer.WAIT if len(row.ids) == self.places[row.number] and not waited else None

    def results(self, rows: Sequence[Row]) -> list[str | None]:
        self.asked += [row.number for row in rows]
        return [self.texts[row.number] for row in rows]


def test_fed_text_is_written_as_it_is_and_decoding_continues_from_it(lm: LanguageModel) -> None:
    prompts = [lm.tokenizer.encode(text) for text in PROMPTS]
    texts = [" 42]", " a longer result, of more tokens]", None, " x]"]
    places = [2, 5, 3, 99]
    feed = Feed(places, texts)
    results = generate(lm, prompts, max_new_tokens=12, controller=feed)
    assert sorted(feed.asked) == [0, 1, 2]
    for prompt, result, text, place in zip(prompts, results, texts, places, strict=True):
        if text is None or place == 99:
            assert result.text == lm.tokenizer.decode(plain_greedy(lm, prompt, 12))
            assert result.tokens == 12 + (3 if text is None else 0)
            continue
        first = plain_greedy(lm, prompt, place)
        fed = lm.tokenizer.encode(text)
        rest = plain_greedy(lm, [*prompt, *first, *fed], 12 - place)
        assert result.text == lm.tokenizer.decode([*first, *fed, *rest])
        assert result.tokens == 12 + len(fed)


def test_a_forbidden_token_is_not_written(lm: LanguageModel) -> None:
    prompts = [lm.tokenizer.encode(text) for text in PROMPTS]

    class Forbid(Controller):
        def choose(self, row: Row, logits: torch.Tensor) -> int | None:
            logits[forbidden] = -torch.inf
            return None

    # All but the letters.
    letters = [id for id in range(319) if lm.tokenizer.decode([id]).strip().isalpha()]
    forbidden = sorted(set(range(319)).difference(letters))
    for seed in (None, 1):
        sampling = None if seed is None else Sampling(1.0, torch.Generator().manual_seed(seed))
        for result in generate(lm, prompts, 12, sampling=sampling, controller=Forbid()):
            assert result.text.replace(" ", "").isalpha()


def test_branches_of_one_text_give_what_each_beginning_gives_alone(lm: LanguageModel) -> None:
    ids = lm.tokenizer.encode(PROMPTS[1])
    token = lm.tokenizer.encode("[")[0]
    lengths = [3, 9, 9, len(ids)]
    results = branch(lm, prefill(lm, ids), lengths, token, max_new_tokens=8)
    for length, result in zip(lengths, results, strict=True):
        assert result.text == lm.tokenizer.decode(plain_greedy(lm, [*ids[:length], token], 8))
