"""The pages in a real browser, from disk: nothing is wider than the window, tables are sorted, links lead somewhere."""

from __future__ import annotations

import re
import shutil
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
    shutil.copytree(built_with_two / OUT / "instances", folder / "instances")
    for file in (built_with_two / OUT).glob("*.*"):
        (folder / file.name).write_text(file.read_text().replace("_made_up", LONG))
    return folder


def resize(page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})


def visit(page: Any, file: Path) -> None:
    page.goto(file.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach((it) => { it.open = true; })")


def test_nothing_is_wider_than_the_window(
    page: Any, report: Path, built_with_lists: Path, built_with_long: Path
) -> None:
    """Nor does a page ask for anything or report an error. An answer of 80 letters without a blank is broken."""
    others = [built_with_lists / OUT / name for name in ("lists.html", "lists.instances.html")]
    for file in [*sorted(report.glob("*.html")), *others, built_with_long / OUT / "zeroscrolls.html"]:
        resize(page, 1280)
        visit(page, file)
        assert page.evaluate(WIDTH) <= 1280, file.name
        assert page.evaluate(OVERFLOWS) == [], file.name
        resize(page, 400)
        assert page.evaluate(WIDTH) <= 400, file.name


def test_plots_are_in_the_page_and_in_print(page: Any, report: Path) -> None:
    for name in ("index.html", f"{NAME}.html", "training.html", "stages.html"):
        visit(page, report / name)
        figures = page.locator("figure.plot").all()
        assert figures
        for figure in figures:
            assert figure.locator(".panels").get_attribute("aria-label")
        for media in ("screen", "print"):
            page.emulate_media(media=media)
            assert page.locator("figure.plot svg").first.is_visible()
        page.emulate_media(media="screen")


def test_plots_follow_the_scheme_of_the_reader(page: Any, report: Path) -> None:
    visit(page, report / "index.html")
    colour = "getComputedStyle(document.querySelector('figure.plot svg text')).fill"
    colours = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        colours.append(page.evaluate(colour))
    page.emulate_media(color_scheme="light")
    assert colours == ["rgb(27, 32, 39)", "rgb(231, 234, 237)"]


def test_nothing_is_wider_than_the_paper(page: Any, report: Path) -> None:
    """A4 with margins of 12 mm, at 96 pixels an inch; all folds are open."""
    resize(page, 704)
    page.emulate_media(media="print")
    for file in sorted(report.glob("*.html")):
        visit(page, file)
        assert page.evaluate(WIDTH) <= 704, file.name
    page.emulate_media(media="screen")


def test_a_table_that_goes_on_beyond_the_edge_is_marked_until_its_end(page: Any, report: Path) -> None:
    resize(page, 420)
    visit(page, report / "stages.html")
    page.locator(".scroll.more").first.wait_for()
    page.evaluate(
        "document.querySelectorAll('.scroll.more').forEach((it) => { it.scrollLeft = it.scrollWidth; })"
    )
    page.locator(".scroll.more").first.wait_for(state="detached")


def test_a_plot_shows_its_value_when_it_is_pointed_at(page: Any, report: Path) -> None:
    page.goto((report / "index.html").as_uri())
    dot = page.locator("figure.plot path:has(title)").first.bounding_box()
    tip = page.evaluate(
        "([x, y]) => document.elementFromPoint(x, y).querySelector('title').textContent",
        [dot["x"] + dot["width"] / 2, dot["y"] + dot["height"] / 2],
    )
    assert "(baseline)" in tip and "[" in tip


def test_a_benchmark_page_has_at_most_three_screens(page: Any, report: Path) -> None:
    resize(page, 1440)
    page.goto((report / f"{NAME}.html").as_uri())
    assert page.evaluate("document.documentElement.scrollHeight") <= 3 * 900


def test_tables_are_sorted_by_mouse_and_keyboard(page: Any, report: Path) -> None:
    visit(page, report / "stages.html")
    table = page.locator("table.dataTable").first
    first, *_, last = table.get_by_role("columnheader").all()

    def column() -> list[str]:
        found: list[str] = table.locator("tbody tr > :first-child").all_inner_texts()
        return found

    before, found = column(), {}
    first.get_by_role("button").focus()
    for order in ("ascending", "descending"):
        page.keyboard.press("Enter")
        table.locator(f"th[aria-sort={order}]").wait_for()
        found[order] = column()
    assert found["ascending"] == found["descending"][::-1] != before
    assert sorted(found["ascending"]) == sorted(before)
    last.click()
    table.locator("th:last-child[aria-sort]").wait_for()
    assert table.locator("th[aria-sort]").count() == 1


def test_the_leaderboard_is_sorted_with_empty_cells_last(page: Any, report: Path) -> None:
    visit(page, report / "index.html")
    page.get_by_role("columnheader", name="Made & Co").click()
    page.locator("table.leaderboard th[aria-sort=descending]").wait_for()
    cells = page.locator("table.leaderboard tbody tr td:nth-child(4)").all()
    values = [cell.get_attribute("data-order") for cell in cells]
    there = [float(value) for value in values if value]
    assert there == sorted(there, reverse=True) and len(there) > 1 and not any(values[len(there) :])


def test_from_a_cell_to_the_instances(page: Any, report: Path) -> None:
    visit(page, report / "index.html")
    date = page.locator("[data-written]").inner_text()
    assert re.fullmatch(r"Run of \d{4}-\d\d-\d\d\.", date)
    row = page.locator("table.leaderboard tr", has=page.get_by_role("rowheader", name="combined"))
    row.get_by_role("link", name="the instances of combined").first.click()
    assert page.url.endswith(f"{NAME}.instances.html#system=combined")
    page.locator("#filters select[name=system]").wait_for()
    assert page.locator("#filters select[name=system]").input_value() == "combined"
