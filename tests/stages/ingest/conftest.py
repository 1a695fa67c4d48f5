"""Task files to spoil, one thing at a time."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Folder = Callable[..., Path]


def make_task(instances: int = 3, **changes: Any) -> dict[str, Any]:
    """A flawless task as its file has it; a change to None takes the key out."""
    example = {"input": "2 + 2", "output": "4", "explanation": "Two and two are four."}
    task: dict[str, Any] = {
        "Contributors": ["Ada"],
        "Source": ["made up"],
        "URL": ["https://example.org/"],
        "Categories": ["Question Answering"],
        "Reasoning": [],
        "Definition": ["Add the numbers."],
        "Input_language": ["English"],
        "Output_language": ["English"],
        "Instruction_language": ["English"],
        "Domains": ["Mathematics"],
        "Positive Examples": [example, example],
        "Negative Examples": [{**example, "output": "5"}],
        "Instances": [
            {"id": f"task001-{n:032x}", "input": f"{n} + 1", "output": [str(n + 1)]} for n in range(instances)
        ],
        "Instance License": ["Apache 2.0"],
    }
    task.update(changes)
    return {key: value for key, value in task.items() if value is not None}


@pytest.fixture()
def folder(tmp_path: Path) -> Folder:
    """Writes files into a dataset folder: a dictionary as JSON, bytes as they are."""

    def write(files: dict[str, Any], name: str = "input") -> Path:
        for file, content in files.items():
            path = tmp_path / name / "tasks" / file
            path.parent.mkdir(parents=True, exist_ok=True)
            data = content if isinstance(content, bytes) else json.dumps(content, indent=4).encode()
            path.write_bytes(data)
        return tmp_path / name

    return write
