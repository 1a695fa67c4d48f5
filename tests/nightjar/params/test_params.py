"""params.yaml: the shipped files are right, and every mistake is one line that names the key and the value."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nightjar.core.config import read_yaml
from nightjar.core.errors import NightjarError
from nightjar.params import Params, load, validate
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
        group[name] = dict(group[name])
        group = group[name]
    group[last] = value
    return changed


def test_the_shipped_file_is_right_and_frozen() -> None:
    params = load(ROOT / "params.yaml")
    assert isinstance(params, Params)
    with pytest.raises(ValueError, match="frozen"):
        params.seed = 1  # type: ignore[misc]


def test_params_yaml_names_every_key() -> None:
    """Nothing is left to a default in the code, save a model's checksum and the kind of a system that is a model:
    dvc.yaml tracks what stands in the file.
    """

    def keys(value: Any, prefix: str = "") -> set[str]:
        if not isinstance(value, dict):
            return {prefix}
        return {
            key for name, item in value.items() for key in keys(item, f"{prefix}.{name}" if prefix else name)
        }

    params = load(ROOT / "params.yaml")
    models = {
        f"predict.systems.{name}.kind" for name, it in params.predict.systems.items() if it.kind == "model"
    }
    assert keys(read_yaml(ROOT / "params.yaml")) == keys(params.model_dump()) - models


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("sed", 1, "unknown key sed"),
        ("split.train_task", 5, "unknown key split.train_task"),
        ("train.combined.rank", 5, "unknown key train.combined.rank"),
        ("seed", "42", "seed = '42' is not allowed"),
        ("seed", -1, "seed = -1 is not allowed"),
        ("seed", True, "seed = True is not allowed"),
        ("seed", 1.5, "seed = 1.5 is not allowed"),
        ("seed", None, "seed = None is not allowed"),
        ("threads", 0, "threads = 0 is not allowed"),
        ("split.train_tasks", -24, "split.train_tasks = -24 is not allowed"),
        ("split.test_instances_per_task", 101, "split.test_instances_per_task = 101 is not allowed"),
        ("split.official_lists", "maybe", "split.official_lists = 'maybe' is not allowed"),
        ("split", [], "split = [] is not allowed"),
        ("ingest.corpus.path", "", "ingest.corpus.path = '' is not allowed"),
        ("ingest.corpus.path", 7, "ingest.corpus.path = 7 is not allowed"),
        ("models.language_model.sha256", "abc", "models.language_model.sha256 = 'abc' is not allowed"),
        (
            "augment.tools.calculator.sampling_threshold",
            1.5,
            "augment.tools.calculator.sampling_threshold = 1.5 is not allowed",
        ),
        ("train.combined.learning_rate", 0.0, "train.combined.learning_rate = 0.0 is not allowed"),
        ("augment.look_ahead_guard", ["No Tool"], "augment.look_ahead_guard.0 = 'No Tool' is not allowed"),
        ("augment.held_out_documents", -1, "augment.held_out_documents = -1 is not allowed"),
        ("predict.supernatinst.stop", [""], "predict.supernatinst.stop.0 = '' is not allowed"),
    ],
)
def test_mistakes(values: dict[str, Any], key: str, value: Any, told: str) -> None:
    with pytest.raises(NightjarError) as caught:
        validate(change(values, key, value))
    assert str(caught.value).startswith(f"params.yaml: {told}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("train.combined.data", "corpus", "only texts have sequence_tokens; set it with data: corpus"),
        ("train.plain.sequence_tokens", None, "only texts have sequence_tokens; set it with data: corpus"),
        ("train.plain.evidence", 1, "texts of the corpus have no evidence; set evidence to 0"),
        ("train.combined.data", "questions", "questions have no calls and no evidence; set calls to false"),
    ],
)
def test_settings_of_a_recipe_fit_together(values: dict[str, Any], key: str, value: Any, told: str) -> None:
    with pytest.raises(NightjarError) as caught:
        validate(change(values, key, value))
    assert f"params.yaml: {key.rpartition('.')[0]} = " in str(caught.value) and told in str(caught.value)


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
        value = value[name]
    return value


SCHEMA = Params.model_json_schema()
NUMBERS = dict(numbers(SCHEMA))
NO_NUMBERS = [
    math.inf,
    -math.inf,
    math.nan,
    True,
    False,
    "1",
    [],
    10**400,
    -(10**400),
    16**5000,
    1e300,
    -1e300,
]


def test_the_numbers_are_those_of_the_file(values: dict[str, Any]) -> None:
    """What the next test tries, found another way: null apart, no number of the shipped file is left out."""

    def found(value: Any, path: str) -> Iterator[str]:
        if isinstance(value, dict):
            for name, inner in value.items():
                yield from found(inner, f"{path}.{name}" if path else name)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield path

    # The settings of cards and tools are checked by these.
    del values["benchmarks"], values["tools"]
    assert set(found(values, "")) <= set(NUMBERS)


@pytest.mark.parametrize("key", NUMBERS)
def test_no_setting_takes_what_is_no_number_or_absurd(values: dict[str, Any], key: str) -> None:
    tried = [*NO_NUMBERS, *([1.0, 0.5] if NUMBERS[key]["type"] == "integer" else [])]
    for value in tried:
        with pytest.raises(NightjarError) as caught:
            validate(change(values, key, value))
        line = str(caught.value)
        assert line.startswith(f"params.yaml: {key} = ") and "is not allowed; it should be " in line
        assert "\n" not in line and len(line) < 400


def test_a_tool_without_settings(values: dict[str, Any]) -> None:
    del values["tools"]["calendar"]
    with pytest.raises(
        NightjarError, match=r"params.yaml: augment.tools.calendar has no settings; add the group"
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
        (b"seed: [1\n", "not valid YAML"),
        (b"a: 1\n b: 2\n", "not valid YAML"),
        (b"- 1\n", "not a mapping"),
        (b"", "not a mapping"),
        (b"seed: \xff\n", "not UTF-8 at byte 6"),
        (b"seed: 2026-13-45\n", "not valid YAML .month must be in 1..12"),
        (b"seed: 1" + 5000 * b"0", "not valid YAML .Exceeds the limit"),
        (b"seed: !!bool x\n", "not valid YAML"),
        (1000 * b"[", "not valid YAML .nested too deeply"),
        (b"x: !!python/object/apply:os.system ['true']\n", "not valid YAML"),
    ],
)
def test_files_that_are_no_parameters(tmp_path: Path, data: bytes | None, told: str) -> None:
    file = tmp_path / "params.yaml"
    if data is not None:
        file.write_bytes(data)
    with pytest.raises(NightjarError, match=told) as caught:
        load(file)
    assert str(caught.value).startswith(str(file)) and "\n" not in str(caught.value)


@pytest.mark.parametrize(("key", "value"), [("sed", 1), ("seed", "x"), ("split.train_tasks", -1)])
def test_a_stage_tells_it_in_one_line_before_any_work(
    values: dict[str, Any], tmp_path: Path, key: str, value: Any
) -> None:
    (tmp_path / "params.yaml").write_text(json.dumps(change(values, key, value)))
    done = run_stage("ingest", "corpus", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("nightjar: params.yaml: ") and key in done.stderr
    assert done.stderr.count("\n") == 1 and "Traceback" not in done.stderr
    assert not (tmp_path / "data").exists()
