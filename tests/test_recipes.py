"""The recipes of CONTRIBUTING for a tool, a benchmark and a setting, followed in a copy of the project.

Each recipe edits the files that CONTRIBUTING names for it, and only so many.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from nightjar.params import profile_values
from stages._runtime.closure import Code
from tests.conftest import ROOT


class Edit(NamedTuple):
    """The new text in place of the old one, which a file has once; a file without an old text is new."""

    path: str
    old: str
    new: str


TOOL_PROMPT = 'Look up "[Words(word)]".\n\nInput: It is big.\nOutput: It is [Words("big")] big.\n'
TOOL = [
    Edit("nightjar/prompts/texts/word_list.txt", "", TOOL_PROMPT),
    Edit(
        "nightjar/tools/word_list.py",
        "",
        '''"""A tool that counts letters."""

from nightjar.prompts.tool_prompts import CALL_NAMES, head
from nightjar.tools.tool import Tool


class WordList(Tool):
    """Tells how long a word is."""

    name, version, instructions = CALL_NAMES["word_list"], "1", head("word_list")

    def run(self, requests):
        return [f"{it.input} has {len(it.input)} letters" for it in requests]
''',
    ),
    Edit(
        "nightjar/tools/tool_registry.py",
        ':MachineTranslation",\n',
        ':MachineTranslation",\n    "word_list": "nightjar.tools.word_list:WordList",\n',
    ),
    Edit("profiles/defaults.yaml", "\n  all:\n", "\n  all:\n    word_list: {}\n"),
    Edit(
        "profiles/defaults.yaml",
        "\n  tools:\n",
        """
  tools:
    word_list: {code: data/none, resource: data/none, sampling_threshold: 0.0, positions: 1, samples: 1,
      filter_threshold: 0.3}
""",
    ),
    Edit(
        "tests/nightjar/tools/test_word_list.py",
        "",
        f'''"""Calls of the tool."""

from nightjar.tools import Call, make, names, syntax
from nightjar.tools.tool_registry import call_text


def test_calls_are_written_read_and_answered():
    call = Call("Words", "big")
    assert syntax.write(call).strip() == '[Words("big")]'
    assert syntax.find(syntax.write(call))[0].call == call
    assert "word_list" in names() and make("word_list").instructions == {TOOL_PROMPT!r} + "\\n"
    assert call_text('Words("big")', None) == "big has 3 letters"
''',
    ),
    Edit(
        "docs/extending.md",
        "| `calculator` | `Calculator` |",
        "| `word_list` | `Words` | none | all |\n| `calculator` | `Calculator` |",
    ),
]

# The source of the benchmark.
BENCHMARK = [
    Edit("nightjar/benchmarks/hues/__init__.py", "", '"""Hues of things."""\n'),
    Edit(
        "nightjar/benchmarks/hues/questions.py",
        "",
        '''"""The questions of Hues."""

import json

from nightjar.benchmarks import records
from nightjar.benchmarks.question import Record
from nightjar.benchmarks.question_set import QuestionSet, Task


class HuesQuestions(QuestionSet):
    """Questions about the hues of things."""

    name, version, title, source = "hues", 1, "Hues", "this test"
    tasks = {"hues": Task(max_new_tokens=4, stop=("\\n",))}

    def load(self, folder):
        for number, line in enumerate((folder / "hues.jsonl").read_text().splitlines()):
            row = json.loads(line)
            yield Record(self.name, str(number), "hues.jsonl", {"question": row["question"]}, (row["answer"],))

    def questions(self, sources, settings, seed):
        return records.questions(self.name, sources.data)

    def prompt(self, question, asking):
        return f"{question.parts['question']}\\nHue:"


QUESTION_SET = HuesQuestions()
''',
    ),
    Edit(
        "nightjar/benchmarks/hues/scoring.py",
        "",
        '''"""The scores of Hues."""

from nightjar.benchmarks.benchmark import Benchmark
from nightjar.benchmarks.hues.questions import HuesQuestions
from nightjar.statistics.metric import Metric


class Hues(HuesQuestions, Benchmark):
    """Hues of things, by accuracy."""

    metrics = (Metric("accuracy", "accuracy", right=True),)

    def score(self, questions, answers):
        pairs = zip(questions, answers, strict=True)
        return {"accuracy": [texts[:1] == list(it.references) for it, texts in pairs]}


BENCHMARK = Hues()
''',
    ),
    Edit(
        "nightjar/benchmarks/folders.py",
        '"nightjar.benchmarks.reading",\n',
        '"nightjar.benchmarks.reading",\n    "hues": "nightjar.benchmarks.hues",\n',
    ),
    Edit(
        "profiles/sample.yaml",
        "\ningest:\n",
        """
benchmarks: {hues: {code: data/none, data: data/ingest/hues, split: data/none, encoder: data/none}}

ingest:
  hues: {path: data/sample/hues, code: data/none}
""",
    ),
    Edit(
        "profiles/sample.yaml",
        "\n  systems:\n",
        """
  hues: {}
  systems:
    hues-untuned: {benchmark: hues, system: untuned, kind: model, weights: models/base/language_model,
      evidence: data/none, tools: none, index: data/none}
""",
    ),
    Edit(
        "data/sample/hues/hues.jsonl",
        "",
        '{"question": "Snow?", "answer": "white"}\n{"question": "Coal?", "answer": "black"}\n',
    ),
    Edit(
        "tests/nightjar/benchmarks/hues/test_hues.py",
        "",
        '''"""The sample's questions through the stages."""

import shutil
from pathlib import Path

from nightjar.benchmarks.records import read_questions
from nightjar.core import contracts, tables
from tests.in_process import run_stage
from tests.nightjar.benchmarks.benchmark_project import ROOT, write_predictions

NAME = "hues"


def test_from_the_sample_to_scores(workdir):
    shutil.copy(ROOT / "params.yaml", workdir)
    shutil.copytree(ROOT / "data/sample" / NAME, workdir / "data/sample" / NAME)
    for stage in ("ingest", "questions"):
        assert run_stage(stage, NAME).returncode == 0
    write_predictions("untuned", read_questions(Path("data/questions", NAME)), lambda question: ["white"])
    for words in (("systems",), ("evaluate", NAME)):
        assert run_stage(*words).returncode == 0
    rows = tables.read_rows(Path("data/evaluate", NAME), contracts.SCORES)
    assert [row["value"] for row in rows if row["system"] == "untuned"] == [50.0]
''',
    ),
    Edit(
        "docs/pipeline.md",
        "| `evaluate@zeroscrolls` |",
        "| `evaluate@hues` | accuracy |\n| `evaluate@zeroscrolls` |",
    ),
]

SETTING = [
    Edit(
        "nightjar/params/search.py",
        "    min_words: Positive = 1\n",
        "    min_words: Positive = 1\n    most_words: Limit = None\n",
    ),
    Edit(
        "profiles/defaults.yaml",
        "  min_words: 1\n",
        "  min_words: 1\n  # Longer passages are dropped; null: none.\n  most_words: null\n",
    ),
    Edit(
        "stages/index/passage_index.py",
        "        words = text.split()\n",
        """        words = text.split()
        if self._settings.most_words is not None and len(words) > self._settings.most_words:
            self.dropped["more than index.most_words words"] += 1
            return False
""",
    ),
    Edit(
        "tests/stages/index/test_most_words.py",
        "",
        '''"""The setting index.most_words."""

from pathlib import Path

import pytest

from nightjar.core.contracts import DOCUMENTS
from nightjar.core.tables import ArtifactWriter
from nightjar.params.search import Index
from stages.index.passage_index import build
from tests.stages.rows import document


@pytest.mark.parametrize(("most", "passages"), [(None, 2), (3, 1)])
def test_longer_passages_are_dropped(workdir, most, passages):
    with ArtifactWriter(Path("corpus")) as writer:
        writer.write(DOCUMENTS, [document("a", "one two"), document("b", "one two three four")])
    settings = Index(passage_words=9, most_words=most, dense="none", lexical="words")
    assert build(Path("corpus"), Path(), Path("index"), settings, 1).passages == passages
''',
    ),
]


class Recipe(NamedTuple):
    """A recipe of CONTRIBUTING under its heading, what it adds by which name, and how many files it may edit."""

    heading: str
    name: str
    edits: list[Edit]
    limit: int


RECIPES = {
    "tool": Recipe("A new tool", "word_list", TOOL, 6),
    "benchmark": Recipe("A new benchmark", "hues", BENCHMARK, 8),
    "setting": Recipe("A new setting", "most_words", SETTING, 4),
}
FOLDERS = ("nightjar", "stages", "pipelines", "profiles", "docs", "tests", "data/sample")
# What the recipes tell to run, of the suite's own tests those that the additions concern.
TESTS = (
    "tests/nightjar/tools/test_word_list.py",
    "tests/nightjar/tools/test_tool_registry.py::test_own_tools",
    "tests/nightjar/prompts/test_tool_prompts.py",
    "tests/nightjar/benchmarks/hues",
    "tests/stages/index/test_most_words.py",
    "tests/stages/_runtime/test_code_of_stages.py::test_every_stage_depends_on_its_closure_and_on_no_code",
    "tests/stages/_runtime/test_declared_settings.py",
    "tests/nightjar/params/test_params.py::test_params_yaml_names_every_key",
    "tests/pipelines/run/test_profiles.py::test_the_committed_parameters_are_those_of_the_sample",
    "tests/pipelines/run/test_profiles.py::test_every_profile_is_valid_and_changes_what_it_names[sample]",
)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project before any addition."""
    root = tmp_path_factory.mktemp("copy")
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("dvc.yaml", "params.yaml", "pyproject.toml", "data/none"):
        shutil.copy(ROOT / file, root / file)
    return root


def follow(edits: list[Edit], root: Path) -> None:
    for path, old, new in edits:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        text = file.read_text(encoding="utf-8") if old else ""
        assert not old or text.count(old) == 1, f"{path} has {old!r} {text.count(old)} times"
        file.write_text(text.replace(old, new) if old else new, encoding="utf-8")


def code_files(root: Path) -> Mapping[str, str]:
    """The files of data/code under the sample's settings."""
    return Code(root).contents(profile_values.values(root, "sample"))


def test_each_recipe_edits_the_files_that_it_names_and_no_more() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for recipe in RECIPES.values():
        section = text.partition(f"## {recipe.heading}, step by step\n")[2].partition("\n## ")[0]
        paths = [it.replace("NAME", recipe.name) for it in re.findall(r"`([\w./]+/[\w./]*)`", section)]
        files = {edit.path for edit in recipe.edits}
        assert len(files) <= recipe.limit, recipe.heading
        unnamed = [file for file in files if not any(file == it or file.startswith(it) for it in paths)]
        assert not unnamed, f"{recipe.heading} does not name {unnamed}"


def test_the_additions_concern_what_uses_them_and_pass_the_tests(copy: Path) -> None:
    before = code_files(copy)
    follow(TOOL, copy)
    with_tool = code_files(copy)
    changed = {name for name in with_tool if with_tool[name] != before.get(name)}
    assert changed == {"tool-word_list.json", "tool.json", "tools-all.json"}
    follow(BENCHMARK, copy)
    with_benchmark = code_files(copy)
    changed = {name for name in with_benchmark if with_benchmark[name] != with_tool.get(name)}
    assert changed == {"benchmark-hues.json", "benchmark.json", "scoring-hues.json", "scoring.json"}
    follow(SETTING, copy)

    def run(*words: str) -> None:
        done = subprocess.run([sys.executable, *words], cwd=copy, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr

    run("-c", "from pipelines.cli import main; main()", "use", "sample")
    run("-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS)
