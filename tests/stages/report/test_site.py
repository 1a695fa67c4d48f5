"""The files of the report: no two have one name, and every plot in a context brings its files."""

from __future__ import annotations

import pytest
from markupsafe import Markup

from nightjar.core.errors import NightjarError
from stages.report.plots.plot import Plot
from stages.report.site import Site, plots


def test_two_files_of_one_name_are_an_error() -> None:
    site = Site([], "")
    site.add({"data.html": "first"})
    with pytest.raises(NightjarError, match="rename the benchmark"):
        site.add({"data.html": "second"})
    assert site.files == {"data.html": "first"}


def test_plots_are_found_wherever_they_are() -> None:
    made = [Plot(str(number), Markup("<svg>\n</svg>"), ("a",), [(1,)]) for number in range(3)]
    context = {"one": made[0], "list": [{"plot": made[1]}, ("x", made[2])], "none": None, "text": "text"}
    assert list(plots(context)) == made
