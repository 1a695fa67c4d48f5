"""Chains of calls in annotation: what the model reads before the next call, its reference losses, and the limits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from nightjar.models.load import LanguageModel
from nightjar.models.token_tree import Beginning, Sampled, TokenTree
from nightjar.tools import Call, Losses, Text, make
from nightjar.tools.annotate import SPARE, Annotator, Candidate, Settings
from stages.augment.texts import Source, row
from tests import plain_annotation as plain

TEXT = Text("A box holds 12 pens, so 8 boxes hold 96 pens.")
TARGET = Text("There are 96 pens.", "Input: 8 boxes of 12 pens.\nOutput:")
# Everything with a result is kept.
SETTINGS = Settings(0.0, 2, 3, -1000.0, 1.0, 12, 24, chain_calls=3)
# What is sampled for the first, second and third call of a chain.
ROUNDS = (
    ("Calculator(8 * 12)", "Calculator(oops)"),
    ("Calculator( 8*12 )", "Calculator(8 * 12)", "Calculator(96 / 4)", "so"),
    ("Calculator(24 + 96)", "Calculator(96 / 4)", "Calculator(8 * 12)"),
)
FIRST, SECOND, THIRD = (
    Call("Calculator", "8 * 12"),
    Call("Calculator", "96 / 4"),
    Call("Calculator", "24 + 96"),
)

# Of the rows of two texts, as the code wrote them before it had chains.
DIGEST = "161f87b97e5afcf625060041a3b55425097011c68b104f143e1ef1132a68f79c"


class Trees:
    """Records what each tree of samples reads, and the beginnings; "samples" a round's texts at each."""

    def __init__(self, patch: pytest.MonkeyPatch, lm: LanguageModel, rounds: Sequence[Sequence[str]]) -> None:
        self.read: list[tuple[str, Beginning]] = []
        made, rows = TokenTree.__init__, dict[int, Any]()

        def init(tree: TokenTree, lm: LanguageModel, own: Any, base: Any) -> None:
            rows[id(tree)] = own
            made(tree, lm, own, base)

        def sample(tree: TokenTree, beginnings: Sequence[Beginning], *rest: object) -> list[list[Sampled]]:
            found = []
            for one in beginnings:
                ids = [*rows[id(tree)][one.row][0], *rows[id(tree)][one.row][1]][: one.length]
                read = lm.tokenizer.decode(ids).rpartition("Output:")[2]
                self.read.append((read, one))
                found.append([Sampled(text, True) for text in rounds[read.count("->")]])
            return found

        patch.setattr(TokenTree, "__init__", init)
        patch.setattr(TokenTree, "sample", sample)


@pytest.fixture()
def trees(monkeypatch: pytest.MonkeyPatch, lm: LanguageModel) -> Trees:
    return Trees(monkeypatch, lm, ROUNDS)


def annotated(lm: LanguageModel, *texts: Text, **changes: Any) -> list[list[Candidate]]:
    annotator = Annotator(lm, make("calculator"), replace(SETTINGS, **changes))
    return [one.candidates for one in annotator.annotate(texts, [f"seed{n}" for n in range(len(texts))])]


def results(candidates: Sequence[Candidate]) -> Iterator[tuple[Candidate, Losses]]:
    return ((one, one.losses) for one in candidates if one.losses is not None)


def test_each_call_of_a_chain_is_a_candidate_behind_those_before_it(lm: LanguageModel, trees: Trees) -> None:
    (found,) = annotated(lm, TARGET)
    places = sorted({one.token for one in found})
    assert len(places) == 2 and [one.token for one in found] == sorted(one.token for one in found)
    for place in places:
        own = [one for one in found if one.token == place]
        assert [(one.call or one.written, one.result, [call for call, _ in one.earlier]) for one in own] == [
            (FIRST, "96", []),
            (Call("Calculator", "oops"), None, []),
            # 8 * 12 is in the chain already, in this or another spelling.
            (Call("Calculator", "8*12"), "96", [FIRST]),
            (SECOND, "24", [FIRST]),
            ("so", None, [FIRST]),
            (THIRD, "120", [FIRST, Call("Calculator", "8*12")]),
            (SECOND, "24", [FIRST, Call("Calculator", "8*12")]),
            (THIRD, "120", [FIRST, SECOND]),
        ]
        assert len({one.offset for one in own}) == 1
        for one in own:
            wanted = f" {TARGET.body}"[: one.offset] + one.before
            (seeds,) = [start.seeds for read, start in trees.read if read == wanted]
            assert len(set(seeds)) == 3
    # Two places, each with the chains of no, one and two calls.
    assert len(trees.read) == 2 * (1 + 1 + 2)
    assert len({tuple(start.seeds) for _, start in trees.read}) == len(trees.read)


@pytest.mark.parametrize("text", [TEXT, TARGET])
def test_the_losses_of_a_chain_are_compared_behind_the_calls_before(
    lm: LanguageModel, trees: Trees, text: Text
) -> None:
    (found,) = annotated(lm, text, max_text_tokens=64)
    assert {len(one.earlier) for one in found} == {0, 1, 2}
    checked = 0
    for one, losses in results(found):
        before = "".join(f" [Calculator({call.input}) -> {result}]" for call, result in one.earlier)
        assert one.before == before and one.call is not None
        written = f"{before} [Calculator({one.call.input}) -> "
        truth = [
            plain.loss(lm, text, one.token, z) for z in (before, f"{written}]", f"{written}{one.result}]")
        ]
        assert [losses.no_call, losses.without_result, losses.with_result] == pytest.approx(truth, rel=1e-4)
        checked += bool(one.earlier)
    assert checked == 2 * (2 + 3)


def test_the_probability_of_the_next_marker_is_that_behind_the_chain(lm: LanguageModel, trees: Trees) -> None:
    tool = make("calculator")
    (found,) = annotated(lm, TEXT, max_text_tokens=64, chain_calls=2)
    later = [one for one in found if one.earlier]
    assert len(later) == 6
    for one in later:
        prompt, body = plain._ids(lm, tool, TEXT)
        logits = plain._logits(lm, [*prompt, *body[: one.token], *lm.tokenizer.encode(one.before)])
        truth = float(logits[-1].softmax(-1)[lm.tokenizer.encode(" [")[0]])
        assert one.probability == pytest.approx(truth, rel=1e-4)
    # It has to be above the threshold, as that of a first call.
    highest = max(one.probability for one in later)
    threshold = max(highest, *(one.probability for one in found))
    assert annotated(lm, TEXT, max_text_tokens=64, sampling_threshold=threshold) == [[]]


def test_only_a_call_that_the_filter_keeps_is_followed(lm: LanguageModel, trees: Trees) -> None:
    (everything,) = annotated(lm, TEXT, positions=6, max_text_tokens=64, chain_calls=1)
    gains = sorted(losses.gain for _, losses in results(everything))
    assert len(set(gains)) == 6
    # The price counts as in the decision.
    for threshold, price in ((gains[3], 0.0), (gains[3] - 0.25, 0.25)):
        limits: dict[str, Any] = {"filter_threshold": threshold - 1e-9, "price": price}
        (found,) = annotated(lm, TEXT, positions=6, max_text_tokens=64, chain_calls=2, **limits)
        kept = {one.token for one, losses in results(found) if not one.earlier and losses.gain >= gains[3]}
        assert len(kept) == 3
        assert {one.token for one in found if one.earlier} == kept
        # The first calls are those without chains.
        assert [one for one in found if not one.earlier] == everything


def test_windows_and_several_texts_have_their_own_chains(lm: LanguageModel, trees: Trees) -> None:
    texts = [TEXT, TARGET, Text("")]
    found = annotated(lm, *texts)
    assert len({one.token for one in found[0]}) > 2  # two a window
    for text, candidates in zip(texts, found, strict=True):
        for one in candidates:
            left = f" {text.body}"[: one.offset] + one.before
            assert any(left.endswith(read) for read, _ in trees.read)
    # Both have chains of three at each place, whatever else is in their batch.
    assert [len(one) for one in found] == [8 * len({one.token for one in own}) for own in found]
    assert [place_and_call(one) for one in annotated(lm, TARGET, TEXT)[0]] == [
        place_and_call(one) for one in found[1]
    ]


def place_and_call(one: Candidate) -> tuple[int, str, str]:
    return one.token, one.before, one.written


def test_where_the_model_has_no_room_no_chain_is_sampled(lm: LanguageModel, trees: Trees) -> None:
    settings = replace(SETTINGS, positions=99, max_text_tokens=64, max_call_tokens=4)
    annotator = Annotator(lm, make("calculator"), settings)
    annotator.limit = None
    annotator.annotate([TEXT], ["seed"])
    reads = [one.length for _, one in trees.read]
    # The text itself still is one window.
    body = len(lm.tokenizer.encode(f" {TEXT.body}"))
    annotator.limit = len(annotator.head.ids) + 4 + SPARE + 2 * body
    trees.read.clear()
    (found,) = annotator.annotate([TEXT], ["seed"])
    assert found.windows == 1 and any(one.earlier for one in found.candidates)
    fitting = [one.length for _, one in trees.read]
    assert fitting and sorted(fitting) == sorted(one for one in reads if one + 4 < annotator.limit)
    assert len(fitting) < len(reads)


def test_without_chains_the_rows_are_the_published_ones(
    lm: LanguageModel, trees: Trees, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With losses that a script gives."""

    def losses_at(lm: object, texts: Any) -> list[list[Losses]]:
        return [[Losses(3.0, 2.5, 2.0 - place / 8) for place, *_ in calls] for _, calls in texts]

    monkeypatch.setattr("nightjar.tools.annotate.losses_at", losses_at)
    limits: dict[str, Any] = {"positions": 99, "filter_threshold": 1.0, "chain_calls": 1}
    found = annotated(lm, TEXT, TARGET, **limits)
    assert not any("->" in read for read, _ in trees.read)
    sources = [Source("corpus", None, "d", 0, TEXT), Source("train", "t", "i", 1, TARGET)]
    rows = [
        row("calculator", source, one, 1.0) | {"probability": None}
        for source, candidates in zip(sources, found, strict=True)
        for one in candidates
    ]
    assert hashlib.sha256(json.dumps(rows).encode()).hexdigest() == DIGEST
