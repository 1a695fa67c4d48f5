"""The benchmark of trimming: the documented commands are those that it takes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from bench import trim

ROOT = Path(__file__).parents[2]


def documented(text: str) -> list[list[str]]:
    return [shlex.split(found) for found in re.findall(r"python -m bench\.trim ([^`\n]*)`", text)]


def test_the_documented_commands_are_taken() -> None:
    commands = documented((ROOT / "docs/results.md").read_text(encoding="utf-8"))
    count, scored = (trim.parse(words) for words in commands)
    assert (count.lengths, count.scored) == ([1024, 512, 384], []), "counting alone answers nothing"
    assert scored.scored == [1024, 512]
