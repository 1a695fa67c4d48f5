"""Batched decoding against the plainest loop: one prompt, the whole sequence through the model at every step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from nightjar.core.errors import NightjarError
from nightjar.models.completions import Completion
from nightjar.models.engine.controller import Controller, ControllerAction
from nightjar.models.engine.forward_pass import PASS, advance
from nightjar.models.engine.generation import BLOCK, generate, stream
from nightjar.models.engine.kv_cache import KVCache, KVPage
from nightjar.models.engine.language_model import LanguageModel
from nightjar.models.engine.loading import count_work, load
from nightjar.models.engine.sampling import Sampling, generator_for
from nightjar.models.engine.sequences import GeneratedSequence, Prompt
from nightjar.models.engine.shared_prefixes import prefill
from tests.scripted_model import scripted, writes

PROMPTS = ["Input: one\nOutput:", "Input: a longer one, of more words\nOutput:", "Input: x", "Definition: it"]


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


class Detour(Controller):
    """Once a row: writes a token of its own at the third place, lets two more follow, and takes all three back."""

    def __init__(self, token: int) -> None:
        self.token = token
        self.begun, self.taken_back = set[int](), set[int]()

    def choose(self, row: GeneratedSequence, logits: torch.Tensor) -> int | None:
        if len(row.ids) < 3 or row.number in self.begun:
            return None
        self.begun.add(row.number)
        return self.token

    def after(self, row: GeneratedSequence) -> ControllerAction | None:
        if len(row.ids) < 6 or row.number in self.taken_back:
            return None
        self.taken_back.add(row.number)
        return ControllerAction.TAKE_BACK


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

    def choose(self, row: GeneratedSequence, logits: torch.Tensor) -> int | None:
        """The model's own choice, so that there is a place to take back to."""
        waited = row.number in self.asked
        return int(logits.argmax()) if not row.ids and not waited else None

    def after(self, row: GeneratedSequence) -> ControllerAction | None:
        waited = row.number in self.asked
        return ControllerAction.WAIT if len(row.ids) == self.places[row.number] and not waited else None

    def results(self, rows: Sequence[GeneratedSequence]) -> list[str | None]:
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


LONGER = [f"Input: {'word ' * (n * 5 % 17)}{n}\nOutput:" for n in range(9)] + [
    "Definition: say it twice. " * 4 + "x"
] * 2


@pytest.mark.parametrize("sampled", [False, True])
def test_a_text_does_not_depend_on_the_size_of_the_batch(lm: LanguageModel, sampled: bool) -> None:
    prompts = [lm.tokenizer.encode(text) for text in LONGER]
    sampling = Sampling(1.0, lambda row: generator_for(3, str(row)), 0.9) if sampled else None
    alone = [
        generate(
            lm, [prompt], 12, ["e"], sampling and replace(sampling, generators=generator_for(3, str(row)))
        )[0]
        for row, prompt in enumerate(prompts)
    ]
    assert len({len(one.ids) for one in alone}) > 1
    for size, tokens in ((1, None), (3, None), (16, None), (16, 150), (16, 1)):
        assert generate(lm, prompts, 12, ["e"], sampling, batch_size=size, batch_tokens=tokens) == alone


def test_greedy_answers_have_the_tokens_of_transformers_own_generate(lm: LanguageModel) -> None:
    prompts = [lm.tokenizer.encode(text) for text in LONGER]
    width, end = max(map(len, prompts)), lm.tokenizer.end
    with torch.inference_mode():
        written = lm.model.generate(
            input_ids=torch.tensor([[end] * (width - len(ids)) + ids for ids in prompts]),
            attention_mask=torch.tensor([[0] * (width - len(ids)) + [1] * len(ids) for ids in prompts]),
            max_new_tokens=20,
            do_sample=False,
        )[:, width:].tolist()
    wanted = [tuple(ids[: ids.index(end)] if end in ids else ids) for ids in written]
    assert [one.ids for one in generate(lm, prompts, 20, batch_size=4)] == wanted


class Watched:
    """Prompts that are taken one by one; what was taken when a pass began, and what each pass read."""

    def __init__(self, lm: LanguageModel, patch: pytest.MonkeyPatch, prompts: Sequence[Prompt]) -> None:
        self.taken = 0
        self.passes: list[list[int]] = []
        self.prompts = prompts

        def watched(
            lm: LanguageModel, pool: KVCache, reads: Sequence[tuple[KVPage, Sequence[int]]]
        ) -> torch.Tensor:
            self.passes.append([len(ids) for _, ids in reads])
            return advance(lm, pool, reads)

        patch.setattr("nightjar.models.engine.generation.advance", watched)

    def __iter__(self) -> Iterator[Prompt]:
        for prompt in self.prompts:
            self.taken += 1
            yield prompt


def test_prompts_are_taken_as_places_become_free_and_texts_given_as_they_end(
    lm: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = [9, 2, 3, 2, 9, 1, 4, 2]
    prompts = [Prompt(n, lm.tokenizer.encode(LONGER[n]), limit) for n, limit in enumerate(limits)]
    watched = Watched(lm, monkeypatch, prompts)
    found: dict[int, Completion] = {}
    for number, result in stream(lm, watched, batch_size=3):
        found[number] = result
        # One more is looked at, to know whether there is one.
        assert watched.taken <= len(found) + 3 + 1
    assert list(found)[:2] == [1, 2]
    reads = list(watched.passes)
    assert max(map(len, reads)) == 3
    # The place of a text that ended is taken at once: no pass has an empty one before the prompts end.
    assert {len(one) for one in reads[:8]} == {3}
    for number, limit in enumerate(limits):
        assert found[number] == generate(lm, [prompts[number].ids], limit)[0]


def test_a_long_prompt_is_read_beside_the_texts_being_written(
    lm: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = lm.tokenizer.encode("ab" * 400)
    assert len(long) > PASS
    prompts = [lm.tokenizer.encode("x"), long, long[1:], lm.tokenizer.encode("y")]
    alone = [generate(lm, [prompt], 8)[0] for prompt in prompts]
    watched = Watched(lm, monkeypatch, ())
    assert generate(lm, prompts, 8) == alone
    assert max(map(sum, watched.passes)) <= PASS + 3
    # Two pieces each, one a pass, then a token a pass: neither long prompt waits until the others have ended.
    assert len(watched.passes) <= 2 + 2 + 7


@pytest.mark.parametrize("mark", ["é", "日本", "x é"])
def test_a_stop_string_may_begin_in_one_token_and_end_in_another(tiny_model: Path, mark: str) -> None:
    for text in (f"ab x {mark} after", f"{mark}", f"a long text before it, {'word ' * 30}{mark}{mark}"):
        lm = scripted(tiny_model, writes(a=text))
        ids = lm.tokenizer.encode("a:")
        (result,) = generate(lm, [ids], 300, ["never", mark])
        assert (result.text, result.cut) == (text.partition(mark)[0], False)
        assert lm.tokenizer.decode(list(result.ids)).endswith(mark)


def documents(lm: LanguageModel) -> list[list[int]]:
    """Prompts with three documents longer than two passes: one has one question, the others have five."""
    head = lm.tokenizer.encode("You are given a story and a question. Answer the question.\n\nStory:\n")
    bodies = [[3 + (place * (7 + body) + place // 50) % 300 for place in range(1100)] for body in range(3)]
    questions = [lm.tokenizer.encode(f"\n\nQuestion:\n{'ab' * n}?\n\nAnswer:") for n in range(5)]
    asked = [(bodies[0], questions[:1]), (bodies[1], questions), (bodies[2], questions)]
    return [[*head, *body, *question] for body, own in asked for question in own]


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_document_of_several_questions_is_read_once_in_passes_and_answers_are_those_of_each_prompt_alone(
    tiny_model: Path, precision: str
) -> None:
    lm = load(tiny_model, precision)
    prompts = documents(lm)
    alone = [generate(lm, [prompt], 4)[0] for prompt in prompts]
    widths: list[int] = []
    hook = lm.model.register_forward_pre_hook(
        lambda model, args, given: widths.append(given["input_ids"].numel()), with_kwargs=True
    )
    with count_work(lm) as work:
        assert generate(lm, prompts, 4, batch_size=4) == alone
    hook.remove()
    # The three documents with their heads; then of each prompt the question, less than a block, and the tokens written,
    # of which a pass may fill up to eight.
    assert max(widths) <= PASS + 8
    assert work.tokens <= 3 * 1180 + len(prompts) * (40 + BLOCK + 4 * 8)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_keys_and_values_take_no_more_memory_than_batch_tokens_and_one_beginning(
    tiny_model: Path, monkeypatch: pytest.MonkeyPatch, precision: str
) -> None:
    lm = load(tiny_model, precision)
    config = lm.model.config
    width = config.num_key_value_heads * config.hidden_size // config.num_attention_heads
    token = 2 * config.num_hidden_layers * width * lm.model.dtype.itemsize
    prompts = [prompt[: len(prompt) - n * 150] for n, prompt in enumerate(documents(lm)[:8])]
    bound = 3000
    sizes, beginnings = [], []

    def watched(
        lm: LanguageModel, pool: KVCache, reads: Sequence[tuple[KVPage, Sequence[int]]]
    ) -> torch.Tensor:
        found = advance(lm, pool, reads)
        sizes.append(sum(part.untyped_storage().nbytes() for part in (*pool.keys, *pool.values)))
        return found

    def begun(lm: LanguageModel, ids: Sequence[int], base: object) -> object:
        prefix = prefill(lm, ids)
        parts = [part.untyped_storage().nbytes() for layer in prefix.layers for part in layer]
        beginnings.append((sum(parts), len(ids)))
        return prefix

    monkeypatch.setattr("nightjar.models.engine.generation.advance", watched)
    monkeypatch.setattr("nightjar.models.engine.generation.prefill", begun)
    found = dict(
        stream(
            lm, (Prompt(n, ids, 5, shared=900 * (n % 2)) for n, ids in enumerate(prompts)), batch_tokens=bound
        )
    )
    assert sorted(found) == list(range(8))
    assert 2 * 1100 * token < max(sizes) <= bound * token
    assert beginnings and all(size == tokens * token for size, tokens in beginnings)


def test_a_prompt_beyond_the_positions_of_the_model_is_an_error(lm: LanguageModel) -> None:
    most = lm.model.config.max_position_embeddings
    assert generate(lm, [[5] * (most - 1)], 1)[0].tokens == 1
    with pytest.raises(
        NightjarError, match=f"{most - 2} tokens and at most 3 new ones, but .* {most} positions"
    ):
        generate(lm, [[5] * (most - 2)], 3)
