"""Super-NaturalInstructions in the report: whether ROUGE-L agrees with accuracy (Wang et al. 2022, appendix E)."""

from __future__ import annotations

from pathlib import Path

from nightjar.benchmarks.sections import Evaluated, PlotAxis, PlotPoint, Points, Section, initial
from nightjar.core.display import number


def sections(evaluated: Evaluated) -> list[Section]:
    """The correlation of each track beside the published one, and the points; none without points."""
    entries = [entry for entry in evaluated.facts.get("correlation", ()) if entry["of"]]
    if not entries:
        return []
    y, x = (evaluated.card.metric(name) for name in ("rougeL", "exact_match"))
    systems: dict[str, list[PlotPoint]] = {}
    rows = [
        [point[name] for name in ("system", "category", x.name, y.name)]
        for entry in entries
        for point in entry["of"]
    ]
    for system, category, across, upwards in rows:
        title = f"{system}, {category}: {number(across, 1)}, {number(upwards, 1)}"
        systems.setdefault(system, []).append(PlotPoint(across, upwards, title))
    plot = Points(
        f"correlation-{evaluated.card.name}",
        f"{y.title} against {x.title}",
        PlotAxis(x.title, *x.range),
        PlotAxis(y.title, *y.range),
        systems,
        ("system", "category", x.name, y.name),
        rows,
    )
    values = {
        "x": x.title,
        "y": y.title,
        "published": evaluated.facts.get("correlation_published"),
        "tracks": [(initial(evaluated.card.track_title(entry["track"])), entry) for entry in entries],
        "plot": plot,
    }
    template = Path(__file__).with_name("correlation.html.j2")
    return [Section("correlation", f"Does {y.title} agree with {x.title}?", template, values)]
