"""The real tasks, for the tests of the rule and of the published lists."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stages.split.roles import TaskTraits, task_of


@pytest.fixture(scope="session")
def real_tasks(real_data: Path) -> list[TaskTraits]:
    tasks = []
    for file in sorted((real_data / "natural-instructions/tasks").glob("*.json")):
        value = json.loads(file.read_text(encoding="utf-8"))
        row = {"task_id": file.stem, "categories": value["Categories"], "sources": value["Source"]}
        languages = {"input_language": value["Input_language"], "output_language": value["Output_language"]}
        tasks.append(task_of(row | languages))
    return tasks
