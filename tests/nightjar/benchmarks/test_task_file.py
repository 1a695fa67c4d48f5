"""One task file: the two readers agree, every flaw has its reason, and no row is lost."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.benchmarks.task_file import (
    RefusedRow,
    TaskFile,
    UnreadableFile,
    read_any,
    read_columns,
    read_task,
)
from tests.stages.ingest.conftest import make_task

NAN = float("nan")


def read(value: Any) -> TaskFile:
    return read_task(as_bytes(value), "d", "task001_x.json", "task001_x")


def as_bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else json.dumps(value).encode()


def task(*instances: Any, **changes: Any) -> dict[str, Any]:
    """A small flawless task around the instances; a change to None takes the key out."""
    own = {"Definition": ["Do it."], "Instances": list(instances), "Instance License": None}
    return make_task(**own | changes)


GOOD = {"id": "task001-1", "input": "in", "output": ["out"]}


@pytest.mark.parametrize(
    ("instance", "reason"),
    [
        ({**GOOD, "output": []}, "output is empty"),
        ({**GOOD, "output": ["fine", " \n\u3000"]}, "output is blank"),
        ({**GOOD, "output": NAN}, "output is NaN"),
        ({**GOOD, "output": [["nested"]]}, "output is not a string"),
        ({**GOOD, "output": ["\ud800"]}, "output is not valid Unicode"),
        ({"id": "a", "input": "i"}, "no output"),
        ({**GOOD, "input": ""}, "input is blank"),
        ({**GOOD, "input": ["i"]}, "input is not a string"),
        ({"id": "a", "output": ["o"]}, "no input"),
        ({**GOOD, "id": 7}, "id is not a string"),
        (None, "not an object"),
    ],
)
def test_one_bad_instance_costs_only_itself(instance: Any, reason: str) -> None:
    other = {"id": "other", "input": "i", "output": ["o"]}
    result = read(task(other, instance))
    assert result.instances["id"].to_pylist() == ["other"]
    (refused,) = result.refused
    assert refused.reason == reason
    assert json.dumps(json.loads(refused.raw)) == json.dumps(instance), "kept raw"


def test_the_same_id_twice() -> None:
    result = read(task(GOOD, {**GOOD, "input": "second"}, {**GOOD, "id": "b"}, {**GOOD, "input": "third"}))
    assert result.instances["index"].to_pylist() == [0, 2], (
        "the place in the file, so that rows can be traced"
    )
    assert [row.reason for row in result.refused] == ["the same id twice"] * 2
    assert [json.loads(row.raw)["input"] for row in result.refused] == ["second", "third"]
    # The id of a row that is refused itself is still free.
    assert len(read(task({**GOOD, "input": ""}, GOOD)).instances) == 1


def test_a_doubled_key_in_an_instance_costs_the_instance() -> None:
    text = json.dumps(task(GOOD, {"id": "b", "input": "first", "output": ["o"]}))
    result = read(text.replace('"input": "first"', '"input": "first", "input": "second"').encode())
    assert result.instances["id"].to_pylist() == ["task001-1"]
    (refused,) = result.refused
    assert (refused.reason, refused.id) == ("a duplicate key", "b")
    assert refused.raw == '{"id": "b", "input": "first", "input": "second", "output": ["o"]}'


def test_older_forms_are_taken() -> None:
    modern = task(GOOD)
    assert read(task(GOOD, Definition="Do it.")).head == read(modern).head
    assert read({**modern, "Instances": [{**GOOD, "output": "out"}]}).instances == read(modern).instances
    lower = {key.replace("_language", "").lower() + "_language": modern[key] for key in ("Input_language",)}
    assert read({**task(GOOD, Input_language=None), **lower}).head == read(modern).head
    assert read(task(GOOD)).head["license"] == []


def test_a_missing_id_is_made_the_same_every_time() -> None:
    bare = {"input": "in", "output": ["out"]}
    ids = [read(task(bare, **{"Source": [source]})).instances["id"].to_pylist() for source in ("a", "b")]
    # As `printf` and `sha1sum` give it for the text ["in", ["out"]].
    assert ids == [["task001-8114427dc0afa157a2ac6f6898237ba1141fceaa"]] * 2
    # The exact reader makes the same one as Arrow's, whichever has to look.
    mixed = read(task(bare, {"id": "", "input": "in2", "output": "out"}, {**GOOD, "input": ""}))
    assert mixed.instances["id"][0].as_py() == ids[0][0]
    assert read(task(bare, bare)).refused[0].reason == "the same id twice", (
        "an exact copy is the same instance"
    )


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (task(), "no instances"),
        (task(Instances=None), "no instances"),
        ({**task(GOOD), "Instances": {"a": GOOD}}, "Instances is not a list"),
        (task(GOOD, Definition=None), "no Definition"),
        (task(GOOD, Definition=" "), "Definition is blank"),
        (task(GOOD, Definition=["a", NAN]), "Definition is not text"),
        (task(GOOD, **{"Positive Examples": None}), "no Positive Examples"),
        ({**task(GOOD), "Negative Examples": "none"}, "Negative Examples is not a list"),
        ([task(GOOD)], "not a JSON object"),
        (b"{}", "no instances"),
        (b"{} null", "not JSON"),
        (json.dumps(task(GOOD)).encode()[:-40], "not JSON"),
        (json.dumps(task(GOOD, Definition="é"), ensure_ascii=False).encode("latin-1"), "not UTF-8"),
        (
            json.dumps(task(GOOD)).replace('"Source"', '"Source": ["other"], "Source"').encode(),
            "a duplicate key",
        ),
        (
            json.dumps(task(GOOD)).replace('"Instances"', '"Instances": [], "Instances"').encode(),
            "a duplicate key",
        ),
        (
            json.dumps(task(GOOD)).replace('"output": "4"', '"output": "4", "output": "p"').encode(),
            "a duplicate key",
        ),
        (b'{"Instances": [], "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "not JSON"),
        (b'{"Instances": [], "x": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001, "not JSON"),
    ],
)
def test_a_file_that_cannot_be_used(value: Any, reason: str) -> None:
    with pytest.raises(UnreadableFile) as caught:
        read(value)
    assert caught.value.reason == reason


def test_small_faults_of_the_head_cost_an_entry_and_are_told() -> None:
    result = read(
        task(GOOD, URL=[NAN, "u"], **{"Negative Examples": [{"input": "i"}, {"input": "i", "output": ["o"]}]})
    )
    assert result.head["urls"] == ["u"]
    assert result.head["negative_examples"] == [{"input": "i", "output": "o", "explanation": None}]
    assert result.left_out == [
        "URL: an entry is NaN",
        "Negative Examples: number 1 is not {input, output, explanation} of strings",
    ]


TEXTS = st.sampled_from(
    ["a", "b", "", " ", "\n", "é", '"key": ', "2020-01-01", "\u2003", "\x1f", "\\", "NaN", "\x00"]
)
VALUES = st.one_of(TEXTS, st.none(), st.just(NAN), st.integers(0, 3), st.lists(TEXTS, max_size=2))
SOUND = st.fixed_dictionaries(
    {
        "input": TEXTS.map("in{}".format),
        "output": st.lists(TEXTS.map("{}out".format), min_size=1, max_size=2),
    },
    optional={"id": st.integers(0, 40).map(str)},
)
WILD = st.fixed_dictionaries({}, optional={"id": VALUES, "input": VALUES, "output": VALUES, "extra": VALUES})
# Mostly sound, so that the fast reader often has to decide about a single flaw.
ROWS = st.one_of(
    st.lists(SOUND, min_size=1, max_size=6), st.lists(st.one_of(SOUND, WILD, VALUES), max_size=6)
)
LANGUAGE = st.just({"input_language": ["German"]})
EXAMPLES = st.fixed_dictionaries({}, optional={"input": VALUES, "output": VALUES, "explanation": TEXTS})
HEADS = st.one_of(
    st.fixed_dictionaries({}, optional={"Definition": TEXTS.map("Do {}".format), "URL": st.lists(TEXTS)}),
    LANGUAGE,
    st.fixed_dictionaries(
        {},
        optional={
            "Definition": VALUES,
            "Categories": VALUES,
            "Input_language": st.none(),
            "Unknown": VALUES,
            "Negative Examples": st.lists(st.one_of(EXAMPLES, VALUES), max_size=2),
        },
    ),
)


@given(ROWS, HEADS)
def test_the_two_readers_agree_and_no_row_is_lost(instances: list[Any], head: dict[str, Any]) -> None:
    data = as_bytes({**task(*instances), **head})
    arguments = (data, "d", "f", "task001_x")
    fast = read_columns(*arguments)
    try:
        exact = read_any(*arguments)
    except UnreadableFile:
        assert fast is None
        return
    assert len(exact.instances) + len(exact.refused) == len(instances)
    # Brute force: an instance is good by the letter of the published checks and the older forms.
    expected = [n for n, item in enumerate(instances) if is_good(item, instances[:n])]
    assert exact.instances["index"].to_pylist() == expected
    if fast is not None:
        assert exact.left_out == []
        assert list(map(told, fast.refused)) == list(map(told, exact.refused))
        assert fast.head == exact.head
        assert fast.instances.equals(exact.instances)


def told(row: RefusedRow) -> tuple[Any, ...]:
    return row.reason, row.id, row.detail, json.loads(row.raw)


def is_good(item: Any, before: list[Any]) -> bool:
    if not isinstance(item, dict) or not isinstance(item.get("input"), str) or not item["input"].strip():
        return False
    outputs = [item.get("output")] if isinstance(item.get("output"), str) else item.get("output")
    if not isinstance(outputs, list) or not outputs:
        return False
    if any(not isinstance(output, str) or not output.strip() for output in outputs):
        return False
    name = item.get("id")
    if name is not None and not isinstance(name, str):
        return False
    earlier = [other for n, other in enumerate(before) if is_good(other, before[:n])]
    return identity(item) not in map(identity, earlier)


def identity(item: dict[str, Any]) -> Any:
    if (item.get("id") or "").strip():
        return item["id"]
    outputs = item["output"]
    return item["input"], tuple([outputs] if isinstance(outputs, str) else outputs)


@given(st.sampled_from([name for name in task(GOOD)] + ["id", "input", "output", "explanation"]), st.data())
def test_arrows_reader_never_takes_a_doubled_key(name: str, data: st.DataObject) -> None:
    text = json.dumps(task(GOOD, {**GOOD, "id": "b"}))
    assert read_columns(text.encode(), "d", "f", "t") is not None
    places = [place for place in range(len(text)) if text.startswith(f'"{name}": ', place)]
    place = data.draw(st.sampled_from(places))
    key = data.draw(st.sampled_from([name, "".join(f"\\u{ord(c):04x}" for c in name)]))
    value = data.draw(st.sampled_from(["null", "[]", "{}", '"x"', "1", '["x"]']))
    blank = data.draw(st.sampled_from(["", " ", "\n"]))
    doubled = f'{text[:place]}"{key}"{blank}:{blank}{value},{text[place:]}'
    assert read_columns(doubled.encode(), "d", "f", "t") is None


def test_arrow_and_python_agree_on_white_space() -> None:
    """The fast reader asks Arrow whether a text is blank, the exact one asks Python."""
    signs = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    assert pc.utf8_is_space(pa.array(signs)).to_pylist() == [sign.isspace() for sign in signs]
