"""The groups of params.yaml that drivers read: how and when stages are run, never what they compute.

Each group can be read alone, and has a default for every key: a DVC repository with other parameters, or without a
params.yaml, may leave them out. No stage depends on these keys in dvc.yaml, so a change makes nothing stale.
"""

from __future__ import annotations

import zoneinfo
from datetime import datetime
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from cronsim import CronSim, CronSimError
from pydantic import AfterValidator, Field

from nightjar.core import paths
from nightjar.core.config import (
    LARGEST,
    PARAMS_FILE,
    Attempts,
    Count,
    Gigabytes,
    StrictModel,
    checked,
    read_optional,
)


class DriverGroup(StrictModel):
    """A group of params.yaml that can be read alone, in a DVC repository with other parameters too."""

    group: ClassVar[str]

    @classmethod
    def load(cls, path: Path = PARAMS_FILE) -> Self:
        """Read the group of `path`; its defaults where there is no such group (or null) or no such file.

        Raises NightjarError for a bad key or value.
        """
        value = read_optional(path).get(cls.group)
        return checked(cls, {} if value is None else value, path, cls.group)


class Checks(DriverGroup):
    """`shared_inputs`: training and dev instances that may have an input that is in the test set as well."""

    group = "checks"
    shared_inputs: Count = 0


class Rebuild(DriverGroup):
    """The settings of `nightjar rebuild`, which runs stages side by side.

    `jobs` stages run at once, within `memory_gb` (null: 80% of the machine's). `memory_classes` gives the GB that a
    stage needs whose `meta` in dvc.yaml names the class. `gpu`: whether stages marked with it take turns on the GPU,
    with `auto` where the machine has one. `backoff_seconds` are waited before a second attempt, and twice as many
    before each further one. Another DVC repository may leave the group out, or keys of it.
    """

    group = "rebuild"
    jobs: Annotated[int, Field(ge=1, le=64)] = 2
    memory_gb: Gigabytes | None = None
    memory_classes: dict[str, Gigabytes] = Field(default={"small": 1.0, "large": 3.0})
    gpu: Literal["auto", "always", "never"] = "auto"
    backoff_seconds: Annotated[float, Field(ge=0, le=86_400)] = 5.0


class Shards(DriverGroup):
    """The number of shares that the work of a stage with `meta: {shards: true}` is divided into, and where they run.

    `address` is that of a Ray cluster: null means processes of this machine without Ray, `local` a Ray of its own on
    this machine, which assigns its GPUs. Ray reserves `cpus` and `gpus` for each share. A share that is killed, or lost
    with its worker, is started at most `attempts` times. Another DVC repository may leave the group out, or keys of it.
    """

    group = "shards"
    count: Annotated[int, Field(ge=1, le=4096)] = 1
    address: Annotated[str, Field(min_length=1)] | None = None
    cpus: Annotated[float, Field(gt=0, le=4096)] = 1.0
    gpus: Annotated[float, Field(ge=0, le=4096)] = 0.0
    attempts: Attempts = 3


def _timezone(name: str) -> str:
    # Every process reads the parameters, and to list the time zones takes 20 ms.
    if name != "UTC" and name not in zoneinfo.available_timezones():
        raise ValueError("no such time zone; write UTC, or one such as Europe/Berlin")
    return name


# Names that Prefect takes in the place of five fields.
_NAMED_CRONS = frozenset(["@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually"])


def _cron(line: str) -> str:
    if line.strip().lower() in _NAMED_CRONS:
        return line
    try:
        if len(line.split()) != 5:
            raise CronSimError("not five fields")
        next(CronSim(line, datetime(2000, 1, 1)))
    except (CronSimError, StopIteration) as error:
        what = "not a cron line" + (f" ({error})" if str(error) else "")
        fix = 'write minute, hour, day of month, month and day of week, such as "0 2 * * *"'
        raise ValueError(f"{what}, or one that never comes; {fix}") from None
    return line


def _database(url: str) -> str:
    scheme, _, address = url.partition("://")
    if scheme != "postgresql+asyncpg" or not address:
        raise ValueError("write postgresql+asyncpg://USER@HOST:PORT/NAME")
    if ":" in address.rpartition("@")[0] or "password=" in address:
        raise ValueError("leave the password out: it is read from PGPASSFILE, PGPASSWORD or ~/.pgpass")
    return url


class Nightly(DriverGroup):
    """The nightly evaluation. `stages` names those whose runs it forces, before the @; paths are from the project's
    root. At most `limit` questions of each task are asked; null: all questions.
    `alpha` is the chance, at most, that an unchanged set of models gets any other verdict. `cron` and `timezone` say
    when `nightjar serve` starts one. Another DVC repository may leave the group out, or keys of it.
    """

    group = "nightly"
    cron: Annotated[str, AfterValidator(_cron)] = "0 2 * * *"
    timezone: Annotated[str, AfterValidator(_timezone)] = "UTC"
    stages: list[Annotated[str, Field(min_length=1)]] = Field(default=["predict", "evaluate"])
    limit: Annotated[int, Field(ge=1, le=LARGEST)] | None = None
    ledger: Annotated[str, Field(min_length=1)] = paths.LEDGER.as_posix()
    notifications: Annotated[str, Field(min_length=1)] = paths.NOTIFICATIONS.as_posix()
    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.01


class ServerSettings(DriverGroup):
    """`database`: where the Prefect server keeps its data, `postgresql+asyncpg://USER@HOST:PORT/NAME`; null is SQLite
    in .nightjar/prefect. The password comes from PGPASSFILE, PGPASSWORD or ~/.pgpass.
    """

    group = "server"
    database: Annotated[str, AfterValidator(_database)] | None = None
