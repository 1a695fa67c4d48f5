"""The plots of the docs show the numbers of their tables."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench import pictures

ROOT = Path(__file__).parents[2]
TEXT = pictures.results_text(ROOT)


def numbers(svg: Path) -> list[str]:
    """The values beside the points of a plot; those of the axis are whole."""
    texts = [it.text or "" for it in ElementTree.parse(svg).iter("{http://www.w3.org/2000/svg}text")]
    return sorted(text for text in texts if re.fullmatch(r"[-−]?\d+\.\d", text))


@pytest.mark.parametrize("plot", pictures.DRAWN, ids=lambda plot: plot.name)
def test_a_plot_has_the_values_of_its_table(plot: pictures.ResultsPlot) -> None:
    found = pictures.points(plot, TEXT)
    assert found and all(low <= value <= high for of in found.values() for value, low, high in of.values())
    if plot.rows:
        assert {label.split(" (n ")[0] for label in found} == set(plot.rows)
    values = [f"{value:.1f}" for of in found.values() for value, _, _ in of.values()]
    assert set(values) <= set(numbers(ROOT / pictures.PLOTS / f"{plot.name}.svg")), (
        "run python -m bench.pictures"
    )


def test_the_gains_are_those_of_the_tables() -> None:
    found = pictures.gains(TEXT)
    values = [f"{value:.1f}" for of in found.values() for value, _, _ in of.values()]
    assert len(values) == 10 and set(values) <= set(numbers(ROOT / pictures.PLOTS / "gains.svg"))


def test_every_real_run_has_a_plot() -> None:
    for plot in pictures.DRAWN:
        assert f"](../plots/{plot.name}.svg)" in TEXT
    assert {path.stem for path in (ROOT / pictures.PLOTS).glob("*.svg")} == {
        "gains",
        *(plot.name for plot in pictures.DRAWN),
    }


def test_tables_of_a_text() -> None:
    head = "# One\n\n| a | m 1 | 3 | i |\n|---|---:|---|---|\n"
    text = head + "| x | **1,000.5** | -2.0 [-3.0, 1.0] | |\n| | 4 | – | [1, 9] |\n"
    assert list(pictures.tables(text)) == [
        (
            "One",
            [
                {"a": "x", "m: 1": "**1,000.5**", "m: 3": "-2.0 [-3.0, 1.0]", "i": ""},
                {"a": "x", "m: 1": "4", "m: 3": "–", "i": "[1, 9]"},
            ],
        )
    ]
    assert pictures.point("**1,000.5**") == (1000.5, 1000.5, 1000.5)
    assert pictures.point("-2.0 [-3.0, 1.0]") == (-2.0, -3.0, 1.0)
    assert pictures.point("4", "[1, 9]") == (4.0, 1.0, 9.0)
    assert pictures.point("–") is None


def test_equal_tables_give_equal_files() -> None:
    assert pictures.plots(TEXT) == pictures.plots(TEXT)


def test_labels_have_no_marks_of_markdown() -> None:
    labels = [label for plot in pictures.DRAWN for label in pictures.points(plot, TEXT)]
    assert labels
    assert not [label for label in labels if set(label) & set("*`")]
