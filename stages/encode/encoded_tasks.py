"""From instances to token ids, a task at a time: every prompt variant, and every reference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nightjar.core import contracts, tables
from nightjar.core.contracts import TOKENS, TOKENS_FILE, Table
from nightjar.core.errors import NightjarError
from nightjar.models.tokenizer import Tokenizer
from nightjar.params.inputs import Encoding
from nightjar.params.train import RecipeInputs
from nightjar.prompts.encodings import variants
from nightjar.prompts.model_text import model_input, model_target

# 512 prompts of 1,024 tokens in five variants are 10 MB.
ROWS_PER_BATCH = 512


@dataclass
class _IdLists:
    """A column of lists of lists of ids, kept flat."""

    values: list[np.ndarray] = field(default_factory=list)
    inner: list[int] = field(default_factory=lambda: [0])
    outer: list[int] = field(default_factory=lambda: [0])

    def add(self, rows: Sequence[Sequence[int]]) -> None:
        for ids in rows:
            self.values.append(np.asarray(ids, dtype=np.int32))
            self.inner.append(self.inner[-1] + len(ids))
        self.outer.append(len(self.inner) - 1)

    def array(self, kind: pa.ListType) -> pa.ListArray:
        flat = pa.array(np.concatenate(self.values) if self.values else np.zeros(0, np.int32))
        inner = pa.ListArray.from_arrays(pa.array(self.inner, pa.int32()), flat, type=kind.value_type)
        return pa.ListArray.from_arrays(pa.array(self.outer, pa.int32()), inner, type=kind)


class TokenWriter:
    """Writes `TOKENS_FILE` in a folder; use as a context manager. Rows are added in the order they are to have."""

    def __init__(self, folder: Path, encoder_decoder: bool) -> None:
        self.rows: dict[str, int] = {}
        self.tokens = 0
        self._schema = TOKENS.with_metadata({"encoder_decoder": str(encoder_decoder).lower()})
        self._sink = pa.OSFile(str(folder / TOKENS_FILE), "wb")
        self._writer = pa.ipc.new_file(self._sink, self._schema)
        self._start()

    def __enter__(self) -> TokenWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._flush()
        self._writer.close()
        self._sink.close()

    def _start(self) -> None:
        self._names: tuple[list[str], list[str], list[str]] = ([], [], [])
        self._prompts, self._targets = _IdLists(), _IdLists()

    def add(
        self,
        side: str,
        task_id: str,
        id: str,
        prompts: Sequence[Sequence[int]],
        targets: Sequence[Sequence[int]],
    ) -> None:
        """One instance: ids of its prompt in every variant, and of each of its references, the end token last."""
        for column, value in zip(self._names, (side, task_id, id), strict=True):
            column.append(value)
        self._prompts.add(prompts)
        self._targets.add(targets)
        self.rows[side] = self.rows.get(side, 0) + 1
        self.tokens += sum(map(len, prompts)) + sum(map(len, targets))
        if len(self._names[0]) == ROWS_PER_BATCH:
            self._flush()

    def _flush(self) -> None:
        if not self._names[0]:
            return
        lists = (
            column.array(TOKENS.field(name).type)
            for name, column in (("prompts", self._prompts), ("targets", self._targets))
        )
        columns = [*(pa.array(column, pa.string()) for column in self._names), *lists]
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._schema))
        self._start()


TABLES: dict[str, Table] = {"train": contracts.TRAIN, "supervised": contracts.SUPERVISED}
DEV = "dev"


@dataclass(frozen=True)
class InputFolders:
    """Folders of instances, tasks, kept calls and evidence; the last two may be None where the recipe wants none."""

    split: Path
    ingested: Path
    calls: Path | None
    evidence: Path | None


@dataclass(frozen=True)
class RecipeEncoder:
    """Text to ids as one recipe trains on it."""

    options: Encoding
    passages: int
    tokenizer: Tokenizer

    def prompts(
        self, task: Mapping[str, Any], instance_input: str, passages: Sequence[Mapping[str, Any]]
    ) -> list[list[int]]:
        """The ids of the prompt in each variant: one, or the five of the mixed mode (ni_collator.py)."""
        prompt_ids = []
        for options in variants(self.options):
            text = model_input(
                task,
                instance_input,
                options,
                self.tokenizer,
                passages[: self.passages],
                self.tokenizer.encoder_decoder,
            )
            ids = self.tokenizer.encode(text)
            # A text that was cut to length may have more tokens when read again: T5's is cut a second time.
            prompt_ids.append(
                self.tokenizer.fit(ids, options.max_source_length) if self.tokenizer.encoder_decoder else ids
            )
        return prompt_ids

    def target(self, text: str) -> list[int]:
        """The ids of an answer, cut to `max_target_length`, with the end token last.

        An encoder-decoder's end token counts against that length, as published; a causal model's is added to it.
        """
        written = model_target(text, self.tokenizer.encoder_decoder)
        if self.tokenizer.encoder_decoder:
            return self.tokenizer.fit(self.tokenizer.encode(written), self.options.max_target_length)
        return [*self.tokenizer.continuation(written)[: self.options.max_target_length], self.tokenizer.end]


@dataclass(frozen=True)
class Unit:
    """Rows that are encoded at once: one task on one side, or a part of the texts."""

    side: str
    contract: Table
    part: str
    rows: int


class Build:
    """The work of one recipe, unit by unit: the training side, then the dev side, tasks in the order of their names.

    Targets of the training side carry the calls that were kept, if the recipe wants them; those of the dev side are
    plain, so that dev losses of recipes can be compared. Memory is bounded by one task's instances.
    Raises NightjarError if there is nothing to train on.
    """

    def __init__(
        self, sources: InputFolders, recipe: RecipeInputs, options: Encoding, tokenizer: Tokenizer
    ) -> None:
        self.sources, self.recipe = sources, recipe
        self.tasks = {row["task_id"]: row for row in tables.read_rows(sources.ingested, contracts.TASKS)}
        parts = {} if recipe.track is None else {"supervised": tested(sources.split, recipe.track)}
        self.encoder = RecipeEncoder(options, recipe.passages, tokenizer)
        self.units = [
            Unit(side, contract, part, count)
            for side, contract in (("train", TABLES[recipe.data]), (DEV, contracts.DEV))
            for part, count in tables.part_rows(sources.split, contract).items()
            if count and part in parts.get(contract.name, (part,))
        ]
        if not any(unit.side == "train" for unit in self.units):
            fixes = {
                "train": "see split.train_tasks in params.yaml",
                "supervised": "set split.supervised_instances_per_task above 0, and split.test_instances_per_task "
                "lower than the instances of a test task",
            }
            where = sources.split / TABLES[recipe.data].name
            raise NightjarError("no instances to train on", where, fixes[recipe.data])

    def encode(self, number: int) -> dict[str, Any]:
        """The unit of that number: targets_with_calls, and rows of task_id, id, prompts and targets.

        Raises NightjarError if its task is missing.
        """
        unit, sources, recipe = self.units[number], self.sources, self.recipe
        columns = ["task_id", "id", "input", "outputs"]
        rows = tables.read_part(sources.split, unit.contract, unit.part, columns).to_pylist()
        task_id = rows[0]["task_id"]
        calls = _calls(sources.calls, task_id) if recipe.calls and unit.side == "train" else {}
        evidence = _evidence(sources.evidence, unit.contract.name, task_id) if recipe.evidence else {}
        task = self.tasks.get(task_id)
        if task is None:
            fix = "rebuild split: it and the tasks are of different versions"
            raise NightjarError(f"no task {task_id!r}", sources.ingested, fix)
        encoded, with_calls = [], 0
        for row in rows:
            written = [calls.get((row["id"], n), text) for n, text in enumerate(row["outputs"])]
            prompts = self.encoder.prompts(task, row["input"], evidence.get(row["id"], ()))
            encoded.append([task_id, row["id"], prompts, [self.encoder.target(text) for text in written]])
            with_calls += sum((row["id"], n) in calls for n in range(len(row["outputs"])))
        return {"targets_with_calls": with_calls, "rows": encoded}

    def write(self, output: Path, encoded: Iterable[Mapping[str, Any]]) -> EncodingCounts:
        """Write the artifact `output` from what `encode` gave for every unit, in their order."""
        return write(output, self.units, encoded, self.encoder.tokenizer.encoder_decoder)


@dataclass
class EncodingCounts:
    """Rows read, refused and, by side, written; tokens of all variants and references; targets that carry calls.

    `read` are those that were not refused.
    """

    read: int = 0
    refused: int = 0
    tokens: int = 0
    targets_with_calls: int = 0
    sides: dict[str, int] = field(default_factory=dict)


def write(
    output: Path, units: Sequence[Unit], encoded: Iterable[Mapping[str, Any]], encoder_decoder: bool
) -> EncodingCounts:
    """Write the artifact `output` from the values of all units: targets_with_calls, and rows of task_id, id, prompts
    and targets. `read`, if it is there, is how many rows they were made from; `refused` has the arguments of
    `ArtifactWriter.reject` for each row that none was made from.
    """
    outcome = EncodingCounts()
    with tables.ArtifactWriter(output) as writer:
        with TokenWriter(writer.folder("tokens"), encoder_decoder) as tokens:
            for unit, values in zip(units, encoded, strict=True):
                for row in values["rows"]:
                    tokens.add(unit.side, *row)
                for row in values.get("refused", ()):
                    writer.reject(*row)
                outcome.targets_with_calls += values["targets_with_calls"]
                outcome.read += values.get("read", len(values["rows"]))
        outcome.sides, outcome.tokens = tokens.rows, tokens.tokens
        outcome.refused = len(writer.rejected)
    return outcome


def tested(split: Path, track: str) -> set[str]:
    """The test tasks of a track."""
    where = (pc.field("track") == track) & (pc.field("role") == "test")
    return set(tables.read(split, contracts.SPLIT_TASKS, ["task_id"], where)["task_id"].to_pylist())


def _calls(merged: Path | None, task_id: str) -> dict[tuple[str, int], str]:
    """Targets with calls, by instance and number of the reference."""
    if merged is None:
        return {}
    where = (pc.field("source") == "train") & (pc.field("task_id") == task_id)
    rows = tables.read(merged, contracts.CALLS_MERGED, ["id", "target", "text"], where).to_pylist()
    return {(row["id"], row["target"]): row["text"] for row in rows}


def _evidence(retrieved: Path | None, side: str, task_id: str) -> dict[str, list[dict[str, Any]]]:
    """An instance's passages, best first."""
    if retrieved is None:
        return {}
    where = (pc.field("split") == side) & (pc.field("task_id") == task_id)
    rows = tables.read(retrieved, contracts.EVIDENCE, ["id", "rank", "title", "text"], where).to_pylist()
    instance_passages: dict[str, list[dict[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: row["rank"]):
        instance_passages.setdefault(row["id"], []).append(row)
    return instance_passages
