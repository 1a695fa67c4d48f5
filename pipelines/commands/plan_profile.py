"""`nightjar plan --profile`: the stages of a profile, and what must be supplied for them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from nightjar.core.config import PARAMS_FILE, value
from nightjar.core.display import counted_as
from nightjar.params import profiles, validate
from nightjar.params.profiles import Supply
from pipelines.commands.console import say, say_table
from pipelines.graph import repository as graphs
from pipelines.graph.graph import Graph
from pipelines.run.preflight import check_project

# Groups of parameters that name weights, which no stage has as a dependency.
WEIGHTS = ("models", "tools")


@dataclass(frozen=True)
class Needs:
    """What a profile reads: its `stages` by source. `made` is what the stages of the whole graph write, `above` the
    folders that it is in, `supply` what the profile says of sources.
    """

    stages: Mapping[str, Sequence[str]]
    made: frozenset[str]
    above: frozenset[str]
    supply: Mapping[str, Supply]

    def sources(self) -> dict[str, list[str]]:
        """What must be supplied, with the stages that read it: supplies of the profile, and sources that no stage
        makes, that are not here and that no supply describes. Packages are installed instead.
        """
        found: dict[str, list[str]] = {}
        for source, stages in self.stages.items():
            folders = [source, *map(str, Path(source).parents)]
            described = next((one for one in folders if one in self.supply), None)
            if described or self._missing(source):
                readers = found.setdefault(described or source, [])
                readers += [name for name in stages if name not in readers]
        return found

    def _missing(self, source: str) -> bool:
        path = Path(source)
        made = str(path) in self.made | self.above or any(str(it) in self.made for it in path.parents)
        return source.startswith("hub:") or (len(path.parts) > 1 and not made and not _present(source))


def found(profile: str, stages: Sequence[str]) -> dict[str, Any]:
    """What the command prints, for `stages` and what they need instead of those that the profile is for.

    Raises NightjarError for a profile or a stage that is unknown or broken.
    """
    root = Path()
    about, values = profiles.about(root, profile), profiles.values(root, profile)
    check_project(validate(values, f"profile {profile}"), root, f"profile {profile}")
    whole = graphs.outline_with(root, PARAMS_FILE, json.dumps(values))
    graph = whole.only(stages or about.targets)
    made = frozenset(out for stage in whole.stages.values() for out in stage.outs)
    above = frozenset(str(it) for out in made for it in Path(out).parents)
    needs = Needs(_readers(graph, values), made, above, about.supply)
    return {
        "profile": profile,
        "stages": [
            {"stage": name, "state": "would run", "description": stage.description}
            for name, stage in graph.stages.items()
        ],
        "supply": [
            _supply(source, about.supply.get(source), readers) for source, readers in needs.sources().items()
        ],
    }


def _readers(graph: Graph, values: Mapping[str, Any]) -> dict[str, list[str]]:
    """The stages that read each source: what they depend on, and what their parameters name as weights."""
    readers: dict[str, list[str]] = {}
    for name, stage in graph.stages.items():
        groups = (key for keys in stage.params.values() for key in keys if key.split(".")[0] in WEIGHTS)
        named = (text for key in groups for text in _texts(value(values, key)))
        for source in dict.fromkeys([*stage.deps, *named]):
            readers.setdefault(source, []).append(name)
    return readers


def _texts(setting: Any) -> Iterator[str]:
    if isinstance(setting, str):
        yield setting
    elif isinstance(setting, Mapping | list):
        for one in setting.values() if isinstance(setting, Mapping) else setting:
            yield from _texts(one)


def _present(source: str) -> bool:
    """Whether a path is there, a package is installed, or a model of the hub was fetched before."""
    kind, sign, name = source.partition(":")
    if not sign:
        return Path(source).exists()
    if kind == "package":
        return any(distributions(name=name))
    from huggingface_hub import try_to_load_from_cache

    name, _, revision = name.partition("@")
    return isinstance(try_to_load_from_cache(name, "config.json", revision=revision or None), str)


def _supply(source: str, known: Supply | None, readers: Sequence[str]) -> dict[str, Any]:
    state = "present" if _present(source) else "to download" if source.startswith("hub:") else "missing"
    facts = known.model_dump() if known else {}
    return {"source": source, "state": state, **facts, "described": known is not None, "stages": readers}


def show(plan: Mapping[str, Any]) -> None:
    """Print the plan as tables."""
    say(f"Profile {plan['profile']}, from nothing: {counted_as(len(plan['stages']), 'stage')} would run.")
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
    say_table(rows, right=("GB",), colours={"state": {"missing": "bold red", "present": "green"}})
    for row in plan["supply"]:
        from_where = f"{row['what']}, {row['url']}" if row["described"] else "not described in the profile"
        say(f"{row['source']}: {from_where}")
    if not rows:
        say("Nothing to supply.")
