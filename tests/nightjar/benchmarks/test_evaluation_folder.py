"""Scores of instances as the ledger has them, of this version and of an earlier one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from nightjar.benchmarks.evaluation_folder import ledger_rows
from nightjar.core import contracts
from nightjar.core.contracts import FLOAT, INSTANCE_SCORES, TEXT, schema
from nightjar.core.errors import NightjarError
from nightjar.core.tables import ArtifactWriter

KEY = {"benchmark": "b", "system": "s", "track": "default", "task_id": "t", "id": "i"}
SECOND_VERSION = replace(
    INSTANCE_SCORES,
    version=2,
    schema=schema(("benchmark system track category task_id id metric", TEXT), ("value", FLOAT)),
    key=("benchmark", "system", "task_id", "id", "metric"),
    ranges=None,
)


@pytest.mark.parametrize(
    ("table", "part", "unscaled"),
    [(INSTANCE_SCORES, "part", "unscaled"), (SECOND_VERSION, "metric", "value")],
)
def test_rows_of_the_ledger_are_read_of_either_version(
    workdir: Path, table: contracts.Table, part: str, unscaled: str
) -> None:
    with ArtifactWriter(Path("scored")) as writer:
        writer.write(table, [{**KEY, "category": "c", part: name, unscaled: 0.25} for name in ("x", "y")])
    expected = [{**KEY, "metric": name, "value": 0.25} for name in ("x", "y")]
    assert ledger_rows(Path("scored")) == expected
    assert {*expected[0], "content"} == set(contracts.LEDGER_INSTANCES.schema.names)


def test_a_table_of_other_columns_is_refused_by_name(workdir: Path) -> None:
    other = replace(SECOND_VERSION, schema=schema(("benchmark system", TEXT)), key=("benchmark",))
    with ArtifactWriter(Path("scored")) as writer:
        writer.write(other, [{"benchmark": "b", "system": "s"}])
    with pytest.raises(NightjarError, match="no column track"):
        ledger_rows(Path("scored"))
