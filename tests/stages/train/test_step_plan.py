"""The plan: everything once an epoch, steps of the wanted size, budgets kept, draws uniform and of the seed alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import pytest

from stages.train.packing import packed_length
from stages.train.step_plan import GROUP, Draw, Plan, pairs
from tests.stages.train.conftest import Maker, recipe


def tasks(count: int, each: int, variants: int = 1, references: int = 1, side: str = "train") -> list[tuple]:
    """Instances of tasks with a shared prefix of ten tokens and a length that differs from one to the next."""
    return [
        (
            side,
            f"t{task}",
            f"{side}{task}-{n}",
            [[100 + task] * 10 + [variant] + [n] * (1 + n % 7) for variant in range(variants)],
            [[reference, 0] for reference in range(references)],
        )
        for task in range(count)
        for n in range(each)
    ]


def flat(passes: Iterable[Sequence[Sequence[Draw]]]) -> list[Draw]:
    return sorted(draw for unit in passes for group in unit for draw in group)


def drawn(plan: Plan, steps: range) -> list[list[Draw]]:
    return [[draw for group in plan.draws(step) for draw in group] for step in steps]


def test_every_instance_once_an_epoch_in_steps_of_the_size(encoded: Maker) -> None:
    made = encoded([*tasks(5, 9), *tasks(2, 3, side="dev")])
    assert (len(made), len(made.train), len(made.dev)) == (51, 45, 6)
    plan = Plan(made, recipe(batch_size=8, epochs=2.5), seed=3)
    assert (plan.per_epoch, plan.steps) == (6, 6 + 6 + 3)
    for epoch in (0, 1):
        steps = drawn(plan, range(1 + 6 * epoch, 7 + 6 * epoch))
        assert [len(step) for step in steps] == [8, 8, 8, 8, 8, 5]
        assert sorted(draw.example for step in steps for draw in step) == list(range(45))
    assert drawn(plan, range(1, 7)) != drawn(plan, range(7, 13))
    # The same seed, asked in another order, says the same; another seed does not.
    again = Plan(made, recipe(batch_size=8, epochs=2.5), seed=3)
    assert drawn(again, range(15, 0, -1)) == drawn(plan, range(15, 0, -1))
    assert drawn(Plan(made, recipe(batch_size=8), seed=4), range(1, 7)) != drawn(plan, range(1, 7))
    assert Plan(made, recipe(batch_size=8, max_steps=4), seed=3).steps == 4


def test_groups_are_of_one_task_and_steps_of_several(encoded: Maker) -> None:
    made = encoded(tasks(12, 20))
    plan = Plan(made, recipe(batch_size=16), seed=0)
    sizes = Counter[int]()
    for step in range(1, plan.per_epoch + 1):
        groups = plan.draws(step)
        assert all(len({made.names(draw.example)[0] for draw in group}) == 1 for group in groups)
        assert len({made.names(group[0].example)[0] for group in groups}) >= 2
        sizes.update(len(group) for group in groups)
    assert max(sizes) == GROUP and sizes[GROUP] > 40
    small = Plan(made, recipe(batch_size=2), seed=0)
    assert max(len(group) for step in range(1, 20) for group in small.draws(step)) == 1


@pytest.mark.parametrize("budget", [1, 20, 40, 64, 4096])
@pytest.mark.parametrize("kind", [False, True])
def test_passes_keep_the_token_budget(encoded: Maker, budget: int, kind: bool) -> None:
    made = encoded(tasks(4, 10), encoder_decoder=kind)
    plan = Plan(made, recipe(batch_size=16, batch_tokens=budget), seed=1)
    passes = 0
    for step in range(1, plan.steps + 1):
        found = plan.step(step)
        passes += len(found)
        assert flat(found) == flat([plan.draws(step)])
        for unit in found:
            if kind:
                assert all(len(group) == 1 for group in unit)
                lengths = [sum(map(len, pairs(made, group)[0])) for group in unit]
            else:
                lengths = [packed_length(pairs(made, group)) for group in unit]
            assert len(unit) * max(lengths) <= budget or (len(unit), len(unit[0])) == (1, 1)
    assert (passes == 40 * 3) == (budget == 1 or (kind and budget == 20))
    assert passes < 40 or budget < 64


def texts(lengths: list[int], side: str = "train") -> list[tuple]:
    """Texts: the end token as prompt, from which so many tokens are predicted."""
    return [(side, "corpus", f"{side}{n}#0", [[0]], [[5] * (own - 1) + [0]]) for n, own in enumerate(lengths)]


@pytest.mark.parametrize(("length", "budget"), [(64, 64), (64, 256), (128, 96), (16, 512)])
def test_texts_are_packed_into_rows(encoded: Maker, length: int, budget: int) -> None:
    lengths = [1 + (7 * n) % 40 for n in range(40)]
    made = encoded([*texts(lengths), *texts(lengths[:9], side="dev")])
    chosen = recipe(data="corpus", sequence_tokens=length, batch_size=16, batch_tokens=budget, epochs=1.0)
    plan = Plan(made, chosen, seed=1)
    seen = []
    for step in range(1, plan.steps + 1):
        found = plan.step(step)
        assert flat(found) == flat([plan.draws(step)])
        seen += flat(found)
        rows = [[packed_length(pairs(made, [draw])) for draw in group] for unit in found for group in unit]
        assert all(sum(row) <= min(length, budget) or len(row) == 1 for row in rows)
        # No two rows fit into one.
        totals = sorted(map(sum, rows))
        assert len(totals) < 2 or totals[0] + totals[1] > min(length, budget)
        for unit in found:
            longest = max(packed_length(pairs(made, group)) for group in unit)
            assert len(unit) * longest <= budget or len(unit) == 1
    assert sorted(draw.example for draw in seen) == list(range(40))
    assert flat(plan.dev()) == [Draw(n, 0, 0) for n in made.dev.tolist()]


def test_variants_and_references_are_drawn_evenly_each_epoch(encoded: Maker) -> None:
    made = encoded(tasks(3, 100, variants=5, references=3))
    plan = Plan(made, recipe(batch_size=10, epochs=2.0), seed=7)
    first, second = (
        {draw.example: draw for step in drawn(plan, range(1 + 30 * e, 31 + 30 * e)) for draw in step}
        for e in (0, 1)
    )
    for draws in (first, second):
        assert all(36 <= n <= 86 for n in Counter(d.variant for d in draws.values()).values())
        assert all(70 <= n <= 130 for n in Counter(d.reference for d in draws.values()).values())
    assert sum(first[n].variant != second[n].variant for n in first) > 200
    # Prompt and target are those that were drawn, and a group is of one variant.
    for step in range(1, 31):
        for group in plan.draws(step):
            assert len({draw.variant for draw in group}) == 1
            for draw, (prompt, target) in zip(group, pairs(made, group), strict=True):
                assert (prompt[10], target[0]) == (draw.variant, draw.reference)


def test_a_draw_does_not_depend_on_the_other_instances(encoded: Maker) -> None:
    """What a study with fewer tasks trains on is drawn as in the whole."""
    whole, part = encoded(tasks(6, 10, 5, 3)), encoded(tasks(3, 10, 5, 3))

    def draws(made: object) -> dict[tuple[str, str], tuple[int, int]]:
        plan = Plan(made, recipe(epochs=1.0), seed=7)  # type: ignore[arg-type]
        steps = drawn(plan, range(1, plan.steps + 1))
        return {made.names(d.example): (d.variant, d.reference) for step in steps for d in step}  # type: ignore[attr-defined]

    assert draws(part).items() <= draws(whole).items()


def test_the_dev_side_is_seen_whole_and_as_it_stands(encoded: Maker) -> None:
    made = encoded([*tasks(2, 3, 5, 3), *tasks(3, 7, 5, 3, side="dev")])
    plan = Plan(made, recipe(batch_tokens=64), seed=1)
    assert flat(plan.dev()) == [Draw(n, 0, 0) for n in made.dev.tolist()]


def test_short_rows_go_together_and_long_ones_by_length(encoded: Maker) -> None:
    """Rows are cut into passes where that saves more padding than a pass costs."""

    def passes(lengths: list[int]) -> list[list[int]]:
        rows = [
            ("train", f"task{n}", "x", [[1] * (own - 3)], [[2, 3, 4, 0]]) for n, own in enumerate(lengths)
        ]
        made = encoded(rows)
        plan = Plan(made, recipe(batch_size=len(rows), batch_tokens=4096, epochs=1.0), seed=1)
        found = [[packed_length(pairs(made, group)) for group in unit] for unit in plan.step(1)]
        assert sorted(length for unit in found for length in unit) == sorted(lengths)
        return found

    assert passes([21, 21, 18, 13, 11]) == [[21, 21, 18, 13, 11]]
    assert passes([210, 210, 180, 130]) == [[210, 210], [180], [130]]
    # A few tokens of padding in each of many rows are more than a pass.
    assert passes([21] + [17] * 20) == [[21], [17] * 20]
