"""The pages in a real browser, from disk: nothing is wider than the window, tables are sorted, links lead somewhere."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.stages.report.building import NAME
from tests.stages.report.test_stage import OUT

# Of every box that scrolls by itself, how far its content reaches beyond it, and what it is.
OVERFLOWS = """() => [...document.querySelectorAll('.scroll:not(.board)')]
  .filter((it) => it.scrollWidth > it.clientWidth)
  .map((it) => `${it.scrollWidth - it.clientWidth}px: ${it.innerText.slice(0, 60)}`)"""
WIDTH = "document.documentElement.scrollWidth"
LONG = "_gazetteer_indirect_to_direct_question_answer_generation"


@pytest.fixture(scope="module")
def report(built_with_two: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of two benchmarks with long names of tasks."""
    folder = tmp_path_factory.mktemp("browser")
    shutil.copytree(built_with_two / OUT / "assets", folder / "assets")
    for file in (built_with_two / OUT).glob("*.*"):
        (folder / file.name).write_text(file.read_text().replace("_made_up", LONG))
    return folder


@pytest.fixture()
def page(browser: Any) -> Iterator[Any]:
    """A page that may only read files and must report no error."""
    found = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme="light")
    found.set_default_timeout(10_000)
    wrong: list[str] = []
    found.on("request", lambda it: wrong.append(it.url) if not it.url.startswith("file:") else None)
    found.on("console", lambda it: wrong.append(it.text))
    found.on("pageerror", lambda it: wrong.append(str(it)))
    yield found
    assert wrong == []
    found.close()


def resize(page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})


def visit(page: Any, file: Path) -> None:
    page.goto(file.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach((it) => { it.open = true; })")


def test_nothing_is_wider_than_the_window(
    page: Any, report: Path, built_with_lists: Path, built_with_long: Path
) -> None:
    """Nor does a page ask for anything or report an error. An answer of 80 letters without a blank is broken."""
    others = [
        built_with_lists / OUT / name for name in ("lists.html", "lists-questions.html", "lists.people.html")
    ]
    for file in [*sorted(report.glob("*.html")), *others, built_with_long / OUT / "zeroscrolls.html"]:
        resize(page, 1280)
        visit(page, file)
        assert page.evaluate(WIDTH) <= 1280, file.name
        assert page.evaluate(OVERFLOWS) == [], file.name
        resize(page, 400)
        assert page.evaluate(WIDTH) <= 400, file.name


def test_the_scores_show_both_metrics(page: Any, report: Path) -> None:
    visit(page, report / f"{NAME}.html")
    table = page.locator("table.headline").first
    for width in (360, 768):
        resize(page, width)
        for name in ("ROUGE-L", "exact match"):
            box = table.get_by_role("columnheader", name=name).bounding_box()
            assert box["x"] >= 0 and box["x"] + box["width"] <= width
        cells = table.locator("tbody td.num").all()
        assert cells
        for cell in cells:
            box = cell.bounding_box()
            assert box["width"] > 0 and box["x"] + box["width"] <= width


def test_tables_are_sorted_by_mouse_and_keyboard(page: Any, report: Path) -> None:
    visit(page, report / f"{NAME}.combined.html")
    head = page.locator("table.instances thead")
    calls, answer = (head.get_by_role("columnheader", name=name) for name in ("calls", "answer"))

    def column(number: int) -> list[str]:
        found: list[str] = page.locator(f"table.instances tbody td:nth-child({number})").all_inner_texts()
        return found

    def sorted_by(name: str) -> None:
        """Wait until this column is sorted in this order, and no other."""
        page.wait_for_function(f"""[...document.querySelectorAll('table.instances th[aria-sort]')]
          .map((it) => it.innerText.trim().split(/\\s/)[0] + ' ' + it.ariaSort).join() === '{name}'""")

    before = column(4)
    calls.click()
    sorted_by("calls descending")
    assert column(7) == sorted(column(7), reverse=True) and len(set(column(7))) > 1
    answer.get_by_role("button").focus()
    page.keyboard.press("Enter")
    sorted_by("answer ascending")
    first = column(4)[0]
    page.keyboard.press("Enter")
    sorted_by("answer descending")
    assert column(4)[-1] == first
    page.keyboard.press("Enter")
    sorted_by("")
    assert column(4) == before


def test_the_leaderboard_is_sorted_with_empty_cells_last(page: Any, report: Path) -> None:
    visit(page, report / "index.html")
    page.get_by_role("columnheader", name="Made & Co").click()
    page.wait_for_selector("th[aria-sort=descending]")
    cells = page.locator("table.leaderboard tbody").first.locator("tr td:nth-child(3)")
    values = [text.split(" ")[0].strip() for text in cells.all_inner_texts()]
    there = [float(value) for value in values if value]
    assert there == sorted(there, reverse=True) and len(there) > 1 and not any(values[len(there) :])
    assert page.locator("table.leaderboard tbody.published tr").first.inner_text().startswith("Super")


def test_from_a_cell_to_the_instances(page: Any, report: Path) -> None:
    visit(page, report / "index.html")
    assert "Written " in page.locator("[data-written]").inner_text()
    row = page.locator("table.leaderboard tr", has=page.get_by_role("rowheader", name="combined"))
    row.locator("a:not(.go)").first.click()
    assert page.url.endswith(f"{NAME}.html#default-combined")
    page.locator("#default-combined a").click()
    assert page.url.endswith(f"{NAME}.combined.html")
    page.locator("table.instances tbody tr:nth-child(2) a").click()
    section = page.locator("section:target")
    assert (
        "14 * 30" in page.locator("#i1").inner_text() and section.locator("dt").first.inner_text() == "Input"
    )
    section.get_by_role("link", name="untuned", exact=True).click()
    assert page.url.endswith(f"{NAME}.untuned.html#i2")


def test_other_similarities_are_shown_on_demand(page: Any, built_with_lists: Path) -> None:
    visit(page, built_with_lists / OUT / "lists-questions.html")
    other = page.locator("#q1 td.other").first
    assert not other.is_visible()
    page.check("#others")
    assert other.is_visible() and other.inner_text() == "✗"
    assert page.evaluate(WIDTH) <= 1280
    widths = [one.bounding_box()["width"] for one in page.locator("#q1 .bar i").all()]
    assert [round(one / widths[0], 2) for one in widths] == [1, 0.33, 0.33], "as long as the counts"
