"""The settings of params.yaml that a study varies, those of the papers by a name, and the system that is scored."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

from nightjar.core import paths
from nightjar.core.config import parse
from nightjar.core.errors import NightjarError, did_you_mean
from nightjar.core.json_text import quote_short
from nightjar.models.directory.weights import weights_digest
from nightjar.params import Params
from nightjar.params.predict import System
from nightjar.params.profile_values import near_key
from nightjar.prompts.encodings import NAMED, named
from pipelines.graph.graph import Graph
from pipelines.project.names import StageName
from pipelines.run.profiles import EVERY_KEY

# Weights that no stage of the graph trained.
# Studies of the papers, as settings. {benchmark} and {reader} are those of the system; a reader has its recipe's name.
# Published values are those of Wang et al. 2022 (tasks and instances: figures on scale; encodings: table 4), Schick et
# al. 2023 (calls: table 9), Guo et al. 2023 (of readers: tables 3 to 6) and Shaham et al. 2023 (input_length: table 4).
KINDS: Mapping[str, tuple[str, ...]] = {
    "tasks": ("split.train_tasks=8,32,128,256,512,757",),
    "instances": ("split.train_instances_per_task=8,32,64,128,256,512",),
    "encodings": (
        "encoding=task_name,def,pos1,pos2,pos4,def_pos2,def_pos2_neg2,def_pos2_neg2_expl,tk_instruct",
    ),
    "calls": ("predict.{benchmark}.call_top_k=0,1,3,10",),
    "candidates": ("rerank.candidates=16,50,100,150",),
    "passages": ("readers.{reader}.passages=4,8,16,24",),
    "granularity": ("index.granularity=words,sentences",),
    "retriever": ("retrieve.benchmarks.{benchmark}.retriever=dense,bm25,hybrid",),
    "input_length": (
        "encoding.max_source_length=512,1024,2048,4096,8192",
        "benchmarks.{benchmark}.total_tokens=null",  # it takes precedence
    ),
    "models": ("models.language_model.source=",),
    "reranker": ("rerank.benchmarks.{benchmark}.model=",),
}


@dataclass(frozen=True, eq=False)
class StudyAxis:
    """One setting of a study: its name as given, its key, and its values in order."""

    name: str
    key: str
    values: tuple[Any, ...]

    @property
    def numeric(self) -> bool:
        return all(isinstance(it, int | float) and not isinstance(it, bool) for it in self.values)

    def key_of(self, system: System) -> str:
        """The key for a system."""
        reader = Path(system.weights).name
        return self.key.replace("{benchmark}", system.benchmark).replace("{reader}", reader)


def text(value: Any) -> str:
    """A value as it is shown, and as YAML reads it again."""
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


def label(values: Mapping[StudyAxis, Any]) -> str:
    """The values of a point as they are shown: of the axes that have several, or of all."""
    varied = [axis for axis in values if len(axis.values) > 1] or list(values)
    if len(varied) == 1:
        return text(values[varied[0]])
    return ", ".join(f"{axis.name}={text(values[axis])}" for axis in varied)


def axes(words: Sequence[str]) -> list[StudyAxis]:
    """The settings of `KEY=V1,V2`, `NAME` or `NAME=V1,V2`, values in YAML; a value that is repeated counts once.

    Raises NightjarError for values that are no YAML, and for none at all.
    """
    varied: list[StudyAxis] = []
    queue = list(words)
    for word in queue:
        name, sign, listed = word.partition("=")
        first, *more = KINDS.get(name := name.strip(), (name,))
        key, _, published = first.partition("=")
        queue += more  # the loop reads them too
        where = quote_short(name, quoted=False)
        try:
            values = parse(f"[{listed if sign else published}]", where)
        except NightjarError as error:
            what = f"{quote_short(listed)} is no list of values: {error.what}"
            raise NightjarError(what, where, "give values in YAML with commas, such as 4,8,16") from None
        if not values:
            usual = ", ".join(it for it, kind in KINDS.items() if not kind[0].endswith("="))
            raise NightjarError("no values", where, f"give KEY=A,B; published values are known of {usual}")
        varied.append(StudyAxis(name, key, tuple({text(value): value for value in values}.values())))
    return varied


def chosen(
    graph: Graph, params: Params, varied: Sequence[StudyAxis], benchmark: str | None, recipe: str | None
) -> System:
    """The system whose predictions are scored: the first of those that depend on all settings, trained ones before
    others. Of readers those with reranked passages come first, then those with retrieved ones.

    Raises NightjarError if no system, or none of `benchmark` and `recipe`, depends on the settings, and for a key that
    is given twice.
    """

    def depends(system: System) -> bool:
        target = str(StageName.predict(system.benchmark, system.system))
        if system.benchmark not in params.benchmarks or target not in graph.stages:
            return False
        stages = graph.only([target]).stages.values()
        read = [f"{name}." for stage in stages for names in stage.params.values() for name in names]
        keys = [f"{axis.key_of(system)}." for axis in varied]
        return all(any(key.startswith(it) or it.startswith(key) for it in read) for key in keys)

    def rank(system: System) -> list[bool]:
        readers = any("{reader}" in axis.key for axis in varied)
        passages = [it / system.benchmark != system.evidence for it in (paths.RERANKED, paths.RETRIEVED)]
        return [Path(system.weights).parent == paths.BASE_MODELS, *(readers and it for it in passages)]

    suited = [it for it in params.predict.systems.values() if depends(it)]
    systems = [it for it in suited if benchmark in (None, it.benchmark) and recipe in (None, it.system)]
    if not systems:
        what = f"no such system depends on {' and '.join(quote_short(it.name) for it in varied)}"
        suited_names = ", ".join(f"{it.benchmark}-{it.system}" for it in suited)
        every, fix = params.model_dump(mode="json"), f"these depend on it: {suited_names}"
        for axis in varied if not suited_names else ():
            fix = did_you_mean(axis.name, KINDS, near_key(axis.name, every, EVERY_KEY))
        raise NightjarError(what, "--benchmark, --recipe" if suited_names else "KEY=V1,V2", fix)
    system = min(systems, key=rank)
    for key, other_key in permutations([f"{axis.key_of(system)}." for axis in varied], 2):
        if key.startswith(other_key):
            raise NightjarError(
                "it is given twice", quote_short(key[:-1], quoted=False), "give all values at once: KEY=A,B"
            )
    return system


def settings(
    root: Path,
    graph: Graph,
    tracked_paths: Collection[str],
    params: Params,
    values: Mapping[StudyAxis, Any],
    system: System,
) -> dict[str, Any]:
    """Return the settings of a point, from its values by their axes. A path of the project that neither Git
    (`tracked_paths`) nor a stage provides becomes absolute, for the clone lacks it; weights in a directory are pinned,
    for DVC does not hash them.

    Raises NightjarError for an unknown encoding and a directory without weights.
    """
    assigned: dict[str, Any] = {}
    for axis, value in values.items():
        key = axis.key_of(system)
        if key == "encoding" and isinstance(value, str):
            flags = named(params.encoding, value)
            assigned |= {f"encoding.{flag}": getattr(flags, flag) for flag in NAMED[value]}
        elif not isinstance(value, str):
            assigned[key] = value
        elif key.startswith("models.") and key.endswith(".source") and ":" not in value:
            assigned[key] = str((root / value).resolve())
            assigned[f"{key.removesuffix('source')}sha256"] = weights_digest(root / value)
        else:
            external = (
                "/" in value and os.path.lexists(root / value) and not _provided(graph, tracked_paths, value)
            )
            assigned[key] = str((root / value).resolve()) if external else value
    return assigned


def _provided(graph: Graph, tracked_paths: Collection[str], value: str) -> bool:
    """Return whether Git has a path, or a stage makes it, a folder around it, or something in it."""
    path, outs = Path(value), [Path(out) for stage in graph.stages.values() for out in stage.outs]
    return path.as_posix() in tracked_paths or any(
        path.is_relative_to(out) or out.is_relative_to(path) for out in outs
    )
