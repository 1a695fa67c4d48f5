"""The explorer of instances in a real browser, from disk: filters, keyboard, links, and texts that would be markup."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from stages.report.benchmark import instances
from tests.stages.report.building import NAME
from tests.stages.report.test_report_browser import WIDTH, resize
from tests.stages.report.test_stage import OUT

HOSTILE = [
    "<script>document.title = 'run'</script>",
    "<img src=x onerror=\"document.title = 'run'\">",
    "</script><b>bold",
    '"];document.title = "run";[',
    "\u2028 line \u2029 &lt;i&gt; ${document.title} \\u003cb\\u003e",
    "\u202eturned round \u2066inside",
    "__proto__",
]
FOCUS = "document.activeElement.closest('tr')?.querySelector('td').textContent"


def explorer(page: Any, folder: Path, fragment: str = "", name: str = NAME) -> None:
    page.goto((folder / f"{name}.instances.html").as_uri() + fragment)
    page.locator("#list tbody td").first.wait_for()


def listed(page: Any) -> int:
    """How many instances the filters leave, as the page says."""
    found = re.match(r"([\d,]+) of", page.locator("#count").inner_text())
    assert found
    return int(found[1].replace(",", ""))


@pytest.fixture(scope="module")
def folder(built_with_two: Path) -> Path:
    return built_with_two / OUT


@pytest.fixture(scope="module")
def rows(folder: Path) -> dict[str, Any]:
    text = (folder / "instances" / NAME / "list.js").read_text()
    found: dict[str, Any] = json.loads(text.partition(" = ")[2].rstrip(";\n"))
    return found


def test_filters_leave_what_they_say(page: Any, folder: Path, rows: dict[str, Any]) -> None:
    verdicts, calls = ([row[place] for row in rows["rows"]] for place in (4, 6))
    at = rows["systems"].index
    explorer(page, folder)
    marks = page.locator("#list .dt-scroll-head abbr").all()
    assert [it.inner_text() for it in marks[:3]] == ["●untuned", "■tk_instruct", "◆combined"]
    assert "fine-tuned by the recipe tk_instruct" in marks[1].get_attribute("title")
    assert listed(page) == len(verdicts) == 208
    assert "✓, ✗: right or wrong by exact match" in page.locator("#hint").inner_text()
    choose = page.locator("#filters").locator
    choose("[name=system]").select_option("combined")
    wanted = {
        "right": sum(it[at("combined")] == "1" for it in verdicts),
        "wrong": sum(it[at("combined")] == "0" for it in verdicts),
        "call": sum(it[at("combined")] > 0 for it in calls),
    }
    for name, count in wanted.items():
        choose("[name=is]").select_option(name)
        assert listed(page) == count > 0
    choose("[name=is]").select_option("")
    choose("[name=other]").select_option("untuned")
    assert listed(page) == sum(it[at("combined")] != it[at("untuned")] for it in verdicts) > 0
    page.get_by_role("button", name="Reset").click()
    page.wait_for_function("count.textContent.startsWith('208')")
    task = rows["tasks"][3]
    choose("[name=task]").select_option(task[0])
    assert listed(page) == sum(row[0] == 3 for row in rows["rows"]) == 8
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type(f"{task[0].split('_')[0]}-5")
    assert listed(page) == 1 and "task=" in page.url and "q=" in page.url
    url = page.url
    page.goto("about:blank")
    page.goto(url)
    page.locator("#list tbody td").first.wait_for()
    assert listed(page) == 1, "the link has the filters"


def test_all_columns_of_the_list_are_in_view(page: Any, built_with_lists: Path) -> None:
    resize(page, 1440)
    explorer(page, built_with_lists / OUT, name="lists")
    page.locator("#list tbody tr").first.click()
    page.locator("#detail h2").wait_for()
    wide = page.evaluate(
        "[...document.querySelectorAll('#list .dt-scroll-head th')].reduce((sum, it) => sum + it.offsetWidth, 0)"
    )
    assert wide <= page.evaluate("list.offsetWidth") + 2


def test_by_keyboard_alone(page: Any, folder: Path) -> None:
    explorer(page, folder)
    page.keyboard.press("j")
    assert page.evaluate(FOCUS) == "1"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert page.evaluate(FOCUS) == "2"
    shadow = page.evaluate("getComputedStyle(document.activeElement.closest('tr')).boxShadow")
    assert "inset" in shadow, "the focus is seen"
    page.keyboard.press("Enter")
    page.locator("#detail .cards").wait_for()
    assert page.evaluate("document.activeElement.id") == "detail" and "id=" in page.url
    page.keyboard.press("j")
    page.locator("#detail", has_text="3 of 208").wait_for()
    page.keyboard.press("Escape")
    assert not page.locator("#detail").is_visible() and page.evaluate(FOCUS) == "3"


def test_escape_clears_the_search_and_its_filter_and_enter_goes_to_the_list(page: Any, folder: Path) -> None:
    explorer(page, folder)
    page.keyboard.press("/")
    page.keyboard.type("-5")
    matching = listed(page)
    assert matching < 208
    page.keyboard.press("Escape")
    assert listed(page) == 208 and page.evaluate("document.activeElement.name") != "q"
    page.keyboard.press("/")
    page.keyboard.type("-5")
    page.keyboard.press("Enter")
    assert listed(page) == matching and page.evaluate(FOCUS)
    page.keyboard.press("Enter")
    page.locator("#detail .cards").wait_for()


def test_back_closes_an_instance_and_then_leaves_the_page(page: Any, folder: Path) -> None:
    page.goto((folder / f"{NAME}.html").as_uri())
    explorer(page, folder)
    page.locator("#filters [name=system]").select_option("combined")
    page.locator("#list tbody tr").first.click()
    page.locator("#detail .cards").wait_for()
    page.keyboard.press("j")
    page.go_back()
    page.locator("#detail").wait_for(state="hidden")
    assert "system=combined" in page.url and listed(page) == 208
    page.go_forward()
    page.locator("#detail .cards").wait_for()
    page.keyboard.press("Escape")
    page.wait_for_url("**#*system=combined*")
    page.go_back()
    assert page.url.endswith(f"{NAME}.html"), "an instance that was closed is no entry of the history"


def test_an_instance_by_its_link_far_down(page: Any, folder: Path, rows: dict[str, Any]) -> None:
    """In the page are only the rows around those that are seen; the texts are loaded when one is opened."""
    row = rows["rows"][199]
    explorer(page, folder, f"#task={rows['tasks'][row[0]][0]}&id={row[1]}")
    page.locator("#detail h2", has_text=row[1]).wait_for()
    page.locator("#list tr.opened").wait_for()
    assert page.locator("#list tbody tr").count() < 150
    assert page.evaluate("nightjar.texts.filter(Boolean).length") == 1
    detail = page.locator("#detail").inner_text()
    assert "200 of 208" in detail and all(name in detail for name in rows["systems"])
    assert page.locator("#detail .card").count() == len(rows["systems"])
    page.locator("#detail summary").first.click()
    assert page.locator("#detail pre").first.is_visible()


@pytest.mark.parametrize("width", [1440, 1024, 420])
def test_nothing_is_wider_than_the_window(
    page: Any, folder: Path, built_with_lists: Path, width: int
) -> None:
    resize(page, width)
    for place, name in ((folder, NAME), (built_with_lists / OUT, "lists")):
        explorer(page, place, name=name)
        assert page.evaluate(WIDTH) <= width
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.locator("#detail .cards").wait_for()
        assert page.evaluate(WIDTH) <= width
        assert page.locator("#list").is_visible() == (width >= 1000)
        page.get_by_role("button", name="Close").click()
        assert page.locator("#list").is_visible()


def test_clusters_by_a_chosen_similarity(page: Any, built_with_lists: Path) -> None:
    explorer(page, built_with_lists / OUT, "#id=sky-0", "lists")
    table = page.locator("#detail table.clusters")
    table.wait_for()
    ranks = table.locator("tbody tr:first-child td.num:nth-child(4)")
    assert ranks.inner_text() == "2", "the second answer is snow"
    third = page.locator("#detail .card").first.locator("li").nth(2)
    assert third.inner_text().startswith("✗")
    page.get_by_label("Similarity").select_option("contained")
    assert third.inner_text().startswith("=")
    bars = [one.bounding_box()["width"] for one in table.locator(".bar i").all()]
    assert [round(one / bars[0], 2) for one in bars] == [1, 0.33, 0.33], "as long as the counts"


def test_texts_never_become_markup(page: Any, folder: Path, tmp_path: Path) -> None:
    """The data as the stage writes them, with hostile texts in every place; none is run or becomes markup."""
    shutil.copytree(folder, tmp_path / "report")
    data = tmp_path / "report" / "instances" / NAME

    def spoil(value: Any, place: int) -> Any:
        if isinstance(value, str) and len(value) > 1:
            return HOSTILE[place % len(HOSTILE)] + value
        if isinstance(value, list):
            return [spoil(one, place + at) for at, one in enumerate(value)]
        return value

    for file in data.iterdir():
        name, _, text = file.read_text().partition(" = ")
        value = json.loads(text.rstrip(";\n"))
        if file.name == "list.js":
            kept = [(row[1], row[4]) for row in value["rows"]]
            value["rows"] = [spoil(row, at) for at, row in enumerate(value["rows"])]
            for row, (id, verdicts) in zip(value["rows"], kept, strict=True):
                row[1], row[4] = HOSTILE[0] + id, verdicts
            value["tasks"] = [spoil(it, 1) for it in value["tasks"]]
        else:
            for at, one in enumerate(value):
                for key in ("input", "references", "prompts", "passages"):
                    one[key] = spoil(one[key], at)
                for answer in one["systems"]:
                    answer |= {key: spoil(answer[key], at) for key in ("answers", "calls", "scores")}
        file.write_text(instances.script(name, value))
    explorer(page, tmp_path / "report")
    title = page.title()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    for _ in range(len(HOSTILE)):
        page.locator("#detail .cards").wait_for()
        page.keyboard.press("j")
    assert page.title() == title and not page.locator("main img, main script").count()
    shown = page.locator("#detail").inner_text()
    assert "<script>" in shown and any(it in shown for it in ("<img src=x", "</script><b>bold"))
    page.keyboard.press("Escape")
    assert "<" in page.locator("#list tbody").inner_text()
    page.locator("#filters [name=q]").fill("<script>")
    assert listed(page) == 208


def test_without_scripts_a_line_says_where_the_data_are(browser: Any, folder: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((folder / f"{NAME}.instances.html").as_uri())
    line = page.locator("noscript, main > p").first
    assert "needs scripts" in line.inner_text() and not page.locator("#filters").is_visible()
    page.get_by_role("link", name="the scores as CSV").wait_for()
    context.close()


def test_without_its_folder_a_page_says_so(browser: Any, folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "assets", tmp_path / "assets")
    shutil.copy(folder / f"{NAME}.instances.html", tmp_path)
    page = browser.new_page()
    page.goto((tmp_path / f"{NAME}.instances.html").as_uri())
    page.get_by_text("Copy the whole folder of the report").wait_for()
    page.close()
