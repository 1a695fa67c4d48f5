"""`nightjar plan --profile`: the stages of a profile, what must be supplied for them, and their cost by arithmetic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nightjar.core.numbers import counted_as
from pipelines.commands.console import say, say_table
from pipelines.execution import arithmetic, setup
from pipelines.graph.graph import SHOWN

# Of the table: titles, and the keys of a cost.
COLUMNS = {
    "operations": "operations",
    "GPU hours": "gpu_hours",
    "GPUs": "gpus",
    "GB a GPU": "gpu_gigabytes",
    "GB on disk": "disk_gigabytes",
}


def found(profile: str, stages: Sequence[str], device: str) -> dict[str, Any]:
    """What the command prints. Raises NightjarError for a profile or a stage that is unknown or broken."""
    it = setup.read(Path(), profile, stages)
    works = arithmetic.works(it)
    rows = [
        {
            "stage": name,
            "state": "would run",
            "description": stage.description,
            "cost": _cost(works[name], device) if name in works else None,
        }
        for name, stage in it.graph.stages.items()
    ]
    supply = [_supply(it, source, readers) for source, readers in it.needed().items()]
    return {"profile": profile, "device": device, "stages": rows, "supply": supply}


def _cost(work: arithmetic.Work | None, device: str) -> dict[str, Any]:
    if work is None:
        return {"unknown": True}
    return {
        "tokens": round(work.tokens),
        "parameters": round(work.parameters),
        "operations": work.operations,
        "gpu_hours": work.hours(device),
        "gpus": work.gpus if work.operations else 0,
        "gpu_gigabytes": work.memory / arithmetic.GIGABYTE,
        "disk_gigabytes": work.disk / arithmetic.GIGABYTE,
    }


def _supply(it: setup.Setup, source: str, readers: Sequence[str]) -> dict[str, Any]:
    known = it.described(source)
    state = "present" if it.present(source) else "to download" if source.startswith("hub:") else "missing"
    facts = known.model_dump(include={"what", "url", "licence", "gigabytes"}) if known else {}
    return {
        "source": source,
        "state": state,
        **facts,
        "described": known is not None,
        "stages": readers,
    }


def show(plan: Mapping[str, Any]) -> None:
    """Print the plan as tables."""
    say(f"Profile {plan['profile']}, from nothing: {counted_as(len(plan['stages']), 'stage')} would run.")
    costs = [{"stage": row["stage"], **_cells(row["cost"] or {})} for row in plan["stages"]]
    say_table(costs, right=COLUMNS)
    known = [row["cost"] for row in plan["stages"] if row["cost"] and "unknown" not in row["cost"]]
    hours, disk = (sum(cost[key] for cost in known) for key in ("gpu_hours", "disk_gigabytes"))
    say(
        f"By arithmetic (docs/scaling.md): {number(hours)} hours of one {plan['device']} at "
        f"{arithmetic.REACHED:.0%} of its bf16 rate, {number(disk)} GB on disk."
    )
    unknown = [row["stage"] for row in plan["stages"] if row["cost"] and "unknown" in row["cost"]]
    if unknown:
        more = f" and {len(unknown) - SHOWN} more" if len(unknown) > SHOWN else ""
        say(f"Unknown sizes: {', '.join(unknown[:SHOWN])}{more}: known when their data are ingested.")
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
    say_table(rows, right=("GB",), colours={"state": {"missing": "bold red", "present": "green"}})
    for row in plan["supply"]:
        from_where = f"{row['what']}, {row['url']}" if row["described"] else "not described in the profile"
        say(f"{row['source']}: {from_where}")
    if not rows:
        say("Nothing to supply.")


def _cells(cost: Mapping[str, Any]) -> dict[str, str]:
    if "unknown" in cost:
        return {title: "?" if title == "operations" else "" for title in COLUMNS}
    return {title: number(cost[key]) if cost.get(key) else "" for title, key in COLUMNS.items()}


def number(value: float) -> str:
    """A number in two or three digits, such as `0.15`, `23.5` and `1.05e+19`."""
    if value >= 1e5:
        return f"{value:.2e}"
    return f"{value:.2g}" if value < 1 else f"{value:.3g}" if value < 1000 else f"{value:,.0f}"
