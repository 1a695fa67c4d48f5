"""The README's table of scores is the one that the command writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import readme

ROOT = Path(__file__).parents[2]


def test_the_readme_has_the_table_of_the_kept_scores() -> None:
    kept = readme.read(ROOT / readme.KEPT)
    assert readme.table(kept) in (ROOT / readme.README).read_text(encoding="utf-8")
    assert {row["system"] for row in kept} == set(readme.SYSTEMS)
    assert {row["column"] for row in kept} == set(readme.COLUMNS)


def test_the_command_keeps_the_scores_of_a_report(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = {"benchmark": "supernatinst", "track": "default", "system": "copy_demo", "n": 144}
    entry |= {"rougeL": 26.15, "rougeL_low": 20.65, "rougeL_high": 32.3383}
    few = {"benchmark": "tool_use", "track": "svamp", "system": "untuned", "n": 8, "accuracy": 12.5}
    few |= {"accuracy_low": None, "accuracy_high": None}
    readme.REPORT.parent.mkdir(parents=True)
    readme.REPORT.write_text(json.dumps([entry, few]))
    readme.README.write_text((ROOT / readme.README).read_text(encoding="utf-8"))
    readme.KEPT.parent.mkdir()
    readme.main()
    told, before = readme.README.read_text(), (ROOT / readme.README).read_text(encoding="utf-8")
    assert "| copy_demo: the first example's output | 26.2 [20.7, 32.3] | | | |\n" in told
    assert "| untuned model | | | 12.5 n<20 | |\n" in told
    table = readme.table(readme.read(ROOT / readme.KEPT))
    assert told.replace(readme.table(readme.read()), table) == before, "nothing else changed"
