"""The page in a real browser: nothing is wider than the window, and the headline shows both metrics on a phone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.stages.report.test_stage import OUT

# Of every box that scrolls by itself, how far its content reaches beyond it, and what it is.
OVERFLOWS = """() => [...document.querySelectorAll('.scroll')]
  .filter((it) => it.scrollWidth > it.clientWidth)
  .map((it) => `${it.scrollWidth - it.clientWidth}px: ${it.innerText.slice(0, 60)}`)"""


@pytest.fixture(scope="module")
def url(built_with_two: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a page with two benchmarks and long names of tasks."""
    text = (built_with_two / OUT / "index.html").read_text()
    page = tmp_path_factory.mktemp("browser") / "index.html"
    page.write_text(text.replace("_made_up", "_gazetteer_indirect_to_direct_question_answer_generation"))
    return page.as_uri()


def opened(browser: Any, url: str, width: int, scheme: str = "light") -> Any:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.goto(url)
    page.evaluate("document.querySelectorAll('details').forEach((it) => { it.open = true; })")
    return page


@pytest.mark.parametrize("width", [360, 420, 768, 1280])
def test_nothing_is_wider_than_the_window(browser: Any, url: str, width: int) -> None:
    page = opened(browser, url, width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if width == 1280:
        assert page.evaluate(OVERFLOWS) == []
    page.close()


@pytest.mark.parametrize("width", [360, 420, 768, 1280])
def test_the_headline_shows_both_metrics(browser: Any, url: str, width: int) -> None:
    page = opened(browser, url, width)
    table = page.locator("#headline ~ .scroll").first
    for name in ("ROUGE-L", "exact match"):
        box = table.get_by_role("columnheader", name=name).bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= width
    for cell in table.locator("tbody td.num").all():
        box = cell.bounding_box()
        assert box["width"] > 0 and box["x"] + box["width"] <= width
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_differs_from_its_ground(browser: Any, url: str, scheme: str) -> None:
    page = opened(browser, url, 1280, scheme)
    colours = page.evaluate(
        "() => { const it = getComputedStyle(document.body); return [it.color, it.backgroundColor]; }"
    )
    light = [sum(int(part) for part in colour[4:-1].split(",")) for colour in colours]
    assert (light[0] < 200 and light[1] > 700) if scheme == "light" else (light[0] > 600 and light[1] < 120)
    page.close()


def test_the_page_asks_for_nothing_and_reports_no_error(browser: Any, url: str) -> None:
    page = browser.new_page()
    wrong: list[str] = []
    page.on("request", lambda it: wrong.append(it.url) if it.url != url else None)
    page.on("console", lambda it: wrong.append(it.text))
    page.on("pageerror", lambda it: wrong.append(str(it)))
    page.goto(url)
    assert wrong == []
    page.close()


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("name", ["index.html", "lists-questions.html"])
def test_pages_of_ranked_lists(browser: Any, built_with_lists: Path, name: str, width: int) -> None:
    """Nothing is wider than the window; an answer of 80 letters without a blank is broken."""
    page = opened(browser, (built_with_lists / OUT / name).as_uri(), width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if width == 1280:
        assert page.evaluate(OVERFLOWS) == []
    page.close()


@pytest.mark.parametrize("width", [360, 1280])
def test_a_page_with_many_columns(browser: Any, built_with_long: Path, width: int) -> None:
    page = opened(browser, (built_with_long / OUT / "index.html").as_uri(), width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if width == 1280:
        assert page.evaluate(OVERFLOWS) == []
    page.close()


def test_other_similarities_are_shown_on_demand(browser: Any, built_with_lists: Path) -> None:
    page = opened(browser, (built_with_lists / OUT / "lists-questions.html").as_uri(), 1280)
    other = page.locator("#q1 td.other").first
    assert not other.is_visible()
    page.check("#others")
    assert other.is_visible() and other.inner_text() == "✗"
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    page.close()


def test_bars_are_as_long_as_the_counts(browser: Any, built_with_lists: Path) -> None:
    page = opened(browser, (built_with_lists / OUT / "lists-questions.html").as_uri(), 1280)
    widths = [one.bounding_box()["width"] for one in page.locator("#q1 .bar i").all()]
    assert [round(one / widths[0], 2) for one in widths] == [1, 0.33, 0.33]
    page.close()


def test_the_first_column_remains_in_view(browser: Any, built_with_lists: Path) -> None:
    page = opened(browser, (built_with_lists / OUT / "index.html").as_uri(), 360)
    box = page.locator(".pinned").first
    box.evaluate("it => { it.scrollLeft = 60; }")
    before = box.bounding_box()["x"]
    assert box.evaluate("it => it.scrollLeft") > 0
    assert box.get_by_role("rowheader", name="untuned", exact=True).bounding_box()["x"] == before
    page.close()
