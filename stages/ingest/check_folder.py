"""The contributors' checks of a whole folder of task files (test_all.py): each task, the list of tasks, the splits.

    nightjar ingest --check --dataset natural_instructions --input FOLDER

A check whose document is not in the folder is reported as not checked. Files are read one after the other and
forgotten, so that memory does not grow with the folder but for the ids that are reported.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

from stages.ingest.accounts import Progress, UnreadableFile, file_size, read_ahead
from stages.ingest.documents import (
    ROLES,
    TRACKS,
    Documents,
    Hierarchy,
    TaskList,
    out_of_order,
    read_documents,
)
from stages.ingest.natural_instructions import task_bytes, task_files, tasks_folder
from stages.ingest.task_checks import check_task
from stages.ingest.task_findings import BASIC, Report, TaskFinding, TaskFindings


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
    report = Report(files=len(files))
    total, done = sum(map(file_size, files)), 0
    for _, size, (task_findings, count) in read_ahead(files, lambda file: _check(file, documents.hierarchy)):
        _own_name(task_findings, documents.task_list)
        report.instances += count
        report.findings += task_findings.findings
        if any(finding.level == "error" and finding.check in BASIC for finding in task_findings.findings):
            report.broken.append(task_findings.task_id or "")
        done += size
        if progress:
            progress(done, total)
    present = [file.stem for file in files]
    if documents.hierarchy is None:
        report.not_checked[12] = "doc/task-hierarchy.md is missing"
    if documents.task_list is None:
        report.partly[14] = "tasks/README.md is missing: only the letters of the names"
    else:
        report.findings += _task_list(documents.task_list, set(present))
    _splits(documents, present, report)
    report.findings.sort(key=lambda finding: (finding.task_id is None, finding.task_id or "", finding.check))
    report.seconds = time.monotonic() - started
    return report


def _check(file: Path, hierarchy: Hierarchy | None) -> tuple[TaskFindings, int]:
    try:
        return check_task(task_bytes(file), file.stem, hierarchy)
    except UnreadableFile as error:
        task_findings = TaskFindings(file.stem.encode("utf-8", "backslashreplace").decode("utf-8"))
        task_findings.unreadable(error)
        return task_findings, 0


def _own_name(task_findings: TaskFindings, listed: TaskList | None) -> None:
    """Check 14 of one task."""
    name = task_findings.task_id or ""
    if any(letter.isupper() for letter in name):
        task_findings.error(14, "a capital letter in the name")
    if listed is None:
        return
    if f"{name}.json" in listed.text:
        task_findings.error(14, "tasks/README.md names it with its ending .json")
    times = listed.text.count(name)
    if times == 0:
        task_findings.error(14, "not in tasks/README.md")
    elif times > 1:
        task_findings.error(14, f"{times} times in tasks/README.md, or part of another name there")


def _task_list(listed: TaskList, present: set[str]) -> list[TaskFinding]:
    list_findings = TaskFindings()
    if listed.repeated:
        list_findings.error(14, "duplicate lines in tasks/README.md", listed.repeated)
    if absent := [name for name in listed.names if name not in present]:
        list_findings.error(14, "in tasks/README.md, but there is no such file", absent)
    if swapped := [f"{before} before {after}" for before, after in out_of_order(listed.names)]:
        list_findings.error(14, "tasks/README.md is not in the order of numbers", swapped)
    return list_findings.findings


def _splits(documents: Documents, present: Iterable[str], report: Report) -> None:
    """Check 15: against the list of tasks, as published, or the files where there is none."""
    lacking = [
        f"splits/{track}/{role}_tasks.txt"
        for track in TRACKS
        for role in ROLES
        if role not in documents.splits.get(track, {})
    ]
    if len(lacking) == len(TRACKS) * len(ROLES):
        report.not_checked[15] = "no folder splits/"
        return
    notes = []
    if lacking:
        notes.append(f"missing: {', '.join(lacking)}; tasks on no list are reported only where all three are")
    if documents.task_list is None:
        notes.append("tasks/README.md is missing: listed tasks without a file are not reported")
    if notes:
        report.partly[15] = "; ".join(notes)
    known_tasks = list(dict.fromkeys(documents.task_list.names if documents.task_list else present))
    for track, lists in documents.splits.items():
        track_findings = TaskFindings()
        task_roles: dict[str, list[str]] = {}
        for role in ROLES:
            for name in dict.fromkeys(lists.get(role, ())):
                task_roles.setdefault(name, []).append(role)
        if both := [f"{name} ({', '.join(roles)})" for name, roles in task_roles.items() if len(roles) > 1]:
            track_findings.error(15, f"{track}: on more than one list", both)
        if len(lists) == len(ROLES) and (missing := [name for name in known_tasks if name not in task_roles]):
            track_findings.error(15, f"{track}: on no list", missing)
        if documents.task_list and (unknown := sorted(task_roles.keys() - set(known_tasks))):
            track_findings.error(15, f"{track}: on a list, but not in tasks/README.md", unknown)
        report.findings += track_findings.findings
