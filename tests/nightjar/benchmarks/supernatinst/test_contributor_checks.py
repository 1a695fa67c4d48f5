"""The contributors' checks of one task, against a plain reading of the published test_all.py, instance by instance."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.benchmarks.supernatinst.checked_task import Hierarchy
from nightjar.benchmarks.supernatinst.contributor_checks import TaskFinding, check_task
from nightjar.benchmarks.supernatinst.task_checks import language_names
from nightjar.benchmarks.task_file import UnreadableFile, ordinary, read_task
from tests.stages.ingest.conftest import make_task

NAN = float("nan")
HIERARCHY = Hierarchy("`Question Answering`\n`Mathematics -> Algebra` and `Sums`", frozenset(
    {"Question Answering", "Mathematics -> Algebra", "Sums"}
))  # fmt: skip


def task(count: int = 30, **changes: Any) -> dict[str, Any]:
    """A task with no finding at all; a change to None takes the key out."""
    example = {"input": "i", "output": "o", "explanation": "e"}
    own = {
        "Reasoning": ["Sums"],
        "Domains": ["Mathematics -> Algebra"],
        "Positive Examples": [{**example, "input": f"example {n}"} for n in range(3)],
        "Negative Examples": [example, example],
        "Instances": [{"id": f"id{n}", "input": f"in {n}", "output": [str(n % 20)]} for n in range(count)],
        "Instance License": None,
    }
    return make_task(**own | changes)


def changed(place: int = 3, **changes: Any) -> list[Any]:
    """The instances of a flawless task, but one; a change to None takes its key out."""
    instances = task()["Instances"]
    instances[place] = {
        key: item for key, item in {**instances[place], **changes}.items() if item is not None
    }
    return instances


def with_id(given: Any) -> list[Any]:
    instances = task()["Instances"]
    instances[3]["id"] = given
    return instances


def outputs(*texts: str) -> list[Any]:
    return [{"id": f"id{n}", "input": f"in {n}", "output": [text]} for n, text in enumerate(texts)]


def findings(
    value: Any, task_id: str = "task001_x", hierarchy: Hierarchy | None = HIERARCHY
) -> list[TaskFinding]:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return check_task(data, task_id, hierarchy)[0]


def test_a_flawless_task_has_no_finding() -> None:
    assert findings(task()) == []
    assert ordinary(json.dumps(task()).encode()) is not None, "and is read as columns"


CASES: list[tuple[dict[str, Any], int, str, str, tuple[str, ...]]] = [
    ({"Reasoning": None}, 1, "error", "a key is missing", ("Reasoning",)),
    ({"Instruction_language": None}, 1, "error", "a key is missing", ("Instruction_language",)),
    ({"input_language": ["English"]}, 1, "error", "old spelling", ("input_language",)),
    ({"Instances": task(25)["Instances"]}, 2, "error", "25 instances", ()),
    ({"Instances": outputs(*map(str, range(6501)))}, 2, "error", "6,501 instances", ()),
    ({"Definition": "Add."}, 3, "error", "Definition is not a list", ("Definition",)),
    ({"Definition": ["Add.", 7]}, 3, "error", "Definition has an entry", ("7",)),
    ({"Definition": [" "]}, 3, "allowed", "the definition is blank", ()),
    ({"URL": [7]}, 3, "allowed", "URL has an entry that is not a string; only the list is looked at", ("7",)),
    ({"Source": [1]}, 3, "allowed", "only the list is looked at (ingest refuses the file)", ("1",)),
    ({"Definition": [1]}, 3, "error", "an entry that is not a string (ingest refuses the file)", ("1",)),
    ({"Definition": ["\ud800"]}, 3, "allowed", "Definition has half a character", ("\\ud800",)),
    ({"Domains": None, "Categories": "Question Answering"}, 3, "error", "Categories is not a list",
     ("Categories",)),
    ({"Instances": {"a": 1}}, 3, "error", "Instances is not a list", ("Instances",)),
    ({"Instances": [*task()["Instances"], "x"]}, 3, "error", "not an object", ("#30",)),
    ({"Instances": changed(id=None)}, 3, "error", "no id", ("#3",)),
    ({"Instances": with_id(None)}, 3, "allowed", "ingest makes one in its place", ("#3",)),
    ({"Instances": with_id("")}, 3, "allowed", "ingest makes one in its place", ("#3",)),
    ({"Instances": with_id(" \n")}, 3, "allowed", "ingest makes one in its place", ("#3",)),
    ({"Instances": with_id("\udc00")}, 3, "allowed", "half a character", ("#3",)),
    ({"Instances": changed(output=7)}, 3, "error", "neither a list nor a string (ingest refuses", ("id3",)),
    ({"Instances": changed(input=None)}, 3, "error", "no input", ("id3",)),
    ({"Instances": changed(output=None)}, 3, "error", "no output", ("id3",)),
    ({"Instances": changed(id="id1")}, 3, "error", "an id that an earlier instance has", ("id1",)),
    ({"Instances": changed(id=1)}, 3, "allowed", "an id that is not a string", ("#3",)),
    ({"Instances": changed(id=["x"])}, 3, "error", "id is a list", ("#3",)),
    ({"Instances": changed(input=5)}, 3, "error", "input is not a string", ("id3",)),
    ({"Instances": changed(input="")}, 3, "error", "input is empty", ("id3",)),
    ({"Instances": changed(input=" ")}, 3, "allowed", "input is blank", ("id3",)),
    ({"Instances": changed(input="\ud800")}, 3, "allowed", "half a character", ("id3",)),
    ({"Instances": changed(output="3")}, 3, "error", "output is not a list", ("id3",)),
    ({"Instances": changed(output=[])}, 3, "error", "output is empty", ("id3",)),
    ({"Instances": changed(output=["3", 4])}, 3, "error", "output has an entry", ("id3",)),
    ({"Instances": changed(output=["3", " "])}, 3, "allowed", "an output is blank", ("id3",)),
    ({"Instances": changed(output=[""])}, 3, "allowed", "an output is blank", ("id3",)),
    ({"Positive Examples": task()["Positive Examples"][:1]}, 4, "error", "1 positive example;", ()),
    ({"Positive Examples": task()["Positive Examples"][:2]}, 4, "allowed",
     "2 positive examples; more than 1 are enough, though the published message says 3", ()),
    ({"Negative Examples": []}, 4, "error", "0 negative examples", ()),
    ({"Negative Examples": task()["Negative Examples"][:1]}, 4, "allowed", "message says 2", ()),
    ({"Negative Examples": [{"input": "i", "output": "o"}, *task()["Negative Examples"]]}, 5, "error",
     "no explanation", ("Negative Examples 1",)),
    ({"Positive Examples": [*task()["Positive Examples"], {"input": "i", "output": ["o"], "explanation": ""}]},
     5, "error", "output is not a string", ("Positive Examples 4",)),
    ({"Positive Examples": [*task()["Positive Examples"], 3]}, 5, "error", "not an object",
     ("Positive Examples 4",)),
    ({"Instances": changed(input="in 1")}, 6, "error", "an input that an earlier", ("id3",)),
    ({"Instances": changed(input="see http://a.b")}, 7, "warning", "a link", ("id3",)),
    ({"Instances": outputs(*["same"] * 30)}, 8, "error", "all outputs are the same", ("same",)),
    ({"Instances": outputs(*["a"] * 28, "b", "b")}, 9, "error", "2 distinct outputs, 28, 2 times", ("a", "b")),
    ({"Instances": changed(input="example 2")}, 10, "error", "the input of a positive example", ("id3",)),
    ({"Input_language": ["German"]}, 11, "error", "does not name", ("German",)),
    ({"Output_language": ["Klingonese"]}, 11, "error", "not a name of ISO 639", ("Klingonese",)),
    ({"Categories": ["Algebra"]}, 12, "error", "a category that the hierarchy", ("Algebra",)),
    ({"Domains": ["Physics"]}, 12, "error", "Domains: not in the hierarchy", ("Physics",)),
    ({"Reasoning": ["Algebra"]}, 12, "allowed", "Reasoning: in the hierarchy only inside", ("Algebra",)),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "check", "level", "message", "ids"), CASES)
def test_each_flaw_is_found_and_named(
    changes: dict[str, Any], check: int, level: str, message: str, ids: tuple[str, ...]
) -> None:
    found = findings(task(**changes))
    assert [
        it for it in found if (it.check, it.level, it.ids) == (check, level, ids) and message in it.message
    ]
    others = {it.check for it in found} - {check}
    assert others == ({1} if changes.get("Domains", "") is None else set())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{", "not JSON"),
        (b"[]", "not a JSON object"),
        (b"\xff{}", "not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a": ' * 50_000 + b"1" + b"}" * 50_000, "nested too deeply"),
    ],
)
def test_what_is_no_json_fails_that_check_alone(data: bytes, message: str) -> None:
    (found,) = findings(data)
    assert (found.check, found.level) == (13, "error") and message in found.message


def test_doubled_keys_pass_as_published_but_are_told() -> None:
    text = json.dumps(task())
    (head,) = findings(text.replace('"Source"', '"Source": ["other"], "Source"').encode())
    assert (head.check, head.level, head.ids) == (13, "allowed", ("Source",))
    (instance,) = findings(text.replace('"input": "in 7"', '"input": "x", "input": "in 7"').encode())
    assert (instance.check, instance.level, instance.ids) == (13, "allowed", ("id7",))


def test_a_bare_nan_passes_as_published_but_is_told_wherever_it_is() -> None:
    text = json.dumps(task(URL=[NAN], extra={"a": [float("-inf")]})).encode()
    told = [it for it in findings(text) if it.check == 13]
    assert [(it.level, it.ids) for it in told] == [("allowed", ("URL", "extra"))]
    assert "NaN passes" in told[0].message
    (inside,) = findings(task(Instances=changed(note=[NAN])))
    assert (inside.check, inside.level, inside.ids) == (13, "allowed", ("id3",))
    hidden = json.dumps(task()).replace('"URL": ', '"URL": NaN, "URL": ').encode()
    assert {it.ids for it in findings(hidden) if "NaN" in it.message} == {("URL",)}
    assert findings(task(extra=["NaN", "Infinity", 1.5])) == [], "texts are no numbers"
    assert findings(json.dumps(task(extra=0)).replace("0}", "1e999}").encode()) == [], "too large, but JSON"


def test_a_byte_order_mark_fails_as_published() -> None:
    data = b"\xef\xbb\xbf" + json.dumps(task(count=25)).encode()
    with pytest.raises(json.JSONDecodeError):
        json.loads(data.decode("utf-8"))
    few, marked = findings(data)
    assert (marked.check, marked.level) == (13, "error") and "ingest takes the file" in marked.message
    assert few.check == 2, "the rest is looked at all the same"
    assert len(read_task(data, "d", "f", "task001_x").instances) == 25


ODD = st.sampled_from([None, [], ["x"], "x", "", " ", 1, [1], ["x", 1], ["\ud800"], {}, [""], "gone"])
IDS = st.sampled_from([None, "", " ", "x", 1, 2.5, True, "\ud800", ["x"], "gone"])


@given(st.sampled_from(sorted(task())), ODD)
def test_what_is_said_of_ingest_refusing_a_file_is_so(key: str, value: Any) -> None:
    changed_task = {**task(), key: value}
    if value == "gone":
        del changed_task[key]
    data = json.dumps(changed_task).encode()
    said = any("ingest refuses the file" in it.message for it in findings(data))
    try:
        read_task(data, "d", "f", "task001_x")
    except UnreadableFile:
        assert said
    else:
        assert not said


@given(IDS)
def test_what_is_said_of_ingest_and_an_id_is_so(given_id: Any) -> None:
    instances = with_id(given_id)
    if given_id == "gone":
        del instances[3]["id"]
    data = json.dumps(task(Instances=instances)).encode()
    messages = [it.message for it in findings(data)]
    read = read_task(data, "d", "f", "task001_x")
    assert any("ingest refuses them" in it for it in messages) == (len(read.refused) == 1)
    made = given_id != "gone" and read.instances["id"][3].as_py().startswith("task001-")
    assert any("ingest makes one" in it for it in messages) == made


def test_exempt_tasks() -> None:
    same, skewed = task(Instances=outputs(*["a"] * 30)), task(Instances=outputs(*["a"] * 28, "b", "b"))
    for name in ("task902_x", "task903_x"):
        levels = {it.check: it.level for it in findings(same, name)}
        # A single output has no entropy, and what is no number is not above 0.8.
        assert levels == {8: "allowed", 9: "error"}
        assert {it.check: it.level for it in findings(skewed, name)} == {9: "error"}
    assert {it.check: it.level for it in findings(skewed, "task150_x")} == {9: "allowed"}
    for name in ("task050_x", "task838_x", "task265_x", "task1500_x", "task9020_x"):
        assert {it.level for it in findings(skewed, name)} == {"error"}, "exempt in earlier versions at most"


def test_without_a_hierarchy_check_12_is_left_out() -> None:
    assert findings(task(Categories=["Algebra"]), hierarchy=None) == []


def test_link_is_the_published_expression() -> None:
    """The published expression asks for more after the slashes, but finds something in the same texts."""
    published = r"http[s]?://(?:[a-zA-Z]|[0-9]|[$-_@.&+]|[!*\(\\),]|(?:%[0-9a-fA-F][0-9a-fA-F]))+"
    for sign in map(chr, [*range(1, 128), 0xE9, 0x3042]):
        text = f"a https://{sign}"
        found = any(it.check == 7 for it in findings(task(Instances=changed(input=text))))
        assert found == bool(re.findall(published, text)), repr(sign)


def test_language_names() -> None:
    known = "English/Swahili/Central Khmer/Haitian/Persian/Panjabi/Oriya/Galician/Bengali"
    assert set(known.split("/")) <= language_names()
    assert not {"Swahili (individual language)", "Englisch", "en", "eng", ""} & language_names()


TEXTS = st.sampled_from(["a", "b", "", " ", "in 1", "example 1", "http://x", "German"])
INSTANCES = st.fixed_dictionaries(
    {},
    optional={
        "id": st.sampled_from(["id1", "x", "y", 3, ""]),
        "input": st.one_of(TEXTS, st.integers(0, 1)),
        "output": st.one_of(st.lists(TEXTS, max_size=2), TEXTS, st.lists(st.integers(0, 1), max_size=1)),
    },
)
BODY = st.one_of(
    st.lists(st.one_of(INSTANCES, st.sampled_from(["x", None])), max_size=3).map(
        lambda extra: task()["Instances"] + extra
    ),
    st.lists(st.sampled_from("ab"), min_size=20, max_size=40).map(lambda texts: outputs(*texts)),
)
NAMES = st.lists(st.sampled_from(["English", "German", "Elvish"]), max_size=2)
EXAMPLES = st.lists(
    st.fixed_dictionaries(
        {"input": TEXTS, "output": TEXTS}, optional={"explanation": st.sampled_from(["e", None])}
    ),
    max_size=4,
)
HEAD = st.fixed_dictionaries(
    {},
    optional={
        "Definition": st.lists(TEXTS, max_size=2),
        "Input_language": NAMES,
        "Output_language": st.one_of(NAMES, st.none()),
        "Positive Examples": EXAMPLES,
        "Negative Examples": EXAMPLES,
        "Categories": st.lists(st.sampled_from(["Sums", "Algebra"]), max_size=2),
        "Domains": st.lists(st.sampled_from(["Sums", "Algebra", "Physics"]), max_size=2),
    },
)


@given(BODY, HEAD, st.sampled_from(["task001_x", "task150_x", "task902_x"]))
def test_errors_are_those_of_a_plain_reading(
    instances: list[Any], head: dict[str, Any], task_id: str
) -> None:
    value = task(**{**head, "Instances": instances})
    found = findings(value, task_id)
    assert {it.check for it in found if it.level == "error"} == plain(value, task_id)
    links = [
        it.get("id") if it.get("id") and isinstance(it.get("id"), str) else f"#{n}"
        for n, it in enumerate(instances)
        if isinstance(it, dict) and "http://x" in str(it.get("input"))
    ]
    assert [list(it.ids) for it in found if it.check == 7] == ([links] if links else [])


def sound(item: Any) -> bool:
    return (
        isinstance(item, dict)
        and isinstance(item.get("input"), str)
        and isinstance(item.get("output"), list)
        and all(isinstance(text, str) for text in item["output"])
    )


def plain(value: dict[str, Any], task_id: str) -> set[int]:
    """The checks that fail, by the letter of the published rules; only what is no text is not asked."""
    wrong = {1} if any(key not in value for key in task()) else set()
    instances = value["Instances"]
    if not 25 < len(instances) <= 6500:
        wrong.add(2)
    ids: list[Any] = []
    for item in instances:
        good = (
            sound(item) and "id" in item and item["input"] != "" and item["output"] and item["id"] not in ids
        )
        if not good:
            wrong.add(3)
        if isinstance(item, dict) and "id" in item:
            ids.append(item["id"])
    if len(value["Positive Examples"]) <= 1 or not value["Negative Examples"]:
        wrong.add(4)
    for example in value["Positive Examples"] + value["Negative Examples"]:
        if not isinstance(example.get("explanation"), str):
            wrong.add(5)
    objects = [item for item in instances if isinstance(item, dict)]
    inputs = [item["input"] for item in objects if isinstance(item.get("input"), str)]
    if len(set(inputs)) < len(inputs):
        wrong.add(6)
    answers = [[it["output"]] if isinstance(it.get("output"), str) else it.get("output") for it in objects]
    counts = Counter(
        text
        for listed in answers
        if isinstance(listed, list) and all(isinstance(text, str) for text in listed)
        for text in listed
    )
    if len(counts) == 1 and task_id != "task902_x":
        wrong.add(8)
    elif len(counts) < 15 and task_id != "task150_x":
        total = sum(counts.values())
        entropy = sum(-n / total * math.log(n / total) for n in counts.values())
        if len(counts) == 1 or entropy / math.log(len(counts)) <= 0.8:
            wrong.add(9)
    if any(text == example["input"] for text in inputs for example in value["Positive Examples"]):
        wrong.add(10)
    names = [name for key in value if key.endswith("_language") for name in value[key]]
    foreign = [name for name in value["Input_language"] if name != "English"]
    if "Elvish" in names or any(name not in text for name in foreign for text in value["Definition"]):
        wrong.add(11)
    if "Algebra" in value["Categories"] or "Physics" in value["Domains"]:
        wrong.add(12)
    return wrong
