"""The files of the report: no two have one name, and no character is hidden."""

from __future__ import annotations

from pathlib import Path

import pytest
from markupsafe import Markup

from nightjar.benchmarks.sections import Section
from nightjar.core import contracts, tables
from nightjar.core.errors import NightjarError
from stages.report.site import Site, environment, render_section
from tests.stages.report.building import NAME
from tests.stages.report.test_stage import OUT, Page, explorer, run


def test_two_files_of_one_name_are_an_error() -> None:
    site = Site()
    site.add({"data.html": "first"})
    with pytest.raises(NightjarError, match="rename the benchmark"):
        site.add({"data.html": "second"})
    assert site.files["data.html"] == "first"


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("{% if %}", "TemplateSyntaxError"),
        ("{{ missing }}", "'missing' is undefined"),
        (Path("nowhere.html.j2"), "FileNotFoundError"),
    ],
)
def test_a_section_that_cannot_be_rendered_is_one_line(template: str | Path, reason: str) -> None:
    section = Section("own", "Own", template, {})
    with pytest.raises(NightjarError, match=f"Made & Co: its report section own fails .*{reason}"):
        render_section(section, "Made & Co", {"named": {}, "drawn": None})


def test_rows_are_cells_or_dictionaries_by_column() -> None:
    template = '{{ table(texts("system") + numbered("answers") + texts("may call"), rows, "A <table>") }}'
    rows = [("a", 1234, True), {"may call": False, "answers": None, "system": "b"}]
    section = Section("own", "Own", template, {"rows": rows, "named": "shadowed"})
    found = Page()
    found.feed(render_section(section, "Made & Co", {"named": {}, "drawn": None}))
    assert found.rows[1:] == [["a", "1,234", "yes"], ["b", "–", "no"]]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u202eb<", "a<b class=control>\\u202e</b>b&lt;"),
        ("\x1b[31m\x00", "<b class=control>\\x1b</b>[31m<b class=control>\\x00</b>"),
        ("one\n\ttwo \u00a0 é 語", "one\n\ttwo \u00a0 é 語"),
        (Markup("<i>\u202e</i>"), "<i>\u202e</i>"),
    ],
)
def test_a_character_that_is_not_seen_is_marked(text: str, shown: str) -> None:
    assert environment().from_string("{{ text }}").render(text=text) == shown


def test_answers_and_prompts_cannot_turn_the_text_of_a_page(project: Path) -> None:
    system = "combined"
    folder = Path("data/predict", NAME, system)
    rows = tables.read_rows(folder, contracts.PREDICTIONS)
    for row in rows:
        row |= {"answers": ["left\u202eright\x1b[2J"], "prompt": "ask\u2066ed\x07"}
    with tables.ArtifactWriter(folder) as writer:
        writer.write(contracts.PREDICTIONS, rows)
    assert run().returncode == 0
    pages = [file.read_text(encoding="utf-8") for file in (*OUT.glob("*.html"), *OUT.glob("instances/*/*"))]
    assert not {mark for mark in "\u202e\u2066\x1b\x07" for page in pages if mark in page}
    assert explorer(NAME)[1][0]["systems"][2]["answers"] == [r"left\u202eright\x1b[2J"], (
        "marked, not left out"
    )
