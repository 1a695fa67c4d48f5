"""params.yaml: the shipped files are right, and every mistake is one line that names the key and the value."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nightjar.core.config import checked, read_yaml
from nightjar.core.errors import NightjarError
from nightjar.params import Params, load, validate
from nightjar.params.profile_values import optional
from nightjar.params.readers import ReaderRecipe
from tests.in_process import run_stage

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def shipped() -> dict[str, Any]:
    return read_yaml(ROOT / "params.yaml")


@pytest.fixture()
def values(shipped: dict[str, Any]) -> dict[str, Any]:
    return copy.deepcopy(shipped)


def change(values: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    """A copy of the parameters with the dotted key set."""
    changed = dict(values)
    *path, last = key.split(".")
    group = changed
    for name in path:
        group[name] = dict(group.get(name) or {})
        group = group[name]
    group[last] = value
    return changed


def test_the_shipped_file_is_right_and_frozen() -> None:
    params = load(ROOT / "params.yaml")
    assert isinstance(params, Params)
    with pytest.raises(ValueError, match="frozen"):
        params.seed = 1  # type: ignore[misc]


def test_params_yaml_names_every_key() -> None:
    """Nothing is left to a default in the code, save what an entry of a list may leave out: dvc.yaml tracks what stands
    in the file.
    """

    def keys(value: Any, prefix: str = "") -> set[str]:
        if not isinstance(value, dict):
            return {prefix}
        return {
            key for name, item in value.items() for key in keys(item, f"{prefix}.{name}" if prefix else name)
        }

    named, known = keys(read_yaml(ROOT / "params.yaml")), keys(load(ROOT / "params.yaml").model_dump())
    assert named <= known and not [key for key in known - named if not optional(key)]


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("sed", 1, "unknown key sed"),
        ("split.train_task", 5, "unknown key split.train_task; did you mean train_tasks?"),
        ("benchmark", {}, "unknown key benchmark; did you mean benchmarks?"),
        ("train.combned", {}, "the group train.combned is not used; did you mean train.combined?"),
        (
            "predict.zeroscroll",
            {},
            "the group predict.zeroscroll is not used; did you mean predict.zeroscrolls?",
        ),
        ("seed", -1, "seed = -1 is not allowed"),
        ("split.test_instances_per_task", 101, "split.test_instances_per_task = 101 is not allowed"),
        ("ingest.corpus.path", "", "ingest.corpus.path = '' is not allowed"),
        ("models.language_model.sha256", "abc", "models.language_model.sha256 = 'abc' is not allowed"),
        ("predict.supernatinst.stop", [""], "predict.supernatinst.stop.0 = '' is not allowed"),
        # Defaults, and what differs from them.
        ("train.defaults.epochs", -1.0, "train.defaults.epochs = -1.0 is not allowed"),
        ("train.combined", {"epoch": 1.0}, "unknown key train.combined.epoch; did you mean epochs?"),
        (
            "train.combined",
            {"zzz": 1.0},
            "unknown key train.combined.zzz; remove it, or correct its spelling",
        ),
        ("train.defaults", {}, "key train.defaults.method is missing (and "),
        ("train.recipes.mine", {"data": "train"}, "key train.recipes.mine.texts is missing"),
        ("predict.zeroscrolls", None, "predict.zeroscrolls = None is not allowed; it should be a mapping"),
        (
            "augment.before_names",
            ["translator"],
            "augment is not allowed: before_names names 'translator'; tools are",
        ),
        (
            "augment.answer_guard",
            ["translator"],
            "augment is not allowed: answer_guard names 'translator'; tools are",
        ),
        ("predict.tool_use", {"require_full_stop": True}, "predict.tool_use is not allowed: "),
        ("readers.fid", {"passages": 0, "fusion": "rag_sequence"}, "readers.fid is not allowed: "),
        (
            "readers.reader",
            {"passages": 2},
            "readers.reader.passages = 2, and readers.recipes.reader.evidence",
        ),
        ("train", {"launcher": "none", "recipes": {}}, "key train.defaults is missing"),
        ("train.combined", {"calls": True}, "unknown key train.combined.calls; remove it"),
    ],
)
def test_mistakes(values: dict[str, Any], key: str, value: Any, told: str) -> None:
    with pytest.raises(NightjarError) as caught:
        validate(change(values, key, value))
    assert str(caught.value).startswith(f"params.yaml: {told}")


@pytest.mark.parametrize(
    ("recipe", "changes", "told"),
    [
        ("combined", {"data": "corpus"}, "only texts have sequence_tokens"),
        ("plain", {"sequence_tokens": None}, "only texts have sequence_tokens"),
        (
            "plain",
            {"evidence": "data/retrieve/supernatinst", "passages": 1},
            "only instances of training tasks",
        ),
        ("plain", {"calls": "data/augment"}, "set calls to data/augment_merge, or to data/none"),
        ("combined", {"evidence": "data/none"}, "evidence and passages go together"),
        ("tk_instruct", {"passages": 1}, "evidence and passages go together"),
        ("supervised", {"calls": "data/augment_merge"}, "set calls to data/none"),
        ("protoqa", {"calls": "data/augment_merge"}, "set calls to data/none"),
        ("protoqa", {"texts": "data/split"}, "set texts to data/questions/BENCHMARK"),
        ("plain", {"pad_prompts": True}, "only prompts of questions are padded"),
    ],
)
def test_what_a_recipe_trains_on_fits_together(
    values: dict[str, Any], recipe: str, changes: dict[str, Any], told: str
) -> None:
    with pytest.raises(NightjarError) as caught:
        validate(change(values, f"train.recipes.{recipe}", values["train"]["recipes"][recipe] | changes))
    assert f"params.yaml: train.recipes.{recipe} is not allowed: " in str(caught.value) and told in str(
        caught.value
    )


@pytest.mark.parametrize(
    ("group", "name"), [("train", "combined"), ("readers", "fid"), ("predict", "zeroscrolls")]
)
def test_a_name_without_a_group(values: dict[str, Any], group: str, name: str) -> None:
    del values[group][name]
    with pytest.raises(
        NightjarError, match=rf"the group {group}\.{name} is missing; add it, {{}} where nothing"
    ):
        validate(values)


@pytest.mark.parametrize(("method", "launcher"), [("lora", "none"), ("full", "fsdp")])
def test_padding_is_learnt_by_a_whole_model_in_one_piece(
    values: dict[str, Any], method: str, launcher: str
) -> None:
    values["train"]["recipes"]["protoqa"]["pad_prompts"] = True
    values["train"]["protoqa"]["method"] = method
    values["train"]["launcher"] = launcher
    with pytest.raises(NightjarError, match=r"train\.recipes\.protoqa\.pad_prompts: padding is a token"):
        validate(values).train.check("protoqa")


def test_a_recipe_records_padding_only_where_it_pads(values: dict[str, Any]) -> None:
    assert "pad_prompts" not in validate(values).train.recipe("protoqa").model_dump()
    values["train"]["recipes"]["protoqa"]["pad_prompts"] = True
    assert validate(values).train.recipe("protoqa").model_dump()["pad_prompts"]


def test_what_a_group_does_not_name_is_the_default(values: dict[str, Any]) -> None:
    values["train"]["combined"] = {"epochs": 7.0}
    combined, plain = map(validate(values).train.recipe, ("combined", "tk_instruct"))
    assert combined == plain.model_copy(update={"epochs": 7.0, "calls": True, "evidence": 1})
    values["train"]["defaults"]["batch_size"] = 3
    assert validate(values).train.recipe("combined").batch_size == 3


def numbers(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """The numeric settings of a JSON schema, by their dotted keys, with what it says of each."""
    if "$ref" in schema:
        yield from numbers(SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], path)
    for other in schema.get("anyOf", []):
        yield from numbers(other, path)
    for name, inner in schema.get("properties", {}).items():
        yield from numbers(inner, f"{path}.{name}" if path else name)
    if isinstance(inner := schema.get("additionalProperties"), dict):  # keys of one's own
        for name in sorted(value_of(path).keys() - schema.get("properties", {}).keys()):
            yield from numbers(inner, f"{path}.{name}")
    for inner in schema.get("patternProperties", {}).values():
        for name in value_of(path):
            yield from numbers(inner, f"{path}.{name}")
    if schema.get("type") in ("integer", "number"):
        yield path, schema


def value_of(path: str) -> Any:
    """The value of a dotted key in the shipped file."""
    value: Any = read_yaml(ROOT / "params.yaml")
    for name in path.split("."):
        value = value.get(name, {})
    return value


SCHEMA = Params.model_json_schema()
NUMBERS = dict(numbers(SCHEMA))
NO_NUMBERS = [math.inf, -math.inf, math.nan, True, "1", [], 10**400, 16**5000, 1e300, -1e300]


@pytest.mark.parametrize("key", NUMBERS)
def test_no_setting_takes_what_is_no_number_or_absurd(values: dict[str, Any], key: str) -> None:
    tried = [*NO_NUMBERS, *([1.0, 0.5] if NUMBERS[key]["type"] == "integer" else [])]
    for value in tried:
        with pytest.raises(NightjarError) as caught:
            validate(change(values, key, value))
        line = str(caught.value)
        assert line.startswith(f"params.yaml: {key} = ") and "is not allowed; it should be " in line
        assert "\n" not in line and len(line) < 400


def test_a_system_names_a_set_of_tools(values: dict[str, Any]) -> None:
    system = values["predict"]["systems"]["protoqa-combined"]
    system["tools"] = "mine"
    with pytest.raises(NightjarError, match="names no set of tools: mine; sets are none, all"):
        validate(values)
    system["tools"] = "data/index"
    del system["index"]
    fix = "is not allowed: it is the index of these tools .* write tools: all and index: data/index"
    with pytest.raises(NightjarError, match=fix):
        validate(values)


def test_a_tool_without_settings(values: dict[str, Any]) -> None:
    del values["tools"]["all"]["calendar"]
    with pytest.raises(
        NightjarError,
        match=r"params.yaml: augment.tools.calendar has no settings; add the group tools.all.calendar",
    ):
        validate(values)


def test_a_missing_key_and_how_many_more(values: dict[str, Any]) -> None:
    del values["seed"], values["split"]["train_tasks"]
    with pytest.raises(NightjarError, match=r"params.yaml: key seed is missing \(and 1 more\)"):
        validate(values)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (None, "not found"),
        (b"seed: 1\nseed: 2\n", "not valid YAML"),
        (b"- 1\n", "not a mapping"),
        (b"seed: \xff\n", "not UTF-8 at byte 6"),
        (b"seed: 2026-13-45\n", "not valid YAML .month must be in 1..12"),
        (b"x: !!python/object/apply:os.system ['true']\n", "not valid YAML"),
    ],
)
def test_files_that_are_no_parameters(tmp_path: Path, data: bytes | None, told: str) -> None:
    file = tmp_path / "params.yaml"
    if data is not None:
        file.write_bytes(data)
    with pytest.raises(NightjarError, match=told) as caught:
        load(file)
    assert str(caught.value).startswith(str(file))


def test_a_stage_tells_it_in_one_line_before_any_work(values: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text(json.dumps(change(values, "sed", 1)))
    done = run_stage("ingest", "corpus", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("nightjar: params.yaml: unknown key sed")
    assert done.stderr.count("\n") == 1 and "Traceback" not in done.stderr
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"shots_per_label": 16, "passages": 3}, "demonstrations or passages"),
        ({"fusion": "rag_sequence"}, "rag_sequence needs passages"),
        ({"by_task": [{"task": "mr"}, {"task": "mr"}]}, "by_task has a duplicate task"),
        ({"temperature": 0.1}, "only rag_sequence weights passages"),
        ({"trains": "encoder"}, "trains = 'encoder' is not allowed"),
        ({"batch_size": 0}, "batch_size = 0 is not allowed"),
        ({"text_maxlength": 4}, "text_maxlength = 4 is not allowed"),
    ],
)
def test_a_recipe_of_a_reader_that_cannot_work(changes: dict[str, Any], told: str) -> None:
    values = load(ROOT / "params.yaml").readers.recipe("reader").model_dump()
    with pytest.raises(NightjarError, match=told):
        checked(ReaderRecipe, values | changes, "params.yaml")


def test_an_unknown_recipe_of_a_reader() -> None:
    with pytest.raises(NightjarError, match=r"the group readers.own is missing; add it"):
        load(ROOT / "params.yaml").readers.recipe("own")
