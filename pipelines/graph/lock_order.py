"""The order of the entries in dvc.lock: a rebuild leaves the order that `dvc repro` would have left.

DVC keeps the place of an entry that is there and appends a new one when its stage ends, so stages that run side by
side leave the order in which they happened to end. `remember` keeps the order that a rebuild found, `restore` puts
what was added behind it in the order in which DVC plans the stages. What was remembered survives a rebuild that is
interrupted, so that the one which finishes it leaves what a single one would have left.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nightjar.core.errors import NightjarError
from nightjar.core.files import write_text
from nightjar.core.json_text import recorded
from pipelines.graph.graph import Graph
from pipelines.project import places

if TYPE_CHECKING:
    from dvc.repo import Repo

FOUND = places.LOCK_ORDER

Orders = dict[str, list[str]]


def remember(graph: Graph) -> None:
    """Keep the order of the entries as it is now, or as the interrupted rebuild found it that is to be finished.

    Raises NightjarError if dvc.lock cannot be read.
    """
    now = {file: _order(graph.root / file) for file in sorted(_files(graph))}
    before = _found(graph.root)
    for file, order in now.items():
        if file in before and _added(order, before[file]):
            now[file] = before[file]
    write_text(graph.root / FOUND, json.dumps(now))


def pending(root: Path) -> bool:
    """Whether a rebuild was interrupted, and the order has not been restored since."""
    return (root / FOUND).is_file()


def restore(root: Path, targets: Iterable[str] = ()) -> list[str]:
    """Put the entries that were added since `remember` in the order of `dvc repro TARGETS`, and forget the old order.

    Without targets, the order is that of `dvc repro --all-pipelines`. Returns the files that were rewritten, each at
    once and under DVC's lock. Raises NightjarError if DVC cannot read its files.
    """
    found = _found(root)
    added = {file: kept for file, kept in found.items() if _added(_order(root / file), kept) > 1}
    changed = []
    if added:
        from pipelines.graph.dvc_adapter import opened

        with opened(root) as repo:
            plan = _plan(repo, list(targets))
            changed = [
                file for file, kept in added.items() if _rewrite(root / file, kept, plan.get(file, []))
            ]
    (root / FOUND).unlink(missing_ok=True)
    return changed


def _files(graph: Graph) -> set[str]:
    """The lock files of a graph's stages; a stage of dvc.yaml in the root is named without it."""
    named = (name.rpartition(":")[0] or "dvc.yaml" for name in graph.stages)
    return {Path(file).with_suffix(".lock").as_posix() for file in named}


def _found(root: Path) -> Orders:
    values = recorded(root / FOUND)
    return {file: [str(name) for name in order] for file, order in values.items() if isinstance(order, list)}


def _order(path: Path) -> list[str]:
    from dvc.utils.serialize import ParseError, load_yaml

    try:
        values: Any = load_yaml(path)
    except FileNotFoundError:
        return []
    except ParseError as error:
        raise NightjarError(" ".join(str(error).split()), path, "take it from Git again") from None
    stages = values.get("stages") if isinstance(values, Mapping) else None
    return [str(name) for name in stages or ()]


def _added(order: list[str], kept: list[str]) -> int:
    """How many entries came behind those that were there; none if this is another dvc.lock."""
    return len(order) - len(kept) if order[: len(kept)] == kept else 0


def _plan(repo: Repo, targets: list[str]) -> Orders:
    """The names of the stages of every lock file, in the order in which DVC would run them."""
    from dvc.repo.reproduce import collect_stages, get_active_graph, plan_repro

    plan: Orders = {}
    for stage in plan_repro(get_active_graph(repo.index.graph), collect_stages(repo, targets)):
        if name := getattr(stage, "name", None):
            file = Path(stage.path).relative_to(repo.root_dir).with_suffix(".lock").as_posix()
            plan.setdefault(file, []).append(str(name))
    return plan


def _rewrite(path: Path, kept: list[str], plan: list[str]) -> bool:
    from dvc.utils.serialize import dumps_yaml, parse_yaml_for_update

    data = parse_yaml_for_update(path.read_text(encoding="utf-8"), path)
    stages = data.get("stages") or {}
    place = {name: number for number, name in enumerate(plan)}
    order = list(stages)
    wanted = order[: len(kept)] + sorted(order[len(kept) :], key=lambda name: place.get(name, len(plan)))
    if wanted == order:
        return False
    entries = {name: stages.pop(name) for name in order}
    for name in wanted:
        stages[name] = entries[name]
    write_text(path, dumps_yaml(data))
    return True
