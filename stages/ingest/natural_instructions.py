"""A folder of Super-NaturalInstructions task files to Parquet: a row a task, a part of instances a task.

Two threads read ahead while the main one writes: Arrow works outside Python's global lock. The order of the
files' names alone decides the order of everything written, so the number of threads does not show in the
bytes.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nightjar.benchmarks.supernatinst.documents import ROLES, TRACKS, read_document
from nightjar.benchmarks.task_file import TaskFile, read_task
from nightjar.core.contracts import INSTANCES, TASKS
from nightjar.core.errors import NightjarError
from nightjar.core.tables import ArtifactWriter
from stages.ingest.accounts import (
    Ledger,
    Progress,
    Statistics,
    UnreadableFile,
    file_size,
    log,
    open_file,
    read_ahead,
)

DATASET = "natural_instructions"
LISTS = tuple(f"{role}_tasks.txt" for role in ROLES)
# The published lists in an artifact.
COPIED = frozenset(f"splits/{track}/{name}" for track in TRACKS for name in LISTS)
# A part of a table has the task's name and .parquet, and no name more than 255 bytes.
_LONGEST_NAME = 255 - len(".parquet")
_SAFE_NAME = re.compile(r"[A-Za-z0-9_\-][A-Za-z0-9_.\-]*")


def ingest_natural_instructions(path: Path, output: Path, progress: Progress | None = None) -> Statistics:
    """Ingest the task files of `path` (it holds tasks/*.json, or the files themselves) into the artifact
    `output`.

    Published lists in `path`/splits are copied, so that the split depends on the artifact alone, and a log line
    says which there are. A task none of whose instances can be taken is left out; its instances are among the
    rejected. Raises NightjarError if there is no task file, none can be used, or a published list is not plain text.
    """
    files = task_files(path)
    total = sum(file_size(file) for file in files)
    done = 0
    heads: list[dict[str, Any]] = []
    taken: dict[str, int] = {}
    with ArtifactWriter(output) as writer:
        ledger = Ledger(DATASET, writer)
        numbers = ledger.statistics
        for file, size, (start, result) in read_ahead(files, lambda file: _read(file, path)):
            name = relative(file, path)
            numbers.files += 1
            numbers.bytes += size
            if isinstance(result, UnreadableFile):
                ledger.refuse_file(name, result, start)
            else:
                taken[file.stem] = _take(result, name, ledger, writer, heads)
            done += size
            if progress:
                progress(done, total)
        if heads:
            writer.write(TASKS, heads)
        numbers.tasks = len(heads)
        numbers.collection = describe(heads, taken)
        statistics = ledger.close(path)
        statistics.lists = _copy_lists(path / "splits", writer)
    _log_lists(path, files[0].parent, statistics.lists)
    return statistics


def task_files(path: Path) -> list[Path]:
    """The task files of a dataset folder, by name. Raises NightjarError if it is missing or has none."""
    if not path.exists():
        raise NightjarError(
            "no such folder", path, "set ingest.natural_instructions.path or give another --input"
        )
    if not path.is_dir():
        raise NightjarError("not a folder", path, "give the folder that holds tasks/*.json")
    folder = tasks_folder(path)
    files = sorted(folder.glob("*.json"), key=lambda file: file.name)
    if not files:
        raise NightjarError("no task files (*.json) in it", folder, "give the folder that holds tasks/*.json")
    return files


def tasks_folder(path: Path) -> Path:
    """Return where the task files of the dataset's folder `path` are: in its folder tasks, or in itself."""
    return path / "tasks" if (path / "tasks").is_dir() else path


def _take(
    task: TaskFile, name: str, ledger: Ledger, writer: ArtifactWriter, heads: list[dict[str, Any]]
) -> int:
    """Write a task's instances and add its row to `heads`; returns how many instances were taken."""
    numbers = ledger.statistics
    numbers.rows_in += len(task.instances) + len(task.refused)
    for row in task.refused:
        ledger.refuse(name, row)
    if not len(task.instances):
        log.warning("warning: %s is left out: none of its %d instances can be used", name, len(task.refused))
        return 0
    if task.left_out:
        numbers.left_out += len(task.left_out)
        log.warning("warning: %s: %d entries left out, first %s", name, len(task.left_out), task.left_out[0])
    rows = writer.write(INSTANCES, task.instances, part=task.head["task_id"])
    numbers.rows_out += rows
    heads.append(task.head)
    return rows


def task_bytes(file: Path) -> bytes:
    """The bytes of a task file.

    Raises UnreadableFile for a name that no artifact can have, for anything but an ordinary file, or no access.
    """
    if not _SAFE_NAME.fullmatch(file.stem) or ".." in file.name:
        raise UnreadableFile("unsafe file name", "allowed are letters, digits, _ - and single dots")
    if len(file.stem) > _LONGEST_NAME:
        raise UnreadableFile("unsafe file name", f"longer than {_LONGEST_NAME} letters before .json")
    try:
        with open_file(file) as handle:
            return handle.read()
    except OSError as error:
        raise UnreadableFile("cannot be opened", error.strerror or "") from None


def _read(file: Path, root: Path) -> tuple[bytes, TaskFile | UnreadableFile]:
    data = b""
    try:
        data = task_bytes(file)
        return data[:8000], read_task(data, DATASET, relative(file, root), file.stem)
    except UnreadableFile as error:
        return data[:8000], error


def relative(file: Path, root: Path) -> str:
    """The file's name below the dataset's folder, as text that UTF-8 can hold."""
    return os.fsencode(file.relative_to(root).as_posix()).decode("utf-8", "backslashreplace")


def _copy_lists(folder: Path, writer: ArtifactWriter) -> dict[str, dict[str, int]]:
    """Copy the published lists into the artifact, line by line as they are; returns their numbers of names."""
    names: dict[str, dict[str, int]] = {}
    for track in TRACKS:
        for role, name in zip(ROLES, LISTS, strict=True):
            file = folder / track / name
            if (text := read_document(file)) is None:
                continue
            target = writer.folder("splits") / track
            target.mkdir(exist_ok=True)
            (target / file.name).write_text(text, encoding="utf-8", newline="\n")
            names.setdefault(track, {})[role] = sum(1 for line in text.splitlines() if line.strip())
    return names


def _log_lists(path: Path, tasks: Path, lists: dict[str, dict[str, int]]) -> None:
    """Log which published lists were copied, or where there are none; warn of those beside the folder."""
    folder, beside = path / "splits", tasks.parent / "splits"
    if lists:
        list_counts = (
            f"{track} {', '.join(f'{role} {count}' for role, count in sorted(roles.items()))} names"
            for track, roles in lists.items()
        )
        log.info("published lists in %s: %s", folder, "; ".join(list_counts))
    elif beside != folder and beside.is_dir():
        log.warning(
            "warning: no published lists in %s: the rule alone decides the split; to use those in %s, "
            "give the folder %s",
            folder,
            beside,
            beside.parent,
        )
    else:
        log.info("no published lists in %s: the rule alone decides the split", folder)


ENGLISH = frozenset({"English"})
# Name, tasks, instances.
Count = list[Any]


def describe(tasks: Sequence[Mapping[str, Any]], instances: Mapping[str, int]) -> dict[str, Any]:
    """The figures of table 2 and the distributions of figure 10 (Wang et al. 2022) for rows of the table `tasks`.

    `instances`: the number of instances that ingest takes of each task, by task id. Where the paper leaves the counting
    open: a task is English if the union of its input and output languages is exactly {English} (split_tasks.py). A task
    counts once for each of its languages, task types and domains. A domain is the part of its name before the first
    arrow. Words of a definition are what is between white space, of the first text where there are several.

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
