"""The guide to own data: its examples are complete, and its commands take them."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from nightjar.core import tables
from nightjar.core.contracts import DOCUMENTS, TEST, TRAIN
from nightjar.params import load
from pipelines.cli import main
from tests.in_process import captured, run_stage

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs/own-data.md").read_text(encoding="utf-8")


def commands() -> list[list[str]]:
    """Every `nightjar` command of the guide but the rebuild, in order."""
    found = re.findall(r"^nightjar .+$|(?<=`)nightjar ingest [^`]+(?=`)", GUIDE, re.MULTILINE)
    return [shlex.split(line)[1:] for line in found if line != "nightjar rebuild"]


@pytest.fixture()
def project(workdir: Path) -> Path:
    """A project with the guide's examples in the files that the guide names."""
    shutil.copytree(ROOT / "profiles", workdir / "profiles")
    examples = re.findall(r"`(data/own-[^`\s]+\.jsonl?)`:?[^`]*```json\n(.*?)```", GUIDE, re.DOTALL)
    assert len(examples) == 3
    for name, text in examples:
        (workdir / name).parent.mkdir(parents=True, exist_ok=True)
        (workdir / name).write_text(text, encoding="utf-8")
    return workdir


def test_the_examples_and_the_commands(project: Path) -> None:
    given = commands()
    assert [words[0] for words in given] == ["ingest", "ingest", "ingest", "use"]
    for words in given:
        done = captured(main, words)
        if "--check" in words:
            errors = re.findall(r"^ +error +\d+ (\w+)", done.stdout, re.MULTILINE)
            assert (done.returncode, set(errors)) == (1, {"instance_count"}), (
                "the only one, as the guide says"
            )
            continue
        assert done.returncode == 0, done.stdout + done.stderr
        assert words[0] == "use" or "rejected: 0\n" in done.stdout
    stages = [("ingest", "natural_instructions"), ("split",), ("ingest", "corpus")]
    for folder, *item in stages:
        done = run_stage(folder, *item)
        assert done.returncode == 0, done.stderr
    split = project / "data/split"
    assert {row["task_id"] for row in tables.read_rows(split, TRAIN)} == {"task9001_colour_of_a_thing"}
    assert {row["task_id"] for row in tables.read_rows(split, TEST)} == {"task9002_title_of_a_note"}
    documents = tables.read_rows(project / "data/ingest/corpus", DOCUMENTS)
    assert [row["id"] for row in documents] == ["lemon"]
    assert load().augment.held_out_documents < len(documents), "or the stages augment fail"
