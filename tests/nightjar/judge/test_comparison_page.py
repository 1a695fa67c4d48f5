"""The export: what is drawn, that the sides are hidden and balanced, and that no text can break the page."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.core.errors import NightjarError
from nightjar.judge import comparison_page as judge_page
from nightjar.judge.comparison_page import choose, export, page_data, sides
from nightjar.judge.sets import Instance, JudgedTask, Texts
from tests.nightjar.judge import judge_data


def run(folder: Path, name: str = "page.html", **settings: Any) -> tuple[dict[str, Any], str, dict[str, Any]]:
    """An export of the small comparison: what it tells, the page and the key."""
    references, mine, _ = judge_data.comparison(folder)
    texts = Texts(references=references)
    told = export(str(mine), "references", folder / name, texts, **{"instances": 4, **settings})
    page = (folder / name).read_text(encoding="utf-8")
    return told, page, json.loads((folder / name).with_suffix(".key.json").read_text())


class Page(HTMLParser):
    """What a parser finds in a page: scripts, styles, and every attribute."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: list[tuple[str, str]] = []
        self._within = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag in ("script", "style"):
            self._within = tag

    def handle_endtag(self, tag: str) -> None:
        self._within = "" if tag == self._within else self._within

    def handle_data(self, data: str) -> None:
        if self._within:
            self.texts.append((self._within, data))


def test_the_page_is_whole_in_itself_and_allows_only_its_own_code(tmp_path: Path) -> None:
    _, page, _ = run(tmp_path)
    parsed = Page(page)
    kinds = [kind for kind, _ in parsed.texts]
    assert kinds == ["style", "script", "script"]  # style, data, script: no text ended an element early
    names = {name for _, name, _ in parsed.attributes}
    assert not names & {"src", "href", "style"} and not any(name.startswith("on") for name in names)
    policy = next(value for _, name, value in parsed.attributes if name == "content" and "src" in value)
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'" and "unsafe" not in policy
    for rule, text in (("style-src", parsed.texts[0][1]), ("script-src", parsed.texts[2][1])):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"
    data = json.loads(parsed.texts[1][1])
    shown = {text for item in data["items"] for text in (item["left"], item["right"])}
    assert set(judge_data.HOSTILE) <= shown


def test_the_key_resolves_the_sides_and_the_page_does_not(tmp_path: Path) -> None:
    told, page, key = run(tmp_path)
    _, _, answers = judge_data.comparison(tmp_path)
    data = json.loads(Page(page).texts[1][1])
    digest = hashlib.sha256(Page(page).texts[1][1].encode()).hexdigest()
    assert told["digest"] == key["page"] == digest and f'data-page="{digest}"' in page
    assert [item["item"] for item in data["items"]] == [item["item"] for item in key["items"]]
    for shown, item in zip(data["items"], key["items"], strict=True):
        gold = f"gold {item['task_id']} {item['id'].rsplit('-', 1)[1]}"
        a, b = ("left", "right") if item["left"] == "a" else ("right", "left")
        assert shown[a] == answers[item["id"]].strip() and shown[b] == gold
        assert shown["input"].startswith(f"input of {item['task_id']}")
        assert set(shown) == {"item", "task", "input", "left", "right"}
    assert sum(item["left"] == "a" for item in key["items"]) == 6 == told["left_is_a"]
    for told_of in ("mine", "references", "task1_alpha-", "word_analogy", "Word Analogy"):
        assert told_of not in page
    tasks = [item["task"] for item in data["items"]]
    assert tasks == sorted(tasks) and len(set(tasks)) == 3  # a task's items stand together


def test_equal_arguments_give_equal_bytes_and_another_seed_another_page(tmp_path: Path) -> None:
    _, first, key = run(tmp_path, "one.html", instances=2)
    assert run(tmp_path, "two.html", instances=2)[1:] == (first, key)
    _, other, _ = run(tmp_path, "three.html", instances=2, seed=1)
    assert other != first


def test_the_key_of_another_page_is_not_lost(tmp_path: Path) -> None:
    _, page, key = run(tmp_path)
    run(tmp_path)  # the same page again is no harm
    with pytest.raises(NightjarError, match=r"page\.key\.json: the key of another page"):
        run(tmp_path, seed=3)
    assert (tmp_path / "page.html").read_text() == page
    assert json.loads((tmp_path / "page.key.json").read_text()) == key


def test_equal_answers_can_count_as_ties_without_being_shown(tmp_path: Path) -> None:
    rows = judge_data.instances(2)
    references = judge_data.write(tmp_path / "r.jsonl", rows)
    answers = [{"id": row["id"], "prediction": f" {row['references'][0]}\n"} for row in rows]
    answers[3]["prediction"] = "other"
    mine = str(judge_data.write(tmp_path / "m.jsonl", answers))
    texts = Texts(references=references)
    told = export(mine, "references", tmp_path / "p.html", texts, 3, 2, 0, equal_are_ties=True)
    key = json.loads((tmp_path / "p.key.json").read_text())
    assert (told["items"], told["equal"]) == (1, 5)
    assert [item["id"] for item in key["items"]] == [rows[3]["id"]]
    assert {place["id"] for place in key["equal"]} == {row["id"] for row in rows} - {rows[3]["id"]}
    told = export(mine, "references", tmp_path / "q.html", texts, 3, 2, 0)
    assert (told["items"], told["equal"]) == (6, 0)
    same = str(judge_data.write(tmp_path / "n.jsonl", answers))
    with pytest.raises(NightjarError, match="all answers are the same"):
        export(mine, same, tmp_path / "s.html", texts, 1, 2, 0, equal_are_ties=True)


def test_two_files_of_predictions_are_compared_on_their_own_instances(tmp_path: Path) -> None:
    rows = judge_data.instances()
    references = judge_data.write(tmp_path / "r.jsonl", rows)
    some = [row for row in rows if row["task_id"] != "task2_beta"]
    a = judge_data.write(tmp_path / "a.jsonl", [{"id": row["id"], "prediction": "x"} for row in some])
    b = judge_data.write(tmp_path / "b.jsonl", [{"id": row["id"], "prediction": "y"} for row in some[::-1]])
    told = export(str(a), str(b), tmp_path / "p.html", Texts(references=references), None, 3)
    assert (told["tasks"], told["items"]) == (2, 6)
    key = json.loads((tmp_path / "p.key.json").read_text())
    assert {item["task_id"] for item in key["items"]} == {"task1_alpha", "task3_gamma"}


@given(
    st.dictionaries(st.text("abc", min_size=1, max_size=3), st.integers(1, 6), min_size=1),
    st.integers(1, 4),
    st.integers(0, 3),
)
def test_a_draw_holds_what_was_asked_for(sizes: dict[str, int], instances: int, seed: int) -> None:
    keys = [(task, str(number)) for task, size in sizes.items() for number in range(size)]
    large = sum(size >= instances for size in sizes.values())
    if not large:
        with pytest.raises(NightjarError, match=f"0 of {len(sizes)} tasks have {instances} instances"):
            choose(keys, None, instances, seed)
        return
    drawn = choose(keys, large, instances, seed)
    assert len(drawn) == len(set(drawn)) == large * instances and set(drawn) <= set(keys)
    assert sum(one[0] != other[0] for one, other in pairwise(drawn)) == large - 1
    assert choose(keys[::-1], large, instances, seed) == drawn
    assert choose(keys, 1, instances, seed) == drawn[:instances]  # fewer tasks are a part of more
    with pytest.raises(NightjarError, match="ask for fewer"):
        choose(keys, large + 1, instances, seed)


def test_every_item_is_drawn_about_equally_often_and_on_both_sides() -> None:
    keys = [(f"t{number % 4}", str(number)) for number in range(40)]
    items, seeds = list("abcdefg"), 400
    drawn = Counter(key for seed in range(seeds) for key in choose(keys, 2, 5, seed))
    chosen = [sides(items, seed) for seed in range(seeds)]
    assert {len(one) for one in chosen} == {3, 4}
    left = Counter(item for one in chosen for item in one)
    # One in four, and one in two: 5 standard deviations are 43 and 50.
    assert all(abs(drawn[key] - seeds / 4) < 43 for key in keys)
    assert all(abs(left[item] - seeds / 2) < 50 for item in items)


@given(st.text(), st.text(), st.text())
def test_any_text_comes_back_from_the_data_and_none_leaves_its_element(
    one: str, two: str, three: str
) -> None:
    instance = Instance("t", "1", "c", three, "gold")
    example = {"input": one, "output": two, "explanation": None}
    names = {("t", "1"): "item"}
    text = page_data(
        [judge_page.AnswerPair(instance, one, two)], {"t": JudgedTask(three, [example], [])}, names, {"item"}
    )
    assert text.isascii() and not re.search("[<>&\x00-\x1f\x7f]", text)
    data = json.loads(text)
    (item,) = data["items"]
    assert (item["task"], item["input"], item["left"], item["right"]) == (0, three, one, two)
    assert data["tasks"] == [{"definition": three, "positive": [example], "negative": []}]


def test_colours_can_be_told_apart_in_light_and_dark() -> None:
    style = (Path(judge_page.__file__).parent / "judge.css").read_text()

    def light(colour: str) -> float:
        parts = [one / 255 for one in bytes.fromhex(colour[1:])]
        red, green, blue = (it / 12.92 if it <= 0.04045 else ((it + 0.055) / 1.055) ** 2.4 for it in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    blocks = re.findall(r":root \{(.*?)\}", style, re.S)
    assert len(blocks) == 2
    for block in blocks:
        colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block))
        pairs = [(front, back) for front in ("ink", "muted") for back in ("paper", "card")]
        for front, back in [*pairs, ("accent", "paper"), ("on-accent", "accent"), ("warn", "warn-soft")]:
            high, low = sorted((light(colours[front]), light(colours[back])), reverse=True)
            assert (high + 0.05) / (low + 0.05) >= 4.5, (front, back)  # WCAG 2.2, 1.4.3
