"""The instances of the four sides, task by task: test, supervised, dev, train.

A test task's candidates are the at most 100 instances that may test (see `choose`). No instance with the input of one
that tests, in whichever test task, trains the supervised bound: some test tasks are made from the same texts. Only
one task is in memory at a time, and the inputs of the candidates.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from nightjar.core import tables
from nightjar.core.contracts import DEV, INSTANCES, SUPERVISED, TEST, TRAIN, Table
from nightjar.core.errors import NightjarError
from nightjar.params.inputs import Split
from stages.split.choose import choose_published, choose_rows


def stripped(rows: pa.Table) -> list[str]:
    """The inputs of `rows` without white space at their ends: what two inputs are compared by."""
    return [text.strip() for text in rows["input"].to_pylist()]


PUBLISHED_TEST_INSTANCES = 100
PUBLISHED_SEED = 123


@dataclass(frozen=True)
class TaskSides:
    """Which tasks are used on which side; `testing` has every test task of both tracks with its track."""

    train: Collection[str]
    dev: Collection[str]
    test: Collection[str]
    testing: Mapping[str, str]
    category: Mapping[str, str]


@dataclass
class Written:
    """Rows of each side, and why the other instances are not used: rows_in = sum(rows) + sum(not_used)."""

    rows_in: int = 0
    rows: Counter[str] = field(default_factory=Counter)
    not_used: Counter[str] = field(default_factory=Counter)


class SideWriter:
    """Writes the four tables of one split. Raises NightjarError if an instance would be on two sides."""

    def __init__(self, ingested: Path, writer: tables.ArtifactWriter, settings: Split, seed: int) -> None:
        self.ingested = ingested
        self.writer = writer
        self.settings = settings
        self.seed = seed
        self.counts = tables.part_rows(ingested, INSTANCES)
        self.written = Written(rows_in=sum(self.counts.values()))
        self.candidate_inputs: set[str] = set()

    def write(self, sides: TaskSides, order: Sequence[str]) -> Written:
        """Write every side; `order` is that of the test tasks for the balanced choice."""
        balanced = self.settings.test_choice == "balanced"
        chosen = published_choice(self.ingested, order) if balanced else None
        # The test side first: the others are checked against its ids and inputs.
        test_inputs, test_ids = set[str](), []
        for task_id in sorted(sides.test):
            rows = self._test(task_id, sides, chosen[task_id] if chosen else None)
            test_inputs.update(stripped(rows))
            test_ids.extend(rows["id"].chunks)
        # The inputs of every candidate must be known before the other instances of test tasks are compared with them.
        for task_id in sorted(sides.test) if self.settings.supervised_instances_per_task else ():
            self._supervised(task_id, chosen[task_id] if chosen else None, test_inputs)
        held_out = pa.chunked_array(test_ids, pa.string()).combine_chunks()
        dev_ids = []
        for task_id in sorted(sides.dev):
            rows = self._write_side(DEV, task_id, self.settings.dev_instances_per_task, held_out)
            dev_ids.extend(rows["id"].chunks)
        held_out = pa.chunked_array([held_out, *dev_ids], pa.string()).combine_chunks()
        limit = self.settings.train_instances_per_task
        for task_id in sorted(sides.train):
            self._write_side(TRAIN, task_id, limit, held_out)
        for contract in (TRAIN, DEV, TEST, SUPERVISED):
            # A table without rows is still a table: data of test tasks alone can be split and scored.
            if not self.written.rows[contract.name]:
                self.writer.write(contract, [])
        return self.written

    def _put(self, contract: Table, rows: pa.Table, task_id: str) -> None:
        if len(rows):
            part = rows.select(contract.schema.names)
            self.written.rows[contract.name] += self.writer.write(contract, part, part=task_id)

    def _candidates(self, task_id: str, chosen: Sequence[int] | None) -> tuple[pa.Table, list[int]]:
        """The instances of a test task, and the row numbers of those that may test, in the order they are taken."""
        rows = tables.read_part(self.ingested, INSTANCES, task_id)
        if chosen is not None:
            return rows, list(chosen)
        return rows, [
            row for row, index in enumerate(rows["index"].to_pylist()) if index < PUBLISHED_TEST_INSTANCES
        ]

    def _test(self, task_id: str, sides: TaskSides, chosen: Sequence[int] | None) -> pa.Table:
        rows, candidates = self._candidates(task_id, chosen)
        self.candidate_inputs.update(stripped(_take(rows, candidates)))
        tested = _take(rows, candidates[: self.settings.test_instances_per_task])
        full = tested
        for name, value in (("category", sides.category[task_id]), ("track", sides.testing[task_id])):
            full = full.add_column(0, name, pa.repeat(pa.scalar(value), len(full)))
        self._put(TEST, full, task_id)
        if not self.settings.supervised_instances_per_task:
            self.written.not_used["beyond the limit of test instances"] += len(rows) - len(tested)
        return tested

    def _supervised(self, task_id: str, chosen: Sequence[int] | None, test_inputs: set[str]) -> None:
        """Instances of a test task that train the upper bound: none has the id or the input of one that tests.

        Those that share nothing with any candidate come first, so that they stay the same however many of the
        candidates test; candidates that do not test are taken where the others do not suffice.
        """
        rows, candidates = self._candidates(task_id, chosen)
        tested = set(candidates[: self.settings.test_instances_per_task])
        texts = stripped(rows)
        fresh = [row for row, text in enumerate(texts) if row not in tested and text not in test_inputs]
        apart = [row for row in fresh if texts[row] not in self.candidate_inputs]
        near = sorted(set(fresh).difference(apart))
        limit = self.settings.supervised_instances_per_task
        first = choose_rows(len(apart), limit, self.seed, task_id)
        second = choose_rows(len(near), limit - len(first), self.seed, task_id)
        taken = sorted([*(apart[number] for number in first), *(near[number] for number in second)])
        chosen_rows = _take(rows, taken)
        test_ids = _take(rows, sorted(tested))["id"]
        disjoint(_common(chosen_rows, test_ids), "instance", "supervised and test", task_id)
        disjoint(test_inputs.intersection(stripped(chosen_rows)), "input", "supervised and test", task_id)
        self._put(SUPERVISED, chosen_rows, task_id)
        self.written.not_used["same input as one that tests"] += len(rows) - len(tested) - len(fresh)
        self.written.not_used["beyond the limit of supervised instances"] += len(fresh) - len(taken)

    def _write_side(self, contract: Table, task_id: str, limit: int | None, held_out: pa.Array) -> pa.Table:
        numbers = choose_rows(self.counts[task_id], limit, self.seed, task_id)
        rows = _take(tables.read_part(self.ingested, INSTANCES, task_id), numbers)
        sides = "training and test or dev" if contract is TRAIN else f"{contract.name} and test"
        disjoint(_common(rows, held_out), "instance", sides, task_id)
        self._put(contract, rows, task_id)
        word = "training" if contract is TRAIN else contract.name
        self.written.not_used[f"beyond the limit of {word} instances"] += self.counts[task_id] - len(rows)
        return rows


def published_choice(ingested: Path, order: Sequence[str]) -> dict[str, list[int]]:
    """For every task of `order`, which rows of its part are the published balanced choice (see `choose`).

    The draws of a task depend on all tasks before it, so every test task is gone through, used or not. They are
    the publishers' own only if no test task is absent and no instance of theirs was refused.
    """
    generator = random.Random(PUBLISHED_SEED)
    chosen = {}
    for task_id in order:
        outputs = tables.read_part(ingested, INSTANCES, task_id, columns=["outputs"])["outputs"]
        first = pc.list_element(outputs, 0).to_pylist()
        chosen[task_id] = choose_published(first, PUBLISHED_TEST_INSTANCES, generator)
    return chosen


def _take(rows: pa.Table, numbers: Sequence[int]) -> pa.Table:
    return rows.take(pa.array(numbers, pa.int64()))


def _common(rows: pa.Table, ids: pa.Array | pa.ChunkedArray) -> set[str]:
    return set(rows["id"].filter(pc.is_in(rows["id"], ids)).to_pylist())


def disjoint(common: Collection[str], what: str, sides: str, where: object) -> None:
    """Raise NightjarError naming the first thing that is on both sides."""
    if common:
        fix = "make ids unique across tasks (without ids, ingest makes them), or fix the lists"
        raise NightjarError(f"the {what} {min(common)!r} is on both sides, {sides}", where, fix)
