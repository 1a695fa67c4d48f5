"""Puts the sample together: every file's name and text, as a function of the seed alone."""

from __future__ import annotations

import json
from random import Random

from data.sample_generator import (
    corpus,
    eval_dialogue,
    eval_foreign,
    eval_reasoning,
    eval_words,
    eval_writing,
    train_classify,
    train_facts,
    train_foreign,
    train_language,
    train_numbers,
)
from data.sample_generator.classification import classification_files
from data.sample_generator.core import TaskSpec, as_json, task_document
from data.sample_generator.long_documents import long_document_files
from data.sample_generator.opinions import opinion_files
from data.sample_generator.tool_use import tool_use_files
from data.sample_generator.tool_use_more import more_files, text_files
from data.sample_generator.world import World, make_world

SEED = 20260313
FIRST_NUMBER = 3001
"""Far above the benchmark's own numbers, so that both can lie in one folder."""


def all_specs(world: World) -> list[TaskSpec]:
    """Test and training tasks, in the order of their numbers."""
    specs = [
        *eval_reasoning.TASKS, *eval_dialogue.TASKS, *eval_words.TASKS, *eval_writing.tasks(world),
        *eval_foreign.GERMAN, *train_facts.tasks(world), *train_numbers.TASKS, *train_classify.TASKS,
        *train_language.tasks(world), *train_foreign.TASKS,
    ]  # fmt: skip
    # Mixed as in the benchmark, where the numbers tell nothing of the split. Tasks added later come after these, so
    # that a task keeps its number.
    return [*sorted(specs, key=lambda spec: Random(spec.name).random()), *eval_foreign.LATER]


def sample_files(seed: int = SEED) -> dict[str, str]:
    """Relative path to text of every generated file."""
    world = make_world(seed)
    specs = all_specs(world)
    # No instance may repeat a demonstration, of whatever task.
    taken = {text for spec in specs for text, _, _ in (*spec.positive, *spec.negative)}
    files, tasks = {}, []
    for number, spec in enumerate(specs, FIRST_NUMBER):
        document = task_document(spec, number, Random(f"{seed}:{spec.name}"), taken)
        files[f"natural_instructions/tasks/task{number:04d}_{spec.name}.json"] = as_json(document)
        tasks.append(document)
    asked = tool_use_files(world, seed) | more_files(world, seed, tasks)
    documents = corpus.documents(world, seed, "\n".join(asked.values()))
    files["corpus/documents.jsonl"] = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in documents)
    # A second draw of the corpus: texts of the same kinds.
    others = corpus.documents(world, seed + 1, "\n".join(asked.values()))
    files |= asked | text_files(documents, others)
    return files | classification_files(world, seed) | opinion_files(seed) | long_document_files(seed)
