"""The contributors' checks of a whole folder of task files (test_all.py): each task, the list of tasks, the splits.

    nightjar ingest --check --dataset natural_instructions --input FOLDER

A check whose document is not in the folder is reported as not checked. Files are read one after the other and
forgotten, so that memory does not grow with the folder but for the ids that are reported.
"""

from __future__ import annotations

import time
from pathlib import Path

from nightjar.benchmarks.supernatinst.checked_task import Hierarchy, printable
from nightjar.benchmarks.supernatinst.collection_checks import read_documents
from nightjar.benchmarks.supernatinst.contributor_checks import (
    Report,
    TaskFinding,
    check_collection,
    check_task,
    unreadable_finding,
)
from stages.ingest.accounts import Progress, UnreadableFile, file_size, read_ahead
from stages.ingest.natural_instructions import task_bytes, task_files, tasks_folder


def inputs(path: Path) -> list[Path]:
    """The files and folders that `check_folder` reads."""
    return [tasks_folder(path), path / "doc" / "task-hierarchy.md", path / "splits"]


def check_folder(path: Path, progress: Progress | None = None) -> Report:
    """Every finding of the fifteen checks in `path`, which holds tasks/*.json, or the files themselves.

    `progress` is called with the bytes done and in all. Raises NightjarError if there is no task file, or a document is
    not UTF-8.
    """
    started = time.monotonic()
    files = task_files(path)
    documents = read_documents(path, files[0].parent)
    report = Report(len(files), not_checked=documents.not_checked(), partly=documents.partly_checked())
    total, done = sum(map(file_size, files)), 0
    for _, size, (findings, count) in read_ahead(files, lambda file: _check(file, documents.hierarchy)):
        report.add_task(findings, count)
        done += size
        if progress:
            progress(done, total)
    report.findings += check_collection(documents, [printable(file.stem) for file in files])
    report.findings.sort(key=lambda finding: (finding.task_id is None, finding.task_id or "", finding.check))
    report.seconds = time.monotonic() - started
    return report


def _check(file: Path, hierarchy: Hierarchy | None) -> tuple[list[TaskFinding], int]:
    try:
        return check_task(task_bytes(file), file.stem, hierarchy)
    except UnreadableFile as error:
        return [unreadable_finding(file.stem, error)], 0
