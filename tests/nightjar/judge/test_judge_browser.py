"""The judges' page in a real browser: judged, left and found again, saved and scored; hostile texts stay texts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nightjar.judge.comparison_page import export
from nightjar.judge.judged_credit import score
from nightjar.judge.sets import Texts
from tests.nightjar.judge import judge_data

pytestmark = pytest.mark.slow

NAMES = {"left": "Left is better", "tie": "Equally good", "right": "Right is better"}


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a page of 3 tasks with 4 instances each, its key and what it was made from."""
    folder = tmp_path_factory.mktemp("judge")
    references, mine, _ = judge_data.comparison(folder)
    export(str(mine), "references", folder / "page.html", Texts(references=references), tasks=3, instances=4)
    return folder


class Watched:
    """A page in a context of its own, and everything it did that it should not."""

    def __init__(self, browser: Any, folder: Path) -> None:
        self.context = browser.new_context(accept_downloads=True)
        self.page = self.context.new_page()
        self.page.set_default_timeout(60_000)
        self.wrong: list[str] = []
        self.url = (folder / "page.html").as_uri()
        self.page.on("dialog", lambda it: (self.wrong.append(f"dialog {it.message}"), it.dismiss()))
        self.page.on("console", lambda it: self.wrong.append(f"console {it.text}"))
        self.page.on("pageerror", lambda it: self.wrong.append(f"error {it}"))
        self.page.on("request", self._request)

    def _request(self, request: Any) -> None:
        if request.url != self.url and not request.url.startswith("blob:"):
            self.wrong.append(f"request {request.url}")

    def open(self) -> Any:
        self.page.goto(self.url)
        return self.page

    def text(self, name: str) -> str:
        text: str = self.page.locator(f"#{name}").text_content()
        return text

    def save(self, path: Path) -> dict[str, Any]:
        with self.page.expect_download() as download:
            self.page.get_by_role("button", name="Save answers").click()
        download.value.save_as(path)
        saved: dict[str, Any] = json.loads(path.read_text())
        return saved | {"file": download.value.suggested_filename}


@pytest.fixture()
def watched(browser: Any, exported: Path) -> Iterator[Watched]:
    """The page in a context of its own; at the end nothing was wrong."""
    found = Watched(browser, exported)
    yield found
    assert found.wrong == []
    found.context.close()


def pictures(text: str) -> str:
    """What the page shows of a text: control characters as their pictures."""
    return "".join(chr(0x2400 + ord(sign)) if sign < " " and sign != "\n" else sign for sign in text)


def test_judging_leaving_saving_and_scoring(watched: Watched, exported: Path, tmp_path: Path) -> None:
    key = json.loads((exported / "page.key.json").read_text())
    rows = {row["id"]: row for row in judge_data.instances()}
    given = judge_data.predictions(list(rows.values()))
    wishes = ["a", "b", "tie", "a", "b", "tie", "a", "a", "b", "b", "tie"]  # the last of the 12 stays open
    page = watched.open()
    page.get_by_label("Your name").press_sequentially("Ann 3 O'Hara")  # 3 is no verdict here
    page.keyboard.press("Enter")
    assert watched.text("count") == "0 judged"
    for number, (item, wish) in enumerate(zip(key["items"], wishes, strict=False)):
        assert watched.text("place") == f"{number + 1} of 12"
        row = rows[item["id"]]
        assert watched.text("input") == row["input"]
        assert watched.text("definition") == "\n\n".join(row["definition"])
        shown = {side: watched.text(side) for side in ("left", "right")}
        a, b = ("left", "right") if item["left"] == "a" else ("right", "left")
        assert shown[a] == pictures(given[item["id"]].strip())
        assert shown[b] == row["references"][0]
        side = {"a": a, "b": b, "tie": "tie"}[wish]
        if number % 2:
            page.get_by_role("button", name=NAMES[side]).click()
        else:
            page.keyboard.press({"left": "1", "tie": "2", "right": "3"}[side])
        if number == 4:  # in the middle
            page.reload()
            assert watched.text("place") == "6 of 12" and watched.text("count") == "5 judged"
            assert page.get_by_label("Your name").input_value() == "Ann 3 O'Hara"
            assert page.get_by_role("progressbar").evaluate("it => it.value / it.max") == 5 / 12
            page.keyboard.press("ArrowLeft")
            pressed = page.get_by_role("button", pressed=True)
            assert pressed.count() == 1 and pressed.inner_text().endswith(NAMES[side])
            page.keyboard.press("ArrowRight")
    assert watched.text("place") == "12 of 12" and watched.text("count") == "11 judged"
    saved = watched.save(tmp_path / "ann.json")
    assert saved["judge"] == "Ann 3 O'Hara" and saved["file"] == "answers-ann-3-o-hara.json"
    assert saved["page"] == key["page"] and saved["items"] == 12
    told = score(exported / "page.key.json", [tmp_path / "ann.json"])
    assert told["judges"] == [{"judge": "Ann 3 O'Hara", "answered": 11, "open": 1}]
    assert told["ratings"] == {"wins": 4, "ties": 3, "losses": 4}
    assert told["credit"]["value"] == round(100 * 7 / 11, 4) and told["credit"]["n"] == 11
    page.get_by_role("button", name="Back").click()  # a verdict is changed, and the open one given
    page.keyboard.press("1")
    page.keyboard.press("2")
    assert page.locator("#notice").inner_text().startswith("All items are judged. Save")
    assert len(watched.save(tmp_path / "all.json")["answers"]) == 12
    assert page.locator("#notice").inner_text().endswith("Thank you.")


def test_a_browser_that_refuses_to_store_still_judges_and_says_so(watched: Watched, tmp_path: Path) -> None:
    watched.context.add_init_script(
        "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('no', 'SecurityError'); }})"
    )
    page = watched.open()
    assert "does not keep your progress" in page.locator("#notice").inner_text()
    for sign in "123":
        page.keyboard.press(sign)
    saved = watched.save(tmp_path / "some.json")
    assert [answer["answer"] for answer in saved["answers"]] == ["left", "tie", "right"]


@pytest.mark.parametrize(
    "stored", ["null", "{", '{"answers": 3, "at": 99}', '{"answers": {"x": "left"}, "at": -1}']
)
def test_storage_that_holds_something_else_is_begun_anew(
    watched: Watched, exported: Path, stored: str
) -> None:
    digest = json.loads((exported / "page.key.json").read_text())["page"]
    watched.context.add_init_script(f"localStorage.setItem('nightjar-judge:{digest}', {json.dumps(stored)})")
    watched.open()
    assert (watched.text("place"), watched.text("count")) == ("1 of 12", "0 judged")
    assert watched.page.locator("#notice").is_hidden()  # it does keep what is judged from here on


def test_keys_that_are_held_or_belong_to_the_browser_judge_nothing(watched: Watched) -> None:
    page = watched.open()
    page.keyboard.press("Control+1")
    page.keyboard.down("3")
    page.keyboard.down("3")  # what a held key sends
    page.keyboard.up("3")
    assert (watched.text("place"), watched.text("count")) == ("2 of 12", "1 judged")


def test_the_policy_stops_what_the_page_itself_does_not_do(watched: Watched) -> None:
    page = watched.open()
    blocked = page.evaluate(
        """() => new Promise((done) => {
          const seen = [];
          document.addEventListener('securitypolicyviolation', (it) => {
            seen.push(it.effectiveDirective);
            if (seen.length === 3) done(seen.sort());
          });
          document.body.append(Object.assign(document.createElement('img'), {src: 'https://example.invalid/x.png'}));
          fetch('https://example.invalid/').catch(() => 0);
          try { document.body.insertAdjacentHTML('beforeend', '<b>x</b>'); } catch {}
        })"""
    )
    assert blocked == ["connect-src", "img-src", "require-trusted-types-for"]
    watched.wrong.clear()


@pytest.mark.parametrize("width", [320, 1280])
def test_nothing_is_wider_than_the_window(watched: Watched, width: int) -> None:
    page = watched.open()
    page.set_viewport_size({"width": width, "height": 700})
    for _ in range(12):
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.keyboard.press("ArrowRight")
    wanted = "Left is better" if width > 680 else "Upper is better"
    assert page.get_by_role("button", name=wanted).is_visible()
