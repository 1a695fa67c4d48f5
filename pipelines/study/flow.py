"""The body of the flow `study`: the points that are missing, then the results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nightjar.core.display import counted_as
from pipelines.run.clone import saved
from pipelines.run.results import End, Result
from pipelines.run.run import Run
from pipelines.study import results
from pipelines.study import study as studies

if TYPE_CHECKING:
    from pipelines.flows import Shown
    from pipelines.study.study import Study


def study(
    shown: Shown,
    execute: Callable[[Run], dict[str, Result]],
    settings: Sequence[str],
    benchmark: str | None,
    recipe: str | None,
    wait: bool,
) -> End:
    """Run a study: see flows.study. A command gives the plan, and what is called with each line and with the reasons of
    the points that failed, as `prepared`.

    Raises NightjarError for a setting that is not available.
    """
    if shown.prepared is not None:
        plan, tell, ended = shown.prepared
    else:
        plan, tell = studies.plan(shown.root, settings, benchmark, recipe), shown.log
        results.check_folder(shown.root, plan.name)

        def ended(failed: Mapping[str, str]) -> None:
            finish(shown.root, plan, plan.name, failed)

    shown.name(f"{counted_as(len(plan.points), 'point')} of {' '.join(settings)}")
    failed = studies.run(shown.root, plan, tell, execute, shown.stop, wait)
    if shown.stop.is_set():
        return End("cancelled", "stopped; the points that are done are kept")
    ended(failed)
    done = len(plan.points) - len(failed)
    return End("failed" if failed else "completed", f"{done} of {counted_as(len(plan.points), 'point')} done")


def finish(root: Path, plan: Study, name: str, failed: Mapping[str, str]) -> dict[str, Any]:
    """Collect and write the results of a study; returns them, with their folder."""
    commits = saved(root, plan.start.commit, [point.name for point in plan.points])
    result = results.collect(root, plan, commits, failed)
    return result | {"folder": results.write(root, name, result).relative_to(root)}
