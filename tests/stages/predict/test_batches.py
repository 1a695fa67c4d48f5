"""The plan of batches against its own rules, spelt out the slow way."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from nightjar.core.params import PredictBenchmark, load
from stages.predict.batches import plan

SETTINGS = load(Path(__file__).parents[3] / "profiles/sample.yaml").predict.supernatinst


def settings(**changes: int) -> PredictBenchmark:
    return SETTINGS.model_copy(update=changes)


def tokens(rows: list[list[int]], answer: int, encoder_decoder: bool) -> int:
    shared = 0
    while (
        not encoder_decoder and shared < min(map(len, rows)) - 1 and len({row[shared] for row in rows}) == 1
    ):
        shared += 1
    return shared + len(rows) * (max(map(len, rows)) - shared + answer)


@given(
    # Beginnings in common, or little would be shared.
    st.lists(
        st.tuples(
            st.sampled_from("ab"),
            st.sampled_from([[], [1, 2, 3], [1, 2, 3, 4, 4, 4]]),
            st.lists(st.integers(0, 4), min_size=1, max_size=9),
        ),
        max_size=24,
    ),
    st.integers(1, 5),
    st.integers(1, 60),
    st.booleans(),
)
def test_every_row_once_within_the_bounds_and_no_batch_smaller_than_need_be(
    made: list[tuple[str, list[int], list[int]]], rows: int, bound: int, encoder_decoder: bool
) -> None:
    tasks = [task for task, _, _ in made]
    prompts = [head + rest for _, head, rest in made]
    wanted = settings(batch_size=rows, batch_tokens=bound, max_new_tokens=2)
    batches = plan(prompts, tasks, wanted, encoder_decoder)
    assert batches == plan(prompts, tasks, wanted, encoder_decoder)
    assert sorted(row for batch in batches for row in batch) == list(range(len(made)))
    for number, batch in enumerate(batches):
        own = [prompts[row] for row in batch]
        assert len(batch) <= rows
        assert len(batch) == 1 or tokens(own, 2, encoder_decoder) <= bound
        assert encoder_decoder or len({tasks[row] for row in batch}) == 1
        lengths = [len(prompt) for prompt in own]
        assert lengths == sorted(lengths, reverse=True)
        if number + 1 < len(batches):
            following = batches[number + 1][0]
            assert (
                len(batch) == rows
                or (not encoder_decoder and tasks[following] != tasks[batch[0]])
                or tokens([*own, prompts[following]], 2, encoder_decoder) > bound
            )


def test_a_shared_beginning_counts_once() -> None:
    prompts = [[7] * 100 + [n] for n in range(4)]
    one_task = plan(prompts, ["t"] * 4, settings(batch_tokens=120, max_new_tokens=4), False)
    assert one_task == [[0, 1, 2, 3]]
    assert plan(prompts, ["t"] * 4, settings(batch_tokens=120, max_new_tokens=4), True) == [
        [0], [1], [2], [3]
    ]  # fmt: skip


def test_an_encoder_takes_tasks_together_by_length() -> None:
    prompts = [[1] * 3, [1] * 9, [1] * 3, [1] * 9]
    assert plan(prompts, ["a", "a", "b", "b"], settings(batch_size=2), True) == [[1, 3], [0, 2]]
