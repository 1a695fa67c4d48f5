"""The drivers' groups of params.yaml: each can be left out, and every mistake says what to write instead."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from nightjar.core.errors import NightjarError
from nightjar.params.drivers import Checks, DriverGroup, Nightly, Rebuild, ServerSettings, Shards

GROUPS: dict[str, type[DriverGroup]] = {
    group.group: group for group in (Checks, Nightly, Rebuild, ServerSettings, Shards)
}


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("text", [None, "", "# nothing yet\n", "other: 1\n", "{group}:\n", "{group}: {{}}\n"])
def test_a_group_that_another_repository_leaves_out(tmp_path: Path, group: str, text: str | None) -> None:
    file = tmp_path / "params.yaml"
    default = GROUPS[group].load(file)
    if text is not None:
        file.write_text(text.format(group=group))
    assert GROUPS[group].load(file) == default


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("value", ["[]", "0", "''", "false"])
def test_a_group_that_is_no_mapping(tmp_path: Path, group: str, value: str) -> None:
    file = tmp_path / "params.yaml"
    file.write_text(f"{group}: {value}\n")
    told = rf"{group} = .* is not allowed; it should be a mapping of keys to values$"
    with pytest.raises(NightjarError, match=told):
        GROUPS[group].load(file)


@pytest.mark.parametrize(
    ("text", "key", "fix"),
    [
        ("rebuild: {jobs: 0}", "jobs = 0", "greater than or equal to 1"),
        ("rebuild: {jobs: x, gpu: 1}", "jobs = 'x'", "(and 1 more); it should be a valid integer"),
        ("rebuild: {memory_gb: .inf}", "memory_gb = inf", "a finite number"),
        ("rebuild: {memory_classes: {a: .inf}}", "memory_classes.a = inf", "a finite number"),
        ("rebuild: {memory_classes: 3}", "memory_classes = 3", "a mapping of keys to values"),
        ("nightly: {timezone: Berlin}", "timezone = 'Berlin'", "write UTC, or one such as Europe/Berlin"),
        ("nightly: {limit: 0}", "limit = 0", "greater than or equal to 1"),
        (
            "nightly: {cron: daily}",
            "cron = 'daily'",
            "write minute, hour, day of month, month and day of week",
        ),
        ("nightly: {cron: 0 24 * * *}", "cron = '0 24 * * *'", "not a cron line (Bad hour)"),
        ("nightly: {cron: 0 0 30 2 *}", "cron = '0 0 30 2 *'", "or one that never comes"),
        ("server: {database: x}", "database = 'x'", "write postgresql+asyncpg://USER@HOST:PORT/NAME"),
        (
            "server: {database: 'postgresql+asyncpg://me:hunter2@h:5432/d'}",
            "database = 'postgresql+asyncpg://me:…@h:5432/d'",
            "leave the password out",
        ),
    ],
)
def test_what_to_write_instead(tmp_path: Path, text: str, key: str, fix: str) -> None:
    file = tmp_path / "params.yaml"
    file.write_text(text)
    group = text.partition(":")[0]
    with pytest.raises(NightjarError) as caught:
        GROUPS[group].load(file)
    line = str(caught.value)
    assert line.startswith(f"{file}: {group}.{key} is not allowed") and fix in line and "hunter2" not in line


def test_cron_lines_are_lines_that_the_server_takes() -> None:
    """Against the parser that Prefect reads them with, over every form of a field in every place."""
    parser = pytest.importorskip("prefect._vendor.croniter").croniter
    parts = [
        "*",
        "0",
        "5",
        "12",
        "31",
        "60",
        "7",
        "mon",
        "feb",
        "x",
        "1-5",
        "*/2",
        "*/0",
        "1-9/3",
        "1,3",
        "1,",
        "-1",
    ]
    for place, part in itertools.product(range(5), parts):
        fields = ["0", "2", "*", "*", "*"]
        fields[place] = part
        line = " ".join(fields)
        try:
            taken = bool(Nightly(cron=line))
        except ValueError:
            taken = False
        assert taken == parser.is_valid(line), line
    assert Nightly(cron="@daily") and Nightly(cron="30 1 29 FEB mon-fri,sun")
