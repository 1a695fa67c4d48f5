"""Runs of the stages: the facts of every stage in data/metrics, and the graph that their inputs and outputs make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx

from nightjar.core import paths
from nightjar.params import Params
from stages._runtime import stage_facts
from stages._runtime import stage_items as stage_graph

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
    run_nodes = read(folder / paths.METRICS)
    if folder == Path():
        return run_nodes
    named = {node.name for node in run_nodes}
    of_project = [node for node in read(paths.METRICS) if node.stage in _READ and node.name not in named]
    return sorted(run_nodes + of_project, key=lambda node: node.name)


def present(nodes: Iterable[Node], params: Params) -> list[Node]:
    """The nodes whose items the parameters list; the files of others are left over from earlier parameters."""
    listed = stage_graph.items(params)
    return [node for node in nodes if node.stage not in listed or node.item in listed[node.stage]]


def graph(nodes: Iterable[Node]) -> networkx.DiGraph:
    """The names of the nodes, with an edge to each from those whose output is its input, or lies above or below it."""
    node_graph, node_list = networkx.DiGraph(), list(nodes)
    node_graph.add_nodes_from(node.name for node in node_list)
    node_graph.add_edges_from(
        (upstream.name, node.name)
        for node in node_list
        for upstream in node_list
        if upstream is not node and any(_touch(a, b) for a in node.inputs for b in upstream.outputs)
    )
    return node_graph


def levels(graph: networkx.DiGraph) -> dict[str, int]:
    """Count how many nodes at most are one after the other above each node; there is no circle."""
    generations = enumerate(networkx.topological_generations(graph))
    return {node: level for level, level_nodes in generations for node in level_nodes}


def _touch(a: str, b: str) -> bool:
    """Tell whether one path is the other or lies in it."""
    first, second = f"{a}/", f"{b}/"
    return first.startswith(second) or second.startswith(first)
