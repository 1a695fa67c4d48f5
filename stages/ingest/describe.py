"""What a collection of tasks holds: the figures of table 2 and the distributions of figure 10 (Wang et al. 2022).

How it counts, where the paper leaves it open: a task is English if the union of its input and output languages
is exactly {English}, any other task is not (split_tasks.py). A task counts once for each of its languages, task
types and domains, so that the counts of a distribution add up to more than the tasks. A domain is the part of
its name before the first arrow: `Natural Science -> School Science Textbooks` is Natural Science. The words
of a definition are what is between white space, of the first text where there are several. Instances are
those that ingest takes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

ENGLISH = frozenset({"English"})
# Name, tasks, instances.
Count = list[Any]


def describe(tasks: Sequence[Mapping[str, Any]], instances: Mapping[str, int]) -> dict[str, Any]:
    """The figures of some rows of the table `tasks`, and how many instances each task has, by task id.

    Means are over tasks. `distributions` has a list of [name, tasks, instances] for each of task_types,
    languages, domains and domains_in_full (names with their arrows), most tasks first.
    """
    languages = {row["task_id"]: {*row["input_language"], *row["output_language"]} for row in tasks}
    values = {
        "task_types": {row["task_id"]: set(row["categories"]) for row in tasks},
        "languages": languages,
        "domains": {row["task_id"]: {top_level(domain) for domain in row["domains"]} for row in tasks},
        "domains_in_full": {row["task_id"]: set(row["domains"]) for row in tasks},
    }
    distributions = {name: _distribution(of, instances) for name, of in values.items()}
    return {
        "tasks": len(tasks),
        **{name: len(counts) for name, counts in distributions.items()},
        "non_english_tasks": sum(of != ENGLISH for of in languages.values()),
        "definition_words": _mean(len(row["definition"][0].split()) for row in tasks),
        "positive_examples": _mean(len(row["positive_examples"]) for row in tasks),
        "negative_examples": _mean(len(row["negative_examples"]) for row in tasks),
        "instances_per_task": _mean(instances[row["task_id"]] for row in tasks),
        "distributions": distributions,
    }


def top_level(domain: str) -> str:
    """A domain without its branches: `Code -> Repo -> Github` is `Code`."""
    return domain.partition("->")[0].strip()


def _distribution(values: Mapping[str, set[str]], instances: Mapping[str, int]) -> list[Count]:
    tasks: Counter[str] = Counter()
    rows: Counter[str] = Counter()
    for task_id, names in values.items():
        for name in names:
            tasks[name] += 1
            rows[name] += instances[task_id]
    return [[name, tasks[name], rows[name]] for name in sorted(tasks, key=lambda name: (-tasks[name], name))]


def _mean(numbers: Iterable[int]) -> float:
    listed = list(numbers)
    return round(sum(listed) / len(listed), 2) if listed else 0.0
