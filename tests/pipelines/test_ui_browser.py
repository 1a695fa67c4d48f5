"""The Prefect UI in a browser: the page of a real run, its artifacts, and the report that one of them links to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipelines.serving import server as servers
from tests.pipelines.conftest import Api, Repo, lend_database

pytestmark = pytest.mark.slow

MADE = '''"""Scores two systems, as made for a test."""
from pathlib import Path
from nightjar.core import contracts, tables

names = {"benchmark": "made", "track": "default", "level": "overall", "name": "overall", "metric": "rougeL", "n": 40}
rows = [{**names, "system": s, "value": v, "low": v - 5.0, "high": v + 5.0} for s, v in (("old", 40.0), ("new", 61.5))]
with tables.ArtifactWriter(Path("scored")) as writer:
    writer.write(contracts.SCORES, rows)
Path("data/report").mkdir(parents=True, exist_ok=True)
Path("data/report/index.html").write_text("<title>The made report</title><p>made of two systems</p>")
'''
DVC = """
stages:
  first:
    cmd: >-
      echo 1 > first.out; echo '{"rows_in": 4711, "rows_out": 4708, "rows_rejected": 3}' > first.json
    outs: [first.out]
    metrics: [first.json]
  evaluate:
    foreach: [made]
    do:
      cmd: python ${item}.py
      desc: Scores what was made
      deps: [first.out, made.py]
      outs: [scored, data/report]
"""


@dataclass(frozen=True)
class Shown:
    """A server of the test's own, the id of the one run in its database, and those of the run's artifacts."""

    server: servers.Server
    run: str
    artifacts: dict[str, str]


@pytest.fixture()
def shown(repo: Repo, tables: Path) -> Iterator[Shown]:
    """A rebuild on its own server: the one of all tests has runs of other tests with the same tags."""
    (repo.root / "made.py").write_text(MADE)
    repo.write(dvc=DVC)
    lend_database(tables, repo.root)
    server, process = servers.start(repo.root, servers.free_port(), "ui")
    try:
        servers.wait(repo.root, server, process)
        done = repo.nightjar("rebuild")
        assert done.returncode == 0, done.stdout + done.stderr
        api = Api(server, repo.root)
        (run,) = api.ask("flow_runs/filter")
        made = api.ask("artifacts/filter", artifacts={"flow_run_id": {"any_": [run["id"]]}})
        yield Shown(server, run["id"], {artifact["key"]: artifact["id"] for artifact in made})
    finally:
        servers.stop(repo.root, server)
        process.wait()


def test_a_run_its_rows_its_scores_and_its_report_are_seen(shown: Shown, browser: Any) -> None:
    url, ids = shown.server.url, shown.artifacts
    assert set(ids) == {"rebuild"}
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.set_default_timeout(30_000)
    page.goto(f"{url}/runs/flow-run/{shown.run}")
    page.get_by_role("tab", name="Task Runs").or_(page.get_by_text("Task Runs", exact=True)).first.click()
    for name in ("first", "evaluate@made"):
        page.get_by_text(name, exact=True).first.wait_for()

    page.goto(f"{url}/artifacts/artifact/{ids['rebuild']}")
    for text in ("61.5 [56.5, 66.5] n 40", "4711", "4708"):
        page.get_by_text(text).first.wait_for()

    with page.context.expect_page() as opened:
        page.get_by_role("link", name="The report").first.click(modifiers=["Control"])
    opened.value.get_by_text("made of two systems").wait_for()
    assert opened.value.title() == "The made report"
