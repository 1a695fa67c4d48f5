"""Credit, counts and intervals against arithmetic by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from nightjar.core.errors import NightjarError
from nightjar.judge.judged_credit import score

PAGE = "f" * 64


def key(folder: Path, sides: Sequence[str], equal: int = 0, **changes: Any) -> Path:
    """A key with an item for each letter, which tells on which side A is; the categories alternate."""
    place = {"task_id": "t", "category": "c"}
    items = [
        {**place, "item": f"i{number}", "left": left, "id": str(number), "category": "cd"[number % 2]}
        for number, left in enumerate(sides)
    ]
    value: dict[str, Any] = {
        "format": "nightjar-judge-key/1",
        "page": PAGE,
        "a": "mine",
        "b": "references",
        "seed": 0,
    }
    value |= {"items": items, "equal": [{**place, "id": f"e{number}"} for number in range(equal)], **changes}
    path = folder / "page.key.json"
    path.write_text(json.dumps(value))
    return path


def answers(folder: Path, judge: str, given: dict[str, str], **changes: Any) -> Path:
    value: dict[str, Any] = {"format": "nightjar-judge-answers/1", "page": PAGE, "judge": judge, "items": 4}
    value |= {"answers": [{"item": item, "answer": answer} for item, answer in given.items()], **changes}
    path = folder / f"answers-{judge or 'nobody'}.json"
    path.write_text(json.dumps(value))
    return path


def test_one_judge(tmp_path: Path) -> None:
    resolved = {"i0": "left", "i1": "left", "i2": "tie", "i3": "right"}  # A wins, B wins, tie, A wins
    told = score(key(tmp_path, "abab"), [answers(tmp_path, "ann", resolved)])
    assert told["ratings"] == {"wins": 2, "ties": 1, "losses": 1}
    assert told["credit"]["value"] == 75.0 and told["credit"]["n"] == 4
    assert told["credit"]["low"] is told["credit"]["high"] is None, "four items are too few"
    assert told["left_chosen"] == round(200 / 3, 4)
    assert told["agreement"] is None
    assert told["judges"] == [{"judge": "ann", "answered": 4, "open": 0}]
    found = {name: (row["n"], row["value"]) for name, row in told["by_category"].items()}
    assert found == {"c": (2, 100.0), "d": (2, 50.0)}


def test_several_judges_count_once_an_item(tmp_path: Path) -> None:
    ann = answers(tmp_path, "ann", {"i0": "left", "i1": "right", "i2": "right"})
    bo = answers(tmp_path, "bo", {"i0": "right", "i1": "right"})
    nobody = answers(tmp_path, "", {"i0": "right"})
    told = score(key(tmp_path, "aaaa", equal=1), [ann, bo, nobody])
    # i0: one of three for A; i1 and i2: none; i3: open; and one tie that was not shown.
    assert told["credit"]["value"] == round(100 * (1 / 3 + 0 + 0 + 1) / 4, 4)
    assert (told["items"], told["rated"], told["equal"]) == (5, 4, 1)
    assert told["ratings"] == {"wins": 1, "ties": 1, "losses": 5}
    opens = {row["judge"]: row["open"] for row in told["judges"]}
    assert opens == {"ann": 1, "bo": 2, "answers-nobody": 3}
    assert told["agreement"]["n"] == 2 and told["agreement"]["raw"] == round(100 * (1 / 3 + 1) / 2, 4)
    again = score(key(tmp_path, "aaaa", equal=1), [nobody, bo, ann])
    assert {**again, "judges": 0} == {**told, "judges": 0}  # the order of the files changes no figure


def test_the_interval_is_that_of_the_share(tmp_path: Path) -> None:
    n = 400
    given = {f"i{number}": "left" if number < 308 else "right" for number in range(n)}
    told = score(key(tmp_path, "a" * n), [answers(tmp_path, "ann", given)])
    half = 100 * 1.96 * (0.77 * 0.23 / n) ** 0.5  # of the normal approximation
    assert told["credit"]["value"] == 77.0
    assert told["credit"]["low"] == pytest.approx(77 - half, abs=0.4)
    assert told["credit"]["high"] == pytest.approx(77 + half, abs=0.4)


GOOD = {"i0": "left"}
WRONG: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({}, {"page": "0" * 64}, "these are answers to the page 000000000000, and the key is of ffffffffffff"),
    ({}, {"answers": [{"item": "x", "answer": "tie"}]}, "answer 1 is to the item 'x', which the page does"),
    ({}, {"answers": [{"item": "i1", "answer": "tie"}] * 2}, "answer 2 is the second to the item 'i1'"),
    (
        {},
        {"answers": [{"item": "i1", "answer": "both"}]},
        "answers.0.answer: Input should be 'left', 'right'",
    ),
    ({}, {"answers": {}}, "answers: Input should be a valid list"),
    ({}, {"answers": []}, "no item is answered"),
    ({}, {"format": "x"}, "format: Input should be 'nightjar-judge-answers/1'"),
    ({"format": "x"}, {}, "page.key.json: format: Input should be 'nightjar-judge-key/1'"),
    ({"items": []}, {}, "items: List should have at least 1 item"),
]


@pytest.mark.parametrize(("of_key", "of_answers", "wanted"), WRONG)
def test_wrong_files_get_one_line(
    tmp_path: Path, of_key: dict[str, Any], of_answers: dict[str, Any], wanted: str
) -> None:
    files = key(tmp_path, "ab", **of_key), [answers(tmp_path, "ann", GOOD, **of_answers)]
    with pytest.raises(NightjarError) as raised:
        score(*files)
    assert wanted in str(raised.value)


def test_an_instance_counts_once(tmp_path: Path) -> None:
    """The key's own file may be edited too: an instance twice would weigh double, as an item or as an equal pair."""
    place = {"task_id": "t", "id": "1", "category": "c"}
    item = {**place, "item": "i9", "left": "a"}
    path = key(tmp_path, "ab")
    whole = json.loads(path.read_text())
    twice = {"equal": [{**place, "id": "e"}] * 2}
    for changes in ({"items": [*whole["items"], item]}, {"equal": [place]}, twice):
        path.write_text(json.dumps(whole | changes))
        with pytest.raises(NightjarError, match=r"page\.key\.json: the instance t:(1|e) occurs twice"):
            score(path, [answers(tmp_path, "ann", GOOD)])


def test_an_answer_given_twice_is_refused(tmp_path: Path) -> None:
    path = answers(tmp_path, "ann", GOOD)
    path.write_text(path.read_text().replace('"answer": "', '"answer": "tie", "answer": "', 1))
    with pytest.raises(NightjarError, match=r"answers-ann\.json: the key 'answer' occurs twice"):
        score(key(tmp_path, "ab"), [path])


def test_two_files_of_one_judge_are_refused(tmp_path: Path) -> None:
    first = answers(tmp_path, "ann", GOOD)
    (tmp_path / "second.json").write_bytes(first.read_bytes())
    with pytest.raises(NightjarError, match="two files are of the judge 'ann'"):
        score(key(tmp_path, "ab"), [first, tmp_path / "second.json"])
