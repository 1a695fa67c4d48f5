"""What ran: the facts of every stage in data/metrics, and the graph that their inputs and outputs make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nightjar.core import paths
from nightjar.params import Params
from stages._runtime import facts as stage_facts
from stages._runtime import graph

_READ = ("base_model", "ingest", "split", "index", "questions", "retrieve")


@dataclass(frozen=True)
class Node:
    """One stage that ran, with its facts."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    rows_in: int
    rows_out: int
    rows_rejected: int
    details: Mapping[str, Any]

    @property
    def stage(self) -> str:
        return self.name.partition("@")[0]

    @property
    def item(self) -> str:
        return self.name.partition("@")[2]


Edges = dict[str, set[str]]


def read(folder: Path) -> list[Node]:
    """The nodes of all facts files in `folder`, sorted by name.

    Raises NightjarError for a file that is not a stage's facts.
    """
    nodes = []
    for file in sorted(folder.glob("*.json")):
        facts = stage_facts.read(file)
        inputs, outputs = tuple(facts["inputs"]), tuple(facts["outputs"])
        rows_in, rows_out, rejected = (facts[name] for name in stage_facts.ROWS)
        nodes.append(Node(facts["stage"], inputs, outputs, rows_in, rows_out, rejected, facts))
    return sorted(nodes, key=lambda node: node.name)


def of(folder: Path) -> list[Node]:
    """The nodes of a run in `folder`, and of the project's stages that an evaluation of a model in a folder of its own
    reads from.
    """
    own = read(folder / paths.METRICS)
    if folder == Path():
        return own
    named = {node.name for node in own}
    of_project = [node for node in read(paths.METRICS) if node.stage in _READ and node.name not in named]
    return sorted(own + of_project, key=lambda node: node.name)


def present(nodes: Iterable[Node], params: Params) -> list[Node]:
    """The nodes whose items the parameters list; the files of others are left over from earlier parameters."""
    listed = graph.items(params)
    return [node for node in nodes if node.stage not in listed or node.item in listed[node.stage]]


def tools(params: Params) -> list[str]:
    """The tools whose calls are sampled."""
    return list(params.augment.tools)


def edges(nodes: Iterable[Node]) -> Edges:
    """For every node those it reads from: whose output is one of its inputs, or lies above or below it."""
    listed = list(nodes)
    return {
        node.name: {
            other.name
            for other in listed
            if other is not node and any(_touch(a, b) for a in node.inputs for b in other.outputs)
        }
        for node in listed
    }


def leading_to(wanted: Iterable[str], sources: Edges) -> set[str]:
    """`wanted` and all they were made from. Facts of stages that nothing reads are not among them."""
    found: set[str] = set()
    waiting = [name for name in wanted if name in sources]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(sources[name])
    return found


def reduced(sources: Edges) -> Edges:
    """The same graph without the edges that a longer way implies, so that it can be drawn and read."""
    above = {name: leading_to(direct, sources) for name, direct in sources.items()}  # with itself
    return {
        name: {one for one in direct if not any(one in above[other] and one != other for other in direct)}
        for name, direct in sources.items()
    }


def _touch(a: str, b: str) -> bool:
    """Whether one path is the other or lies in it."""
    first, second = f"{a}/", f"{b}/"
    return first.startswith(second) or second.startswith(first)
