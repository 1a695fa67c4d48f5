"""`nightjar plan --profile`: the stages of a profile, and what must be supplied for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nightjar.core.display import counted_as
from nightjar.params import profile_values, validate
from pipelines.commands.console import say, say_table
from pipelines.fetch.needs import Need, fetches, needs
from pipelines.project.applied_profile import profile_notes
from pipelines.run.preflight import check_project


def plan_of_profile(profile: str, stages: Sequence[str]) -> dict[str, Any]:
    """Return what the command prints, for `stages` and what they need instead of those that the profile is for.

    Raises NightjarError for a profile or a stage that is unknown or broken.
    """
    root = Path()
    notes, values = profile_notes(root, profile), profile_values.values(root, profile)
    check_project(validate(values, f"profile {profile}"), root, f"profile {profile}")
    graph, graph_needs = needs(root, values, stages or notes.targets)
    return {
        "profile": profile,
        "takes": notes.takes,
        "stages": [
            {"stage": name, "state": "would run", "description": stage.description}
            for name, stage in graph.stages.items()
        ],
        "supply": [_supply(one) for one in graph_needs],
        "fetch": fetches(graph_needs),
    }


def _supply(need: Need) -> dict[str, Any]:
    facts = need.supply.model_dump() if need.supply else {}
    row = {"source": need.source, "state": need.state, **facts, "described": need.supply is not None}
    return {**row, "stages": need.stages, "fix": need.fix if need.absent else None}


def show(plan: Mapping[str, Any]) -> None:
    say(f"Profile {plan['profile']}, from nothing: {counted_as(len(plan['stages']), 'stage')} would run.")
    if plan["takes"]:
        say(f"It takes {plan['takes']}.")
    say_table([{"stage": row["stage"], "description": row["description"]} for row in plan["stages"]])
    say()
    rows = [
        {
            "to supply": row["source"],
            "licence": row.get("licence", "?"),
            "GB": f"{row['gigabytes']:g}" if row["described"] else "?",
            "state": row["state"],
        }
        for row in plan["supply"]
    ]
    say_table(rows, right=("GB",))
    for row in plan["supply"]:
        from_where = f"{row['what']}, {row['url']}" if row["described"] else "not in the table of sources"
        say(f"{row['source']}: {from_where}{'; ' + row['fix'] if row['fix'] else ''}")
    if plan["fetch"]:
        say(f"To fetch them: {plan['fetch']}")
    if not rows:
        say("Nothing to supply.")


def show_missing(needs: Iterable[Need], err: bool = False, before: str = "") -> None:
    """Print a line for each need that is absent, and the command that fetches all of them that can be fetched."""
    missing = [need for need in needs if need.absent]
    for need in missing:
        say(f"{before}{need}; {need.fix}", err=err)
    if (command := fetches(missing)) and len(missing) > 1:
        say(f"{before}to fetch them: {command}", err=err)
